"""The home as a coloured surface: one point per small cube of space, kept current by each frame and kept in the file.

A cube seen again stays, one that a camera looks through is emptied, and when all slots are taken the longest unseen
goes, so the surface never takes more than its budget. Every point knows when its cube was first filled, so that the
past shows nothing that was seen later. Every change of a slot has a number: who watches keeps one number to get what
is new.
"""

from __future__ import annotations

import struct
import threading
import zlib
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Box
from lastseen.frame import Frame
from lastseen.memory.store.journal.opening import decoding

VOXEL = 0.05
"""Metres of a cube's edge: walls look solid, and a large flat fits in the slots."""
SLOTS = 300_000
"""Points in all: a large flat; about 3 MB in the file, and a tablet still draws it."""
RANGE = 5.0
"""Metres: depth beyond it is too noisy to draw."""
Tile = tuple[int, int, int]

_BITS, _HALF = 21, 1 << 20
"""Cubes per axis that a key can name: 2 million, 100 km."""
_TILE_BITS = 6
"""Cubes of a tile along each axis, as a power of two: 3.2 m, so that a commit rewrites what a room changed."""
_RECOLOR = 60
"""Difference of a colour channel that makes a cube worth another colour: light and noise change less."""
_CARVE_SHARE = 0.03
"""Depth noise grows with range: a share of it is added to the margin."""
_CARVE_MARGIN = 0.12
"""Metres: a point this much before the measured surface is gone, because what stood there was moved."""
_CARVE_TURNS = 4
"""Frames in which each cube is looked through once: what is gone is noticed within a second."""
_POINTS_PER_FRAME = 8000
"""Pixels that a frame adds: at 2 m every second cube, and the next frames bring the others."""
_FORGET_MARGIN = 0.1
"""Metres around a forgotten object that go with it."""
_TILE_HEAD = struct.Struct("<I")
_POINT = np.dtype([("cube", "<u4"), ("fraction", "u1", 3), ("rgb", "u1", 3), ("first", "<u4")])


class Surface:
    """Slots with position, colour, time of the first sighting and number of the last change; safe for threads."""

    def __init__(self, *, slots: int = SLOTS) -> None:
        self.slots = slots
        self.newest = 0
        self.time = 0.0
        self.lock = threading.Lock()
        self.xyz = np.zeros((slots, 3), dtype=np.float32)
        self.rgba = np.zeros((slots, 4), dtype=np.uint8)
        self.changed = np.zeros(slots, dtype=np.int64)
        self.first = np.zeros(slots, dtype=np.uint32)
        self.used = 0
        self._fraction = np.zeros((slots, 3), dtype=np.uint8)
        self._seen = np.zeros(slots, dtype=np.int64)
        self._key = np.full(slots, -1, dtype=np.int64)
        self._sorted_keys = np.zeros(0, dtype=np.int64)
        self._sorted_slots = np.zeros(0, dtype=np.int64)
        self._free = np.zeros(0, dtype=np.int64)
        self._frames = 0
        self._changed_tiles: set[int] = set()

    def __len__(self) -> int:
        return len(self._sorted_keys)

    def add(self, frame: Frame, *, without: Sequence[Box] = ()) -> None:
        """Take what one frame shows, but for boxes of its image; its stamp is memory time."""
        points, colors = _sample(frame, without)
        with self.lock:
            self._frames += 1
            self.time = frame.stamp
            self._carve(frame)
            if len(points):
                self._put(points, colors, first=int(max(frame.stamp, 0.0)))

    def take_in(self, points: NDArray[np.float32], colors: NDArray[np.uint8], *, time: float) -> None:
        """Take coloured points (n, 3) that another memory saw; in the past they show from this memory time on."""
        with self.lock:
            inside = (np.abs(points) < _HALF * VOXEL - 1.0).all(axis=1)
            if inside.any():
                self._put(points[inside], colors[inside], first=int(max(time, 0.0)))

    def shown(self) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
        """The points that are there now, with their colours."""
        with self.lock:
            return self.xyz[self._sorted_slots], self.rgba[self._sorted_slots, :3]

    def forget(self, boxes: Sequence[tuple[Sequence[float], Sequence[float]]]) -> None:
        """Empty what stands in boxes, each a centre and an extent in metres."""
        with self.lock:
            slots = self._sorted_slots
            inside = np.zeros(len(slots), dtype=np.bool_)
            for centre, extent in boxes:
                reach = np.asarray(extent, dtype=np.float64) / 2.0 + _FORGET_MARGIN
                inside |= (np.abs(self.xyz[slots] - np.asarray(centre)) <= reach).all(axis=1)
            self._empty(slots[inside])

    def drain_changed(self) -> dict[Tile, bytes]:
        """The tiles that changed since the last call, packed, by their numbers."""
        with self.lock:
            changed, self._changed_tiles = sorted(self._changed_tiles), set()
            tiles = _tile_of(self._sorted_keys)
            return {_tile_numbers(tile): self._packed(self._sorted_slots[tiles == tile]) for tile in changed}

    def restore(self, tiles: Mapping[Tile, bytes], path: object) -> None:
        """Fill an empty surface with what a file holds of it."""
        keys, rows = [], []
        for numbers, body in tiles.items():
            with decoding(path, f"the surface at {numbers}"):
                raw = zlib.decompress(body)
                (count,) = _TILE_HEAD.unpack_from(raw)
                points = np.frombuffer(raw, _POINT, count, _TILE_HEAD.size)
            keys.append(_keys_in(numbers, points["cube"].astype(np.int64)))
            rows.append(points)
        if not keys:
            return
        key, points = np.concatenate(keys), np.concatenate(rows)
        order = np.argsort(key, kind="stable")[: self.slots]
        with self.lock:
            self._fill(key[order], points["fraction"][order], points["rgb"][order], points["first"][order])
            self._changed_tiles.clear()

    def _packed(self, slots: NDArray[np.int64]) -> bytes:
        points = np.zeros(len(slots), dtype=_POINT)
        points["cube"] = _cube_in_tile(self._key[slots])
        points["fraction"], points["rgb"] = self._fraction[slots], self.rgba[slots, :3]
        points["first"] = self.first[slots]
        return zlib.compress(_TILE_HEAD.pack(len(slots)) + points.tobytes())

    def _put(self, points: NDArray[np.float32], colors: NDArray[np.uint8], *, first: int) -> None:
        exact = points.astype(np.float64) / VOXEL
        cells = np.floor(exact)
        fractions = ((exact - cells) * 256.0).astype(np.uint8)
        keys = _key_of(cells.astype(np.int64) + _HALF)
        keys, chosen = np.unique(keys, return_index=True)
        fractions, colors = fractions[chosen], colors[chosen]
        at = np.asarray(np.searchsorted(self._sorted_keys, keys), dtype=np.int64)
        known = np.zeros(len(keys), dtype=np.bool_)
        inside = at < len(self._sorted_keys)
        known[inside] = self._sorted_keys[at[inside]] == keys[inside]
        slots = self._sorted_slots[at[known]]
        self._seen[slots] = self._frames
        difference = np.abs(self.rgba[slots, :3].astype(np.int16) - colors[known].astype(np.int16)).max(axis=1)
        other = difference > _RECOLOR
        self.rgba[slots[other], :3] = colors[known][other]
        self._mark(slots[other])
        new = ~known
        self._fill(keys[new], fractions[new], colors[new], np.full(int(new.sum()), first, dtype=np.uint32))

    def _fill(
        self,
        keys: NDArray[np.int64],
        fractions: NDArray[np.uint8],
        colors: NDArray[np.uint8],
        first: NDArray[np.uint32],
    ) -> None:
        most = self.slots
        keys, fractions, colors, first = keys[:most], fractions[:most], colors[:most], first[:most]
        if not len(keys):
            return
        room = len(self._free) + self.slots - self.used
        if room < len(keys):
            oldest = np.argpartition(self._seen[self._sorted_slots], len(keys) - room - 1)[: len(keys) - room]
            self._empty(self._sorted_slots[oldest])
        reused, self._free = self._free[: len(keys)], self._free[len(keys) :]
        fresh = np.arange(self.used, self.used + len(keys) - len(reused))
        self.used += len(fresh)
        slots = np.concatenate([reused, fresh])
        self._key[slots], self._seen[slots], self.first[slots] = keys, self._frames, first
        self._fraction[slots] = fractions
        self.xyz[slots] = (_cells_of(keys) - _HALF + (fractions.astype(np.float64) + 0.5) / 256.0) * VOXEL
        self.rgba[slots, :3], self.rgba[slots, 3] = colors, 255
        self._mark(slots)
        at = np.searchsorted(self._sorted_keys, keys)
        self._sorted_keys = np.insert(self._sorted_keys, at, keys)
        self._sorted_slots = np.insert(self._sorted_slots, at, slots)

    def _carve(self, frame: Frame) -> None:
        """Empty the cubes that the camera sees through, a part of all cubes with each frame."""
        # here and not above: asking a memory must not load SciPy
        from scipy import ndimage

        slots = self._sorted_slots[self._sorted_keys % _CARVE_TURNS == frame.id % _CARVE_TURNS]
        if not len(slots):
            return
        camera = frame.camera_of_depth
        local = frame.T_world_camera.inverse().transform(self.xyz[slots])
        ahead = (local[:, 2] > 0.1) & (local[:, 2] < RANGE)
        slots, local = slots[ahead], local[ahead]
        pixels = camera.project(local)
        seen = camera.contains(pixels)
        slots, local = slots[seen], local[seen]
        columns, rows = np.rint(pixels[seen]).astype(np.int64).clip(0).T
        nearest = ndimage.minimum_filter(np.nan_to_num(frame.depth, nan=0.0), size=3)
        measured = nearest[rows.clip(max=camera.height - 1), columns.clip(max=camera.width - 1)]
        self._empty(slots[measured > local[:, 2] * (1.0 + _CARVE_SHARE) + _CARVE_MARGIN])

    def _empty(self, slots: NDArray[np.int64]) -> None:
        if not len(slots):
            return
        self._mark(slots)
        self.rgba[slots, 3] = 0
        self._key[slots] = -1
        kept = self.rgba[self._sorted_slots, 3] > 0
        self._sorted_keys, self._sorted_slots = self._sorted_keys[kept], self._sorted_slots[kept]
        self._free = np.concatenate([self._free, slots])

    def _mark(self, slots: NDArray[np.int64]) -> None:
        self._changed_tiles.update(np.unique(_tile_of(self._key[slots])).tolist())
        self.changed[slots] = np.arange(self.newest + 1, self.newest + 1 + len(slots))
        self.newest += len(slots)


def _sample(frame: Frame, without: Sequence[Box]) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Points of a frame in the world, with their colours."""
    height, width = frame.depth.shape
    step = max(1, int(np.ceil(np.sqrt(height * width / _POINTS_PER_FRAME))))
    # another row and column to begin with in each frame, so that all pixels have their turn
    top, left = frame.id % step, (frame.id // step) % step
    depth = frame.depth[top::step, left::step]
    good = np.isfinite(depth) & (depth <= RANGE)
    pixels: NDArray[np.int64] = np.argwhere(good)[:, ::-1] * step + np.array([left, top])
    depths = depth[good]
    sx, sy = frame.intrinsics.width / width, frame.intrinsics.height / height
    for x0, y0, x1, y1 in without:
        u, v = pixels[:, 0] * sx, pixels[:, 1] * sy
        outside = (u < x0) | (u > x1) | (v < y0) | (v > y1)
        pixels, depths = pixels[outside], depths[outside]
    points = frame.T_world_camera.transform(frame.camera_of_depth.unproject(pixels, depths))
    colors = frame.rgb[(pixels[:, 1] * sy).astype(np.int64), (pixels[:, 0] * sx).astype(np.int64)]
    inside = (np.abs(points) < _HALF * VOXEL - 1.0).all(axis=1)
    return points[inside].astype(np.float32), colors[inside]


def _key_of(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    return (cells[:, 0] << (2 * _BITS)) | (cells[:, 1] << _BITS) | cells[:, 2]


def _cells_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    mask = (1 << _BITS) - 1
    return np.stack([keys >> (2 * _BITS), (keys >> _BITS) & mask, keys & mask], axis=1)


def _tile_of(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """The tile of each key, as the key of its first cube."""
    return _key_of(_cells_of(keys) >> _TILE_BITS << _TILE_BITS)


def _tile_numbers(tile: int) -> Tile:
    i, j, k = (_cells_of(np.array([tile], dtype=np.int64))[0] - _HALF >> _TILE_BITS).tolist()
    return i, j, k


def _cube_in_tile(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    local = _cells_of(keys) & ((1 << _TILE_BITS) - 1)
    return (local[:, 0] << (2 * _TILE_BITS)) | (local[:, 1] << _TILE_BITS) | local[:, 2]


def _keys_in(numbers: Tile, cubes: NDArray[np.int64]) -> NDArray[np.int64]:
    mask = (1 << _TILE_BITS) - 1
    local = np.stack([cubes >> (2 * _TILE_BITS), (cubes >> _TILE_BITS) & mask, cubes & mask], axis=1)
    return _key_of((np.array(numbers, dtype=np.int64) << _TILE_BITS) + _HALF + local)
