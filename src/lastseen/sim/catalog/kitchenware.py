"""What is eaten from, cooked with and eaten."""

from __future__ import annotations

import math

from lastseen.sim.catalog.object_class import Group, object_class
from lastseen.sim.catalog.palette import DARK_METAL, METAL, PAPER, RUBBER, Rgb, shade
from lastseen.sim.catalog.shape import PLASTER, WOOD, ShapeBuilder

_GLASS: Rgb = (196, 216, 222)


@object_class(Group.SMALL, "0.08-0.09 x 0.11-0.125 x 0.09-0.105", "brights")
def mug(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body, the dark of its inside and a handle of three bars."""
    radius = d / 2
    s.cylinder(radius * 0.92, h - 0.002, (0, 0, 0), color, top_radius=radius)
    s.cylinder(radius * 0.86, 0.002, (0, 0, h - 0.002), shade(color, 0.35))
    reach = w - d
    for z in (0.22, 0.7):
        s.box((0.014, reach, 0.014), (0, radius + reach / 2 - 0.006, h * z), color)
    s.box((0.014, 0.014, h * 0.6), (0, radius + reach - 0.01, h * 0.2), color)


@object_class(Group.SMALL, "0.065-0.08 x 0.065-0.08 x 0.11-0.15", "light blue, silver")
def glass(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A tumbler with a thick foot and water in it."""
    radius = d / 2
    s.cylinder(radius * 0.8, h * 0.12, (0, 0, 0), shade(color, 0.8))
    s.cylinder(radius * 0.8, h * 0.85, (0, 0, h * 0.12), color, top_radius=radius)
    s.cylinder(radius * 0.92, h * 0.03, (0, 0, h * 0.97), _GLASS)


@object_class(Group.SMALL, "0.075-0.085 x 0.075-0.085 x 0.19-0.23", "silver, red")
def wine_glass(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A foot, a stem and a bowl, filled or empty by its colour."""
    radius = d / 2
    s.revolved([(0.9 * radius, 0), (0.1 * radius, 0.012), (0.1 * radius, h * 0.45)], (0, 0, 0), _GLASS)
    bowl = [(0.2, 0.45), (0.95, 0.62), (1.0, 0.72)]
    s.revolved([(r * radius, z * h) for r, z in bowl], (0, 0, 0), color)
    s.revolved([(1.0 * radius, 0), (0.8 * radius, h * 0.28)], (0, 0, h * 0.72), _GLASS)


@object_class(Group.SMALL, "0.21-0.27 x 0.21-0.27 x 0.022-0.028", "china")
def plate(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A rim and a well."""
    radius = min(d, w) / 2
    s.revolved([(radius * 0.6, 0), (radius, h - 0.003), (radius * 0.98, h)], (0, 0, 0), color, sections=16)
    s.cylinder(radius * 0.66, 0.002, (0, 0, h), shade(color, 0.9), sections=16)


@object_class(Group.SMALL, "0.14-0.19 x 0.14-0.19 x 0.065-0.085", "china")
def bowl(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A deep dish with its inside darker."""
    radius = min(d, w) / 2
    s.revolved([(radius * 0.45, 0), (radius * 0.85, h * 0.5), (radius, h)], (0, 0, 0), color, sections=14)
    s.cylinder(radius * 0.9, 0.002, (0, 0, h), shade(color, 0.6), sections=14)


@object_class(
    Group.SMALL, "0.07-0.085 x 0.07-0.085 x 0.24-0.32", "green, blue, red, orange, black, light blue, silver"
)
def bottle(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A body with a label, shoulders, a neck and a cap."""
    radius = d / 2
    profile = [(0.94, 0), (0.94, 0.6), (0.36, 0.78), (0.36, 0.92)]
    s.revolved([(r * radius, z * h) for r, z in profile], (0, 0, 0), color)
    s.cylinder(radius, h * 0.26, (0, 0, h * 0.22), PAPER)
    s.cylinder(radius * 0.44, h * 0.08, (0, 0, h * 0.92), shade(color, 0.5), sections=8)


@object_class(Group.SMALL, "0.21-0.27 x 0.32-0.38 x 0.17-0.22", "silver, black, red, blue")
def pot(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two handles, a lid and its knob."""
    radius = d / 2
    body = h - 0.05
    s.cylinder(radius, body, (0, 0, 0), color, sections=14)
    s.revolved([(radius * 1.02, 0), (radius * 0.5, 0.025)], (0, 0, body), shade(color, 0.85), sections=14)
    s.ball((0.018, 0.018, 0.014), (0, 0, h - 0.014), RUBBER, sections=8)
    for side in (-1, 1):
        y = side * (w / 2 + radius) / 2
        s.box((0.08, w / 2 - radius + 0.01, 0.02), (0, y, body * 0.75), RUBBER)


@object_class(Group.SMALL, "0.24-0.28 x 0.42-0.48 x 0.055-0.07", "black, silver, red")
def pan(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A flat round pan with a long handle."""
    radius = d / 2
    s.cylinder(radius * 0.85, h, (0, 0, 0), color, top_radius=radius, sections=14)
    s.cylinder(radius * 0.88, 0.002, (0, 0, h), DARK_METAL, sections=14)
    s.box((0.028, w - d + 0.02, 0.018), (0, w / 2 - 0.01, h - 0.02), RUBBER)


@object_class(Group.SMALL, "0.2-0.25 x 0.32-0.4 x 0.018-0.024", "woods, green, white")
def cutting_board(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A board with a groove and a grip."""
    s.box((d, w, h - 0.002), (0, 0, 0), color, WOOD)
    s.box((d - 0.04, w - 0.04, 0.002), (0, 0, h - 0.002), shade(color, 0.85), WOOD)
    s.box((0.06, 0.06, h - 0.004), (0, w / 2 + 0.03, 0), color, WOOD)


@object_class(Group.SMALL, "0.14-0.17 x 0.1-0.13 x 0.24-0.28", "woods, black")
def knife_block(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A block with four handles."""
    s.box((d, w, h * 0.66), (0, 0, 0), color, WOOD)
    for knife in range(4):
        x, y = ((knife // 2 - 0.5) * d / 2.2, (knife % 2 - 0.5) * w / 2)
        s.box((0.028, 0.018, h * (0.34 - 0.04 * knife)), (x, y, h * 0.66), RUBBER)


@object_class(Group.SMALL, "0.07-0.085 x 0.07-0.085 x 0.075-0.09", "red, green, yellow")
def apple(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """With its stalk."""
    radius, height = d / 2, h - 0.014
    s.ball((radius, radius, height / 2), (0, 0, height / 2), color)
    s.box((0.005, 0.005, 0.018), (0, 0, height - 0.004), (90, 62, 40))


@object_class(Group.SMALL, "0.075-0.088 x 0.075-0.088 x 0.075-0.085", "orange")
def orange(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A ball with a navel."""
    radius = d / 2
    s.ball((radius, radius, h / 2), (0, 0, h / 2), color, PLASTER)
    s.cylinder(0.008, 0.003, (0, 0, h - 0.002), (80, 110, 50), sections=6)


@object_class(Group.SMALL, "0.12-0.14 x 0.18-0.22 x 0.035-0.045", "yellow, green")
def banana(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Bent, in four pieces with a dark tip."""
    for piece in range(4):
        angle = (piece - 1.5) * 0.55
        at = (-d * 0.9 * (1 - math.cos(angle)), w * 0.42 * math.sin(angle) * 1.3, h / 2)
        s.ball((h * 0.5, w * 0.17, h / 2), at, color, sections=8, yaw=angle)
    tip = (-d * 0.9 * (1 - math.cos(1.0)), w * 0.5, h / 2 - 0.006)
    s.box((0.014, 0.02, 0.012), tip, (96, 72, 34))


@object_class(Group.SMALL, "0.11-0.14 x 0.22-0.28 x 0.1-0.13", "light brown, brown")
def bread(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A loaf with three cuts."""
    s.box((d, w, h * 0.55), (0, 0, 0), color)
    s.ball((d / 2, w / 2, h * 0.45), (0, 0, h * 0.54), shade(color, 0.9))
    for cut in (-1, 0, 1):
        s.box((d * 0.5, 0.015, 0.02), (0, cut * w / 5, h - 0.025), shade(color, 1.3))


@object_class(Group.SMALL, "0.06-0.075 x 0.18-0.21 x 0.27-0.32", "red, yellow, blue, orange, green")
def cereal_box(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A carton with a white oval on front and back."""
    s.box((d - 0.004, w, h), (0, 0, 0), color)
    s.box((d, w * 0.7, h * 0.35), (0, 0, h * 0.5), PAPER)
    s.box((d, w * 0.5, h * 0.22), (0, 0, h * 0.15), shade(color, 0.5))


@object_class(Group.SMALL, "0.07-0.08 x 0.07-0.08 x 0.22-0.26", "white, light blue, green")
def milk_carton(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A carton with a gabled top."""
    s.box((d, w, h * 0.72), (0, 0, 0), color)
    s.box((d + 0.002, w + 0.002, h * 0.2), (0, 0, h * 0.2), (60, 110, 190))
    gable = [(0.7, h * 0.72), (0.15, h * 0.94), (0.15, h)]
    s.revolved(gable, (0, 0, 0), shade(color, 0.95), sections=4, stretch=(d, w), yaw=math.pi / 4)


@object_class(Group.SMALL, "0.28-0.34 x 0.4-0.48 x 0.04-0.05", "woods, black, white, silver")
def tray(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A bottom, four rims and two grips."""
    s.box((d, w, 0.012), (0, 0, 0), color, WOOD)
    for side in (-1, 1):
        s.box((0.012, w, h - 0.012), (side * (d / 2 - 0.006), 0, 0.012), shade(color, 0.85))
        s.box((d - 0.024, 0.012, h - 0.012), (0, side * (w / 2 - 0.006), 0.012), shade(color, 0.85))
    s.box((0.1, 0.014, 0.012), (0, w / 2 - 0.006, h), METAL, mirror="y")
