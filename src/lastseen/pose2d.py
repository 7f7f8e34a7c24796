"""A pose on the floor, which is all that moving, places and memory nodes need."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from lastseen.errors import InvalidValue

TAU = 2.0 * math.pi


def wrap_angle(angle: float) -> float:
    """Bring an angle in radians into (-pi, pi]."""
    wrapped = math.remainder(angle, TAU)
    return math.pi if wrapped == -math.pi else wrapped


@dataclass(frozen=True, slots=True)
class Pose2D:
    """Position in metres and heading in radians; yaw grows to the left (counter-clockwise), 0 looks along +x.

    >>> Pose2D(1.0, 2.0, 0.0).distance_to(Pose2D(4.0, 6.0, 0.0))
    5.0
    """

    x: float
    y: float
    yaw: float

    def __post_init__(self) -> None:
        for name in ("x", "y", "yaw"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
                raise InvalidValue(
                    f"pose2d.{name}", value, "must be a finite number", remedy="give metres and radians"
                )
            # numpy floats and ints become plain floats, so that poses print and serialize alike
            object.__setattr__(self, name, float(value))

    def distance_to(self, other: Pose2D) -> float:
        """Straight-line distance in metres, headings ignored."""
        return math.hypot(other.x - self.x, other.y - self.y)

    def bearing_to(self, other: Pose2D) -> float:
        """Angle to turn, positive to the left, to face the other pose; 0 where both are at one point."""
        if other.x == self.x and other.y == self.y:
            return 0.0
        return wrap_angle(math.atan2(other.y - self.y, other.x - self.x) - self.yaw)

    def compose(self, local: Pose2D) -> Pose2D:
        """Express in the outer frame a pose that is given in this pose's own frame."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return Pose2D(
            self.x + cos * local.x - sin * local.y,
            self.y + sin * local.x + cos * local.y,
            wrap_angle(self.yaw + local.yaw),
        )

    def inverse(self) -> Pose2D:
        """The pose that undoes this one: ``p.compose(p.inverse())`` is the origin."""
        cos, sin = math.cos(self.yaw), math.sin(self.yaw)
        return Pose2D(
            -cos * self.x - sin * self.y,
            sin * self.x - cos * self.y,
            wrap_angle(-self.yaw),
        )

    def relative_to(self, origin: Pose2D) -> Pose2D:
        """This pose as seen from ``origin``: ``origin.compose(p.relative_to(origin)) == p``."""
        return origin.inverse().compose(self)


ORIGIN = Pose2D(0.0, 0.0, 0.0)
