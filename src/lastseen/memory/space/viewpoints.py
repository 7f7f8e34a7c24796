"""For each object a few spots on the floor from which it was seen: where a robot goes to see it again.

The nearest free floor to a thing may lie behind a wall; what was seen from a spot can be seen from there again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lastseen.errors import JournalDamaged
from lastseen.memory.objects import Event, EventKind
from lastseen.observation import Observation
from lastseen.pose2d import Pose2D

MOST = 8
"""Spots kept per object: more than a thing has sides; 64 bytes in the file."""
SEEN_WELL = 3.0
"""Metres within which a thing that was seen is seen again: beyond it detectors miss it now and then."""
_APART = 0.4
"""Metres between two spots of one object: nearer ones show the same, and the first of them is kept.

Keeping the one nearer to the thing instead would let a robot that walks up to it drag a single spot along.
"""

Spot = tuple[float, float]


class Viewpoints:
    """The spots by object id; ``drain_changed`` gives what the memory file has yet to learn."""

    def __init__(self) -> None:
        self._spots: dict[str, list[Spot]] = {}
        self._changed: set[str] = set()

    def of(self, object_id: str) -> tuple[Spot, ...]:
        """The spots from which an object was seen where it stands now, in the order they were found."""
        return tuple(self._spots.get(object_id, ()))

    def note(self, pose: Pose2D, observations: Sequence[Observation], ids: Sequence[str | None]) -> None:
        """Take one look: the observations made from a pose, and the object that each is of (None: of none)."""
        spot = round(pose.x, 2), round(pose.y, 2)
        for seen, object_id in zip(observations, ids, strict=True):
            if object_id is None:
                continue
            thing = float(seen.position[0]), float(seen.position[1])
            spots = self._spots.get(object_id, [])
            # a thing that was never seen from nearby keeps one spot, the nearest so far: better than no path to it
            is_far = len(spots) == 1 and math.dist(spots[0], thing) > SEEN_WELL
            if is_far and math.dist(spot, thing) <= math.dist(spots[0], thing) - _APART:
                self._put(object_id, [spot])
            elif not spots or math.dist(spot, thing) <= SEEN_WELL:
                self._add(object_id, spot, thing)

    def on_events(self, events: Iterable[Event]) -> None:
        """Follow what happened to objects: one that moved is seen from elsewhere, merged ones share their spots."""
        for event in events:
            absorbed = str(event.evidence.get("absorbed", ""))
            if event.kind is EventKind.MOVED:
                self._put(event.object_id, self._spots.pop(absorbed, []))
            elif event.kind is EventKind.MERGED and absorbed in self._spots:
                spots = self._spots.get(event.object_id, [])
                for spot in self._spots.pop(absorbed):
                    if len(spots) < MOST and _is_apart(spot, spots):
                        spots = [*spots, spot]
                self._put(event.object_id, spots)

    def put(self, object_id: str, spots: Iterable[Spot]) -> None:
        """Set the spots from which an object was seen; no more than ``MOST`` are kept."""
        self._put(object_id, [(round(x, 2), round(y, 2)) for x, y in spots][:MOST])

    def forget(self, object_ids: Iterable[str]) -> None:
        """Drop the spots of objects that are remembered no longer."""
        for object_id in object_ids:
            self._spots.pop(object_id, None)
            self._changed.discard(object_id)

    def drain_changed(self) -> dict[str, bytes]:
        """What changed since the last call, as the memory file stores it: pairs of float32, metres."""
        bodies = {
            object_id: np.array(self._spots.get(object_id, ()), dtype=np.float32).tobytes()
            for object_id in sorted(self._changed)
        }
        self._changed.clear()
        return bodies

    def restore(self, bodies: Mapping[str, bytes], path: object = "") -> None:
        """Read back what ``drain_changed`` gave; ``path`` is named where it cannot be read."""
        for object_id, body in bodies.items():
            if len(body) % 8 or len(body) > 8 * MOST:
                raise JournalDamaged(path, f"the viewpoints of {object_id} have a length of {len(body)} bytes")
            spots = np.frombuffer(body, dtype=np.float32).reshape(-1, 2).astype(np.float64)
            if not np.isfinite(spots).all():
                raise JournalDamaged(path, f"the viewpoints of {object_id} are no numbers")
            self._spots[object_id] = [(round(x, 2), round(y, 2)) for x, y in spots.tolist()]

    def _add(self, object_id: str, spot: Spot, thing: Spot) -> None:
        """Keep a spot apart from the others; where there are enough, in place of the one farthest from the thing."""
        spots = self._spots.setdefault(object_id, [])
        if not _is_apart(spot, spots):
            return
        if len(spots) < MOST:
            spots.append(spot)
        else:
            k = max(range(MOST), key=lambda k: (math.dist(spots[k], thing), k))
            if math.dist(spot, thing) >= math.dist(spots[k], thing):
                return
            spots[k] = spot
        self._changed.add(object_id)

    def _put(self, object_id: str, spots: list[Spot]) -> None:
        self._spots[object_id] = spots
        self._changed.add(object_id)


def _is_apart(spot: Spot, spots: Sequence[Spot]) -> bool:
    return all(math.dist(other, spot) >= _APART for other in spots)
