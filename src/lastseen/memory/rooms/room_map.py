"""The rooms of one storey as regions of its plan: ids that last, which room a point lies in, outlines."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.rooms.plan import Plan, Points, plan_of
from lastseen.memory.rooms.regions import Opening, Regions, cut
from lastseen.memory.space.storeys import Storey

_REACH = 0.7
"""Metres from a room's seen floor within which a thing still stands in it: the middle of a cupboard, a shower."""
_AT_WALL = 0.6
"""Metres from a thing towards a spot it was seen from within which a wall tells on which side the thing is."""
_SAMPLE = 0.25
"""Metres between the points by which a room is recognised after it was cut anew."""
_STRAIGHT = 1.5
"""Cells that a corner may lie off the straight line through its neighbours to be left out: walls are blurred."""
_SAME = 0.3
"""Share of the smaller of two regions that must be common for them to be one room."""

Spots = Sequence[tuple[float, float]]
Known = dict[tuple[int, int], int]
"""The id of the room at points ``_SAMPLE`` metres apart."""


class RoomMap:
    """Rooms of one storey, cut from its grid of walls whenever that has changed and somebody asks.

    ``revision`` grows with every new cut. ``known`` and ``next_id`` are what must be kept for ids to last.
    """

    def __init__(self, storey: Storey) -> None:
        self.storey = storey
        self.revision = 0
        self.known: Known = {}
        self.cut: Cut | None = None
        """The rooms as they were cut last; None before anything was seen."""

    def refresh(self, next_id: int, more_open: Points) -> int:
        """Cut anew if the walls or the other open points changed; takes and returns the first id no room has had."""
        plan = plan_of(self.storey.walls, more_open)
        if plan is None or (self.cut is not None and self.cut.plan.equals(plan)):
            return next_id
        regions = cut(plan)
        samples = _samples(plan, regions)
        ids, next_id = _recognised(samples, regions.count, self.known, next_id)
        self.known = {point: ids[region] for point, region in samples.items()}
        self.cut = Cut(plan, regions, ids)
        self.revision += 1
        return next_id

    def to_dict(self) -> dict[str, Any]:
        """What ids last by, in plain JSON values."""
        rows = np.array([(*point, room) for point, room in sorted(self.known.items())], dtype="<i4")
        return {"known": base64.b64encode(zlib.compress(rows.tobytes())).decode()}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take up what ``to_dict`` wrote."""
        rows = np.frombuffer(zlib.decompress(base64.b64decode(values["known"])), dtype="<i4").reshape(-1, 3)
        self.known = {(i, j): room for i, j, room in rows.tolist()}


class Cut:
    """One cut of a plan; ``ids`` gives the room of each region, by the region's number."""

    def __init__(self, plan: Plan, regions: Regions, ids: Sequence[int]) -> None:
        self.plan, self.regions, self.ids = plan, regions, list(ids)
        self._ids = np.array(ids, dtype=np.int64)

    @cached_property
    def _nearest(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """For each cell the region of the nearest cell that has one, and the metres to it."""
        from scipy import ndimage

        labels = self.regions.labels
        away, (i, j) = ndimage.distance_transform_edt(labels == 0, return_indices=True)
        return labels[i, j], away * self.plan.cell

    def rooms_of(self, xy: NDArray[np.float64]) -> NDArray[np.int64]:
        """The room of each point (n, 2), also of one in a wall or cupboard at its edge; -1 where none is near."""
        if not self.regions.count:
            return np.full(len(xy), -1, dtype=np.int64)
        labels, away = self._nearest
        cells = self.plan.cells(xy)
        last = np.array(labels.shape) - 1
        inside = np.clip(cells, 0, last)
        i, j = inside.T
        outside = np.hypot(*(cells - inside).T) * self.plan.cell
        near = away[i, j] + outside <= _REACH
        return np.where(near, self._ids[labels[i, j]], -1)

    def rooms_of_things(self, xy: NDArray[np.float64], seen_from: Sequence[Spots]) -> NDArray[np.int64]:
        """The room of each thing, walls respected: on which side of a wall it is, tells from where it was seen."""
        found = self.rooms_of(xy)
        owner = np.repeat(np.arange(len(xy)), [len(spots) for spots in seen_from])
        if not len(owner) or not self.regions.count:
            return found
        spots = np.array([spot for spots in seen_from for spot in spots], dtype=np.float64)
        start = xy[owner]
        length = np.hypot(*(spots - start).T)
        cell = self.plan.cell
        steps = np.arange(0.0, _AT_WALL + _REACH, cell)
        share = np.minimum(steps[None, :] / np.maximum(length, cell)[:, None], 1.0)
        along = start[:, None] + share[..., None] * (spots - start)[:, None]
        cells = self.plan.cells(along.reshape(-1, 2))
        i, j = np.clip(cells, 0, np.array(self.plan.wall.shape) - 1).T
        wall = self.plan.wall[i, j].reshape(share.shape) & (steps <= _AT_WALL)
        labels = self.regions.labels[i, j].reshape(share.shape)
        # on this side of the last wall before the spot it was seen from
        last = np.where(wall.any(axis=1), wall.shape[1] - 1 - wall[:, ::-1].argmax(axis=1), -1)
        usable = (labels > 0) & (np.arange(len(steps))[None, :] > last[:, None])
        room = np.where(usable.any(axis=1), self._ids[labels[np.arange(len(owner)), usable.argmax(axis=1)]], -1)
        votes: dict[int, dict[int, float]] = {}
        for thing, voted, far in zip(owner.tolist(), room.tolist(), length.tolist(), strict=True):
            if voted >= 0:
                ballot = votes.setdefault(thing, {})
                ballot[voted] = ballot.get(voted, 0.0) + 1.0 / (0.5 + far)
        for thing, ballot in votes.items():
            found[thing] = min(ballot, key=lambda room: (-ballot[room], room))
        return found

    def next_to(self) -> dict[int, set[int]]:
        """For each room the rooms behind its openings."""
        beside: dict[int, set[int]] = {room: set() for room in self.ids[1:]}
        for opening in self.regions.openings:
            sides = opening_sides(self, opening)
            if sides is not None:
                one, other = sides
                beside[one].add(other)
                beside[other].add(one)
        return beside

    def shapes(self) -> Iterator[tuple[int, float, float, tuple[float, float], NDArray[np.bool_], tuple[int, int]]]:
        """Of each region: number, area, width (twice the largest distance to its edge), centre, mask, its corner."""
        from scipy import ndimage

        cell = self.plan.cell
        for number, box in enumerate(ndimage.find_objects(self.regions.labels), start=1):
            mask = np.pad(self.regions.labels[box] == number, 1)
            inner = ndimage.distance_transform_edt(mask)
            at = np.unravel_index(int(inner.argmax()), inner.shape)
            corner = box[0].start - 1, box[1].start - 1
            middle = self.plan.points(np.array([[at[0] + corner[0], at[1] + corner[1]]]))[0]
            yield (
                number,
                float(mask.sum()) * cell**2,
                2.0 * float(inner.max()) * cell,
                (float(middle[0]), float(middle[1])),
                mask,
                corner,
            )


def opening_sides(cut: Cut, opening: Opening) -> tuple[int, int] | None:
    """The ids of the rooms on both sides of an opening; None where there is one room only, or none."""
    labels = cut.regions.labels
    part = (labels if opening.axis == 0 else labels.T)[opening.start : opening.end]
    sides = [_most(part[:, max(at, 0) : max(at, 0) + 4]) for at in (opening.at - 5, opening.at + 2)]
    if 0 in sides or sides[0] == sides[1]:
        return None
    return cut.ids[sides[0]], cut.ids[sides[1]]


def _most(labels: NDArray[np.int32]) -> int:
    """The region most cells belong to; 0 where none does."""
    known = labels[labels > 0]
    return int(np.bincount(known).argmax()) if len(known) else 0


def _samples(plan: Plan, regions: Regions) -> dict[tuple[int, int], int]:
    """The region at points a quarter of a metre apart, on a raster that does not depend on the plan's."""
    step = max(1, round(_SAMPLE / plan.cell / 2))
    cells = np.argwhere(regions.labels[::step, ::step] > 0) * step
    raster = np.floor(plan.points(cells) / _SAMPLE + 0.5).astype(np.int64).tolist()
    labels = regions.labels[cells[:, 0], cells[:, 1]].tolist()
    samples: dict[tuple[int, int], int] = {}
    for (i, j), region in zip(raster, labels, strict=True):
        samples.setdefault((i, j), region)
    return samples


def _recognised(
    samples: Mapping[tuple[int, int], int], count: int, known: Known, next_id: int
) -> tuple[list[int], int]:
    """An id for each region by its number: that of the known room it mostly covers, else a new one."""
    sizes = np.bincount(np.array([0, *samples.values()]), minlength=count + 1).tolist()
    old_sizes: dict[int, int] = {}
    for room in known.values():
        old_sizes[room] = old_sizes.get(room, 0) + 1
    common: dict[tuple[int, int], int] = {}
    for point, region in samples.items():
        if point in known:
            pair = region, known[point]
            common[pair] = common.get(pair, 0) + 1
    ids = [-1] * (count + 1)
    taken: set[int] = set()
    for (region, room), shared in sorted(common.items(), key=lambda item: (-item[1], item[0])):
        if ids[region] < 0 and room not in taken and shared >= _SAME * min(sizes[region], old_sizes[room]):
            ids[region] = room
            taken.add(room)
    for region in range(1, count + 1):
        if ids[region] < 0:
            ids[region], next_id = next_id, next_id + 1
    return ids, next_id


def outline(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The outer border of the largest part of a mask as corners (n, 2), counter-clockwise, in rows and columns.

    Corners lie between cells, so they are halves.
    """
    from scipy import ndimage

    parts, count = ndimage.label(mask)
    if not count:
        return np.zeros((0, 2))
    largest = int(np.bincount(parts.ravel())[1:].argmax()) + 1
    return _simplified(_border(np.pad(parts == largest, 1)) - 1.0)


def _border(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Every corner along the outer border, the region to the left of each edge."""
    i, j = (int(each[0]) for each in np.nonzero(mask))
    # the first cell has none beside it in the row before nor in the column before: this is a corner of the border
    start = corner = (i, j)
    heading = (0, -1)
    found = []
    while True:
        found.append(corner)
        for turn in (1, 0, -1):
            # the sharpest turn to the left first: cells that meet at a corner alone are not joined
            step = heading if turn == 0 else (turn * -heading[1], turn * heading[0])
            if _is_edge(mask, corner, step):
                heading = step
                break
        corner = corner[0] + heading[0], corner[1] + heading[1]
        if corner == start:
            return np.array(found, dtype=np.float64) - 0.5


def _is_edge(mask: NDArray[np.bool_], corner: tuple[int, int], step: tuple[int, int]) -> bool:
    """Whether the step from a corner has a cell of the region on its left and none on its right."""
    (i, j), (di, dj) = corner, step
    left = i + (di - dj - 1) // 2, j + (dj + di - 1) // 2
    right = i + (di + dj - 1) // 2, j + (dj - di - 1) // 2
    return bool(mask[left]) and not bool(mask[right])


def _simplified(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Fewer corners, none of the others far from the border between them (Ramer, Douglas and Peucker)."""
    far = int(np.hypot(*(corners - corners[0]).T).argmax())
    kept = np.zeros(len(corners) + 1, dtype=np.bool_)
    kept[[0, far, -1]] = True
    closed = np.concatenate([corners, corners[:1]])
    waiting = [(0, far), (far, len(corners))]
    while waiting:
        a, b = waiting.pop()
        if b - a < 2:
            continue
        line, points = closed[b] - closed[a], closed[a + 1 : b] - closed[a]
        off = np.abs(line[0] * points[:, 1] - line[1] * points[:, 0]) / max(float(np.hypot(*line)), 1e-9)
        k = int(off.argmax())
        if off[k] > _STRAIGHT:
            kept[a + 1 + k] = True
            waiting += [(a, a + 1 + k), (a + 1 + k, b)]
    return closed[:-1][kept[:-1]]
