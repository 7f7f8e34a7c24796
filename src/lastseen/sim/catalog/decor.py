"""Lamps, plants, pictures and what else makes a house a home."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import (
    BRIGHTS,
    DARK_METAL,
    FABRICS,
    FOLIAGE,
    METAL,
    PALETTE,
    PAPER,
    SOIL,
    WOODS,
    Rgb,
    shade,
)
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern

_POTS = ("white", "brown", "grey", "orange", "blue", "black")
_SHADE: Rgb = (246, 234, 200)


@kind("plant", Group.FURNITURE, depth=(0.34, 0.50), width=(0.34, 0.50), height=(0.60, 1.30), colors=_POTS)
def plant(s: Sculptor, size: Size, ink: Rgb, rng: np.random.Generator) -> None:
    """A pot in the plant's colour name, a stem and a crown of leaves."""
    depth, width, height = size
    _potted(s, min(depth, width), height, ink, rng)


@kind("potted flower", Group.SMALL, depth=(0.14, 0.18), width=(0.14, 0.18), height=(0.24, 0.34), colors=_POTS)
def potted_flower(s: Sculptor, size: Size, ink: Rgb, rng: np.random.Generator) -> None:
    """A small pot with leaves and three blossoms."""
    across, height = min(size[0], size[1]), size[2]
    _potted(s, across, height * 0.9, ink, rng)
    bloom = PALETTE[("pink", "red", "yellow", "purple")[int(rng.integers(4))]]
    for petal in range(3):
        angle = 2 * math.pi * petal / 3
        at = (across * 0.2 * math.cos(angle), across * 0.2 * math.sin(angle), height * 0.93)
        s.ball((across * 0.12, across * 0.12, height * 0.07), at, bloom, sections=6)


def _potted(s: Sculptor, across: float, height: float, ink: Rgb, rng: np.random.Generator) -> None:
    pot = min(0.32 * height, 0.34)
    radius = across * 0.33
    s.cylinder(radius * 0.72, pot, (0, 0, 0), ink, top_radius=radius)
    s.cylinder(radius * 0.9, 0.006, (0, 0, pot), SOIL)
    s.cylinder(0.04 * across, height * 0.4, (0, 0, pot), SOIL, sections=6)
    crown = (height - pot) * 0.5
    for leaf in range(6):
        angle = 2 * math.pi * leaf / 6 + float(rng.uniform(-0.3, 0.3))
        reach = across * 0.26
        z = pot + crown * (0.75 + 0.5 * (leaf % 3) / 2)
        at = (reach * math.cos(angle), reach * math.sin(angle), z)
        radii = (across * 0.22, across * 0.11, crown * 0.55)
        green = shade(FOLIAGE, 0.85 + 0.12 * (leaf % 3))
        s.ball(radii, at, green, pattern=Pattern.LEAVES, sections=6, yaw=angle, pitch=0.45)
    s.ball((across * 0.18, across * 0.18, crown * 0.6), (0, 0, height - crown * 0.6), FOLIAGE, pattern=Pattern.LEAVES)


@kind(
    "floor lamp",
    Group.FURNITURE,
    depth=(0.30, 0.38),
    width=(0.30, 0.38),
    height=(1.45, 1.70),
    colors=("black", "white", "silver", "brown"),
)
def floor_lamp(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A foot, a pole and a fabric shade."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.cylinder(radius * 0.8, 0.03, (0, 0, 0), ink)
    s.cylinder(0.015, height - 0.25, (0, 0, 0.03), ink, sections=8)
    s.cylinder(radius, 0.26, (0, 0, height - 0.26), _SHADE, top_radius=radius * 0.7, pattern=Pattern.FABRIC)


@kind(
    "table lamp",
    Group.SMALL,
    depth=(0.20, 0.26),
    width=(0.20, 0.26),
    height=(0.36, 0.46),
    colors=("white", "black", "blue", "teal", "red", "silver"),
)
def table_lamp(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A bellied base, a neck and a shade."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.turned([(0.5 * radius, 0), (0.7 * radius, height * 0.2), (0.15 * radius, height * 0.5)], (0, 0, 0), ink)
    s.cylinder(radius, height * 0.45, (0, 0, height * 0.55), _SHADE, top_radius=radius * 0.65, pattern=Pattern.FABRIC)
    s.cylinder(0.008, height * 0.1, (0, 0, height * 0.48), METAL, sections=6)


@kind("vase", Group.SMALL, depth=(0.11, 0.15), width=(0.11, 0.15), height=(0.20, 0.32), colors=BRIGHTS)
def vase(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A bellied vessel with a flared rim."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    profile = [(0.5, 0), (1, 0.38), (0.42, 0.8), (0.62, 1)]
    s.turned([(r * radius, z * height) for r, z in profile], (0, 0, 0), ink)
    s.cylinder(radius * 0.5, 0.002, (0, 0, height), shade(ink, 0.4))


@kind(
    "candle",
    Group.SMALL,
    depth=(0.07, 0.09),
    width=(0.07, 0.09),
    height=(0.12, 0.18),
    colors=("white", "red", "beige", "purple"),
)
def candle(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """On a saucer, with a wick."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.cylinder(radius, 0.012, (0, 0, 0), METAL)
    s.cylinder(radius * 0.65, height - 0.03, (0, 0, 0.012), ink)
    s.cylinder(0.003, 0.018, (0, 0, height - 0.018), DARK_METAL, sections=6)


@kind(
    "photo frame",
    Group.SMALL,
    depth=(0.05, 0.07),
    width=(0.14, 0.20),
    height=(0.18, 0.24),
    colors=(*WOODS, "black", "white", "silver"),
)
def photo_frame(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Leaning on its stand."""
    depth, width, height = size
    s.box((0.012, width, height), (0.01, 0, 0), ink, pitch=-0.15)
    s.box((0.004, width - 0.04, height - 0.04), (0.016, 0, 0.02), (150, 176, 196), pitch=-0.15)
    s.box((0.008, 0.03, height * 0.8), (-depth / 2, 0, 0), shade(ink, 0.7), pitch=0.1)


@kind(
    "picture",
    Group.HUNG,
    depth=(0.025, 0.035),
    width=(0.50, 0.95),
    height=(0.40, 0.65),
    colors=(*WOODS, "black", "white"),
)
def picture(s: Sculptor, size: Size, ink: Rgb, rng: np.random.Generator) -> None:
    """A frame, a mount and a landscape of three bands."""
    depth, width, height = size
    s.box((depth - 0.006, width, height), (0, 0, 0), ink, pattern=Pattern.WOOD)
    s.box((0.003, width - 0.06, height - 0.06), (depth / 2 - 0.0015, 0, 0.03), PAPER)
    names = ("light blue", "teal", "green", "orange", "navy", "yellow", "pink")
    for band, share in enumerate((0.3, 0.25, 0.45)):
        low = (0.0, 0.3, 0.55)[band]
        color = PALETTE[names[int(rng.integers(len(names)))]]
        tall = height - 0.16
        s.box((0.003, width - 0.16, tall * share), (depth / 2 + 0.0015, 0, 0.08 + tall * low), color)


@kind(
    "mirror",
    Group.HUNG,
    depth=(0.025, 0.035),
    width=(0.45, 0.65),
    height=(0.60, 0.85),
    colors=("silver", "black", "white", *WOODS),
)
def mirror(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A frame and a pale glass."""
    depth, width, height = size
    s.box((depth - 0.005, width, height), (0, 0, 0), ink)
    s.box((0.005, width - 0.06, height - 0.06), (depth / 2, 0, 0.03), (198, 212, 220))


@kind(
    "clock",
    Group.HUNG,
    depth=(0.035, 0.045),
    width=(0.26, 0.34),
    height=(0.26, 0.34),
    colors=("black", "white", "red", "silver", "brown"),
)
def clock(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A round wall clock with two hands."""
    depth, width, _ = size
    radius = width / 2
    s.cylinder(radius, depth - 0.01, (-depth / 2, 0, radius), ink, axis="x", sections=16)
    s.cylinder(radius * 0.86, 0.004, (depth / 2 - 0.01, 0, radius), PAPER, axis="x", sections=16)
    s.box((0.004, 0.014, radius * 0.5), (depth / 2 - 0.004, 0, radius), DARK_METAL)
    s.box((0.004, 0.010, radius * 0.7), (depth / 2 - 0.004, 0, radius), DARK_METAL, roll=1.9)


@kind(
    "rug",
    Group.RUG,
    depth=(1.40, 1.90),
    width=(2.00, 2.60),
    height=(0.010, 0.014),
    colors=(*FABRICS, "orange", "purple"),
)
def rug(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A carpet with a border and an inner field."""
    _carpet(s, size, ink)


@kind(
    "door mat",
    Group.RUG,
    depth=(0.40, 0.50),
    width=(0.60, 0.75),
    height=(0.010, 0.014),
    colors=("brown", "dark grey", "black", "green"),
)
def door_mat(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A small carpet at a door."""
    _carpet(s, size, ink)


def _carpet(s: Sculptor, size: Size, ink: Rgb) -> None:
    depth, width, height = size
    s.box((depth, width, height * 0.6), (0, 0, 0), shade(ink, 0.7), pattern=Pattern.CARPET)
    border = min(depth, width) * 0.08
    inner = (depth - 2 * border, width - 2 * border, height * 0.4)
    s.box(inner, (0, 0, height * 0.6), ink, pattern=Pattern.CARPET)
    s.surface(height, (inner[0], inner[1]))


@kind(
    "guitar",
    Group.SMALL,
    depth=(0.24, 0.28),
    width=(0.36, 0.40),
    height=(0.98, 1.06),
    colors=("light brown", "brown", "red", "black"),
)
def guitar(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """In a stand: two bouts, a sound hole, a neck and a head."""
    depth, width, height = size
    for y in (-1, 1):
        s.box((depth, 0.02, 0.02), (0, y * 0.08, 0), DARK_METAL)
    s.box((0.02, 0.2, 0.3), (-depth / 2 + 0.01, 0, 0.02), DARK_METAL)
    s.cylinder(width / 2, 0.09, (-0.06, 0, 0.03 + width / 2), ink, axis="x", pattern=Pattern.WOOD)
    s.cylinder(width * 0.36, 0.09, (-0.06, 0, 0.03 + width * 1.05), ink, axis="x", pattern=Pattern.WOOD)
    s.cylinder(0.045, 0.004, (0.03, 0, 0.03 + width * 0.85), DARK_METAL, axis="x")
    s.box((0.025, 0.05, height - width * 1.15 - 0.12), (0.0, 0, 0.03 + width * 1.1), PALETTE["dark brown"])
    s.box((0.03, 0.08, 0.14), (0.0, 0, height - 0.14), ink)
