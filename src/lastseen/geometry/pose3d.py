"""A rigid motion in space: where a camera or a robot is in the world."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastseen.errors import InvalidValue
from lastseen.pose2d import Pose2D

UNIT_TOLERANCE = 1e-3
"""How far from 1 a quaternion's length may be: files round to 4 decimals, a wrong column is far off."""


class Pose3D:
    """A rotation and a translation; named T_a_b it takes points given in b to the same points given in a.

    Quaternions are (x, y, z, w), translations metres. Poses are immutable and compose with ``@``.

    >>> T = Pose3D.from_quaternion([1, 2, 3], [0, 0, 0, 1])
    >>> T.transform([[0, 0, 1]])
    array([[1., 2., 4.]])
    """

    quaternion: NDArray[np.float64]
    translation: NDArray[np.float64]

    def __init__(self, translation: NDArray[np.float64], quaternion: NDArray[np.float64]) -> None:
        """Trusts its arguments; use ``from_quaternion`` or ``from_matrix`` for values from outside."""
        # one sign per rotation, so that equal poses have equal bytes
        self.quaternion = -quaternion if _is_negative(quaternion) else quaternion.copy()
        self.translation = translation.copy()
        self.quaternion.flags.writeable = False
        self.translation.flags.writeable = False

    @classmethod
    def identity(cls) -> Pose3D:
        """The pose that changes nothing."""
        return cls(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))

    @classmethod
    def from_quaternion(cls, translation: ArrayLike, quaternion: ArrayLike) -> Pose3D:
        """Build from a translation in metres and a unit quaternion (x, y, z, w)."""
        position = _vector("pose.translation", translation, 3, "give x, y, z in metres")
        rotation = _vector("pose.quaternion", quaternion, 4, "give x, y, z, w")
        length = float(np.linalg.norm(rotation))
        if abs(length - 1.0) > UNIT_TOLERANCE:
            raise InvalidValue(
                "pose.quaternion",
                [float(value) for value in rotation],
                f"has length {length:.4g}, not 1",
                remedy="give a unit quaternion in the order x, y, z, w",
            )
        return cls(position, rotation / length)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Pose3D:
        """Build from a 4 x 4 homogeneous matrix whose upper left part is a rotation."""
        array = _floats("pose.matrix", matrix, "give T_world_camera")
        if array.shape != (4, 4) or not np.isfinite(array).all():
            raise InvalidValue("pose.matrix", array, "must be 4 x 4 and finite", remedy="give T_world_camera")
        turn = array[:3, :3]
        orthonormal = np.abs(turn @ turn.T - np.eye(3)).max() <= UNIT_TOLERANCE
        if not orthonormal or np.linalg.det(turn) < 0 or not np.allclose(array[3], [0, 0, 0, 1]):
            raise InvalidValue(
                "pose.matrix",
                array,
                "is not a rigid motion",
                remedy="check for scale, mirroring or a transposed matrix",
            )
        return cls(array[:3, 3], _rotation().from_matrix(turn).as_quat())

    @classmethod
    def from_pose2d(cls, pose: Pose2D, *, height: float = 0.0) -> Pose3D:
        """Lift a floor pose to a body pose: x forward, y left, z up."""
        half = pose.yaw / 2.0
        return cls(np.array([pose.x, pose.y, height]), np.array([0.0, 0.0, math.sin(half), math.cos(half)]))

    @cached_property
    def rotation(self) -> NDArray[np.float64]:
        """The 3 x 3 rotation matrix."""
        matrix: NDArray[np.float64] = _rotation().from_quat(self.quaternion).as_matrix()
        matrix.flags.writeable = False
        return matrix

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The 4 x 4 homogeneous matrix."""
        matrix = np.eye(4)
        matrix[:3, :3] = self.rotation
        matrix[:3, 3] = self.translation
        return matrix

    def __matmul__(self, other: Pose3D) -> Pose3D:
        """Compose: ``T_a_b @ T_b_c`` is T_a_c."""
        Rotation = _rotation()
        turn = Rotation.from_quat(self.quaternion) * Rotation.from_quat(other.quaternion)
        return Pose3D(self.rotation @ other.translation + self.translation, turn.as_quat())

    def inverse(self) -> Pose3D:
        """T_b_a from T_a_b."""
        x, y, z, w = self.quaternion
        return Pose3D(-(self.rotation.T @ self.translation), np.array([-x, -y, -z, w]))

    def transform(self, points: ArrayLike) -> NDArray[np.float64]:
        """Take points (..., 3) from the inner frame to the outer one."""
        return np.asarray(points, dtype=np.float64) @ self.rotation.T + self.translation

    def interpolate(self, other: Pose3D, share: float) -> Pose3D:
        """The pose a share (0 to 1) of the way to another: straight in position, shortest turn in rotation."""
        if not 0.0 <= share <= 1.0:
            raise InvalidValue("share", share, "must lie in 0 to 1", remedy="poses are not extrapolated")
        Rotation = _rotation()
        start = Rotation.from_quat(self.quaternion)
        turn = (start.inv() * Rotation.from_quat(other.quaternion)).as_rotvec()
        rotation = start * Rotation.from_rotvec(share * turn)
        return Pose3D((1 - share) * self.translation + share * other.translation, rotation.as_quat())

    def distance_to(self, other: Pose3D) -> float:
        """Distance between the two origins in metres."""
        return float(np.linalg.norm(self.translation - other.translation))

    def angle_to(self, other: Pose3D) -> float:
        """The angle in radians of the turn between the two rotations."""
        sign = -1.0 if self.quaternion @ other.quaternion < 0.0 else 1.0
        # half-angle by atan2: it keeps its precision near 0, where acos of the dot product loses it
        return 4.0 * math.atan2(
            float(np.linalg.norm(self.quaternion - sign * other.quaternion)),
            float(np.linalg.norm(self.quaternion + sign * other.quaternion)),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Pose3D):
            return NotImplemented
        return bool((self.quaternion == other.quaternion).all() and (self.translation == other.translation).all())

    def __hash__(self) -> int:
        return hash((self.quaternion.tobytes(), self.translation.tobytes()))

    def __repr__(self) -> str:
        position = ", ".join(f"{value:.4g}" for value in self.translation)
        turn = ", ".join(f"{value:.4g}" for value in self.quaternion)
        return f"Pose3D(translation=[{position}], quaternion_xyzw=[{turn}])"


def _floats(field: str, value: ArrayLike, remedy: str) -> NDArray[np.float64]:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidValue(field, value, "is not numbers", remedy=remedy) from error


def _vector(field: str, value: ArrayLike, size: int, remedy: str) -> NDArray[np.float64]:
    array = _floats(field, value, remedy)
    if array.shape != (size,):
        raise InvalidValue(field, value, f"must hold {size} numbers", remedy=remedy)
    if not np.isfinite(array).all():
        raise InvalidValue(field, value, "holds NaN or infinity", remedy="drop frames without a valid pose")
    return array


def _is_negative(quaternion: NDArray[np.float64]) -> bool:
    """Whether the last non-zero component (w first) is negative."""
    for value in quaternion[::-1]:
        if value != 0.0:
            return bool(value < 0.0)
    return False


def _rotation() -> Any:
    """SciPy's rotations, loaded when the first pose is turned: a question to a memory needs none."""
    from scipy.spatial.transform import Rotation

    return Rotation
