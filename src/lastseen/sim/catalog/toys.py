"""What children and those who train leave on the floor."""

from __future__ import annotations

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import METAL, PALETTE, PAPER, RUBBER, SCREEN, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor


@kind(
    "teddy bear",
    Group.SMALL,
    depth=(0.20, 0.24),
    width=(0.22, 0.28),
    height=(0.30, 0.38),
    colors=("brown", "beige", "white", "pink"),
)
def teddy_bear(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Sitting: body, head, ears, snout, arms and legs."""
    depth, width, height = size
    s.ball((depth * 0.32, width * 0.32, height * 0.3), (-depth * 0.1, 0, height * 0.3), ink)
    s.ball((depth * 0.3, width * 0.28, height * 0.2), (-depth * 0.05, 0, height * 0.72), ink)
    s.ball((0.03, 0.035, 0.028), (depth * 0.2, 0, height * 0.68), shade(ink, 1.3), sections=6)
    for side in (-1, 1):
        s.ball((0.02, 0.035, 0.035), (-depth * 0.08, side * width * 0.22, height * 0.9), shade(ink, 0.8), sections=6)
        s.ball((depth * 0.3, 0.045, 0.045), (depth * 0.2, side * width * 0.24, 0.045), ink, sections=6)
        s.ball((depth * 0.2, 0.035, 0.035), (depth * 0.06, side * width * 0.36, height * 0.42), ink, sections=6)


@kind(
    "ball",
    Group.SMALL,
    depth=(0.18, 0.24),
    width=(0.18, 0.24),
    height=(0.18, 0.24),
    colors=("red", "blue", "orange", "yellow", "green", "white"),
)
def ball(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A ball with a belt."""
    radius = size[0] / 2
    s.ball((radius, radius, radius), (0, 0, radius), ink, sections=14)
    s.cylinder(radius * 0.985, radius * 0.16, (0, 0, radius * 0.92), PAPER, sections=14)


@kind(
    "toy car",
    Group.SMALL,
    depth=(0.20, 0.26),
    width=(0.10, 0.13),
    height=(0.09, 0.12),
    colors=("red", "blue", "yellow", "green", "orange"),
)
def toy_car(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body, a cabin with windows and four wheels."""
    depth, width, height = size
    s.box((depth, width * 0.86, height * 0.42), (0, 0, height * 0.18), ink)
    s.box((depth * 0.5, width * 0.76, height * 0.3), (-depth * 0.04, 0, height * 0.6), SCREEN)
    s.box((depth * 0.46, width * 0.78, height * 0.1), (-depth * 0.04, 0, height * 0.9), ink)
    for x in (-1, 1):
        for y in (-1, 1):
            at = (x * depth * 0.3, y * width * 0.43 - 0.5 * width * 0.14, height * 0.22)
            s.cylinder(height * 0.22, width * 0.14, at, RUBBER, axis="y", sections=10)


@kind(
    "toy blocks",
    Group.SMALL,
    depth=(0.16, 0.20),
    width=(0.16, 0.20),
    height=(0.10, 0.14),
    colors=("red", "blue", "yellow", "green"),
)
def toy_blocks(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Five blocks, two of them stacked, most in the colour named."""
    depth, width, height = size
    edge = height / 2
    s.box((edge, edge, edge), (0, 0, 0), ink)
    s.box((edge, edge, edge), (0, 0, edge), shade(ink, 0.8), yaw=0.5)
    others = (PALETTE["yellow"], PALETTE["blue"], ink)
    for at, color in zip(
        ((depth / 2 - edge / 2, 0), (-depth / 3, width / 3), (-depth / 4, -width / 3)), others, strict=True
    ):
        s.box((edge * 0.9, edge * 0.9, edge * 0.9), (at[0], at[1], 0), color, yaw=at[1])


@kind(
    "dumbbell",
    Group.SMALL,
    depth=(0.10, 0.13),
    width=(0.24, 0.30),
    height=(0.10, 0.13),
    colors=("black", "red", "blue", "purple"),
)
def dumbbell(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two weights on a bar."""
    depth, width, _ = size
    radius = depth / 2
    for side in (-1, 1):
        s.cylinder(radius, width * 0.28, (0, side * width * 0.36 - width * 0.14, radius), ink, axis="y", sections=8)
    s.cylinder(0.016, width * 0.5, (0, -width * 0.25, radius), METAL, axis="y", sections=8)
