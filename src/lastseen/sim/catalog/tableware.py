"""What is eaten from, cooked in and eaten."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import BRIGHTS, DARK_METAL, METAL, PAPER, RUBBER, WOODS, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern

_GLASS: Rgb = (196, 216, 222)
_CHINA = ("white", "light blue", "beige", "grey", "teal", "yellow")


@kind("mug", Group.SMALL, depth=(0.080, 0.090), width=(0.110, 0.125), height=(0.090, 0.105), colors=BRIGHTS)
def mug(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body, the dark of its inside and a handle of three bars."""
    depth, width, height = size
    radius = depth / 2
    s.cylinder(radius * 0.92, height - 0.002, (0, 0, 0), ink, top_radius=radius)
    s.cylinder(radius * 0.86, 0.002, (0, 0, height - 0.002), shade(ink, 0.35))
    reach = width - depth
    for z in (0.22, 0.70):
        s.box((0.014, reach, 0.014), (0, radius + reach / 2 - 0.006, height * z), ink)
    s.box((0.014, 0.014, height * 0.6), (0, radius + reach - 0.010, height * 0.2), ink)


@kind(
    "glass",
    Group.SMALL,
    depth=(0.065, 0.080),
    width=(0.065, 0.080),
    height=(0.11, 0.15),
    colors=("light blue", "silver"),
)
def glass(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tumbler with a thick foot and water in it."""
    radius, height = size[0] / 2, size[2]
    s.cylinder(radius * 0.8, height * 0.12, (0, 0, 0), shade(ink, 0.8))
    s.cylinder(radius * 0.8, height * 0.85, (0, 0, height * 0.12), ink, top_radius=radius)
    s.cylinder(radius * 0.92, height * 0.03, (0, 0, height * 0.97), _GLASS)


@kind(
    "wine glass",
    Group.SMALL,
    depth=(0.075, 0.085),
    width=(0.075, 0.085),
    height=(0.19, 0.23),
    colors=("silver", "red"),
)
def wine_glass(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A foot, a stem and a bowl, filled or empty by its colour."""
    radius, height = size[0] / 2, size[2]
    s.turned([(0.9 * radius, 0), (0.1 * radius, 0.012), (0.1 * radius, height * 0.45)], (0, 0, 0), _GLASS)
    bowl = [(0.2, 0.45), (0.95, 0.62), (1.0, 0.72)]
    s.turned([(r * radius, z * height) for r, z in bowl], (0, 0, 0), ink)
    s.turned([(1.0 * radius, 0), (0.8 * radius, height * 0.28)], (0, 0, height * 0.72), _GLASS)


@kind("plate", Group.SMALL, depth=(0.21, 0.27), width=(0.21, 0.27), height=(0.022, 0.028), colors=_CHINA)
def plate(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A rim and a well."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.turned([(radius * 0.6, 0), (radius, height - 0.003), (radius * 0.98, height)], (0, 0, 0), ink, sections=16)
    s.cylinder(radius * 0.66, 0.002, (0, 0, height), shade(ink, 0.9), sections=16)


@kind("bowl", Group.SMALL, depth=(0.14, 0.19), width=(0.14, 0.19), height=(0.065, 0.085), colors=_CHINA)
def bowl(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A deep dish with its inside darker."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.turned([(radius * 0.45, 0), (radius * 0.85, height * 0.5), (radius, height)], (0, 0, 0), ink, sections=14)
    s.cylinder(radius * 0.9, 0.002, (0, 0, height), shade(ink, 0.6), sections=14)


@kind(
    "bottle",
    Group.SMALL,
    depth=(0.070, 0.085),
    width=(0.070, 0.085),
    height=(0.24, 0.32),
    colors=("green", "blue", "red", "orange", "black", "light blue", "silver"),
)
def bottle(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body with a label, shoulders, a neck and a cap."""
    radius, height = size[0] / 2, size[2]
    profile = [(0.94, 0), (0.94, 0.6), (0.36, 0.78), (0.36, 0.92)]
    s.turned([(r * radius, z * height) for r, z in profile], (0, 0, 0), ink)
    s.cylinder(radius, height * 0.26, (0, 0, height * 0.22), PAPER)
    s.cylinder(radius * 0.44, height * 0.08, (0, 0, height * 0.92), shade(ink, 0.5), sections=8)


@kind(
    "pot",
    Group.SMALL,
    depth=(0.21, 0.27),
    width=(0.32, 0.38),
    height=(0.17, 0.22),
    colors=("silver", "black", "red", "blue"),
)
def pot(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two handles, a lid and its knob."""
    depth, width, height = size
    radius = depth / 2
    body = height - 0.05
    s.cylinder(radius, body, (0, 0, 0), ink, sections=14)
    s.turned([(radius * 1.02, 0), (radius * 0.5, 0.025)], (0, 0, body), shade(ink, 0.85), sections=14)
    s.ball((0.018, 0.018, 0.014), (0, 0, height - 0.014), RUBBER, sections=8)
    for side in (-1, 1):
        y = side * (width / 2 + radius) / 2
        s.box((0.08, width / 2 - radius + 0.01, 0.02), (0, y, body * 0.75), RUBBER)


@kind(
    "pan",
    Group.SMALL,
    depth=(0.24, 0.28),
    width=(0.42, 0.48),
    height=(0.055, 0.07),
    colors=("black", "silver", "red"),
)
def pan(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A flat round pan with a long handle."""
    depth, width, height = size
    radius = depth / 2
    s.cylinder(radius * 0.85, height, (0, 0, 0), ink, top_radius=radius, sections=14)
    s.cylinder(radius * 0.88, 0.002, (0, 0, height), DARK_METAL, sections=14)
    s.box((0.028, width - depth + 0.02, 0.018), (0, width / 2 - 0.01, height - 0.02), RUBBER)


@kind(
    "cutting board",
    Group.SMALL,
    depth=(0.20, 0.25),
    width=(0.32, 0.40),
    height=(0.018, 0.024),
    colors=(*WOODS, "green", "white"),
)
def cutting_board(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A board with a groove and a grip."""
    depth, width, height = size
    s.box((depth, width, height - 0.002), (0, 0, 0), ink, pattern=Pattern.WOOD)
    s.box((depth - 0.04, width - 0.04, 0.002), (0, 0, height - 0.002), shade(ink, 0.85), pattern=Pattern.WOOD)
    s.box((0.06, 0.06, height - 0.004), (0, width / 2 + 0.03, 0), ink, pattern=Pattern.WOOD)


@kind(
    "knife block",
    Group.SMALL,
    depth=(0.14, 0.17),
    width=(0.10, 0.13),
    height=(0.24, 0.28),
    colors=(*WOODS, "black"),
)
def knife_block(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A block with four handles."""
    depth, width, height = size
    s.box((depth, width, height * 0.66), (0, 0, 0), ink, pattern=Pattern.WOOD)
    for knife in range(4):
        x, y = (knife // 2 - 0.5) * depth / 2.2, (knife % 2 - 0.5) * width / 2
        s.box((0.028, 0.018, height * (0.34 - 0.04 * knife)), (x, y, height * 0.66), RUBBER)


@kind(
    "apple",
    Group.SMALL,
    depth=(0.070, 0.085),
    width=(0.070, 0.085),
    height=(0.075, 0.09),
    colors=("red", "green", "yellow"),
)
def apple(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """With its stalk."""
    radius, height = size[0] / 2, size[2] - 0.014
    s.ball((radius, radius, height / 2), (0, 0, height / 2), ink)
    s.box((0.005, 0.005, 0.018), (0, 0, height - 0.004), (90, 62, 40))


@kind("orange", Group.SMALL, depth=(0.075, 0.088), width=(0.075, 0.088), height=(0.075, 0.085), colors=("orange",))
def orange(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A ball with a navel."""
    radius, height = size[0] / 2, size[2]
    s.ball((radius, radius, height / 2), (0, 0, height / 2), ink, pattern=Pattern.PLASTER)
    s.cylinder(0.008, 0.003, (0, 0, height - 0.002), (80, 110, 50), sections=6)


@kind(
    "banana", Group.SMALL, depth=(0.12, 0.14), width=(0.18, 0.22), height=(0.035, 0.045), colors=("yellow", "green")
)
def banana(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Bent, in four pieces with a dark tip."""
    depth, width, height = size
    for piece in range(4):
        angle = (piece - 1.5) * 0.55
        at = (-depth * 0.9 * (1 - math.cos(angle)), width * 0.42 * math.sin(angle) * 1.3, height / 2)
        s.ball((height * 0.5, width * 0.17, height / 2), at, ink, sections=8, yaw=angle)
    tip = (-depth * 0.9 * (1 - math.cos(1.0)), width * 0.5, height / 2 - 0.006)
    s.box((0.014, 0.02, 0.012), tip, (96, 72, 34))


@kind(
    "bread",
    Group.SMALL,
    depth=(0.11, 0.14),
    width=(0.22, 0.28),
    height=(0.10, 0.13),
    colors=("light brown", "brown"),
)
def bread(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A loaf with three cuts."""
    depth, width, height = size
    s.box((depth, width, height * 0.55), (0, 0, 0), ink)
    s.ball((depth / 2, width / 2, height * 0.45), (0, 0, height * 0.54), shade(ink, 0.9))
    for cut in (-1, 0, 1):
        s.box((depth * 0.5, 0.015, 0.02), (0, cut * width / 5, height - 0.025), shade(ink, 1.3))


@kind(
    "cereal box",
    Group.SMALL,
    depth=(0.06, 0.075),
    width=(0.18, 0.21),
    height=(0.27, 0.32),
    colors=("red", "yellow", "blue", "orange", "green"),
)
def cereal_box(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A carton with a white oval on front and back."""
    depth, width, height = size
    s.box((depth - 0.004, width, height), (0, 0, 0), ink)
    s.box((depth, width * 0.7, height * 0.35), (0, 0, height * 0.5), PAPER)
    s.box((depth, width * 0.5, height * 0.22), (0, 0, height * 0.15), shade(ink, 0.5))


@kind(
    "milk carton",
    Group.SMALL,
    depth=(0.07, 0.08),
    width=(0.07, 0.08),
    height=(0.22, 0.26),
    colors=("white", "light blue", "green"),
)
def milk_carton(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A carton with a gabled top."""
    depth, width, height = size
    s.box((depth, width, height * 0.72), (0, 0, 0), ink)
    s.box((depth + 0.002, width + 0.002, height * 0.2), (0, 0, height * 0.2), (60, 110, 190))
    gable = [(0.7, height * 0.72), (0.15, height * 0.94), (0.15, height)]
    s.turned(gable, (0, 0, 0), shade(ink, 0.95), sections=4, stretch=(depth, width), yaw=math.pi / 4)


@kind(
    "tray",
    Group.SMALL,
    depth=(0.28, 0.34),
    width=(0.40, 0.48),
    height=(0.04, 0.05),
    colors=(*WOODS, "black", "white", "silver"),
)
def tray(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A bottom, four rims and two grips."""
    depth, width, height = size
    s.box((depth, width, 0.012), (0, 0, 0), ink, pattern=Pattern.WOOD)
    for side in (-1, 1):
        s.box((0.012, width, height - 0.012), (side * (depth / 2 - 0.006), 0, 0.012), shade(ink, 0.85))
        s.box((depth - 0.024, 0.012, height - 0.012), (0, side * (width / 2 - 0.006), 0.012), shade(ink, 0.85))
    for side in (-1, 1):
        s.box((0.10, 0.014, 0.012), (0, side * (width / 2 - 0.006), height), METAL)
