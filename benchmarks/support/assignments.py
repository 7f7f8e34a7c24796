"""What a benchmark knows and the memory does not: the thing each observation came from, and what that makes true."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from lastseen.memory.objects.camera import view_bin
from lastseen.observation import Observation
from lastseen.sim.home import STRUCTURE_ID, Home, Thing
from support.walking import SETTINGS

NEAR = 0.3
SAMPLED = 8
"""Embeddings kept per thing to compare: the first ones of a walk, which come from several sides."""
UNRELATED = 0.5
"""Cosine below which two sightings count as unrelated: the promotion gate asks for it."""


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
            if stamp - last > SETTINGS.lifecycle.tentative_ttl:
                sides.clear()
            sides.add(side)
            last = stamp
            if len(sides) >= SETTINGS.promotion.min_view_bins:
                return True
        return False


class Assignments:
    """Which object each observation of each thing went to."""

    def __init__(self) -> None:
        self.things: dict[int, Sightings] = defaultdict(Sightings)
        self.votes: dict[str, Counter[int]] = defaultdict(Counter)
        self.trails: dict[int, list[str]] = defaultdict(list)
        self.joined: dict[str, str] = {}
        self.embeddings: dict[int, list[np.ndarray]] = defaultdict(list)
        self.observations = 0

    def note(self, thing: int, seen: Observation, object_id: str | None) -> None:
        """One observation of a thing went to an object."""
        self.observations += 1
        if thing != STRUCTURE_ID:
            sights = self.things[thing]
            sights.stamps.append(seen.stamp)
            if seen.embedding is not None and len(self.embeddings[thing]) < SAMPLED:
                self.embeddings[thing].append(seen.embedding)
            x, y, z = seen.view_direction.tolist()
            sights.bins.append(view_bin(x, y, z, SETTINGS.views.azimuth_bins, SETTINGS.views.elevation_bins))
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


def distance(thing: Thing, xyz: np.ndarray) -> float:
    """From a remembered middle to the thing: to its middle, less what half its size exceeds the tolerance by."""
    slack = np.maximum(0.5 * thing.extent - NEAR, 0.0)
    return float(np.linalg.norm(np.maximum(np.abs(xyz - thing.position) - slack, 0.0)))


def score(home: Home, assignments: Assignments, confirmed: dict[str, np.ndarray]) -> dict[str, float]:
    """Counts of one walk: things, found, objects, right, duplicates, switches, errors."""
    owned: dict[int, list[np.ndarray]] = defaultdict(list)
    right = 0
    for object_id, xyz in confirmed.items():
        thing = assignments.owner(object_id)
        if thing in home.things:
            owned[thing].append(xyz)
            right += distance(home.things[thing], xyz) <= NEAR
    known = [thing for thing, sights in assignments.things.items() if thing in home.things and sights.long_enough()]
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
        "switches": assignments.switches,
        "error": sum(errors),
        "views": assignments.observations,
        **_cosines(list(assignments.embeddings.values())),
    }


def _cosines(things: list[list[np.ndarray]]) -> dict[str, float]:
    """Counts and sums of the cosines of two sightings of one thing, and of first sightings of different things."""
    same = [float(one @ other) for sights in things for one, other in itertools.combinations(sights, 2)]
    different = [float(one[0] @ other[0]) for one, other in itertools.combinations([e for e in things if e], 2)]
    return {
        "same_pairs": len(same),
        "same_cosines": sum(same),
        "same_unrelated": sum(cosine < UNRELATED for cosine in same),
        "different_pairs": len(different),
        "different_cosines": sum(different),
        "different_alike": sum(cosine >= UNRELATED for cosine in different),
    }


def cosine_rates(counts: dict[str, float]) -> dict[str, float]:
    """Mean cosine of two sightings of one thing and of different things, and the shares on the wrong side of 0.5."""
    same, different = max(counts["same_pairs"], 1), max(counts["different_pairs"], 1)
    return {
        "same_cosine": counts["same_cosines"] / same,
        "same_unrelated": counts["same_unrelated"] / same,
        "different_cosine": counts["different_cosines"] / different,
        "different_alike": counts["different_alike"] / different,
    }


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
