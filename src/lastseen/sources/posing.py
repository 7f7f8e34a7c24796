"""The pose of an image from a list of poses with other stamps: interpolated, never guessed across a gap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.geometry import Pose3D
from lastseen.sources.record import Trajectory


@dataclass(frozen=True, slots=True, eq=False)
class StoredPose:
    """A pose in the numbers of the source, and how far in time the nearest stored pose is."""

    translation: NDArray[np.float64]
    quaternion: NDArray[np.float64]
    stamp: float
    distance: float


def pose_at(trajectory: Trajectory, stamp: float, *, max_gap: float, delay: float = 0.0) -> StoredPose | None:
    """The stored pose at a moment, or None where the poses around it are further apart than ``max_gap``.

    Turns are interpolated in the stored numbers. Whatever order they are in, a great arc between two unit
    quaternions is the same arc with the columns exchanged, so this needs no convention.
    """
    stamps = trajectory.stamps - delay if delay else trajectory.stamps
    right = int(np.searchsorted(stamps, stamp))
    # an exact hit needs no neighbour
    if right < len(stamps) and stamps[right] == stamp:
        return StoredPose(trajectory.translations[right], trajectory.quaternions[right], stamp, 0.0)
    near = [index for index in (right - 1, right) if 0 <= index < len(stamps)]
    nearest = min(near, key=lambda index: (abs(stamps[index] - stamp), index))
    distance = float(abs(stamps[nearest] - stamp))
    if right in {0, len(stamps)}:
        # beyond the ends there is nothing to interpolate; a pose a few milliseconds away is as good
        if distance > min(max_gap, 0.01):
            return None
        return StoredPose(
            trajectory.translations[nearest], trajectory.quaternions[nearest], float(stamps[nearest]), distance
        )
    left = right - 1
    gap = float(stamps[right] - stamps[left])
    if gap > max_gap:
        return None
    share = float((stamp - stamps[left]) / gap)
    start, end = trajectory.quaternions[left], trajectory.quaternions[right]
    if np.linalg.norm(start) < 1e-6 or np.linalg.norm(end) < 1e-6:
        return None
    quaternion = _turned(start, end, share)
    translation = (1 - share) * trajectory.translations[left] + share * trajectory.translations[right]
    return StoredPose(translation, quaternion, float(stamps[nearest]), distance)


def between(first: Pose3D, second: Pose3D, share: float) -> Pose3D:
    """The pose a share of the way from one to another: a straight line, a great arc."""
    translation = (1 - share) * first.translation + share * second.translation
    return Pose3D(translation, _turned(first.quaternion, second.quaternion, share))


def _turned(start: NDArray[np.float64], end: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    turn = Rotation.from_quat(start).inv() * Rotation.from_quat(end)
    quaternion: NDArray[np.float64] = (
        Rotation.from_quat(start) * Rotation.from_rotvec(share * turn.as_rotvec())
    ).as_quat()
    return quaternion
