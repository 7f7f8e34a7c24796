"""How true the object memory is: walks through simulated homes, and what is remembered beside what is there.

A robot tours each home twice; its detections are lifted to observations and remembered. A thing counts when it was
seen long enough to be confirmed (from two sides, no pause longer than a proto lives) and is found when a confirmed
object that mostly came from it lies within 0.3 m of its middle, or of its visible surface for what is larger than
that. Changed homes are toured, changed, and toured twice more. rtsm 0.3.1 gets the same observations.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.encoders.look import LookEncoder
from lastseen.frame import Frame
from lastseen.memory.objects import Event, EventKind, ObjectMemory, State
from lastseen.memory.objects.store import RING, id_text
from lastseen.memory.objects.update import view_bins
from lastseen.observation import Observation
from lastseen.perception.lift import lift
from lastseen.perception.look import with_looks
from lastseen.sim.change import Change, ChangeKind
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.from_graph import home_from_graph
from lastseen.sim.from_npz import load_npz
from lastseen.sim.generate import generate_home
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from lastseen.sim.level import Level
from lastseen.sim.random_change import random_changes

NEAR = 0.3
ENCODER = LookEncoder()
SETTINGS = Settings()
LIMIT: int | None = None
"""Frames per tour; None tours the whole home."""


@dataclass
class Sightings:
    """Everything seen of one thing: when, and from which side."""

    stamps: list[float] = field(default_factory=list)
    bins: list[int] = field(default_factory=list)

    def long_enough(self, since: float = -math.inf) -> bool:
        """Seen from two sides without a pause in which a proto would have expired."""
        sides: set[int] = set()
        last = -math.inf
        for stamp, side in zip(self.stamps, self.bins, strict=True):
            if stamp < since:
                continue
            if stamp - last > SETTINGS.lifecycle.proto_ttl:
                sides.clear()
            sides.add(side)
            last = stamp
            if len(sides) >= SETTINGS.promotion.min_view_bins:
                return True
        return False


class Ledger:
    """Which object each observation of each thing went to."""

    def __init__(self) -> None:
        self.things: dict[int, Sightings] = defaultdict(Sightings)
        self.votes: dict[str, Counter[int]] = defaultdict(Counter)
        self.trails: dict[int, list[str]] = defaultdict(list)
        self.joined: dict[str, str] = {}
        self.observations = 0

    def note(self, thing: int, seen: Observation, object_id: str | None) -> None:
        """One observation of a thing went to an object."""
        self.observations += 1
        if thing != STRUCTURE_ID:
            sights = self.things[thing]
            sights.stamps.append(seen.stamp)
            sights.bins.append(int(view_bins(seen.view_direction[np.newaxis], SETTINGS.views)[0]))
        if object_id is None:
            return
        self.votes[object_id][thing] += 1
        if thing != STRUCTURE_ID:
            self.trails[thing].append(object_id)

    def absorbed(self, keep: str, lost: str) -> None:
        """Two objects became one."""
        self.votes[keep].update(self.votes.pop(lost, Counter()))
        self.joined[lost] = keep

    @property
    def switches(self) -> int:
        """How often a thing's observations went from one object to another that stayed another."""
        count = 0
        for trail in self.trails.values():
            ids = [self._final(object_id) for object_id in trail]
            count += sum(one != other for one, other in itertools.pairwise(ids))
        return count

    def _final(self, object_id: str) -> str:
        while object_id in self.joined:
            object_id = self.joined[object_id]
        return object_id

    def owner(self, object_id: str) -> int:
        """The thing an object mostly came from; 0 for none."""
        votes = self.votes.get(object_id)
        return min(votes, key=lambda thing: (-votes[thing], thing)) if votes else STRUCTURE_ID


class Robot:
    """A robot that tours a home, remembers, and keeps the ledger on the side."""

    def __init__(self, home: Home, *, level: str, seed: int, drift: str = "perfect", rtsm: Any = None) -> None:
        senses = Senses(depth=Level.of(level), pose=Level.of(level), drift=Level.of(drift))
        self.world = SimEnvironment(home, seed=seed, senses=senses, settings=SETTINGS)
        self.detector = SimulatedDetector(self.world, level=level, seed=seed)
        self.memory = ObjectMemory(SETTINGS)
        self.ledger = Ledger()
        self.events: list[Event] = []
        self.rtsm = rtsm
        self.stops = coverage_stops(self.world.grid, (self.world.start.x, self.world.start.y))
        self.frames = 0
        self.limit = LIMIT

    def tour(self) -> None:
        """Visit every stop and look around there, or as many as the limit on frames allows."""
        for frame in itertools.islice(self._frames(), self.limit):
            self._see(frame)
        self.stops = self.stops[::-1]

    def _frames(self) -> Iterator[Frame]:
        if self.frames == 0:
            yield self.world.reset()
        for action in tour(self.world.agent, self.stops):
            yield self.world.step(action).frame

    def wait(self, seconds: float) -> None:
        """Let frame time pass without looking."""
        for _ in range(math.ceil(seconds / SETTINGS.camera.step_time)):
            self.world.skip(None)

    def _see(self, frame: Frame) -> None:
        self.frames += 1
        ids = self.world.view_of(frame).ids
        pairs = []
        for detection in with_looks(frame, self.detector.detect(frame), ENCODER):
            seen = lift(frame, detection, SETTINGS.lift)
            if seen is not None and detection.mask is not None:
                pairs.append((int(np.bincount(ids[detection.mask]).argmax()), seen))
        events = self.memory.observe(frame, [seen for _, seen in pairs])
        self.events += events
        for event in events:
            if "absorbed" in event.evidence:
                self.ledger.absorbed(event.object_id, str(event.evidence["absorbed"]))
        went = self._where_they_went(frame)
        for thing, seen in pairs:
            self.ledger.note(thing, seen, went.get(seen.position.astype(np.float32).tobytes()))
        if self.rtsm is not None:
            self.rtsm.see(frame, pairs)

    def _where_they_went(self, frame: Frame) -> dict[bytes, str]:
        store = self.memory.store
        rows = store.live()
        rows = rows[store.last_seen[rows] == frame.stamp]
        slot = (store.ring_n[rows] - 1) % RING
        places = np.ascontiguousarray(store.ring_world[rows, slot])
        return {place.tobytes(): id_text(int(store.seq[row])) for place, row in zip(places, rows, strict=True)}


class RtsmBeside:
    """rtsm on the same observations."""

    def __init__(self) -> None:
        from object_memory import Rtsm

        self.inner = Rtsm()
        self.ledger = Ledger()

    def see(self, frame: Frame, pairs: list[tuple[int, Observation]]) -> None:
        """Give it one frame's observations and note where each went."""
        candidates, snapshot = self.inner.prepare(frame, [seen for _, seen in pairs])
        for (thing, seen), candidate in zip(pairs, candidates, strict=True):
            candidate.thing, candidate.seen = thing, seen

        def note(record: dict[str, Any]) -> None:
            one = record["cand"]
            self.ledger.note(one.thing, one.seen, record.get("object_id"))

        self.inner.associator.update_with_candidates(
            candidates,
            snapshot,
            self.inner.memory,
            self.inner.index,
            is_keyframe=True,
            frame_id=str(frame.id),
            on_observation=note,
        )

    def confirmed(self) -> dict[str, np.ndarray]:
        """Its confirmed objects by id."""
        return {one.id: np.asarray(one.xyz_world) for one in self.inner.memory.iter_objects() if one.confirmed}


def distance(thing: Thing, xyz: np.ndarray) -> float:
    """From a remembered middle to the thing: to its middle, less what half its size exceeds the tolerance by."""
    slack = np.maximum(0.5 * thing.extent - NEAR, 0.0)
    return float(np.linalg.norm(np.maximum(np.abs(xyz - thing.position) - slack, 0.0)))


def score(home: Home, ledger: Ledger, confirmed: dict[str, np.ndarray]) -> dict[str, float]:
    """Counts of one walk: things, found, objects, right, duplicates, switches, errors."""
    owned: dict[int, list[np.ndarray]] = defaultdict(list)
    right = 0
    for object_id, xyz in confirmed.items():
        thing = ledger.owner(object_id)
        if thing in home.things:
            owned[thing].append(xyz)
            right += distance(home.things[thing], xyz) <= NEAR
    known = [thing for thing, sights in ledger.things.items() if thing in home.things and sights.long_enough()]
    errors = []
    found = 0
    for thing in known:
        gaps = [distance(home.things[thing], xyz) for xyz in owned.get(thing, [])]
        if gaps and min(gaps) <= NEAR:
            found += 1
            nearest = owned[thing][int(np.argmin(gaps))]
            errors.append(float(np.linalg.norm(nearest - home.things[thing].position)))
    return {
        "things": len(known),
        "found": found,
        "objects": len(confirmed),
        "right": right,
        "duplicates": sum(max(0, len(xyz) - 1) for xyz in owned.values()),
        "switches": ledger.switches,
        "error": sum(errors),
        "views": ledger.observations,
    }


def walk(home: Home, *, level: str, seed: int, tours: int = 2, drift: str = "perfect", rtsm: bool = False) -> Any:
    """One walk through a home that does not change."""
    robot = Robot(home, level=level, seed=seed, drift=drift, rtsm=RtsmBeside() if rtsm else None)
    for _ in range(tours):
        robot.tour()
    confirmed = {one.id: one.xyz_world for one in robot.memory.states()}
    counts = score(home, robot.ledger, confirmed)
    counts["absences"] = sum(event.kind is EventKind.MISSING for event in robot.events)
    counts["frames"] = robot.frames
    counts["one_sided"] = len(robot.memory.states(include_tentative=True)) - len(confirmed)
    beside = score(home, robot.rtsm.ledger, robot.rtsm.confirmed()) if rtsm else None
    return counts, beside


def changed_walk(home: Home, *, level: str, seed: int, changes: int) -> Counter[str]:
    """Tour a home, change it, and tour it twice more; true, false and missed claims by kind."""
    robot = Robot(home, level=level, seed=seed)
    robot.tour()
    known = {robot.ledger.owner(one.id) for one in robot.memory.states()}
    at = robot.world.stamp
    kinds = (ChangeKind.MOVE, ChangeKind.REMOVE, ChangeKind.ADD)
    after, made = random_changes(robot.world.home, [at] * changes, seed=seed, kinds=kinds)
    robot.world.replace_home(after)
    robot.tour()
    robot.wait(60.0)
    robot.tour()
    return judge(robot, made, known, at)


def judge(robot: Robot, made: list[Change], known: set[int], at: float) -> Counter[str]:
    """Compare what memory claims to have changed after a time with what was changed."""
    # what can be known: things known before, and places seen long enough after
    seen_after = {thing for thing, sights in robot.ledger.things.items() if sights.long_enough(at)}
    truth: set[tuple[str, int]] = set()
    for change in made:
        for edit in change.edits:
            thing = edit.thing_id
            if edit.before is None:
                truth |= {("added", thing)} if thing in seen_after else set()
            elif thing in known:
                moved = edit.after is not None and thing in seen_after
                truth.add(("moved" if moved else "removed", thing))
    touched = {edit.thing_id for change in made for edit in change.edits}
    owner, store = robot.ledger.owner, robot.memory.store
    claims: set[tuple[str, int]] = set()
    moved_ids = {event.object_id for event in robot.events if event.kind is EventKind.MOVED and event.stamp >= at}
    for row in store.live().tolist():
        object_id, state = store.id(row), store.state[row]
        thing = owner(object_id)
        if object_id in moved_ids and state == State.CONFIRMED:
            claims.add(("moved", thing))
        elif state > State.CONFIRMED:
            claims.add(("removed", thing))
        elif state == State.CONFIRMED and store.born_free[row] and store.first_seen[row] >= at:
            claims.add(("added", thing))
    counts: Counter[str] = Counter()
    for kind in ("moved", "removed", "added"):
        said = {thing for what, thing in claims if what == kind}
        true = {thing for what, thing in truth if what == kind}
        counts[f"{kind}_true"], counts[f"{kind}_false"] = len(said & true), len(said - true)
        counts[f"{kind}_missed"] = len(true - said)
    counts["unchanged_claimed"] = len({thing for _, thing in claims if thing not in touched})
    return counts


def rates(counts: dict[str, float]) -> dict[str, float]:
    return {
        "recall": counts["found"] / max(counts["things"], 1),
        "precision": counts["right"] / max(counts["objects"], 1),
        "duplicates": counts["duplicates"] / max(counts["things"], 1),
        "id_switches": counts["switches"] / max(counts["things"], 1),
        "position_error_m": counts["error"] / max(counts["found"], 1),
    }


def total(rows: list[dict[str, float]]) -> dict[str, float]:
    summed: Counter[str] = Counter()
    for row in rows:
        summed.update(row)
    return dict(summed)


def show(name: str, counts: dict[str, float]) -> None:
    line = "  ".join(f"{key} {value:.3f}" for key, value in rates(counts).items())
    print(f"{name:<22} {line}  ({counts['things']:.0f} things, {counts['views']:.0f} views)", flush=True)


def f1(counts: Counter[str], *kinds: str) -> float | None:
    true = sum(counts[f"{kind}_true"] for kind in kinds)
    wrong = sum(counts[f"{kind}_false"] + counts[f"{kind}_missed"] for kind in kinds)
    return 2 * true / (2 * true + wrong) if true + wrong else None


def shared(name: str) -> Path | None:
    folder = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).parents[2] / "shared" / "data")) / name
    return folder if folder.exists() else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="two homes, the first frames of each tour, no real scenes"
    )
    parser.add_argument("--homes", type=int, default=20)
    options = parser.parse_args()
    homes = 2 if options.quick else options.homes
    global LIMIT  # noqa: PLW0603
    LIMIT = 150 if options.quick else None
    installed = importlib.util.find_spec("rtsm") is not None
    if not installed:
        print(
            "rtsm is not installed: its rows are left out (pip install --no-deps rtsm==0.3.1 && pip install pyyaml)"
        )
    result: dict[str, Any] = {"rtsm_recall": None, "rtsm_duplicates": None}
    started = time.monotonic()
    absences = views = 0.0
    for level in ("perfect", "good", "typical"):
        ours, theirs = [], []
        for seed in range(homes):
            counts, beside = walk(generate_home(seed), level=level, seed=seed, rtsm=level == "typical" and installed)
            ours.append(counts)
            theirs += [beside] if beside else []
            show(f"{level} home {seed}", counts)
        summed = total(ours)
        show(level, summed)
        result |= {f"{level}_{key}": value for key, value in rates(summed).items()}
        absences, views = absences + summed["absences"], views + summed["views"]
        print(f"{level}: absent though there {summed['absences']:.0f} of {summed['views']:.0f} object-views")
        if theirs:
            show("rtsm typical", total(theirs))
            result |= {f"rtsm_{key}": rates(total(theirs))[key] for key in ("recall", "duplicates", "id_switches")}
    result |= {"false_absences": absences, "object_views": views}
    drifted = total(
        [walk(generate_home(s), level="typical", seed=s, drift="typical")[0] for s in range(max(1, homes // 2))]
    )
    show("typical with drift", drifted)
    result |= {f"drift_{key}": value for key, value in rates(drifted).items()}
    result["drift_false_absences"] = drifted["absences"]
    changes: Counter[str] = Counter()
    for seed in range(homes):
        changes += changed_walk(generate_home(seed), level="typical", seed=seed, changes=9)
        print(f"changes after home {seed}: {dict(changes)}", flush=True)
    result["change_f1"] = f1(changes, "moved", "removed", "added")
    result |= {f"{kind}_f1": f1(changes, kind) for kind in ("moved", "removed", "added")}
    house, graphs = shared("aws_small_house"), shared("virtualhome_graphs")
    for name, scenes in (
        ("aws", [load_npz(house / "small_house.npz")] if house and not options.quick else []),
        (
            "virtualhome",
            [home_from_graph(path) for path in sorted(graphs.glob("*.json.gz"))]
            if graphs and not options.quick
            else [],
        ),
    ):
        rows = [walk(scene, level="typical", seed=7)[0] for scene in scenes]
        if rows:
            show(f"{name} typical", total(rows))
        for key in ("recall", "duplicates"):
            result[f"{name}_{key}"] = rates(total(rows))[key] if rows else None
    result["seconds"] = round(time.monotonic() - started)
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
