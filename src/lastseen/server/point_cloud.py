"""The home's surface as binary messages: what changed since a number, or all of it (layout: docs/server.md)."""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.space.surface import VOXEL, Surface

HEADER = struct.Struct("<4sHHIIfId")
VERSION, RESET, MORE = 2, 1, 2
_POINTS_PER_MESSAGE = 20_000
"""480 KB, sent in a moment on a slow link."""
_KEPT_MESSAGES = 8


@dataclass(frozen=True, slots=True)
class Chunk:
    """One binary message, the cursor after it, and whether there is more."""

    body: bytes
    upto: int
    more: bool


class PointCloud:
    """Messages about a surface, each made once for all who are at the same number; safe for several threads."""

    def __init__(self, surface: Surface, *, points_per_message: int = _POINTS_PER_MESSAGE) -> None:
        self.points_per_message = points_per_message
        self._surface = surface
        self._before = 0
        self._lock = threading.Lock()
        self._made_at = -1
        self._messages: OrderedDict[tuple[int, int, bool], Chunk] = OrderedDict()

    def __len__(self) -> int:
        return len(self._surface)

    @property
    def newest(self) -> int:
        """The number of the newest change."""
        return self._before + self._surface.newest

    def replace(self, surface: Surface) -> None:
        """Go on with another state of the same home: who has the old one starts from nothing."""
        with self._lock:
            self._before += self._surface.newest + 1
            self._surface = surface

    def chunk(self, since: int, *, decimation: int = 1, reset: bool = False) -> Chunk | None:
        """What changed after a number, oldest change first and no more than fits one message; None: nothing."""
        with self._lock:
            if self.newest <= since and not reset:
                return None
            if since < self._before:
                # numbers of a surface that was replaced
                since, reset = self._before, True
            if self._made_at != self.newest:
                self._messages.clear()
                self._made_at = self.newest
            asked = (since, decimation, reset)
            if asked not in self._messages:
                with self._surface.lock:
                    self._messages[asked] = self._chunk(since - self._before, decimation, reset)
                while len(self._messages) > _KEPT_MESSAGES:
                    self._messages.popitem(last=False)
            return self._messages[asked]

    def whole(self, *, decimation: int = 1) -> bytes:
        """Every filled slot in one message."""
        surface = self._surface
        with surface.lock:
            slots = np.flatnonzero(surface.rgba[: surface.used, 3])
            return self._message(slots[slots % decimation == 0], decimation, RESET)

    def _chunk(self, since: int, decimation: int, reset: bool) -> Chunk:
        surface = self._surface
        changed = surface.changed[: surface.used]
        slots = np.flatnonzero(changed > since)
        slots = slots[slots % decimation == 0]
        if reset:
            slots = slots[surface.rgba[slots, 3] > 0]
        slots = slots[np.argsort(changed[slots], kind="stable")]
        more = len(slots) > self.points_per_message
        slots = slots[: self.points_per_message]
        upto = int(changed[slots[-1]]) if more else surface.newest
        flags = (RESET if reset else 0) | (MORE if more else 0)
        return Chunk(self._message(slots, decimation, flags), self._before + upto, more)

    def _message(self, slots: NDArray[np.int64], decimation: int, flags: int) -> bytes:
        surface = self._surface
        head = HEADER.pack(b"LSPC", VERSION, flags, len(slots), surface.slots, VOXEL, decimation, surface.time)
        parts = (
            slots.astype("<u4"),
            surface.xyz[slots].astype("<f4"),
            surface.rgba[slots],
            surface.first[slots].astype("<u4"),
        )
        return head + b"".join(part.tobytes() for part in parts)
