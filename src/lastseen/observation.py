"""One thing seen in one frame, placed in the world: what perception hands to memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import best_label, check_labels
from lastseen.errors import InvalidValue
from lastseen.finite import FARTHEST, LATEST

MAX_SURFACE_POINTS = 64
"""Surface points kept per observation: enough to judge visibility, small enough to keep for every object."""
OBJECT, SURFACE = "object", "surface"
KINDS = (OBJECT, SURFACE)
"""A thing, or structure: floor, wall, ceiling, table top, cupboard front and other planes."""


@dataclass(frozen=True, slots=True, eq=False)
class Observation:
    """A thing with position, size and appearance, in world coordinates (metres, z up).

    ``extent`` is the full size of an upright box whose first side lies ``yaw`` radians about z from the world's x
    (kept within an eighth of a turn: a quarter turn exchanges the sides), ``points`` a small sample of the visible
    surface, ``view_direction`` the unit vector from the thing to the camera, ``sigma`` the standard deviation of the
    position, ``quality`` how much of the thing was seen well (0 to 1), ``crop`` a JPEG, or a function that makes it
    when ``picture`` is called. ``kind`` is one of ``KINDS``: surfaces are remembered and listed apart from objects.
    Embeddings are kept at unit length. ``thing`` is the number under which a segmenter of this process follows a
    thing over frames, ``joined`` are numbers of what it took for other things before. What is not ``settled`` may be
    a part of what it touches: without a name it confirms nothing.
    """

    position: NDArray[np.float64]
    extent: NDArray[np.float64]
    view_direction: NDArray[np.float64]
    stamp: float
    labels: Mapping[str, float] = field(default_factory=dict)
    embedding: NDArray[np.float32] | None = None
    points: NDArray[np.float32] | None = None
    sigma: float = 0.02
    quality: float = 1.0
    crop: bytes | Callable[[], bytes] | None = None
    kind: str = OBJECT
    yaw: float = 0.0
    thing: int | None = None
    joined: tuple[int, ...] = ()
    settled: bool = True

    def __post_init__(self) -> None:
        self._set("position", _numbers("position", self.position, (3,), np.float64))
        extent = _numbers("extent", self.extent, (3,), np.float64)
        if (extent < 0).any():
            raise InvalidValue("observation.extent", extent, "must not be negative", remedy="give the full size")
        if self.yaw != 0.0:
            yaw, extent = _upright_box(self.yaw, extent)
            object.__setattr__(self, "yaw", yaw)
        self._set("extent", extent)
        for name in ("position", "extent"):
            # lists, since numpy takes ten times as long for three numbers
            if max(map(abs, getattr(self, name).tolist())) > FARTHEST:
                raise InvalidValue(
                    f"observation.{name}", getattr(self, name), f"is beyond {FARTHEST:g} m", remedy="give metres"
                )
        self._set("view_direction", _unit("view_direction", self.view_direction, (3,), np.float64))
        if not abs(self.stamp) <= LATEST:
            raise InvalidValue(
                "observation.stamp",
                self.stamp,
                f"must be finite, within {LATEST:g} s",
                remedy="use the frame's stamp",
            )
        check_labels("observation.labels", self.labels)
        if self.embedding is not None:
            size = np.shape(self.embedding)[:1]
            self._set("embedding", _unit("embedding", self.embedding, size, np.float32))
        if self.points is not None:
            points = _numbers("points", self.points, (len(self.points), 3), np.float32)
            if not 0 < len(points) <= MAX_SURFACE_POINTS:
                raise InvalidValue(
                    "observation.points",
                    points,
                    f"must hold 1 to {MAX_SURFACE_POINTS} points",
                    remedy="sample fewer",
                )
            self._set("points", points)
        if not 0.0 < self.sigma <= FARTHEST:
            raise InvalidValue("observation.sigma", self.sigma, "must be positive", remedy="0.02 m is usual")
        if not 0.0 <= self.quality <= 1.0:
            raise InvalidValue("observation.quality", self.quality, "must lie in 0 to 1", remedy="1 is best")
        if self.kind not in KINDS:
            raise InvalidValue("observation.kind", self.kind, "is no kind", remedy=f"use one of {', '.join(KINDS)}")

    @property
    def label(self) -> str | None:
        """The likeliest label; ties go to the alphabetically first."""
        return best_label(self.labels)

    def picture(self) -> bytes | None:
        """The crop as JPEG, made now where ``crop`` only says how: few of a frame's crops are kept."""
        return self.crop() if callable(self.crop) else self.crop

    def _set(self, name: str, value: NDArray[Any]) -> None:
        value.flags.writeable = False
        object.__setattr__(self, name, value)


def _upright_box(yaw: float, extent: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """The same box with its yaw within an eighth of a turn."""
    if not math.isfinite(yaw):
        raise InvalidValue("observation.yaw", yaw, "must be finite", remedy="give radians about the world's up")
    turns = math.floor(yaw / (0.5 * math.pi) + 0.5)
    return yaw - turns * (0.5 * math.pi), extent[[1, 0, 2]] if turns % 2 else extent


def _numbers(name: str, value: object, shape: tuple[int, ...], dtype: type[np.floating[Any]]) -> NDArray[Any]:
    try:
        array = np.array(value, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InvalidValue(
            f"observation.{name}", value, "is not numbers", remedy="world coordinates in metres"
        ) from error
    if array.shape != shape:
        raise InvalidValue(
            f"observation.{name}", value, f"must have shape {shape}", remedy="world coordinates in metres"
        )
    if not np.isfinite(array).all():
        raise InvalidValue(f"observation.{name}", array, "holds NaN or infinity", remedy="drop invalid depth first")
    return array


def _unit(name: str, value: object, shape: tuple[int, ...], dtype: type[np.floating[Any]]) -> NDArray[Any]:
    array = _numbers(name, value, shape, dtype)
    length = float(np.linalg.norm(array))
    if length < 1e-9:
        raise InvalidValue(f"observation.{name}", value, "has no direction", remedy="leave it out when unknown")
    return (array / length).astype(dtype)
