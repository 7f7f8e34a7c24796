"""Imperfect senses: how a level of quality disturbs depth, poses, motions and detections, as real hardware does.

Depth and pose noise are drawn from (seed, frame id) alone, so a run that is resumed or replayed errs alike. Drift
and actuation noise depend on the path travelled and draw from a stream of their own.

``perfect`` is geometry itself and tests logic; ``typical`` is what a home robot has; ``bad`` is what breaks systems.
The figures stand in the tables below; this is where they come from:

- depth sigma at 1 m: structured light and stereo err by 2 to 3 mm there and by the square of the range elsewhere;
  time of flight is better, cheap stereo worse.
- depth range: the working ranges that makers give for phone scanners, for indoor stereo, for the first depth cameras.
- depth lost at edges (the projector's shadow), at grazing angles (too little light returns) and in spots (dark or
  shiny surfaces); flying pixels see two surfaces and report a distance between them.
- pose: a good lidar map, visual SLAM at home, odometry with few features; standard deviation per axis.
- drift per metre: lidar, visual-inertial and wheel odometry without loop closure.
- actuation: small wheeled robots on hard floor and on carpet; share of a step, degrees of a turn.
- recall: strong open-vocabulary detectors miss a few in a hundred of the large, near and plain; half of the things
  are lost somewhere under 32 pixels of a 640 pixel wide image, occluded ones first.
- false positives per frame above the usual score thresholds; confusion is of mug and cup, seldom of far classes.
- jitter: a share of the box's sides and pixels of the mask's border: an IoU of about 0.95, 0.85 and 0.7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics, Pose3D

_F = TypeVar("_F")
_STREAMS = {"depth": 1, "pose": 2, "drift": 3, "actuation": 4}
_EDGE = 0.04
"""Share of the distance by which a depth must leave the plane of its neighbours to be an edge: 8 cm at 2 m."""
_VERTICAL_SHARE = 1.0 / 3.0
"""Height, roll and pitch err less than position and heading on a floor: gravity and wheels hold them."""
_PATCH = 8
"""Pixels per patch of depth lost at random: it is lost in spots, not in single pixels."""


class Level(StrEnum):
    """How good the senses are."""

    PERFECT = "perfect"
    GOOD = "good"
    TYPICAL = "typical"
    BAD = "bad"

    @classmethod
    def of(cls, name: str) -> Level:
        """The level of this name, or an error that lists them."""
        try:
            return cls(name)
        except ValueError:
            choices = ", ".join(cls)
            raise InvalidValue("level", name, "is not a level", remedy=f"choose one of {choices}") from None


@dataclass(frozen=True, kw_only=True)
class DepthFigures:
    """How a depth camera errs; ``grazing`` is the angle in degrees between the line of sight and the normal."""

    sigma: float
    nearest: float
    farthest: float
    lost_edges: float
    grazing: float
    lost: float
    flying: float


@dataclass(frozen=True, kw_only=True)
class MotionFigures:
    """How poses and motions err: metres and degrees, per metre for drift, shares of the motion for actuation."""

    position: float
    rotation: float
    drift: float
    drift_rotation: float
    forward: float
    turn: float


@dataclass(frozen=True, kw_only=True)
class DetectorFigures:
    """How a detector errs; sizes are sides in pixels of an image 640 pixels wide."""

    recall: float
    half_size: float
    half_range: float
    half_visible: float
    false_positives: float
    confusion: float
    box_jitter: float
    mask_jitter: float
    score_noise: float
    min_pixels: int


def _by_level(figures: type[_F], levels: tuple[Level, ...], **rows: tuple[float, ...]) -> dict[Level, _F]:
    """The figures of each level from one row per figure."""
    return {level: figures(**{name: row[i] for name, row in rows.items()}) for i, level in enumerate(levels)}


_NOISY = (Level.GOOD, Level.TYPICAL, Level.BAD)
DEPTH = _by_level(
    DepthFigures,
    _NOISY,
    sigma=(0.001, 0.0025, 0.006),
    nearest=(0.1, 0.25, 0.4),
    farthest=(10.0, 6.0, 4.5),
    lost_edges=(0.30, 0.65, 0.90),
    grazing=(84.0, 80.0, 75.0),
    lost=(0.002, 0.01, 0.05),
    flying=(0.02, 0.10, 0.20),
)
MOTION = _by_level(
    MotionFigures,
    _NOISY,
    position=(0.01, 0.03, 0.08),
    rotation=(0.3, 1.0, 3.0),
    drift=(0.002, 0.01, 0.03),
    drift_rotation=(0.05, 0.25, 0.8),
    forward=(0.01, 0.04, 0.10),
    turn=(0.3, 1.0, 3.0),
)
DETECTOR = _by_level(
    DetectorFigures,
    tuple(Level),
    recall=(1.0, 0.99, 0.95, 0.80),
    half_size=(0.0, 9.0, 16.0, 26.0),
    half_range=(math.inf, 10.0, 7.0, 5.0),
    half_visible=(0.0, 0.10, 0.25, 0.45),
    false_positives=(0.0, 0.02, 0.10, 0.5),
    confusion=(0.0, 0.02, 0.08, 0.20),
    box_jitter=(0.0, 0.01, 0.04, 0.10),
    mask_jitter=(0.0, 0.5, 1.0, 2.0),
    score_noise=(0.0, 0.03, 0.08, 0.15),
    min_pixels=(12, 8, 8, 8),
)


def stream(seed: int, name: str, frame_id: int = 0) -> np.random.Generator:
    """A random stream of one sense at one frame, apart from all others."""
    return np.random.default_rng([seed, _STREAMS[name], frame_id])


def noisy_depth(
    depth: NDArray[np.float32], intrinsics: Intrinsics, frame_id: int, *, level: Level, seed: int
) -> NDArray[np.float32]:
    """The depth a sensor would have measured; NaN where it measured nothing.

    Noise grows with the range squared; pixels are lost and fly.
    """
    if level is Level.PERFECT:
        return depth
    figures, rng = DEPTH[level], stream(seed, "depth", frame_id)
    far = np.where(np.isnan(depth), np.float32(1e3), depth)
    lowest, highest = _neighbours(far)
    edge = _bend(far) > _EDGE
    measured = far + (figures.sigma * rng.standard_normal(far.shape) * far**2).astype(np.float32)
    drawn = rng.random(far.shape)
    flying = edge & (drawn < figures.flying) & (highest < 1e3)
    share = rng.random(far.shape, dtype=np.float32)
    measured = np.where(flying, lowest + share * (highest - lowest), measured)
    gone = np.isnan(depth)
    gone |= edge & ~flying & (rng.random(far.shape) < figures.lost_edges)
    gone |= ~edge & (_slant(far, intrinsics) > math.tan(math.radians(figures.grazing)))
    gone |= _patches(rng, far.shape) < figures.lost
    gone |= (measured < figures.nearest) | (measured > figures.farthest)
    measured[gone] = np.nan
    return measured.astype(np.float32)


def noisy_pose(T_world_camera: Pose3D, frame_id: int, *, level: Level, seed: int) -> Pose3D:
    """The pose that a localisation would have reported, which errs anew at each frame, around the truth."""
    if level is Level.PERFECT:
        return T_world_camera
    figures = MOTION[level]
    drawn = stream(seed, "pose", frame_id).standard_normal(6)
    shift = drawn[:3] * [1.0, 1.0, _VERTICAL_SHARE] * figures.position
    turn = drawn[3:] * [_VERTICAL_SHARE, _VERTICAL_SHARE, 1.0] * math.radians(figures.rotation)
    # turned where it is, in world axes
    rotation = Rotation.from_rotvec(turn) * Rotation.from_quat(T_world_camera.quaternion)
    return Pose3D(T_world_camera.translation + shift, rotation.as_quat())


class Drift:
    """Odometry without correction: the error grows with the distance travelled and is never corrected."""

    def __init__(self, level: Level, *, seed: int) -> None:
        self.level = level
        self._rng = stream(seed, "drift")
        self._last: Pose3D | None = None
        self._error = Pose3D.identity()

    def apply(self, T_world_camera: Pose3D) -> Pose3D:
        """The drifted pose of the next frame; frames must come in order."""
        if self.level is Level.PERFECT:
            return T_world_camera
        figures = MOTION[self.level]
        if self._last is not None:
            travelled = self._last.distance_to(T_world_camera)
            drawn = self._rng.standard_normal(3)
            if travelled > 0.0:
                shift = np.array([*(drawn[:2] * figures.drift * math.sqrt(travelled)), 0.0])
                turn = drawn[2] * math.radians(figures.drift_rotation) * math.sqrt(travelled)
                self._grow(T_world_camera.translation, shift, float(turn))
        self._last = T_world_camera
        return self._error @ T_world_camera

    def _grow(self, about: NDArray[np.float64], shift: NDArray[np.float64], turn: float) -> None:
        """Add a shift and a turn about where the robot is: about the origin it would throw the pose far off."""
        spin = Rotation.from_rotvec([0.0, 0.0, turn])
        step = Pose3D(about - spin.as_matrix() @ about + shift, spin.as_quat())
        self._error = self._error @ step


class ActuationNoise:
    """Wheels that err: a motion comes out longer, shorter or turned."""

    def __init__(self, level: Level, *, seed: int) -> None:
        self.level = level
        self._rng = stream(seed, "actuation")

    def disturb(self, distance: float, turn: float) -> tuple[float, float]:
        """What a motion of this distance (m) and turn (rad) becomes; a straight step veers a little."""
        if self.level is Level.PERFECT:
            return distance, turn
        figures = MOTION[self.level]
        along, around = self._rng.standard_normal(2)
        # a quarter of a turn's error: a straight step veers far less than a turn misses
        spread = math.radians(figures.turn) * (1.0 if turn else 0.25)
        return max(0.0, distance * (1.0 + figures.forward * float(along))), turn + spread * float(around)


def _neighbours(depth: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Smallest and largest depth of each pixel and its four neighbours."""
    padded = np.pad(depth, 1, mode="edge")
    around = [padded[1:-1, 1:-1], padded[:-2, 1:-1], padded[2:, 1:-1], padded[1:-1, :-2], padded[1:-1, 2:]]
    return np.minimum.reduce(around), np.maximum.reduce(around)


def _bend(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    """How far each pixel lies off the line through its neighbours, as a share of its depth, along rows or columns.

    Inverse depth is linear on a plane, however slanted and however coarse the image.
    """
    inverse = np.pad(1.0 / depth, 1, mode="reflect", reflect_type="odd")
    middle = inverse[1:-1, 1:-1]
    across = np.abs(inverse[1:-1, :-2] - 2.0 * middle + inverse[1:-1, 2:])
    down = np.abs(inverse[:-2, 1:-1] - 2.0 * middle + inverse[2:, 1:-1])
    return np.maximum(across, down) * depth


def _slant(depth: NDArray[np.float32], intrinsics: Intrinsics) -> NDArray[np.float32]:
    """The tangent of the angle between the line of sight and the surface's normal, from the slope of depth."""
    down, across = np.gradient(depth)
    slope = np.hypot(across * np.float32(intrinsics.fx), down * np.float32(intrinsics.fy))
    return slope / depth


def _patches(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Uniform numbers, each the same over most of a small patch with a ragged border."""
    rows, columns = -(-shape[0] // _PATCH) + 1, -(-shape[1] // _PATCH) + 1
    coarse = rng.random((rows, columns))
    jitter = rng.integers(0, _PATCH, (2, *shape))
    row = (np.arange(shape[0])[:, np.newaxis] + jitter[0]) // _PATCH
    column = (np.arange(shape[1])[np.newaxis, :] + jitter[1]) // _PATCH
    return coarse[row, column]
