"""How imperfect the simulated senses are: four levels, and for every figure the reason why it is lifelike.

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

from lastseen.errors import InvalidValue

_F = TypeVar("_F")


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
