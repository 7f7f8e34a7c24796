"""What long-term memory keeps: one dataclass per kind of record, the same in RAM and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import best_label

TENTATIVE, CONFIRMED, MISSING, REMOVED = "tentative", "confirmed", "missing", "removed"
STATES = (TENTATIVE, CONFIRMED, MISSING, REMOVED)
Bodies = Mapping[str, Mapping[Any, str | bytes]]
"""What is to be written to the tables of bodies, by table and key; an empty body deletes its row."""


@dataclass(frozen=True, slots=True, eq=False)
class ObjectRecord:
    """One object as it is stored; times are memory time (see ``SessionRecord``).

    ``embedding`` is the mean of its image embeddings, ``colors`` holds the shares of the basic colours where they are
    known. ``working`` is what the object memory needs to go on with the object after a restart; long-term memory
    keeps it as it is and never looks inside. ``extent`` is the size of a box that is turned by ``yaw`` radians about
    z.
    """

    id: str
    xyz: tuple[float, float, float]
    extent: tuple[float, float, float]
    label_scores: Mapping[str, float]
    state: str
    hits: int
    stability: float
    first_seen: float
    last_seen: float
    view_bins: tuple[int, ...] = ()
    embedding: NDArray[np.float32] | None = None
    gallery: NDArray[np.float16] | None = None
    colors: NDArray[np.float32] | None = None
    working: bytes = b""
    yaw: float = 0.0

    @property
    def label(self) -> str | None:
        """The likeliest label; ties go to the alphabetically first."""
        return best_label(self.label_scores)


@dataclass(frozen=True, slots=True)
class EventRecord:
    """Something that happened to an object, with the evidence for it; ``time`` is memory time."""

    time: float
    object_id: str
    kind: str
    evidence: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CropRecord:
    """A JPEG of an object; ``quality`` says how much of it was seen well."""

    object_id: str
    time: float
    quality: float
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One run over one clock.

    Memory time never runs backwards: it is the frame's stamp plus ``clock_offset``, which is 0 while sessions share
    a clock. Wall-clock time, for people only, is the stamp plus ``wall_offset`` where that is known.
    """

    id: int
    robot: str
    clock_offset: float
    wall_offset: float | None
    first: float
    last: float

    def stamp(self, time: float) -> float:
        """The stamp that the frames of this session carried at a memory time."""
        return time - self.clock_offset


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """What was known of an object from a memory time on, until its next version."""

    object_id: str
    time: float
    xyz: tuple[float, float, float]
    label_scores: Mapping[str, float]
    state: str
    hits: int
    first_seen: float
    last_seen: float
    colors: NDArray[np.float32] | None = None
