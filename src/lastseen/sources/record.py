"""What a source holds before conversion: values exactly as stored, and a count of what was left out.

The doctor tries conventions on these, and ``conversion`` applies the chosen ones; a ``Frame`` does not show how its
data was written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.geometry import Intrinsics

NO_DEPTH = "no depth image at this stamp"
NO_POSE = "no pose at this stamp"
BEYOND_LENS = "detection outside the undistorted image"

END_TOLERANCE = 0.01
"""Seconds before the first or after the last pose where that pose still holds."""


@dataclass(frozen=True, slots=True, eq=False)
class RawRecord:
    """One colour image with its depth image and pose as the source stores them.

    ``depth`` holds raw sensor values; ``raw_per_metre`` is what the source says about them. ``quaternion`` has four
    numbers in the source's own order. The intrinsics may be of another size than the images: the options decide.
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
class StoredPose:
    """A pose in the numbers of the source, and the stamp of the stored pose nearest to it."""

    translation: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    stamp: float


@dataclass(frozen=True, slots=True, eq=False)
class Trajectory:
    """All poses of a recording as stored: stamps (n,), translations (n, 3) and quaternions (n, 4) by stamp."""

    stamps: NDArray[np.float64]
    translations: NDArray[np.float64]
    quaternions: NDArray[np.float64]

    def at(self, stamp: float, *, max_gap: float, delay: float = 0.0) -> StoredPose | None:
        """The pose at a stamp, or None where the poses around it are further apart than ``max_gap`` seconds.

        ``delay`` is taken off the pose stamps. Rotations are interpolated in the stored numbers: a great arc between
        two unit quaternions is the same arc with the columns exchanged, so this needs no convention.
        """
        stamps = self.stamps - delay if delay else self.stamps
        right = int(np.searchsorted(stamps, stamp))
        # an exact hit needs no neighbour
        if right < len(stamps) and stamps[right] == stamp:
            return StoredPose(self.translations[right], self.quaternions[right], stamp)
        near = [index for index in (right - 1, right) if 0 <= index < len(stamps)]
        nearest = min(near, key=lambda index: (abs(stamps[index] - stamp), index))
        nearest_stamp = float(stamps[nearest])
        if right in {0, len(stamps)}:
            # beyond the ends there is nothing to interpolate; a pose a few milliseconds away is as good
            if abs(nearest_stamp - stamp) > min(max_gap, END_TOLERANCE):
                return None
            return StoredPose(self.translations[nearest], self.quaternions[nearest], nearest_stamp)
        left = right - 1
        gap = float(stamps[right] - stamps[left])
        start, end = self.quaternions[left], self.quaternions[right]
        if gap > max_gap or any(np.linalg.norm(one) < 1e-6 for one in (start, end)):
            return None
        share = float((stamp - stamps[left]) / gap)
        translation = (1 - share) * self.translations[left] + share * self.translations[right]
        return StoredPose(translation, _slerp(start, end, share), nearest_stamp)


def _slerp(start: NDArray[np.float64], end: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    first = Rotation.from_quat(start)
    rotation = first.inv() * Rotation.from_quat(end)
    return (first * Rotation.from_rotvec(share * rotation.as_rotvec())).as_quat()


@dataclass(slots=True)
class Intake:
    """What came in and what was left out, by reason; with one example of each reason.

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
