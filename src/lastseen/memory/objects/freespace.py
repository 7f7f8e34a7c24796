"""What was seen to be empty: small depth images from past places, kept sparsely.

A thing that stands where the camera once looked through has come from somewhere. One image is kept per floor cell
and viewing direction, so a home takes a few hundred, and asking means projecting a few points into those nearby.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.memory.objects.columns import Columns
from lastseen.memory.objects.grid import Floats

HEIGHT, WIDTH = 48, 64
MEASURED = 0.5
"""Share of measured pixels from which an image is worth keeping."""
SECTORS = 12
"""Viewing directions per floor cell: 30 degrees each."""


@dataclass(frozen=True, slots=True)
class _Look:
    """Groups of points in images: which of both, and per point where it falls and how far away it should be."""

    group: NDArray[np.int64]
    slot: NDArray[np.int64]
    judged: NDArray[np.bool_]
    ahead: Floats
    margin: Floats
    row: NDArray[np.int64]
    column: NDArray[np.int64]
    scale: Floats


class SeenFree(Columns):
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
        super().__init__(settings.linking.keyframes)
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

    def note(self, frame: Frame, *, version: int) -> None:
        """Keep this frame's depth if its place and direction have none yet, or one that has grown old."""
        pose, camera = frame.T_world_camera, frame.camera_of_depth
        cell = self.settings.linking.keyframe_cell
        x, y = (math.floor(value / cell) & 0xFFFFFF for value in pose.translation[:2].tolist())
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

    def was_free(self, points: Floats, before: Floats) -> NDArray[np.bool_]:
        """For each group of points (groups, points, 3): did an image kept before a time look through it?"""
        absence, linking = self.settings.absence, self.settings.linking
        free = np.zeros(len(points), dtype=np.bool_)
        look = self._look_at(points, np.full(len(points), absence.max_range))
        if look is not None:
            nearest = self._nearest(look.slot[:, np.newaxis], look.row, look.column, look.scale)
            # NaN compares false: what was not measured was not seen to be free
            empty = look.judged & (nearest > look.ahead + look.margin)
            through = (empty.mean(axis=1) >= linking.free_share) & (self.stamp[look.slot] < before[look.group])
            free[look.group[through]] = True
        return free

    def open_views(self, points: Floats, reach: Floats, before: Floats) -> NDArray[np.int64]:
        """For each group of points: how many images kept before a time show the place with nothing in front of it?

        ``reach`` is the range in metres from which a detector would have noticed something there.
        """
        look = self._look_at(points, reach)
        if look is None:
            return np.zeros(len(points), dtype=np.int64)
        seen = self.depth[look.slot[:, np.newaxis], look.row, look.column]
        unhidden = look.judged & (seen >= look.ahead - look.margin)
        # where depth was lost, nobody knows whether something stood in front
        unknown = look.judged & np.isnan(seen)
        shown = (unhidden.mean(axis=1) + 0.5 * unknown.mean(axis=1) >= self.settings.absence.open_share) & (
            self.stamp[look.slot] < before[look.group]
        )
        return np.bincount(look.group[shown], minlength=len(points))

    def _look_at(self, points: Floats, reach: Floats) -> _Look | None:
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
        return _Look(
            group=group,
            slot=slot,
            judged=judged,
            ahead=ahead,
            margin=absence.depth_margin + absence.depth_noise * ahead * ahead,
            row=np.where(judged, v, 0).astype(np.int64),
            column=np.where(judged, u, 0).astype(np.int64),
            scale=fx / ahead,
        )

    def _nearest(
        self, slot: NDArray[np.int64], row: NDArray[np.int64], column: NDArray[np.int64], scale: Floats
    ) -> NDArray[np.float16]:
        """The nearest depth at each pixel and to its sides; NaN where the pixel itself was not measured."""
        absence = self.settings.absence
        side = np.ceil(absence.lateral_margin * scale + absence.lateral_angle * self.camera[slot, 0]).astype(np.int64)
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
