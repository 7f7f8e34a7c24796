"""Machines of kitchen and laundry, large and small."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.kinds import Group, Size, kind
from lastseen.sim.catalog.palette import APPLIANCES, DARK_METAL, METAL, RUBBER, SCREEN, Rgb, shade
from lastseen.sim.catalog.sculptor import Sculptor
from lastseen.sim.mesh import Pattern


@kind("fridge", Group.APPLIANCE, depth=(0.62, 0.70), width=(0.60, 0.75), height=(1.65, 1.90), colors=APPLIANCES)
def fridge(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A body, a freezer door above a larger one, and handles."""
    depth, width, height = size
    s.box((depth - 0.05, width, height), (-0.025, 0, 0), shade(ink, 0.85))
    split = height * 0.66
    for low, tall in ((0.05, split - 0.06), (split, height - split - 0.01)):
        s.box((0.04, width, tall), (depth / 2 - 0.03, 0, low), ink)
    for z in (split - 0.5, split + 0.08):
        s.box((0.02, 0.025, 0.38), (depth / 2, -width / 2 + 0.06, z), METAL)


@kind("stove", Group.APPLIANCE, depth=(0.60, 0.62), width=(0.58, 0.62), height=(0.90, 0.90), colors=APPLIANCES)
def stove(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """An oven with a window and a handle, knobs, and a hob of four plates that pots stand on."""
    depth, width, height = size
    s.box((depth - 0.03, width, height - 0.03), (-0.015, 0, 0), ink)
    s.box((0.02, width - 0.10, 0.36), (depth / 2 - 0.02, 0, 0.22), SCREEN)
    s.box((0.03, width - 0.12, 0.02), (depth / 2 - 0.005, 0, 0.64), METAL)
    for knob in range(4):
        y = (knob - 1.5) * width / 5
        s.cylinder(0.018, 0.02, (depth / 2 - 0.03, y, 0.76), DARK_METAL, axis="x", sections=8)
    s.box((depth, width, 0.03), (0, 0, height - 0.03), SCREEN)
    for x in (-1, 1):
        for y in (-1, 1):
            # flush with the hob, so that a pot stands level anywhere
            s.cylinder(0.085, 0.0008, (x * depth / 4.4, y * width / 4.2, height), (70, 44, 40))
    s.surface(height, (depth - 0.08, width - 0.08))


@kind("dishwasher", Group.APPLIANCE, depth=(0.60, 0.60), width=(0.58, 0.60), height=(0.90, 0.90), colors=APPLIANCES)
def dishwasher(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Under a worktop of its own, with a panel and a handle."""
    depth, width, height = size
    s.box((depth - 0.04, width, height - 0.04), (-0.02, 0, 0), shade(ink, 0.85))
    s.box((0.02, width - 0.02, height - 0.28), (depth / 2 - 0.03, 0, 0.10), ink)
    s.box((0.02, width - 0.02, 0.10), (depth / 2 - 0.03, 0, height - 0.15), DARK_METAL)
    s.box((0.025, width - 0.2, 0.02), (depth / 2 - 0.01, 0, height - 0.2), METAL)
    s.box((depth, width, 0.04), (0, 0, height - 0.04), (96, 92, 88), pattern=Pattern.PLASTER)
    s.surface(height, (depth - 0.06, width - 0.04))


@kind(
    "washing machine",
    Group.APPLIANCE,
    depth=(0.55, 0.62),
    width=(0.58, 0.60),
    height=(0.84, 0.86),
    colors=APPLIANCES,
)
def washing_machine(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A porthole in a ring, a drawer and a dial."""
    _drum(s, size, ink, window=SCREEN)
    depth, width, height = size
    s.box((0.02, 0.16, 0.07), (depth / 2 - 0.03, -width / 2 + 0.12, height - 0.11), shade(ink, 0.8))


@kind("dryer", Group.APPLIANCE, depth=(0.56, 0.62), width=(0.58, 0.60), height=(0.84, 0.86), colors=APPLIANCES)
def dryer(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """As a washing machine, with a pale door and a lint grille."""
    _drum(s, size, ink, window=(150, 156, 162))
    depth, width, _ = size
    for bar in range(3):
        s.box((0.02, 0.20, 0.012), (depth / 2 - 0.03, width / 2 - 0.14, 0.06 + bar * 0.03), DARK_METAL)


def _drum(s: Sculptor, size: Size, ink: Rgb, *, window: Rgb) -> None:
    depth, width, height = size
    s.box((depth - 0.04, width, height), (-0.02, 0, 0), ink)
    middle = height * 0.48
    s.cylinder(0.19, 0.03, (depth / 2 - 0.04, 0, middle), METAL, axis="x", sections=16)
    s.cylinder(0.14, 0.01, (depth / 2 - 0.01, 0, middle), window, axis="x", sections=16)
    s.box((0.01, width - 0.04, 0.09), (depth / 2 - 0.04, 0, height - 0.12), shade(ink, 0.9))
    s.cylinder(0.03, 0.03, (depth / 2 - 0.03, width / 4, height - 0.075), DARK_METAL, axis="x", sections=8)
    s.surface(height, (depth - 0.08, width - 0.06), middle=(-0.02, 0))


@kind("microwave", Group.SMALL, depth=(0.34, 0.40), width=(0.45, 0.52), height=(0.26, 0.30), colors=APPLIANCES)
def microwave(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A dark window, a handle and a panel of keys."""
    depth, width, height = size
    s.box((depth - 0.02, width, height), (-0.01, 0, 0), ink)
    s.box((0.01, width * 0.62, height - 0.08), (depth / 2 - 0.015, -width * 0.15, 0.04), SCREEN)
    s.box((0.02, 0.02, height - 0.08), (depth / 2 - 0.01, width * 0.2, 0.04), METAL)
    s.box((0.01, width * 0.18, height - 0.08), (depth / 2 - 0.015, width * 0.37, 0.04), shade(ink, 0.7))


@kind(
    "kettle",
    Group.SMALL,
    depth=(0.15, 0.18),
    width=(0.18, 0.22),
    height=(0.22, 0.26),
    colors=("silver", "white", "black", "red", "teal"),
)
def kettle(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A tapered jug on a base with spout, lid and handle."""
    depth, _, height = size
    radius = depth / 2
    s.cylinder(radius, 0.02, (0, 0, 0), RUBBER)
    s.turned([(0.95 * radius, 0), (0.66 * radius, height - 0.05), (0.3 * radius, height - 0.03)], (0, 0, 0.02), ink)
    s.ball((0.012, 0.012, 0.01), (0, 0, height - 0.006), RUBBER, sections=6)
    s.cylinder(
        0.022, 0.06, (0, radius * 0.6, height * 0.6), ink, top_radius=0.01, sections=8, yaw=math.pi / 2, pitch=0.9
    )
    s.box((0.025, 0.02, height * 0.6), (0, -radius - 0.02, height * 0.25), RUBBER)
    s.box((0.025, 0.06, 0.02), (0, -radius + 0.005, height * 0.78), RUBBER)


@kind(
    "toaster",
    Group.SMALL,
    depth=(0.17, 0.20),
    width=(0.27, 0.32),
    height=(0.18, 0.21),
    colors=("silver", "white", "black", "red", "light blue"),
)
def toaster(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Two slots, a lever and feet."""
    depth, width, height = size
    s.box((depth - 0.03, width - 0.03, 0.015), (0, 0, 0), RUBBER)
    s.box((depth, width, height - 0.019), (0, 0, 0.015), ink)
    for x in (-1, 1):
        s.box((0.03, width * 0.75, 0.004), (x * depth / 5, 0, height - 0.004), RUBBER)
    s.box((0.05, 0.03, 0.02), (0, width / 2 + 0.01, height * 0.6), RUBBER)


@kind(
    "coffee maker",
    Group.SMALL,
    depth=(0.24, 0.30),
    width=(0.18, 0.24),
    height=(0.30, 0.36),
    colors=("black", "silver", "red", "white"),
)
def coffee_maker(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A column with an overhanging head and a glass pot on a plate."""
    depth, width, height = size
    s.box((depth, width, 0.03), (0, 0, 0), shade(ink, 0.8))
    s.box((depth * 0.35, width, height - 0.03), (-depth * 0.325, 0, 0.03), ink)
    s.box((depth * 0.65, width, height * 0.28), (depth * 0.175, 0, height * 0.72), ink)
    radius = min(width, depth * 0.6) / 2 - 0.015
    pot = [(radius, 0), (radius, height * 0.3), (radius * 0.6, height * 0.5)]
    s.turned(pot, (depth * 0.17, 0, 0.03), (70, 50, 40))
    s.box((0.05, 0.02, height * 0.3), (depth * 0.17 + radius, 0, height * 0.2), RUBBER)


@kind(
    "iron",
    Group.SMALL,
    depth=(0.24, 0.28),
    width=(0.11, 0.13),
    height=(0.13, 0.15),
    colors=("blue", "white", "red", "purple", "teal"),
)
def iron(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A steel sole, a body and a handle."""
    depth, width, height = size
    s.turned([(1, 0), (1, 0.012)], (0, 0, 0), METAL, stretch=(depth / 2, width / 2))
    s.turned([(0.92, 0), (0.6, height * 0.4)], (-0.01, 0, 0.012), ink, stretch=(depth / 2, width / 2))
    for x in (-1, 1):
        s.box((0.03, 0.03, height * 0.45), (-0.01 + x * depth / 5, 0, height * 0.4), ink)
    s.box((depth * 0.6, 0.032, height * 0.18), (-0.01, 0, height * 0.82), shade(ink, 0.6))


@kind(
    "vacuum cleaner",
    Group.SMALL,
    depth=(0.26, 0.30),
    width=(0.28, 0.32),
    height=(1.00, 1.12),
    colors=("red", "blue", "grey", "green", "purple"),
)
def vacuum_cleaner(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """Upright: a floor head, a dust bin, a body and a handle."""
    depth, width, height = size
    s.box((depth, width, 0.09), (0, 0, 0), DARK_METAL)
    s.cylinder(0.08, 0.40, (-depth / 2 + 0.09, 0, 0.09), ink)
    s.cylinder(0.07, 0.20, (-depth / 2 + 0.09, 0, 0.49), (150, 160, 170), top_radius=0.04)
    s.cylinder(0.018, height - 0.79, (-depth / 2 + 0.09, 0, 0.69), METAL, sections=8)
    s.box((0.14, 0.04, 0.10), (-depth / 2 + 0.09, 0, height - 0.10), ink)


@kind(
    "fan",
    Group.SMALL,
    depth=(0.26, 0.30),
    width=(0.34, 0.40),
    height=(0.50, 0.90),
    colors=("white", "black", "grey", "light blue"),
)
def fan(s: Sculptor, size: Size, ink: Rgb, _rng: np.random.Generator) -> None:
    """A round guard with a hub on a post and foot."""
    depth, width, height = size
    radius = width / 2
    s.cylinder(depth / 2, 0.025, (0, 0, 0), shade(ink, 0.8))
    s.cylinder(0.018, height - radius - 0.02, (0, 0, 0.02), shade(ink, 0.8), sections=8)
    s.cylinder(radius, 0.05, (0.03, 0, height - radius), ink, axis="x", sections=16)
    s.cylinder(radius * 0.86, 0.004, (0.08, 0, height - radius), shade(ink, 0.6), axis="x", sections=16)
    s.cylinder(0.05, 0.08, (0.03, 0, height - radius), ink, axis="x", sections=8)
    s.cylinder(0.05, 0.08, (-0.05, 0, height - radius), shade(ink, 0.7), axis="x", sections=8)
