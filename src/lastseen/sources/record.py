"""What a source holds before the door: values exactly as stored, with nothing converted.

The doctor tries conventions on these, and the door applies the chosen one; a ``Frame`` no longer tells how its data
was written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics

NO_DEPTH = "no depth image at this stamp"
NO_POSE = "no pose at this stamp"
BEYOND_LENS = "detection that the straight image does not reach"


@dataclass(frozen=True, slots=True, eq=False)
class RawRecord:
    """One colour image with its depth image and pose as the source stores them.

    ``depth`` holds raw sensor values; ``raw_per_metre`` is what the source says about them. ``quaternion`` has four
    numbers in the source's own order. The intrinsics may be of another size than the images: the door decides.
    """

    stamp: float
    rgb: NDArray[np.uint8]
    depth: NDArray[np.generic]
    raw_per_metre: float
    translation: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    intrinsics: Intrinsics
    depth_intrinsics: Intrinsics | None = None
    confidence: NDArray[np.uint8] | None = None
    depth_stamp: float | None = None
    pose_stamp: float | None = None
    revised: tuple[RevisedPose, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RevisedPose:
    """A better pose of an earlier record, in the source's own numbers: its localizer has corrected itself."""

    stamp: float
    translation: NDArray[np.float64]
    quaternion: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """All poses of a recording as stored: stamps (n,), translations (n, 3) and quaternions (n, 4) in file order."""

    stamps: NDArray[np.float64]
    translations: NDArray[np.float64]
    quaternions: NDArray[np.float64]


@dataclass(slots=True)
class Intake:
    """What came in and what was left out, by reason; one example of each reason tells where to look.

    ``dropped`` counts frames of a live stream that were too old when their turn came, ``restarts`` how often its
    clock began anew, ``stalls`` how often nothing came for long; ``cut_off`` says where a recording breaks off.
    """

    frames: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    out_of_order: int = 0
    dropped: int = 0
    restarts: int = 0
    stalls: int = 0
    notes: list[str] = field(default_factory=list)
    cut_off: str = ""

    def note(self, text: str) -> None:
        """Say something about the source once."""
        if text not in self.notes:
            self.notes.append(text)

    def skip(self, reason: str, example: str) -> None:
        """Count one frame that was left out."""
        self.skipped[reason] += 1
        self.examples.setdefault(reason, example)

    def lines(self) -> list[str]:
        """One line per reason, the most frequent first, for a summary."""
        ranked = sorted(self.skipped.items(), key=lambda item: (-item[1], item[0]))
        return [f"{count} skipped: {reason} (first: {self.examples[reason]})" for reason, count in ranked]
