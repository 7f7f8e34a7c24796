"""Free-space evidence: what is known of a place before an object was first seen there.

Small depth images from past camera places are kept sparsely, one per floor cell and viewing direction: a few hundred
in a home. Asking whether a place was free means projecting a few points into those nearby: either an image looked
through the place, or the place was unoccluded so often that a detector would have found something. Both are asked
when an object is made, before images of the place from before it give way, and once more when it is confirmed and
better known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.memory.objects.appearance import same_labels
from lastseen.memory.objects.batch import Batch
from lastseen.memory.objects.boxes import in_axes_of, vectors_in_axes
from lastseen.memory.objects.columns import LARGEST_HALF, Columns, Floats, FreeSpace, State
from lastseen.memory.objects.depth_evidence import (
    DEPTH_MARGIN,
    DEPTH_NOISE,
    FOOT,
    LATERAL_ANGLE,
    LATERAL_MARGIN,
    OPEN_SHARE,
    SMALL,
    noticed_within,
)
from lastseen.memory.objects.duplicates import DUPLICATE_TOLERANCE
from lastseen.memory.objects.store import ObjectStore
from lastseen.observation import Observation

HEIGHT, WIDTH = 48, 64
MEASURED = 0.5
"""Share of measured pixels from which an image is worth keeping."""
SECTORS = 12
"""Viewing directions per floor cell: 30 degrees each."""
KEYFRAMES = 512
"""Depth images kept: 3 MB."""
KEYFRAME_CELL = 1.0
"""Metres of the floor cells of which each keeps one image per viewing direction."""
FREE_SHARE = 0.8
"""Share of an object's points seen through in one image that makes its place free."""
OPEN_VIEWS = 2
"""Depth images that show a place unoccluded with nothing detected there, from which it is new enough for a thing that
went missing elsewhere."""
FREE_VIEWS = 8
"""Such images from which a place was free of any thing that detectors find: at 5, every fourth thing told as new had
been there and was found late."""
LYING, LYING_SHARE = 0.1, 0.5
"""Metres of height, and share of the longest side, below which a thing lies flat: whether an image looked through it
or at what it lies on, depth cannot tell, so its place is free by unoccluded views only."""
_CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
_FEW = np.arange(len(_CORNERS))


@dataclass(frozen=True, slots=True)
class _Projection:
    """Groups of points in images: which of both, and per point where it falls and how far away it should be."""

    group: NDArray[np.int64]
    slot: NDArray[np.int64]
    judged: NDArray[np.bool_]
    ahead: Floats
    margin: Floats
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    scale: Floats


class DepthKeyframes(Columns):
    """A bounded set of depth images by place; the oldest gives way."""

    key: NDArray[np.int64]
    stamp: Floats
    place: Floats
    turn: Floats
    camera: Floats
    depth: NDArray[np.float16]
    frame_id: NDArray[np.int64]
    changed_at: NDArray[np.int64]

    def __init__(self, settings: Settings) -> None:
        super().__init__(KEYFRAMES)
        self.settings = settings
        self._slots: dict[int, int] = {}
        self.add("key", np.int64)
        self.add("stamp", np.float64)
        self.add("place", np.float64, (3,))
        self.add("turn", np.float64, (3, 3))
        self.add("camera", np.float64, (4,))
        self.add("depth", np.float16, (HEIGHT, WIDTH))
        self.add("frame_id", np.int64)
        self.add("changed_at", np.int64)

    def __len__(self) -> int:
        return len(self._slots)

    def keep(self, frame: Frame, *, version: int) -> None:
        """Keep this frame's depth if its place and direction have none yet, or one that has grown old."""
        pose, camera = frame.T_world_camera, frame.camera_of_depth
        x, y = (math.floor(value / KEYFRAME_CELL) & 0xFFFFFF for value in pose.translation[:2].tolist())
        forward = pose.rotation[:, 2]
        sector = int((math.atan2(forward[1], forward[0]) / (2.0 * math.pi) + 0.5) * SECTORS) % SECTORS
        key = ((x << 24 | y) << 8) | (sector + 1)
        slot = self._slots.get(key)
        if slot is not None and self.stamp[slot] > frame.stamp - self.settings.lifecycle.remove_after:
            return
        step_y, step_x = -(-camera.height // HEIGHT), -(-camera.width // WIDTH)
        small = frame.depth[::step_y, ::step_x]
        if np.isfinite(small).mean() < MEASURED:
            return
        if slot is None:
            slot = len(self._slots)
            if slot == self.capacity:
                slot = int(np.lexsort((self.key, self.stamp))[0])
                del self._slots[int(self.key[slot])]
            self._slots[key] = slot
        self.changed_at[slot] = version
        self.key[slot], self.stamp[slot], self.frame_id[slot] = key, frame.stamp, frame.id
        self.place[slot], self.turn[slot] = pose.translation, pose.rotation
        self.camera[slot] = (
            camera.fx / step_x,
            camera.fy / step_y,
            camera.cx / step_x,
            camera.cy / step_y,
        )
        self.depth[slot] = np.nan
        self.depth[slot, : small.shape[0], : small.shape[1]] = small

    def seen_through(self, points: Floats, before: Floats) -> NDArray[np.bool_]:
        """For each group of points (groups, points, 3): did an image kept before a time look through it?"""
        free = np.zeros(len(points), dtype=np.bool_)
        projected = self._project(points, np.full(len(points), self.settings.absence.max_range))
        if projected is not None:
            nearest = self._nearest(projected.slot[:, np.newaxis], projected.row, projected.column, projected.scale)
            # NaN compares false: what was not measured was not seen to be free
            empty = projected.judged & (nearest > projected.ahead + projected.margin)
            through = (empty.mean(axis=1) >= FREE_SHARE) & (self.stamp[projected.slot] < before[projected.group])
            free[projected.group[through]] = True
        return free

    def unoccluded_views(self, points: Floats, reach: Floats, before: Floats) -> NDArray[np.int64]:
        """For each group of points: how many images kept before a time show the place with nothing in front of it?

        ``reach`` is the range in metres from which a detector would have noticed something there.
        """
        projected = self._project(points, reach)
        if projected is None:
            return np.zeros(len(points), dtype=np.int64)
        seen = self.depth[projected.slot[:, np.newaxis], projected.row, projected.column]
        unoccluded = projected.judged & (seen >= projected.ahead - projected.margin)
        # where depth was lost, nobody knows whether something stood in front
        unknown = projected.judged & np.isnan(seen)
        shown = (unoccluded.mean(axis=1) + 0.5 * unknown.mean(axis=1) >= OPEN_SHARE) & (
            self.stamp[projected.slot] < before[projected.group]
        )
        return np.bincount(projected.group[shown], minlength=len(points))

    def _project(self, points: Floats, reach: Floats) -> _Projection | None:
        """Project groups of points into the kept images that lie within reach of them and face them."""
        absence = self.settings.absence
        used = len(self._slots)
        if not used:
            return None
        gap = points.mean(axis=1)[:, np.newaxis] - self.place[:used]
        near = np.einsum("gki,gki->gk", gap, gap) <= (reach**2)[:, np.newaxis]
        near &= np.einsum("gki,ki->gk", gap, self.turn[:used, :, 2]) > 0.0
        group, slot = np.nonzero(near)
        if not len(group):
            return None
        local = np.einsum("npi,nij->npj", points[group] - self.place[slot][:, np.newaxis], self.turn[slot])
        z = local[..., 2]
        judged = (z >= absence.min_range) & (z <= absence.max_range)
        ahead = np.where(judged, z, 1.0)
        fx, fy, cx, cy = (self.camera[slot, index][:, np.newaxis] for index in range(4))
        u, v = np.rint(fx * local[..., 0] / ahead + cx), np.rint(fy * local[..., 1] / ahead + cy)
        judged &= (u >= 0) & (u < WIDTH) & (v >= 0) & (v < HEIGHT)
        return _Projection(
            group=group,
            slot=slot,
            judged=judged,
            ahead=ahead,
            margin=DEPTH_MARGIN + DEPTH_NOISE * ahead * ahead,
            row=np.where(judged, v, 0).astype(np.int64),
            column=np.where(judged, u, 0).astype(np.int64),
            scale=fx / ahead,
        )

    def _nearest(
        self, slot: NDArray[np.int64], row: NDArray[np.int64], column: NDArray[np.int64], scale: Floats
    ) -> NDArray[np.float16]:
        """The nearest depth at each pixel and to its sides; NaN where the pixel itself was not measured."""
        side = np.ceil(LATERAL_MARGIN * scale + LATERAL_ANGLE * self.camera[slot, 0]).astype(np.int64)
        at = nearest = self.depth[slot, row, column]
        for v, u in ((row, column - side), (row, column + side), (row - side, column)):
            nearest = np.fmin(nearest, self.depth[slot, np.clip(v, 0, HEIGHT - 1), np.clip(u, 0, WIDTH - 1)])
        return np.where(np.isnan(at), at, nearest)

    def export(self, since: int) -> dict[str, NDArray[np.generic]]:
        """The images kept after a version as arrays, with the slot each is kept in."""
        slots = np.arange(len(self._slots))
        slots = slots[self.changed_at[slots] > since] if since else slots
        columns = {name: self.column(name)[slots] for name in self.names if name != "changed_at"}
        return {"slot": slots, **columns}

    def restore(self, views: dict[str, NDArray[np.generic]]) -> None:
        """Take back what a full ``export`` gave."""
        slots = views["slot"]
        for name in self.names:
            if name != "changed_at":
                self.column(name)[slots] = views[name]
        self._slots = dict(zip(views["key"].tolist(), slots.tolist(), strict=True))


def evidence_at_creation(keyframes: DepthKeyframes, batch: Batch, index: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Of observations that become new objects: whether each stands where kept images looked through or saw nothing.

    Now is the time to ask: with the first sighting the images of the place before it begin to give way.
    """
    if not len(keyframes):
        return np.zeros(len(index), dtype=np.uint8)
    points = np.stack([_few_points(batch.observations[at]) for at in index.tolist()])
    before = np.full(len(index), np.inf)
    reach = noticed_within(batch.extent[index], keyframes.settings.absence.max_range)
    views = keyframes.unoccluded_views(points, reach, before)
    through = keyframes.seen_through(points, before) & ~_lies_flat(batch.extent[index])
    return np.where(through, np.uint8(FreeSpace.FREE), _by_views(views))


def _by_views(views: NDArray[np.int64]) -> NDArray[np.uint8]:
    noticed = np.where(views >= OPEN_VIEWS, np.uint8(FreeSpace.UNNOTICED), np.uint8(FreeSpace.UNKNOWN))
    return np.where(views >= FREE_VIEWS, np.uint8(FreeSpace.OPEN), noticed)


def evidence_at_confirmation(store: ObjectStore, keyframes: DepthKeyframes, row: int) -> FreeSpace:
    """Of an object just confirmed: what is known of its place, asked once more now that more of it was seen."""
    count = int(store.n_points[row])
    known = FreeSpace(int(store.free_space[row]))
    if known is not FreeSpace.FREE and len(keyframes) and count:
        known_points = store.points[row, :count].astype(np.float64) + store.points_origin[row]
        points = _standing(known_points, store.xyz[row, 2] - 0.5 * store.extent[row, 2] + FOOT)[np.newaxis]
        before = store.first_seen[[row]]
        if not _lies_flat(store.extent[[row]])[0] and keyframes.seen_through(points, before)[0]:
            return FreeSpace.FREE
        reach = noticed_within(store.extent[[row]], store.settings.absence.max_range)
        views = keyframes.unoccluded_views(points, reach, before)
        known = max(known, FreeSpace(int(_by_views(views)[0])))
    if known is not FreeSpace.OPEN:
        return known
    # a piece of something large or known is seen late for other reasons than having come
    whole = store.extent[row].max() < SMALL and not _touches_its_like(store, row)
    return FreeSpace.FREE if whole else FreeSpace.UNNOTICED


def _lies_flat(extent: Floats) -> NDArray[np.bool_]:
    return extent[:, 2] < np.minimum(LYING, LYING_SHARE * extent.max(axis=1))


def _few_points(seen: Observation) -> Floats:
    """Eight points of an observation: of its surface above the foot, or the corners of half its box."""
    if seen.points is None:
        return seen.position + vectors_in_axes(0.25 * seen.extent * _CORNERS, -seen.yaw)
    return _standing(seen.points, seen.position[2] - 0.5 * seen.extent[2] + FOOT)


def _touches_its_like(store: ObjectStore, row: int) -> bool:
    """Whether an object's box meets that of another with the same labels: it may be a piece of that one."""
    around = 0.5 * store.extent[row] + DUPLICATE_TOLERANCE
    # whatever its turn
    wide = around.max() * np.sqrt(2.0) + LARGEST_HALF
    others = store.grid.inside(store.xyz[row] - wide, store.xyz[row] + wide)
    others = others[(others != row) & (store.state[others] <= State.CONFIRMED)]
    offset, sides = in_axes_of(
        store.xyz[row], store.yaw[row], store.xyz[others], store.extent[others], store.yaw[others]
    )
    others = others[(np.abs(offset) - 0.5 * sides < around).all(axis=1)]
    return bool(same_labels(store, np.full(len(others), row), others).any())


def _standing(points: NDArray[np.floating], foot: float) -> Floats:
    """Eight of a thing's surface points: above its foot where there are so many."""
    standing = points[points[:, 2] > foot]
    points = standing if len(standing) >= len(_FEW) else points
    return points[_FEW * len(points) // len(_FEW)].astype(np.float64)
