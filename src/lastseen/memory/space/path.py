"""The robot's path: where it was and when, kept in the file in parts of a few hundred points."""

from __future__ import annotations

import math
import struct
import zlib
from array import array
from collections.abc import Iterable, Mapping

from lastseen.geometry import Pose3D
from lastseen.memory.store.journal.opening import decoding

STEP = 0.1
"""Metres between points: standing still adds none; an hour of walking takes some 300 KB."""
PART = 256
"""Points in one row of the file: the last row is written again until it is full."""
MOST = 500_224
"""Points that are kept, in whole parts: the last 50 km, in 10 MB of RAM; the oldest part goes first."""
_POINT = struct.Struct("<dfff")

PathPoint = tuple[float, float, float, float]
"""Memory time and x, y, z in metres, of the camera."""


class RobotPath:
    """Points of the path over all sessions, oldest first."""

    def __init__(self, *, most: int = MOST) -> None:
        self._most = most
        self._times = array("d")
        self._xyz = array("f")
        self._first = 0
        self._written = 0
        self._dropped: list[int] = []

    def __len__(self) -> int:
        return len(self._times)

    @property
    def points(self) -> list[PathPoint]:
        """All points, as a new list."""
        return list(zip(self._times, self._xyz[::3], self._xyz[1::3], self._xyz[2::3], strict=True))

    def add(self, pose: Pose3D, *, time: float) -> None:
        """Take the pose of a frame."""
        xyz = array("f", pose.translation.tolist())
        if not self._times or math.dist(xyz, self._xyz[-3:]) >= STEP:
            self._times.append(time)
            self._xyz.extend(xyz)
            if len(self) > self._most:
                self._drop(1)

    def extend(self, points: Iterable[PathPoint]) -> None:
        """Take points of a later path, oldest first."""
        for time, *xyz in points:
            self._times.append(time)
            self._xyz.extend(xyz)
            if len(self) > self._most:
                self._drop(1)

    def drop_before(self, time: float) -> None:
        """Drop the parts that lie wholly before a memory time."""
        parts = 0
        while (parts + 1) * PART < len(self) and self._times[(parts + 1) * PART - 1] < time:
            parts += 1
        if parts:
            self._drop(parts)

    def drain_changed(self) -> dict[int, bytes]:
        """The parts that changed since the last call, packed, by their numbers; empty for those dropped."""
        changed = dict.fromkeys(self._dropped, b"")
        self._dropped = []
        if self._written < len(self):
            parts = range(self._written // PART, (len(self) - 1) // PART + 1)
            changed.update((self._first + part, self._packed(part * PART)) for part in parts)
            self._written = len(self)
        return changed

    def restore(self, parts: Mapping[int, bytes], path: object) -> None:
        """Fill an empty path with what a file holds of it."""
        numbers = sorted(parts)
        for number in numbers:
            with decoding(path, f"part {number} of the robot's path"):
                for time, *xyz in _POINT.iter_unpack(zlib.decompress(parts[number])):
                    self._times.append(time)
                    self._xyz.extend(xyz)
        if numbers:
            self._first = numbers[0]
            as_counted = numbers == list(range(numbers[0], numbers[-1] + 1)) and len(self) > PART * (len(numbers) - 1)
            # where parts were lost the rest is numbered anew
            self._written = len(self) if as_counted else 0
            self._dropped = [] if as_counted else numbers

    def _drop(self, parts: int) -> None:
        self._dropped.extend(range(self._first, self._first + parts))
        self._first += parts
        self._written = max(0, self._written - parts * PART)
        del self._times[: parts * PART], self._xyz[: 3 * parts * PART]

    def _packed(self, start: int) -> bytes:
        stop = start + PART
        points = zip(
            self._times[start:stop], *(self._xyz[3 * start + i : 3 * stop : 3] for i in range(3)), strict=True
        )
        return zlib.compress(b"".join(_POINT.pack(*point) for point in points))
