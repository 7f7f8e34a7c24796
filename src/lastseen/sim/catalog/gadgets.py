"""Electronics: what is plugged in, charged or mislaid."""

from __future__ import annotations

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import DARK_METAL, METAL, PAPER, RUBBER, SCREEN, WOODS, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern


@kind(
    "tv",
    Group.APPLIANCE,
    depth=(0.20, 0.24),
    width=(0.90, 1.15),
    height=(0.58, 0.72),
    colors=("black", "dark grey"),
)
def tv(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A foot, a neck, a frame and a screen."""
    depth, width, height = size
    s.box((depth, width * 0.4, 0.02), (0, 0, 0), ink)
    s.box((0.04, 0.10, 0.08), (0, 0, 0.02), ink)
    s.box((0.04, width, height - 0.08), (0, 0, 0.08), ink)
    s.box((0.006, width - 0.04, height - 0.13), (0.023, 0, 0.11), SCREEN)


@kind(
    "monitor",
    Group.SMALL,
    depth=(0.18, 0.22),
    width=(0.52, 0.62),
    height=(0.42, 0.50),
    colors=("black", "silver", "white"),
)
def monitor(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """As a television, smaller and on a tall neck."""
    depth, width, height = size
    s.box((depth, 0.22, 0.015), (0, 0, 0), ink)
    s.box((0.03, 0.05, 0.14), (-0.04, 0, 0.015), ink)
    s.box((0.03, width, height - 0.11), (-0.01, 0, 0.11), ink)
    s.box((0.004, width - 0.03, height - 0.14), (0.007, 0, 0.125), (44, 70, 110))


@kind(
    "laptop",
    Group.SMALL,
    depth=(0.27, 0.31),
    width=(0.31, 0.37),
    height=(0.21, 0.24),
    colors=("silver", "black", "white", "navy"),
)
def laptop(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Open: a base with keys and a pad, and a lid with a screen that leans back."""
    depth, width, height = size
    base = depth - 0.06
    s.box((base, width, 0.016), (0.03, 0, 0), ink)
    s.box((base * 0.45, width - 0.04, 0.002), (-0.01, 0, 0.016), RUBBER)
    s.box((base * 0.28, width * 0.32, 0.001), (base * 0.38 + 0.0, 0, 0.016), shade(ink, 0.8))
    hinge = -depth / 2 + 0.06
    s.box((0.010, width, height - 0.02), (hinge, 0, 0.014), ink, pitch=-0.25)
    s.box((0.003, width - 0.03, height - 0.05), (hinge + 0.0055, 0, 0.03), (60, 110, 160), pitch=-0.25)


@kind(
    "keyboard",
    Group.SMALL,
    depth=(0.13, 0.16),
    width=(0.38, 0.44),
    height=(0.025, 0.032),
    colors=("black", "white", "silver"),
)
def keyboard(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Four rows of keys on a plate."""
    depth, width, height = size
    s.box((depth, width, height - 0.008), (0, 0, 0), ink)
    for row in range(4):
        x = (row - 1.5) * depth / 4.6
        s.box((depth / 6, width - 0.03, 0.008), (x, 0, height - 0.008), shade(ink, 0.7 if sum(ink) > 300 else 2.0))


@kind(
    "mouse",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.06, 0.07),
    height=(0.035, 0.042),
    colors=("black", "white", "red", "blue"),
)
def mouse(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A rounded back and a wheel."""
    depth, width, height = size
    s.turned([(0.95, 0), (1, height * 0.4), (0.6, height)], (0, 0, 0), ink, stretch=(depth / 2, width / 2))
    s.cylinder(0.008, 0.008, (depth * 0.25, -0.004, height * 0.85), DARK_METAL, axis="y", sections=8)


@kind(
    "phone",
    Group.SMALL,
    depth=(0.145, 0.165),
    width=(0.070, 0.080),
    height=(0.010, 0.013),
    colors=("black", "white", "blue", "red", "pink", "silver"),
)
def phone(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Lying on its back: a case, a screen and a camera."""
    depth, width, height = size
    s.box((depth, width, height - 0.002), (0, 0, 0), ink)
    s.box((depth - 0.016, width - 0.010, 0.002), (0, 0, height - 0.002), SCREEN)
    s.box((0.006, 0.02, 0.0005), (depth / 2 - 0.013, 0, height), METAL)


@kind(
    "remote",
    Group.SMALL,
    depth=(0.17, 0.21),
    width=(0.045, 0.055),
    height=(0.020, 0.026),
    colors=("black", "grey", "white", "dark grey"),
)
def remote(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A bar with rows of buttons, one of them red."""
    depth, width, height = size
    s.box((depth, width, height - 0.004), (0, 0, 0), ink)
    s.box((0.012, 0.012, 0.004), (depth / 2 - 0.02, 0, height - 0.004), (200, 40, 40))
    keys = shade(ink, 0.6) if sum(ink) > 300 else (150, 152, 156)
    for row in range(5):
        s.box((0.012, width * 0.65, 0.003), (depth * (0.22 - 0.13 * row), 0, height - 0.004), keys)


@kind(
    "tablet",
    Group.SMALL,
    depth=(0.17, 0.19),
    width=(0.24, 0.27),
    height=(0.010, 0.014),
    colors=("black", "silver", "white", "pink"),
)
def tablet(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A slab with a large screen."""
    depth, width, height = size
    s.box((depth, width, height - 0.002), (0, 0, 0), ink)
    s.box((depth - 0.024, width - 0.024, 0.002), (0, 0, height - 0.002), (40, 60, 96))


@kind(
    "headphones",
    Group.SMALL,
    depth=(0.17, 0.20),
    width=(0.17, 0.20),
    height=(0.07, 0.08),
    colors=("black", "white", "red", "blue"),
)
def headphones(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Lying flat: a bow in five pieces between two cups."""
    depth, width, height = size
    for side in (-1, 1):
        at = (depth * 0.3, side * (width / 2 - 0.04), height / 2)
        s.cylinder(height / 2, 0.035, (at[0], at[1] - 0.0175, at[2]), ink, axis="y", sections=10)
    for piece in range(5):
        angle = np.pi * (piece + 0.5) / 5
        x = depth * 0.2 - np.sin(angle) * depth * 0.62
        y = np.cos(angle) * (width / 2 - 0.02)
        s.box(
            (0.014, width * 0.34, 0.022),
            (float(x), float(y), height / 2 - 0.011),
            shade(ink, 0.7),
            yaw=float(angle - np.pi / 2),
        )


@kind(
    "speaker",
    Group.SMALL,
    depth=(0.16, 0.22),
    width=(0.15, 0.20),
    height=(0.26, 0.36),
    colors=(*WOODS, "black", "white"),
)
def speaker(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A box with two cones."""
    depth, width, height = size
    s.box((depth - 0.012, width, height), (0, 0, 0), ink, pattern=Pattern.WOOD)
    front = depth / 2 - 0.006
    s.cylinder(width * 0.36, 0.010, (front, 0, height * 0.32), RUBBER, axis="x")
    s.cylinder(width * 0.2, 0.012, (front, 0, height * 0.76), RUBBER, axis="x")


@kind(
    "printer",
    Group.SMALL,
    depth=(0.34, 0.40),
    width=(0.42, 0.48),
    height=(0.18, 0.24),
    colors=("white", "black", "grey"),
)
def printer(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body, a tray with paper and a panel."""
    depth, width, height = size
    s.box((depth - 0.08, width, height), (-0.04, 0, 0), ink)
    s.box((0.14, width * 0.7, 0.015), (depth / 2 - 0.07, 0, 0.04), shade(ink, 0.8))
    s.box((0.12, width * 0.55, 0.006), (depth / 2 - 0.06, 0, 0.055), PAPER)
    s.box((0.01, 0.14, 0.06), (depth / 2 - 0.078, -width / 4, height - 0.08), SCREEN)


@kind(
    "game controller",
    Group.SMALL,
    depth=(0.10, 0.12),
    width=(0.15, 0.17),
    height=(0.045, 0.06),
    colors=("black", "white", "red", "blue"),
)
def game_controller(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two grips, a bridge and two sticks."""
    depth, width, height = size
    body = height - 0.015
    for side in (-1, 1):
        s.ball((depth / 2, width * 0.2, body / 2), (0, side * width * 0.3, body / 2), ink, sections=8)
        s.cylinder(0.012, 0.022, (0.01, side * width * 0.16, body * 0.7), RUBBER, sections=8)
    s.box((depth * 0.55, width * 0.55, body * 0.7), (0.01, 0, body * 0.15), ink)


@kind("router", Group.SMALL, depth=(0.13, 0.16), width=(0.20, 0.25), height=(0.15, 0.18), colors=("black", "white"))
def router(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A flat box with three antennas and lights."""
    depth, width, height = size
    s.box((depth, width, 0.035), (0, 0, 0), ink)
    for antenna in (-1, 0, 1):
        s.box((0.012, 0.016, height - 0.02), (-depth / 2 + 0.01, antenna * width / 2.6, 0.02), shade(ink, 0.8))
    s.box((0.002, width * 0.5, 0.006), (depth / 2, 0, 0.014), (80, 200, 110))
