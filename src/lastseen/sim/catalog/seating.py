"""What people sit and lie on."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import (
    DARK_METAL,
    FABRICS,
    LINENS,
    METAL,
    PALETTE,
    RUBBER,
    TIMBER,
    WOODS,
    Rgb,
    shade,
)
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern


@kind(
    "chair",
    Group.FURNITURE,
    depth=(0.42, 0.50),
    width=(0.40, 0.48),
    height=(0.80, 0.94),
    colors=(*WOODS, "white", "black", "red", "grey", "green"),
)
def chair(s: Sculptor, size: Size, ink: Rgb, rng: np.random.Generator) -> None:
    """Four legs, a seat, two posts and a back of slats or one panel."""
    depth, width, height = size
    seat = 0.45
    s.legs((depth, width), seat, shade(ink, 0.85), thick=0.04)
    s.box((depth, width, 0.04), (0, 0, seat), ink, pattern=Pattern.WOOD)
    rear = -depth / 2 + 0.02
    for side in (-1, 1):
        post = (rear, side * (width / 2 - 0.02), seat + 0.04)
        s.box((0.035, 0.035, height - seat - 0.04), post, shade(ink, 0.85), pattern=Pattern.WOOD)
    slats = int(rng.integers(1, 4))
    tall = (height - seat - 0.14) / slats
    for slat in range(slats):
        z = seat + 0.12 + slat * tall
        s.box((0.025, width - 0.08, tall * 0.75), (rear, 0, z), ink, pattern=Pattern.WOOD)
    s.surface(seat + 0.04, (depth - 0.1, width - 0.06), middle=(0.03, 0))


@kind(
    "armchair",
    Group.FURNITURE,
    depth=(0.75, 0.88),
    width=(0.75, 0.90),
    height=(0.80, 0.98),
    colors=FABRICS,
)
def armchair(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A base on short feet, a cushion, a back and two arms."""
    _upholstered(s, size, ink, cushions=1)


@kind("sofa", Group.FURNITURE, depth=(0.82, 0.95), width=(1.60, 2.20), height=(0.78, 0.88), colors=FABRICS)
def sofa(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """As an armchair, for two or three."""
    _upholstered(s, size, ink, cushions=2 if size[1] < 1.85 else 3)


def _upholstered(s: Sculptor, size: Size, ink: Rgb, *, cushions: int) -> None:
    depth, width, height = size
    arm, back, seat = 0.16, 0.20, 0.42
    s.legs((depth, width), 0.08, DARK_METAL, thick=0.05, inset=0.04)
    s.box((depth, width, 0.20), (0, 0, 0.08), shade(ink, 0.8), pattern=Pattern.FABRIC)
    inner = width - 2 * arm
    for index in range(cushions):
        y = -inner / 2 + (index + 0.5) * inner / cushions
        x = back / 2
        s.box((depth - back, inner / cushions - 0.015, seat - 0.28), (x, y, 0.28), ink, pattern=Pattern.FABRIC)
        rear = (-depth / 2 + back + 0.05, y, seat)
        s.box((0.10, inner / cushions - 0.03, height - seat - 0.05), rear, ink, pattern=Pattern.FABRIC)
    s.box((back, width, height - 0.28), (-depth / 2 + back / 2, 0, 0.28), shade(ink, 0.9), pattern=Pattern.FABRIC)
    for side in (-1, 1):
        at = (back / 2, side * (width - arm) / 2, 0.28)
        s.box((depth - back, arm, 0.32), at, shade(ink, 0.9), pattern=Pattern.FABRIC)
    s.surface(seat, (depth - back - 0.14, inner - 0.04), middle=(back / 2 + 0.06, 0))


@kind(
    "office chair",
    Group.FURNITURE,
    depth=(0.54, 0.62),
    width=(0.54, 0.62),
    height=(0.92, 1.10),
    colors=("black", "grey", "blue", "white", "red"),
)
def office_chair(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Five spokes with castors, a gas lift, a padded seat and a back."""
    depth, width, height = size
    reach = min(depth, width) / 2 - 0.03
    for spoke in range(5):
        angle = 2 * math.pi * spoke / 5
        middle = (reach / 2 * math.cos(angle), reach / 2 * math.sin(angle), 0.06)
        s.box((reach, 0.04, 0.03), middle, DARK_METAL, yaw=angle)
        s.ball((0.03, 0.03, 0.03), (reach * math.cos(angle), reach * math.sin(angle), 0.03), RUBBER, sections=6)
    s.cylinder(0.03, 0.36, (0, 0, 0.07), METAL, sections=8)
    s.box((depth - 0.12, width - 0.10, 0.08), (0.02, 0, 0.43), ink, pattern=Pattern.FABRIC)
    s.box((0.05, 0.06, 0.2), (-depth / 2 + 0.09, 0, 0.47), DARK_METAL)
    s.box((0.06, width - 0.14, height - 0.62), (-depth / 2 + 0.10, 0, 0.62), ink, pattern=Pattern.FABRIC)
    s.surface(0.51, (depth - 0.26, width - 0.16), middle=(0.05, 0))


@kind(
    "stool",
    Group.FURNITURE,
    depth=(0.32, 0.38),
    width=(0.32, 0.38),
    height=(0.44, 0.66),
    colors=(*WOODS, "white", "black", "yellow"),
)
def stool(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A round seat on four legs."""
    depth, width, height = size
    s.legs((depth * 0.8, width * 0.8), height - 0.035, shade(ink, 0.8), thick=0.035)
    s.cylinder(min(depth, width) / 2, 0.035, (0, 0, height - 0.035), ink, pattern=Pattern.WOOD)
    s.surface(height, (depth * 0.66, width * 0.66))


@kind("bench", Group.FURNITURE, depth=(0.34, 0.42), width=(0.85, 1.20), height=(0.42, 0.47), colors=(*WOODS, "white"))
def bench(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A board on two cheeks with a rail."""
    depth, width, height = size
    s.box((depth, width, 0.045), (0, 0, height - 0.045), ink, pattern=Pattern.WOOD)
    for side in (-1, 1):
        s.box((depth - 0.06, 0.05, height - 0.045), (0, side * (width / 2 - 0.08), 0), shade(ink, 0.85))
    s.box((0.04, width - 0.2, 0.07), (0, 0, 0.16), shade(ink, 0.85), pattern=Pattern.WOOD)
    s.surface(height, (depth - 0.04, width - 0.04))


@kind("bed", Group.FURNITURE, depth=(1.98, 2.10), width=(0.95, 1.80), height=(0.85, 1.10), colors=LINENS)
def bed(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A frame with headboard and feet, a mattress, a folded-back duvet in the bed's colour."""
    depth, width, height = size
    s.legs((depth, width), 0.16, TIMBER, thick=0.07)
    s.box((depth, width, 0.14), (0, 0, 0.16), TIMBER, pattern=Pattern.WOOD)
    s.box((0.06, width, height - 0.30), (-depth / 2 + 0.03, 0, 0.30), TIMBER, pattern=Pattern.WOOD)
    s.box((depth - 0.12, width - 0.06, 0.18), (0.03, 0, 0.30), PALETTE["white"], pattern=Pattern.FABRIC)
    cover = (depth - 0.12) * 0.66
    s.box((cover, width - 0.02, 0.05), (depth / 2 - cover / 2 - 0.02, 0, 0.48), ink, pattern=Pattern.FABRIC)
    s.surface(0.48, (depth - 0.16 - cover, width - 0.16), middle=(-depth / 2 + 0.06 + (depth - 0.12 - cover) / 2, 0))
    s.surface(0.53, (cover - 0.1, width - 0.12), middle=(depth / 2 - cover / 2 - 0.02, 0))
