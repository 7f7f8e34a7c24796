"""What people carry, wear, read and play with: what they ask a robot to find."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import (
    BRIGHTS,
    DARK_METAL,
    LINENS,
    METAL,
    PALETTE,
    PAPER,
    Rgb,
    shade,
)
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern

_LEATHER = ("brown", "black", "dark brown", "red", "navy", "light brown")
_WORN = ("black", "white", "brown", "red", "blue", "grey", "navy", "pink")


@kind("book", Group.SMALL, depth=(0.19, 0.25), width=(0.13, 0.18), height=(0.022, 0.045), colors=BRIGHTS)
def book(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Lying flat: two covers, a spine, the pages and a title."""
    depth, width, height = size
    s.box((depth, width, 0.003), (0, 0, 0), ink)
    s.box((depth - 0.008, width - 0.008, height - 0.007), (0, 0.002, 0.003), PAPER)
    s.box((depth, width, 0.003), (0, 0, height - 0.004), ink)
    s.box((depth, 0.004, height - 0.001), (0, -width / 2 + 0.002, 0), shade(ink, 0.8))
    s.box((depth * 0.14, width * 0.6, 0.001), (depth * 0.2, 0, height - 0.001), shade(PAPER, 0.95))


@kind("magazine", Group.SMALL, depth=(0.27, 0.30), width=(0.20, 0.22), height=(0.008, 0.012), colors=BRIGHTS)
def magazine(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Pages, a cover and its picture."""
    depth, width, height = size
    s.box((depth - 0.003, width - 0.003, height - 0.002), (0, 0, 0), PAPER)
    s.box((depth, width, 0.002), (0, 0, height - 0.002), ink)
    s.box((depth * 0.5, width * 0.8, 0.001), (-depth * 0.12, 0, height), shade(ink, 0.55))


@kind(
    "keys",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.06, 0.08),
    height=(0.010, 0.014),
    colors=("silver", "red", "blue", "yellow", "black"),
)
def keys(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two keys and a fob in the colour on a ring."""
    depth, width, height = size
    s.cylinder(0.016, 0.004, (0, 0, height * 0.3), METAL, sections=10)
    for turn in (-0.35, 0.35):
        x, y = depth * 0.26 * math.cos(turn), depth * 0.26 * math.sin(turn)
        s.box((depth * 0.44, 0.008, 0.004), (x, y, 0), shade(METAL, 0.9), yaw=turn)
        s.cylinder(0.012, 0.004, (x * 0.55, y * 0.55, 0), shade(METAL, 1.1), sections=8)
    s.box((depth * 0.45, width * 0.5, height), (-depth * 0.28, 0, 0), ink)


@kind("wallet", Group.SMALL, depth=(0.09, 0.10), width=(0.11, 0.125), height=(0.018, 0.025), colors=_LEATHER)
def wallet(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Folded leather with notes at the edge."""
    depth, width, height = size
    s.box((depth, width, height * 0.35), (0, 0, 0), ink)
    s.box((depth - 0.008, width - 0.004, height * 0.3), (0.004, 0, height * 0.35), (150, 170, 130))
    s.box((depth, width, height * 0.35), (0, 0, height * 0.65), shade(ink, 1.15))


@kind(
    "glasses",
    Group.SMALL,
    depth=(0.13, 0.15),
    width=(0.13, 0.145),
    height=(0.040, 0.048),
    colors=("black", "brown", "red", "blue"),
)
def glasses(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two lenses in rims, a bridge and two arms."""
    depth, width, height = size
    front = depth / 2 - 0.005
    for side in (-1, 1):
        s.box((0.006, width * 0.40, height), (front, side * width * 0.27, 0), ink)
        s.box((0.008, width * 0.33, height * 0.7), (front, side * width * 0.27, height * 0.15), (170, 190, 200))
        s.box((depth - 0.01, 0.005, 0.007), (-0.002, side * (width / 2 - 0.003), height * 0.6), ink)
    s.box((0.006, width * 0.16, 0.006), (front, 0, height * 0.6), ink)


@kind(
    "watch",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.040, 0.048),
    height=(0.016, 0.022),
    colors=("black", "silver", "brown", "red"),
)
def watch(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A strap laid out, a case and a dial."""
    depth, width, height = size
    s.box((depth, width * 0.55, height * 0.35), (0, 0, 0), ink)
    s.cylinder(width / 2, height * 0.9, (0, 0, 0), METAL)
    s.cylinder(width * 0.4, height * 0.1, (0, 0, height * 0.9), PAPER)


@kind(
    "backpack",
    Group.SMALL,
    depth=(0.20, 0.26),
    width=(0.30, 0.36),
    height=(0.42, 0.50),
    colors=tuple(c for c in BRIGHTS if c != "white"),
)
def backpack(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body with a rounded top, a front pocket, a zip, straps and a loop."""
    depth, width, height = size
    s.box((depth * 0.7, width, height * 0.72), (-depth * 0.08, 0, 0), ink, pattern=Pattern.FABRIC)
    s.cylinder(
        width / 2,
        depth * 0.7,
        (-depth * 0.43, 0, height * 0.62),
        ink,
        axis="x",
        stretch=(1.0, 0.46),
        pattern=Pattern.FABRIC,
    )
    s.box(
        (depth * 0.24, width * 0.8, height * 0.42),
        (depth * 0.38, 0, height * 0.04),
        shade(ink, 0.8),
        pattern=Pattern.FABRIC,
    )
    s.box((depth * 0.02, width * 0.7, 0.012), (depth * 0.5, 0, height * 0.36), METAL)
    for side in (-1, 1):
        s.box((0.03, 0.05, height * 0.6), (-depth / 2 + 0.015, side * width / 4, height * 0.12), shade(ink, 0.6))
    s.box((0.02, 0.10, height * 0.16), (-depth * 0.36, 0, height * 0.84), shade(ink, 0.6))


@kind(
    "handbag",
    Group.SMALL,
    depth=(0.12, 0.16),
    width=(0.28, 0.36),
    height=(0.32, 0.40),
    colors=(*_LEATHER, "pink", "white"),
)
def handbag(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tapered bag with a flap, a clasp and a handle."""
    depth, width, height = size
    body = height * 0.62
    s.box((depth, width, body), (0, 0, 0), ink)
    s.box((depth + 0.006, width * 0.96, body * 0.45), (0, 0, body * 0.56), shade(ink, 0.85))
    s.box((0.012, 0.04, 0.03), (depth / 2 + 0.003, 0, body * 0.5), METAL)
    for side in (-1, 1):
        s.box((0.018, 0.018, height - body), (0, side * width * 0.3, body), shade(ink, 0.7))
    s.box((0.018, width * 0.6, 0.018), (0, 0, height - 0.018), shade(ink, 0.7))


@kind("shoes", Group.SMALL, depth=(0.26, 0.30), width=(0.21, 0.25), height=(0.10, 0.13), colors=_WORN)
def shoes(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A pair: sole, toe, heel and laces each."""
    depth, width, height = size
    wide = width * 0.42
    for side in (-1, 1):
        y = side * width * 0.27
        s.box((depth, wide, 0.025), (0, y, 0), PAPER)
        s.ball((depth * 0.3, wide / 2, height * 0.35), (depth * 0.19, y, height * 0.36), ink, sections=8)
        s.box((depth * 0.5, wide * 0.9, height - 0.025), (-depth * 0.24, y, 0.025), ink)
        s.box((depth * 0.3, wide * 0.6, 0.004), (-depth * 0.28, y, height - 0.003), shade(ink, 0.4))
        s.box((depth * 0.12, wide * 0.5, 0.012), (depth * 0.06, y, height * 0.72), PAPER)


@kind(
    "slippers",
    Group.SMALL,
    depth=(0.25, 0.28),
    width=(0.21, 0.24),
    height=(0.07, 0.085),
    colors=("blue", "pink", "grey", "red", "brown"),
)
def slippers(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A pair: soles with a vamp over the toes."""
    depth, width, height = size
    wide = width * 0.42
    for side in (-1, 1):
        y = side * width * 0.27
        s.turned([(1, 0), (1, 0.02)], (0, y, 0), shade(ink, 0.6), stretch=(depth / 2, wide / 2))
        s.ball(
            (depth * 0.26, wide * 0.48, height * 0.6),
            (depth * 0.2, y, height * 0.4),
            ink,
            sections=8,
            pattern=Pattern.FABRIC,
        )


@kind(
    "hat",
    Group.SMALL,
    depth=(0.26, 0.32),
    width=(0.26, 0.32),
    height=(0.11, 0.14),
    colors=("beige", "black", "brown", "red", "navy"),
)
def hat(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A brim, a crown and a band."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.cylinder(radius, 0.012, (0, 0, 0), ink, sections=16)
    s.turned([(radius * 0.58, 0), (radius * 0.5, height - 0.03), (radius * 0.3, height - 0.012)], (0, 0, 0.012), ink)
    s.cylinder(radius * 0.6, 0.025, (0, 0, 0.012), shade(ink, 0.5))


@kind(
    "umbrella",
    Group.SMALL,
    depth=(0.08, 0.10),
    width=(0.78, 0.88),
    height=(0.07, 0.09),
    colors=("black", "red", "blue", "yellow", "green"),
)
def umbrella(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Rolled and lying: a furled cone, a shaft and a handle."""
    depth, width, height = size
    radius = height / 2
    s.cylinder(
        radius * 0.3,
        width * 0.66,
        (0, -width / 2 + 0.05, radius),
        ink,
        axis="y",
        top_radius=radius,
        pattern=Pattern.FABRIC,
    )
    s.cylinder(0.007, 0.05, (0, -width / 2, radius), METAL, axis="y", sections=6)
    s.cylinder(0.008, width * 0.34 - 0.06, (0, width * 0.16 + 0.05, radius), METAL, axis="y", sections=6)
    s.box((depth * 0.7, 0.02, 0.02), (depth * 0.15, width / 2 - 0.01, radius - 0.01), (110, 70, 40))


@kind("pillow", Group.SMALL, depth=(0.36, 0.42), width=(0.46, 0.58), height=(0.12, 0.15), colors=LINENS)
def pillow(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A plump middle in a flat seam."""
    depth, width, height = size
    s.box((depth, width, height * 0.3), (0, 0, height * 0.35), ink, pattern=Pattern.FABRIC)
    middle = (0.0, 0.0, height / 2)
    s.ball((depth * 0.5, width * 0.5, height / 2), middle, ink, pattern=Pattern.FABRIC, sections=12)


@kind(
    "blanket",
    Group.SMALL,
    depth=(0.34, 0.42),
    width=(0.44, 0.55),
    height=(0.10, 0.14),
    colors=("grey", "red", "beige", "navy", "green", "orange"),
)
def blanket(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Folded in three layers with fringes."""
    depth, width, height = size
    for layer in range(3):
        x = 0.012 * (layer - 1)
        s.box(
            (depth - 0.03, width, height / 3),
            (x, 0, layer * height / 3),
            shade(ink, 1 - 0.08 * layer),
            pattern=Pattern.STRIPES,
        )
    s.box((0.02, width - 0.02, 0.02), (depth / 2 - 0.01, 0, 0), PAPER)


@kind(
    "clipboard",
    Group.SMALL,
    depth=(0.30, 0.33),
    width=(0.22, 0.24),
    height=(0.012, 0.018),
    colors=("brown", "black", "blue", "red"),
)
def clipboard(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A board with sheets under a clip."""
    depth, width, height = size
    s.box((depth, width, 0.005), (0, 0, 0), ink)
    s.box((depth - 0.03, width - 0.02, 0.004), (-0.008, 0, 0.005), PAPER)
    s.box((0.03, width * 0.45, height - 0.009), (depth / 2 - 0.02, 0, 0.009), METAL)


@kind(
    "pencil cup",
    Group.SMALL,
    depth=(0.08, 0.09),
    width=(0.08, 0.09),
    height=(0.17, 0.20),
    colors=("black", "silver", "blue", "green", "white"),
)
def pencil_cup(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A beaker with four pencils of other colours."""
    radius, height = size[0] / 2, size[2]
    s.cylinder(radius, height * 0.55, (0, 0, 0), ink)
    for pencil, name in enumerate(("yellow", "red", "blue", "green")):
        angle = math.pi / 2 * pencil
        at = (radius * 0.5 * math.cos(angle), radius * 0.5 * math.sin(angle), height * 0.5)
        s.cylinder(0.004, height * 0.5 - 0.01 * pencil, at, PALETTE[name], sections=6)
    s.cylinder(radius * 0.85, 0.002, (0, 0, height * 0.55), DARK_METAL)
