"""The home as coloured points: a fixed number of slots, one per small cube of space, kept current by each frame.

A cube seen again stays, one that a camera looks through is emptied, and when all slots are taken the longest unseen
goes. Every change of a slot has a number, so that a client needs to keep one number to get what is new.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.config.serving import Live
from lastseen.frame import Frame

HEADER = struct.Struct("<4sHHIIfId")
VERSION, RESET, MORE = 1, 1, 2
_BITS, _HALF = 21, 1 << 20
"""Cubes per axis that a key can name: 2 million, 80 km at 4 cm."""
_RECOLOR = 60
"""Difference of a colour channel that makes a cube worth sending again: light and noise change less."""
_CARVE_SHARE = 0.03
"""Depth noise grows with range: a share of it is added to the margin."""
_CARVE_MARGIN = 0.12
"""Metres: a point this much before the measured surface is gone, because what stood there was moved."""
_POINTS_PER_FRAME = 20_000
"""Every second pixel of a 320 x 240 image in both directions."""
_POINTS_PER_MESSAGE = 20_000
"""400 KB, sent in a moment on a slow link."""
_KEPT_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class Chunk:
    """One binary message, the cursor after it, and whether there is more."""

    body: bytes
    upto: int
    more: bool


class PointCloud:
    """Slots with position, colour and the number of their last change; safe for several threads."""

    def __init__(self, settings: Live, *, points_per_message: int = _POINTS_PER_MESSAGE) -> None:
        slots = settings.point_slots
        self.settings = settings
        self.points_per_message = points_per_message
        self.newest = 0
        self.time = 0.0
        self._lock = threading.Lock()
        self._xyz = np.zeros((slots, 3), dtype=np.float32)
        self._rgba = np.zeros((slots, 4), dtype=np.uint8)
        self._changed = np.zeros(slots, dtype=np.int64)
        self._seen = np.zeros(slots, dtype=np.int64)
        self._key = np.full(slots, -1, dtype=np.int64)
        self._sorted_keys = np.zeros(0, dtype=np.int64)
        self._sorted_slots = np.zeros(0, dtype=np.int64)
        self._used = 0
        self._free = np.zeros(0, dtype=np.int64)
        self._frames = 0
        self._messages: OrderedDict[tuple[int, int, bool], Chunk] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sorted_keys)

    def add(self, frame: Frame, *, time: float) -> None:
        """Take what one frame shows."""
        points, colors = self._sample(frame)
        with self._lock:
            self._frames += 1
            self.time = time
            self._carve(frame)
            if len(points):
                self._put(points, colors)
            self._messages.clear()

    def chunk(self, since: int, *, decimation: int = 1, reset: bool = False) -> Chunk | None:
        """What changed after a number, oldest change first and no more than fits one message; None: nothing."""
        with self._lock:
            if self.newest <= since and not reset:
                return None
            asked = (since, decimation, reset)
            if asked not in self._messages:
                self._messages[asked] = self._chunk(since, decimation, reset)
                while len(self._messages) > _KEPT_MESSAGES:
                    self._messages.popitem(last=False)
            return self._messages[asked]

    def whole(self, *, decimation: int = 1) -> bytes:
        """Every filled slot in one message."""
        with self._lock:
            slots = np.flatnonzero(self._rgba[: self._used, 3])
            return self._message(slots[slots % decimation == 0], decimation, RESET)

    def _chunk(self, since: int, decimation: int, reset: bool) -> Chunk:
        changed = self._changed[: self._used]
        slots = np.flatnonzero(changed > since)
        slots = slots[slots % decimation == 0]
        if reset:
            slots = slots[self._rgba[slots, 3] > 0]
        slots = slots[np.argsort(changed[slots], kind="stable")]
        limit = self.points_per_message
        more = len(slots) > limit
        slots = slots[:limit]
        upto = int(changed[slots[-1]]) if more else self.newest
        flags = (RESET if reset else 0) | (MORE if more else 0)
        return Chunk(self._message(slots, decimation, flags), upto, more)

    def _message(self, slots: NDArray[np.int64], decimation: int, flags: int) -> bytes:
        live = self.settings
        head = HEADER.pack(b"LSPC", VERSION, flags, len(slots), live.point_slots, live.voxel, decimation, self.time)
        parts = (slots.astype("<u4"), self._xyz[slots].astype("<f4"), self._rgba[slots])
        return head + b"".join(part.tobytes() for part in parts)

    def _sample(self, frame: Frame) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        height, width = frame.depth.shape
        step = max(1, int(np.ceil(np.sqrt(height * width / _POINTS_PER_FRAME))))
        depth = frame.depth[::step, ::step]
        good = np.isfinite(depth) & (depth <= self.settings.point_range)
        pixels: NDArray[np.int64] = np.argwhere(good)[:, ::-1] * step
        points = frame.T_world_camera.transform(frame.camera_of_depth.unproject(pixels, depth[good]))
        sx, sy = frame.intrinsics.width / width, frame.intrinsics.height / height
        colors = frame.rgb[(pixels[:, 1] * sy).astype(np.int64), (pixels[:, 0] * sx).astype(np.int64)]
        inside = (np.abs(points) < _HALF * self.settings.voxel - 1.0).all(axis=1)
        return points[inside].astype(np.float32), colors[inside]

    def _put(self, points: NDArray[np.float32], colors: NDArray[np.uint8]) -> None:
        cells = np.floor(points.astype(np.float64) / self.settings.voxel).astype(np.int64) + _HALF
        keys = (cells[:, 0] << (2 * _BITS)) | (cells[:, 1] << _BITS) | cells[:, 2]
        keys, first = np.unique(keys, return_index=True)
        points, colors = points[first], colors[first]
        at = np.asarray(np.searchsorted(self._sorted_keys, keys), dtype=np.int64)
        known = np.zeros(len(keys), dtype=np.bool_)
        inside = at < len(self._sorted_keys)
        known[inside] = self._sorted_keys[at[inside]] == keys[inside]
        slots = self._sorted_slots[at[known]]
        self._seen[slots] = self._frames
        difference = np.abs(self._rgba[slots, :3].astype(np.int16) - colors[known].astype(np.int16)).max(axis=1)
        other = difference > _RECOLOR
        self._rgba[slots[other], :3] = colors[known][other]
        self._mark(slots[other])
        self._fill(keys[~known], points[~known], colors[~known])

    def _fill(self, keys: NDArray[np.int64], points: NDArray[np.float32], colors: NDArray[np.uint8]) -> None:
        slots_there_are = self.settings.point_slots
        keys, points, colors = keys[:slots_there_are], points[:slots_there_are], colors[:slots_there_are]
        if not len(keys):
            return
        room = len(self._free) + self.settings.point_slots - self._used
        if room < len(keys):
            oldest = np.argpartition(self._seen[self._sorted_slots], len(keys) - room - 1)[: len(keys) - room]
            self._empty(self._sorted_slots[oldest])
        reused, self._free = self._free[: len(keys)], self._free[len(keys) :]
        fresh = np.arange(self._used, self._used + len(keys) - len(reused))
        self._used += len(fresh)
        slots = np.concatenate([reused, fresh])
        self._xyz[slots], self._key[slots], self._seen[slots] = points, keys, self._frames
        self._rgba[slots, :3], self._rgba[slots, 3] = colors, 255
        self._mark(slots)
        at = np.searchsorted(self._sorted_keys, keys)
        self._sorted_keys = np.insert(self._sorted_keys, at, keys)
        self._sorted_slots = np.insert(self._sorted_slots, at, slots)

    def _carve(self, frame: Frame) -> None:
        """Empty the cubes that the camera sees through: what stood there is gone."""
        slots = self._sorted_slots
        if not len(slots):
            return
        camera, live = frame.camera_of_depth, self.settings
        local = frame.T_world_camera.inverse().transform(self._xyz[slots])
        ahead = (local[:, 2] > 0.1) & (local[:, 2] < live.point_range)
        slots, local = slots[ahead], local[ahead]
        pixels = camera.project(local)
        seen = camera.contains(pixels)
        slots, local = slots[seen], local[seen]
        columns, rows = np.rint(pixels[seen]).astype(np.int64).clip(0).T
        nearest = ndimage.minimum_filter(np.nan_to_num(frame.depth, nan=0.0), size=3)
        measured = nearest[rows.clip(max=camera.height - 1), columns.clip(max=camera.width - 1)]
        gone = measured > local[:, 2] * (1.0 + _CARVE_SHARE) + _CARVE_MARGIN
        self._empty(slots[gone])

    def _empty(self, slots: NDArray[np.int64]) -> None:
        if not len(slots):
            return
        self._rgba[slots, 3] = 0
        self._key[slots] = -1
        self._mark(slots)
        kept = self._rgba[self._sorted_slots, 3] > 0
        self._sorted_keys, self._sorted_slots = self._sorted_keys[kept], self._sorted_slots[kept]
        self._free = np.concatenate([self._free, slots])

    def _mark(self, slots: NDArray[np.int64]) -> None:
        self._changed[slots] = np.arange(self.newest + 1, self.newest + 1 + len(slots))
        self.newest += len(slots)
