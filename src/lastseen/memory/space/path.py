"""The robot's path: where it was and when, kept in the file in parts of a few hundred points."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping

from lastseen.errors import JournalDamaged
from lastseen.geometry import Pose3D

STEP = 0.1
"""Metres between points: standing still adds none; an hour of walking takes some 300 KB."""
PART = 256
"""Points in one row of the file: the last row is written again until it is full."""
_POINT = struct.Struct("<dfff")

PathPoint = tuple[float, float, float, float]
"""Memory time and x, y, z in metres, of the camera."""


class RobotPath:
    """Points of the path over all sessions, oldest first."""

    def __init__(self) -> None:
        self.points: list[PathPoint] = []
        self._written = 0

    def add(self, pose: Pose3D, *, time: float) -> None:
        """Take the pose of a frame."""
        x, y, z = (struct.unpack("<f", struct.pack("<f", value))[0] for value in pose.translation.tolist())
        if not self.points or math.dist((x, y, z), self.points[-1][1:]) >= STEP:
            self.points.append((time, x, y, z))

    def take_changed(self) -> dict[int, bytes]:
        """The parts that changed since the last call, packed, by their numbers."""
        first = self._written // PART
        if self._written == len(self.points):
            return {}
        self._written = len(self.points)
        parts = range(first, (len(self.points) - 1) // PART + 1)
        return {part: self._packed(part * PART) for part in parts}

    def restore(self, parts: Mapping[int, bytes], path: object) -> None:
        """Fill an empty path with what a file holds of it."""
        for number, body in sorted(parts.items()):
            try:
                self.points.extend(_POINT.iter_unpack(zlib.decompress(body)))
            except (zlib.error, struct.error) as error:
                raise JournalDamaged(path, f"part {number} of the robot's path cannot be read: {error}") from error
        self._written = len(self.points)

    def _packed(self, start: int) -> bytes:
        return zlib.compress(b"".join(_POINT.pack(*point) for point in self.points[start : start + PART]))
