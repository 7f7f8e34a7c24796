"""Shelves, cupboards, and what holds other things; only open boards count as supports, so nothing is hidden."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import BRIGHTS, DARK_METAL, METAL, TIMBER, WOODS, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern

_BOARD = 0.025


@kind(
    "bookshelf",
    Group.FURNITURE,
    depth=(0.28, 0.34),
    width=(0.75, 1.00),
    height=(1.60, 2.00),
    colors=(*WOODS, "white", "black"),
)
def bookshelf(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Five open boards between two cheeks and a thin back."""
    _open_shelf(s, size, ink, boards=5, top_surface=False)


@kind(
    "shelf",
    Group.FURNITURE,
    depth=(0.30, 0.38),
    width=(0.80, 1.20),
    height=(0.80, 1.05),
    colors=(*WOODS, "white", "black"),
)
def shelf(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A low open shelf whose top is used too."""
    _open_shelf(s, size, ink, boards=3, top_surface=True)


@kind(
    "shoe rack",
    Group.FURNITURE,
    depth=(0.32, 0.36),
    width=(0.70, 1.00),
    height=(0.50, 0.62),
    colors=(*WOODS, "white"),
)
def shoe_rack(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two boards for shoes and a top."""
    _open_shelf(s, size, ink, boards=2, top_surface=True)


def _open_shelf(s: Sculptor, size: Size, ink: Rgb, *, boards: int, top_surface: bool) -> None:
    depth, width, height = size
    for side in (-1, 1):
        s.box((depth, _BOARD, height), (0, side * (width - _BOARD) / 2, 0), ink, pattern=Pattern.WOOD)
    inner = width - 2 * _BOARD
    s.box((0.01, inner, height), (-depth / 2 + 0.005, 0, 0), shade(ink, 0.75), pattern=Pattern.WOOD)
    s.box((depth - 0.01, inner, _BOARD), (0.005, 0, height - _BOARD), ink, pattern=Pattern.WOOD)
    gap = (height - 0.06 - _BOARD) / boards
    for board in range(boards):
        z = 0.06 + board * gap
        s.box((depth - 0.01, inner, _BOARD), (0.005, 0, z), ink, pattern=Pattern.WOOD)
        # above eye height a board is seen from below only: what stands there would be hidden
        if z < 1.2:
            s.surface(z + _BOARD, (depth - 0.03, inner - 0.02), middle=(0.005, 0), clear=gap - _BOARD - 0.01)
    if top_surface:
        s.surface(height, (depth - 0.03, width - 0.04))


@kind(
    "wardrobe",
    Group.FURNITURE,
    depth=(0.56, 0.62),
    width=(1.00, 1.60),
    height=(1.95, 2.15),
    colors=(*WOODS, "white", "grey"),
)
def wardrobe(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A carcass with two or three doors and their handles."""
    depth, width, height = size
    _doors(s, size, ink, doors=2 if width < 1.3 else 3)
    s.box((depth, width, 0.03), (0, 0, height - 0.03), shade(ink, 0.8), pattern=Pattern.WOOD)


@kind(
    "cabinet",
    Group.FURNITURE,
    depth=(0.38, 0.45),
    width=(0.80, 1.20),
    height=(0.80, 0.95),
    colors=(*WOODS, "white", "grey", "teal"),
)
def cabinet(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A sideboard: two doors, and a top to put things on."""
    depth, width, height = size
    _doors(s, size, ink, doors=2)
    s.box((depth, width, 0.03), (0, 0, height - 0.03), shade(ink, 0.8), pattern=Pattern.WOOD)
    s.surface(height, (depth - 0.05, width - 0.05))


def _doors(s: Sculptor, size: Size, ink: Rgb, *, doors: int) -> None:
    depth, width, height = size
    s.box((depth - 0.06, width - 0.02, 0.07), (-0.02, 0, 0), DARK_METAL)
    s.box((depth - 0.02, width, height - 0.10), (-0.01, 0, 0.07), ink, pattern=Pattern.WOOD)
    for door in range(doors):
        y = -width / 2 + (door + 0.5) * width / doors
        panel = (0.02, width / doors - 0.015, height - 0.14)
        s.box(panel, (depth / 2 - 0.015, y, 0.09), shade(ink, 0.92), pattern=Pattern.WOOD)
        edge = y + (width / doors / 2 - 0.05) * (1 if door % 2 == 0 else -1)
        s.box((0.025, 0.015, min(0.18, height * 0.2)), (depth / 2 - 0.005, edge, height * 0.5), METAL)


@kind(
    "dresser",
    Group.FURNITURE,
    depth=(0.42, 0.50),
    width=(0.80, 1.20),
    height=(0.75, 0.95),
    colors=(*WOODS, "white"),
)
def dresser(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A chest of three wide drawers with knobs."""
    depth, width, height = size
    s.legs((depth, width), 0.09, shade(ink, 0.7), thick=0.05)
    s.box((depth - 0.02, width, height - 0.09), (-0.01, 0, 0.09), ink, pattern=Pattern.WOOD)
    tall = (height - 0.13) / 3
    for drawer in range(3):
        z = 0.11 + drawer * tall
        s.box((0.02, width - 0.05, tall - 0.03), (depth / 2 - 0.01, 0, z), shade(ink, 0.87), pattern=Pattern.WOOD)
        for side in (-1, 1):
            s.box((0.03, 0.04, 0.02), (depth / 2 + 0.005, side * width / 4, z + tall / 2), METAL)
    s.surface(height, (depth - 0.06, width - 0.04))


@kind(
    "coat rack",
    Group.FURNITURE,
    depth=(0.40, 0.46),
    width=(0.40, 0.46),
    height=(1.65, 1.80),
    colors=(*WOODS, "black"),
)
def coat_rack(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A post on a cross foot with hooks at the top."""
    reach, height = min(size[0], size[1]), size[2]
    s.box((reach, 0.05, 0.04), (0, 0, 0), ink)
    s.box((0.05, reach, 0.04), (0, 0, 0), ink)
    s.cylinder(0.022, height - 0.04, (0, 0, 0.04), ink, sections=8, pattern=Pattern.WOOD)
    for hook in range(6):
        angle = math.pi * hook / 3
        z = height - 0.16 - 0.14 * (hook % 2)
        s.cylinder(0.01, 0.15, (0, 0, z), shade(ink, 0.8), sections=6, pitch=math.pi / 3, yaw=angle)


@kind(
    "laundry basket",
    Group.FURNITURE,
    depth=(0.36, 0.42),
    width=(0.40, 0.50),
    height=(0.50, 0.60),
    colors=("white", "beige", "light brown", "grey"),
)
def laundry_basket(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tapered tub with a rim and washing in it."""
    depth, width, height = size
    half = (depth / 2, width / 2)
    s.turned([(0.78, 0), (0.96, height - 0.06)], (0, 0, 0), ink, stretch=half, pattern=Pattern.STRIPES)
    s.turned([(1, 0), (1, 0.05)], (0, 0, height - 0.06), shade(ink, 0.8), stretch=half)
    s.ball((depth * 0.38, width * 0.38, 0.07), (0, 0, height - 0.05), (150, 170, 196), pattern=Pattern.FABRIC)


@kind(
    "trash can",
    Group.FURNITURE,
    depth=(0.24, 0.30),
    width=(0.24, 0.30),
    height=(0.30, 0.60),
    colors=("silver", "black", "white", "grey", "green"),
)
def trash_can(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tapered bin with a lid and a pedal."""
    radius, height = min(size[0], size[1]) / 2, size[2]
    s.cylinder(radius * 0.85, height - 0.05, (0, 0, 0), ink, top_radius=radius)
    s.turned([(radius, 0), (radius, 0.02), (radius * 0.5, 0.05)], (0, 0, height - 0.05), shade(ink, 0.7))
    s.box((0.05, 0.08, 0.02), (radius, 0, 0.01), DARK_METAL)


@kind(
    "cardboard box",
    Group.SMALL,
    depth=(0.26, 0.40),
    width=(0.30, 0.45),
    height=(0.22, 0.34),
    colors=("light brown", "brown"),
)
def cardboard_box(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A carton with tape along its flaps."""
    depth, width, height = size
    s.box((depth, width, height - 0.004), (0, 0, 0), ink)
    s.box((0.05, width, 0.004), (0, 0, height - 0.004), shade(ink, 1.25))
    s.box((depth, 0.006, 0.004), (0, 0, height - 0.004), shade(ink, 0.7))


@kind(
    "basket",
    Group.SMALL,
    depth=(0.22, 0.30),
    width=(0.28, 0.38),
    height=(0.16, 0.24),
    colors=("light brown", "beige", "brown", "grey"),
)
def basket(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Wicker, with two handles."""
    depth, width, height = size
    half = (depth / 2, width / 2 - 0.02)
    body = height - 0.05
    s.turned([(0.82, 0), (1, body)], (0, 0, 0), ink, stretch=half, pattern=Pattern.STRIPES)
    s.turned([(0.9, 0), (0.9, 0.006)], (0, 0, body), shade(ink, 0.5), stretch=half)
    for side in (-1, 1):
        s.box((0.10, 0.02, 0.09), (0, side * (width / 2 - 0.01), body - 0.04), shade(ink, 0.8))


@kind(
    "bucket",
    Group.SMALL,
    depth=(0.26, 0.30),
    width=(0.26, 0.30),
    height=(0.26, 0.32),
    colors=("red", "blue", "yellow", "grey", "green"),
)
def bucket(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A pail with a rim and a bail."""
    radius, height = min(size[0], size[1]) / 2, size[2] - 0.04
    s.cylinder(radius * 0.75, height, (0, 0, 0), ink, top_radius=radius * 0.97)
    s.cylinder(radius, 0.02, (0, 0, height - 0.02), shade(ink, 0.8))
    s.cylinder(radius * 0.9, 0.003, (0, 0, height), shade(ink, 0.45))
    s.box((0.01, radius * 1.9, 0.012), (0, 0, height + 0.028), METAL)
    for side in (-1, 1):
        s.box((0.01, 0.012, 0.05), (0, side * radius * 0.93, height - 0.01), METAL)


@kind(
    "suitcase",
    Group.SMALL,
    depth=(0.22, 0.28),
    width=(0.38, 0.46),
    height=(0.58, 0.70),
    colors=tuple(color for color in BRIGHTS if color != "white"),
)
def suitcase(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A hard case on wheels with ribs and a pull-out handle."""
    depth, width, height = size
    shell = height - 0.16
    s.box((depth - 0.02, width, shell), (0, 0, 0.04), ink)
    for rib in range(4):
        s.box((depth, 0.02, shell - 0.08), (0, -width / 2 + (rib + 0.5) * width / 4, 0.08), shade(ink, 0.8))
    for x in (-1, 1):
        for y in (-1, 1):
            s.cylinder(0.022, 0.02, (x * depth / 3, y * width / 2.6, 0.022), DARK_METAL, axis="y", sections=8)
    for y in (-1, 1):
        s.box((0.015, 0.015, 0.10), (-depth / 4, y * width / 5, shell + 0.04), METAL)
    s.box((0.025, width * 0.45, 0.025), (-depth / 4, 0, height - 0.025), DARK_METAL)


@kind(
    "ironing board",
    Group.FURNITURE,
    depth=(0.32, 0.38),
    width=(1.10, 1.25),
    height=(0.85, 0.92),
    colors=("blue", "grey", "red", "light blue", "green"),
)
def ironing_board(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A padded board on crossed legs."""
    depth, width, height = size
    s.box((depth, width, 0.04), (0, 0, height - 0.04), ink, pattern=Pattern.FABRIC)
    lean = math.atan2(width * 0.55, height - 0.06)
    long = math.hypot(width * 0.55, height - 0.06)
    for x, sign in ((-0.05, 1), (0.05, -1)):
        s.box((0.03, 0.03, long - 0.03), (x, sign * width * 0.27, 0.012), METAL, roll=sign * lean)
    for sign in (-1, 1):
        s.box((depth * 0.8, 0.03, 0.03), (0, sign * width * 0.27, 0), TIMBER)
    s.surface(height, (depth - 0.04, width - 0.1))
