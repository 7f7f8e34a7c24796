"""What changed in a home beside what the memory says has changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from lastseen.evaluation.sight import CLEAR, in_sight, looked_at
from lastseen.frame import Frame
from lastseen.memory.objects import EventKind, State
from lastseen.memory.objects.relocation import newcomers
from lastseen.sim.change import Change
from lastseen.sim.detector import _Sighting, recall
from lastseen.sim.home import STRUCTURE_ID, Thing
from lastseen.sim.senses import DETECTOR, Level
from lastseen.sim.viewpoint import surface_points
from support.assignments import NEAR, distance
from support.memories import LastseenMemory
from support.walking import SETTINGS, Changed

KINDS = ("moved", "removed", "added")
Claim = tuple[str, int]
"""What is said of which thing."""
ELSEWHERE = -1
"""Stands for a thing that was said to be where it is not."""
DETECTABLE = "detectable_"
"""Before the counts of changes that show with this detector: without it a phone passed twice at 4 m counts too."""
POINTS = 48
"""Points of a thing's surface that tell how much of it would be in sight."""
FACING = 0.8
"""Share of the outline of those points that a thing fills."""


class Lookout:
    """Which places were in plain sight, and when: the frames of a walk."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    def note(self, frame: Frame) -> None:
        """Keep one frame."""
        self.frames.append(frame)

    def looked_at(self, thing: Thing, *, since: float = -math.inf, until: float = math.inf) -> bool:
        """Whether a thing's place was in range and unhidden in enough frames of a time."""
        frames = (frame for frame in self.frames if since <= frame.stamp < until)
        return looked_at(frames, thing, rules=SETTINGS.absence)

    def would_detect(self, thing: Thing, *, since: float = -math.inf, until: float = math.inf) -> bool:
        """Whether a thing in its place would have been detected in the frames of a time but for an allowed chance.

        Of one who knows exactly how the detector fails: with fewer looks than these nobody can be sure.
        """
        points = surface_points(thing, POINTS)
        of_time = (frame for frame in self.frames if since <= frame.stamp < until)
        frames = (frame for frame in of_time if in_sight(frame, thing, rules=SETTINGS.absence))
        missed = sum(math.log(1.0 - min(_chance(frame, thing, points), 0.99)) for frame in frames)
        return missed <= math.log(SETTINGS.absence.chance)


def _chance(frame: Frame, thing: Thing, points: np.ndarray) -> float:
    """The chance that a typical detector finds a thing in a frame, had it been in its place."""
    camera = frame.camera_of_depth
    places = frame.T_world_camera.inverse().transform(points)
    ahead = places[:, 2]
    if ahead.min() <= SETTINGS.absence.min_range:
        return 0.0
    pixels = camera.project(places)
    column, row = np.floor(np.clip(pixels, 0, (camera.width - 1, camera.height - 1))).astype(int).T
    depth = frame.depth[row, column]
    shown = camera.contains(pixels) & (np.isnan(depth) | (depth >= ahead - CLEAR))
    try:
        outline = float(ConvexHull(pixels).volume)
    except QhullError:
        return 0.0
    visible = float(shown.mean())
    area, figures = int(FACING * outline * visible), DETECTOR[Level.TYPICAL]
    if area < figures.min_pixels:
        return 0.0
    sighting = _Sighting(thing, np.empty((0, 0), dtype=np.bool_), 0, 0, area, float(np.median(ahead)), visible)
    return recall(figures, sighting, width=camera.width)


def what_can_be_known(
    made: Sequence[Change], known: set[int], seen_after: set[int], looked_at: Callable[..., bool], at: float
) -> tuple[set[Claim], set[Claim], dict[int, int]]:
    """The changes a memory can tell, those beyond it, and which added thing passes for which removed one.

    A thing known before and seen after at another place has moved; one known before and not seen after is gone from
    where it was, if anyone looked there again; one not known before that stands somewhere new was added there, if
    anyone had looked there before. A twin added while its like went out of sight is a move to anyone else.
    """
    edits = [edit for change in made for edit in change.edits]
    removed = [
        edit.before
        for edit in edits
        if edit.before and edit.thing_id in known and (edit.after is None or edit.thing_id not in seen_after)
    ]
    passes_for: dict[int, int] = {}
    for edit in edits:
        if edit.before is None and edit.after is not None and edit.after.id in seen_after:
            like = next((one for one in removed if _twins(one, edit.after)), None)
            if like is not None:
                passes_for[edit.after.id] = like.id
                removed.remove(like)
    truth: set[Claim] = set()
    beyond: set[Claim] = set()
    for edit in edits:
        thing = edit.thing_id
        if edit.before is None or thing not in known:
            if edit.after is not None and thing in seen_after and thing not in passes_for:
                (truth if looked_at(edit.after, until=at) else beyond).add(("added", thing))
        else:
            moved = (edit.after is not None and thing in seen_after) or thing in passes_for.values()
            empty = looked_at(edit.before, since=at)
            (truth if empty else beyond).add(("moved" if moved else "removed", thing))
    return truth, beyond, passes_for


def _twins(one: Thing, other: Thing) -> bool:
    return (one.label, one.color) == (other.label, other.color) and np.allclose(
        sorted(one.extent), sorted(other.extent), atol=0.05
    )


def judge(own: LastseenMemory, change: Changed, known: set[int], lookout: Lookout) -> Counter[str]:
    """True, false and missed claims by kind about what changed, and claims about things left alone.

    ``known`` are the things remembered before. A right claim that nobody could have been sure of counts for nothing.
    A thing has moved to where it stands now, not just somewhere, and each object that claims something counts.
    """
    assignments, made, at = own.assignments, change.changes, change.stamp
    seen_after = {thing for thing, sights in assignments.things.items() if sights.long_enough(at)}
    truth, beyond, passes_for = what_can_be_known(made, known, seen_after, lookout.looked_at, at)
    shows, hidden, _ = what_can_be_known(made, known, seen_after, lookout.would_detect, at)
    edits = [edit for one in made for edit in one.edits]
    # where a twin passes for a thing, the thing stands where the twin does, wherever it was put itself
    replaced = set(passes_for.values())
    stands = {
        passes_for.get(edit.thing_id, edit.thing_id): edit.after
        for edit in edits
        if edit.after is not None and edit.thing_id not in replaced
    }
    store = own.memory.store
    new = set(newcomers(store, at).tolist())
    moved_ids = {event.object_id for event in own.events if event.kind is EventKind.MOVED and event.stamp >= at}
    claims: list[Claim] = []
    for row in store.live().tolist():
        object_id, state = store.id(row), store.state[row]
        thing = assignments.owner(object_id)
        thing = passes_for.get(thing, thing)
        if object_id in moved_ids and state == State.CONFIRMED:
            there = thing in stands and distance(stands[thing], store.xyz[row]) <= NEAR
            claims.append(("moved", thing if there else ELSEWHERE))
        elif state > State.CONFIRMED and thing != STRUCTURE_ID:
            # to find that what was imagined is not there is no claim about a thing
            claims.append(("removed", thing))
        elif row in new:
            claims.append(("added", thing))
    touched = {edit.thing_id for edit in edits}
    counts: Counter[str] = Counter(unknowable=len(beyond))
    for prefix, changed, unsure in (("", truth, beyond), (DETECTABLE, shows & truth, hidden | beyond)):
        for kind in KINDS:
            said = [claim for claim in claims if claim[0] == kind and claim not in unsure]
            true = {claim for claim in changed if claim[0] == kind}
            counts[f"{prefix}{kind}_true"] = len(true.intersection(said))
            counts[f"{prefix}{kind}_false"] = len(said) - counts[f"{prefix}{kind}_true"]
            counts[f"{prefix}{kind}_missed"] = len(true.difference(said))
    counts["unchanged_claimed"] = sum(thing not in touched and thing != ELSEWHERE for _, thing in claims)
    return counts


def f1(counts: Counter[str], *kinds: str) -> float | None:
    """The harmonic mean of precision and recall of the claims of these kinds; None without any."""
    true = sum(counts[f"{kind}_true"] for kind in kinds)
    wrong = sum(counts[f"{kind}_false"] + counts[f"{kind}_missed"] for kind in kinds)
    return 2 * true / (2 * true + wrong) if true + wrong else None
