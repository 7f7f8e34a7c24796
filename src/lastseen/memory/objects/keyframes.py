"""Depth keyframes: small depth images from past camera places, kept sparsely to know what was free space.

One image is kept per floor cell and viewing direction, so a home takes a few hundred, and asking whether a place was
free means projecting a few points into those nearby.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.memory.objects.columns import Columns
from lastseen.memory.objects.depth_evidence import (
    DEPTH_MARGIN,
    DEPTH_NOISE,
    LATERAL_ANGLE,
    LATERAL_MARGIN,
    OPEN_SHARE,
)
from lastseen.memory.objects.grid import Floats

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
