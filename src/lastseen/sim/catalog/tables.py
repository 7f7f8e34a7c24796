"""Tables, desks and counters: most of what small things stand on."""

from __future__ import annotations

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import DARK_METAL, METAL, WOODS, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern

_TOP = 0.035
_CABINETS = ("white", "grey", "light brown", "beige", "dark green", "navy")
_WORKTOP: Rgb = (96, 92, 88)


@kind(
    "dining table",
    Group.FURNITURE,
    depth=(0.80, 0.95),
    width=(1.20, 1.80),
    height=(0.73, 0.76),
    colors=(*WOODS, "white"),
)
def dining_table(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A top on four legs with an apron."""
    _table(s, size, ink, thick=0.07)


@kind(
    "coffee table",
    Group.FURNITURE,
    depth=(0.50, 0.62),
    width=(0.80, 1.15),
    height=(0.40, 0.46),
    colors=(*WOODS, "white", "black"),
)
def coffee_table(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A low table with a board below the top."""
    _table(s, size, ink, thick=0.05)
    depth, width, _ = size
    s.box((depth - 0.12, width - 0.12, 0.02), (0, 0, 0.12), shade(ink, 0.8), pattern=Pattern.WOOD)


@kind(
    "side table",
    Group.FURNITURE,
    depth=(0.40, 0.48),
    width=(0.40, 0.48),
    height=(0.50, 0.58),
    colors=(*WOODS, "white", "black"),
)
def side_table(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A round top on a column with a foot."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.cylinder(radius * 0.7, 0.025, (0, 0, 0), DARK_METAL)
    s.cylinder(0.025, height - 0.055, (0, 0, 0.025), DARK_METAL, sections=8)
    s.cylinder(radius, 0.03, (0, 0, height - 0.03), ink, pattern=Pattern.WOOD, sections=16)
    s.surface(height, (radius * 1.35, radius * 1.35))


@kind(
    "console table",
    Group.FURNITURE,
    depth=(0.30, 0.36),
    width=(0.80, 1.10),
    height=(0.76, 0.84),
    colors=(*WOODS, "white"),
)
def console_table(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Narrow, for halls."""
    _table(s, size, ink, thick=0.04)


@kind(
    "desk",
    Group.FURNITURE,
    depth=(0.60, 0.75),
    width=(1.10, 1.50),
    height=(0.72, 0.76),
    colors=(*WOODS, "white", "black"),
)
def desk(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A top on two legs and a block of drawers."""
    depth, width, height = size
    s.box((depth, width, _TOP), (0, 0, height - _TOP), ink, pattern=Pattern.WOOD)
    for x in (-1, 1):
        leg = (x * (depth / 2 - 0.04), -width / 2 + 0.04, 0)
        s.box((0.045, 0.045, height - _TOP), leg, DARK_METAL)
    y = width / 2 - 0.22
    s.box((depth - 0.10, 0.38, height - _TOP - 0.08), (-0.02, y, 0.08), shade(ink, 0.88), pattern=Pattern.WOOD)
    s.box((depth - 0.14, 0.34, 0.08), (-0.02, y, 0), DARK_METAL)
    for drawer in range(3):
        z = 0.10 + drawer * (height - _TOP - 0.12) / 3
        s.box((0.02, 0.14, 0.02), (depth / 2 - 0.06, y, z + 0.10), METAL)
    s.box((0.02, width - 0.5, 0.3), (-depth / 2 + 0.05, -0.2, height - _TOP - 0.3), shade(ink, 0.88))
    s.surface(height, (depth - 0.04, width - 0.06))


@kind(
    "nightstand",
    Group.FURNITURE,
    depth=(0.36, 0.42),
    width=(0.40, 0.50),
    height=(0.48, 0.58),
    colors=(*WOODS, "white"),
)
def nightstand(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A small chest of two drawers on feet."""
    depth, width, height = size
    s.legs((depth, width), 0.10, shade(ink, 0.7), thick=0.04)
    s.box((depth - 0.02, width, height - 0.10), (-0.01, 0, 0.10), ink, pattern=Pattern.WOOD)
    for drawer in range(2):
        tall = (height - 0.14) / 2
        z = 0.12 + drawer * tall
        s.box((0.02, width - 0.05, tall - 0.03), (depth / 2 - 0.01, 0, z), shade(ink, 0.85), pattern=Pattern.WOOD)
    s.surface(height, (depth - 0.06, width - 0.04))


@kind(
    "tv stand",
    Group.FURNITURE,
    depth=(0.38, 0.45),
    width=(1.20, 1.70),
    height=(0.45, 0.55),
    colors=(*WOODS, "white", "black"),
)
def tv_stand(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A low sideboard with doors on plinth."""
    depth, width, height = size
    s.box((depth - 0.08, width - 0.08, 0.08), (0, 0, 0), DARK_METAL)
    s.box((depth - 0.02, width, height - 0.08), (-0.01, 0, 0.08), ink, pattern=Pattern.WOOD)
    for door in (-1, 0, 1):
        panel = (depth / 2 - 0.01, door * width / 3, 0.11)
        s.box((0.02, width / 3 - 0.02, height - 0.14), panel, shade(ink, 0.88), pattern=Pattern.WOOD)
    s.surface(height, (depth - 0.05, width - 0.06))


@kind(
    "kitchen counter",
    Group.FURNITURE,
    depth=(0.60, 0.60),
    width=(0.60, 1.20),
    height=(0.90, 0.90),
    colors=_CABINETS,
)
def kitchen_counter(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A base cabinet with doors, a plinth and a worktop."""
    _base_cabinet(s, size, ink)
    s.surface(size[2], (size[0] - 0.06, size[1] - 0.04))


@kind("kitchen sink", Group.FURNITURE, depth=(0.60, 0.60), width=(0.80, 1.00), height=(0.90, 0.90), colors=_CABINETS)
def kitchen_sink(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A base cabinet whose worktop holds a basin with a tap; room for a thing beside the basin."""
    depth, width, height = size
    _base_cabinet(s, size, ink)
    y = -width / 2 + 0.26
    s.box((0.42, 0.40, 0.012), (0.02, y, height), METAL)
    s.box((0.34, 0.32, 0.004), (0.02, y, height + 0.012), DARK_METAL)
    s.cylinder(0.016, 0.26, (-0.22, y, height), METAL, sections=8)
    s.cylinder(0.012, 0.16, (-0.22, y, height + 0.25), METAL, axis="x", sections=8)
    s.surface(height, (depth - 0.08, width - 0.54), middle=(0, 0.24))


@kind(
    "kitchen island",
    Group.FURNITURE,
    depth=(0.70, 0.85),
    width=(1.20, 1.60),
    height=(0.90, 0.92),
    colors=_CABINETS,
)
def kitchen_island(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A free-standing block with a worktop that stands over."""
    depth, width, height = size
    s.box((depth - 0.2, width - 0.1, height - 0.04), (0, 0, 0), ink, pattern=Pattern.WOOD)
    s.box((depth, width, 0.04), (0, 0, height - 0.04), _WORKTOP, pattern=Pattern.PLASTER)
    s.surface(height, (depth - 0.06, width - 0.06))


def _table(s: Sculptor, size: Size, ink: Rgb, *, thick: float) -> None:
    depth, width, height = size
    s.legs((depth, width), height - _TOP, shade(ink, 0.85), thick=thick, inset=0.02)
    for x in (-1, 1):
        rail = (x * (depth / 2 - 0.05), 0, height - _TOP - 0.06)
        s.box((0.02, width - 0.24, 0.06), rail, shade(ink, 0.85), pattern=Pattern.WOOD)
    s.box((depth, width, _TOP), (0, 0, height - _TOP), ink, pattern=Pattern.WOOD)
    s.surface(height, (depth - 0.04, width - 0.04))


def _base_cabinet(s: Sculptor, size: Size, ink: Rgb) -> None:
    depth, width, height = size
    s.box((depth - 0.08, width, 0.10), (-0.03, 0, 0), DARK_METAL)
    s.box((depth - 0.04, width, height - 0.14), (-0.02, 0, 0.10), ink)
    doors = 2 if width > 0.7 else 1
    for door in range(doors):
        y = -width / 2 + (door + 0.5) * width / doors
        front = (depth / 2 - 0.03, y, 0.12)
        s.box((0.02, width / doors - 0.02, height - 0.19), front, shade(ink, 0.93))
        s.box((0.02, 0.12, 0.015), (depth / 2 - 0.01, y, height - 0.16), METAL)
    s.box((depth, width, 0.04), (0, 0, height - 0.04), _WORKTOP, pattern=Pattern.PLASTER)
