"""Electrical things: machines of kitchen and laundry, screens, computers and what is charged."""

from __future__ import annotations

import math

import numpy as np

from lastseen.sim.catalog.object_class import Group, object_class
from lastseen.sim.catalog.palette import DARK_METAL, METAL, PAPER, RUBBER, SCREEN, Rgb, shade
from lastseen.sim.catalog.shape import PLASTER, WOOD, ShapeBuilder


@object_class(Group.APPLIANCE, "0.62-0.7 x 0.6-0.75 x 1.65-1.9", "appliances")
def fridge(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body, a freezer door above a larger one, and handles."""
    s.box((d - 0.05, w, h), (-0.025, 0, 0), shade(color, 0.85))
    split = h * 0.66
    for low, tall in ((0.05, split - 0.06), (split, h - split - 0.01)):
        s.box((0.04, w, tall), (d / 2 - 0.03, 0, low), color)
    for z in (split - 0.5, split + 0.08):
        s.box((0.02, 0.025, 0.38), (d / 2, -w / 2 + 0.06, z), METAL)


@object_class(Group.APPLIANCE, "0.6-0.62 x 0.58-0.62 x 0.9", "appliances")
def stove(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """An oven with a window and a handle, knobs, and a hob of four plates that pots stand on."""
    s.box((d - 0.03, w, h - 0.03), (-0.015, 0, 0), color)
    s.box((0.02, w - 0.1, 0.36), (d / 2 - 0.02, 0, 0.22), SCREEN)
    s.box((0.03, w - 0.12, 0.02), (d / 2 - 0.005, 0, 0.64), METAL)
    for knob in range(4):
        y = (knob - 1.5) * w / 5
        s.cylinder(0.018, 0.02, (d / 2 - 0.03, y, 0.76), DARK_METAL, axis="x", sections=8)
    s.box((d, w, 0.03), (0, 0, h - 0.03), SCREEN)
    # flush with the hob, so that a pot stands level anywhere
    s.cylinder(0.085, 0.0008, (d / 4.4, w / 4.2, h), (70, 44, 40), mirror="xy")
    s.surface(h, (d - 0.08, w - 0.08))


@object_class(Group.APPLIANCE, "0.6 x 0.58-0.6 x 0.9", "appliances")
def dishwasher(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Under a worktop of its own, with a panel and a handle."""
    s.box((d - 0.04, w, h - 0.04), (-0.02, 0, 0), shade(color, 0.85))
    s.box((0.02, w - 0.02, h - 0.28), (d / 2 - 0.03, 0, 0.1), color)
    s.box((0.02, w - 0.02, 0.1), (d / 2 - 0.03, 0, h - 0.15), DARK_METAL)
    s.box((0.025, w - 0.2, 0.02), (d / 2 - 0.01, 0, h - 0.2), METAL)
    s.box((d, w, 0.04), (0, 0, h - 0.04), (96, 92, 88), PLASTER)
    s.surface(h, (d - 0.06, w - 0.04))


def _drum(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb, *, window: Rgb) -> None:
    s.box((d - 0.04, w, h), (-0.02, 0, 0), color)
    middle = h * 0.48
    s.cylinder(0.19, 0.03, (d / 2 - 0.04, 0, middle), METAL, axis="x", sections=16)
    s.cylinder(0.14, 0.01, (d / 2 - 0.01, 0, middle), window, axis="x", sections=16)
    s.box((0.01, w - 0.04, 0.09), (d / 2 - 0.04, 0, h - 0.12), shade(color, 0.9))
    s.cylinder(0.03, 0.03, (d / 2 - 0.03, w / 4, h - 0.075), DARK_METAL, axis="x", sections=8)
    s.surface(h, (d - 0.08, w - 0.06), middle=(-0.02, 0))


@object_class(Group.APPLIANCE, "0.55-0.62 x 0.58-0.6 x 0.84-0.86", "appliances")
def washing_machine(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A porthole in a ring, a drawer and a dial."""
    _drum(s, d, w, h, color, window=SCREEN)
    s.box((0.02, 0.16, 0.07), (d / 2 - 0.03, -w / 2 + 0.12, h - 0.11), shade(color, 0.8))


@object_class(Group.APPLIANCE, "0.56-0.62 x 0.58-0.6 x 0.84-0.86", "appliances")
def dryer(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """As a washing machine, with a pale door and a lint grille."""
    _drum(s, d, w, h, color, window=(150, 156, 162))
    for bar in range(3):
        s.box((0.02, 0.2, 0.012), (d / 2 - 0.03, w / 2 - 0.14, 0.06 + bar * 0.03), DARK_METAL)


@object_class(Group.SMALL, "0.34-0.4 x 0.45-0.52 x 0.26-0.3", "appliances")
def microwave(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A dark window, a handle and a panel of keys."""
    s.box((d - 0.02, w, h), (-0.01, 0, 0), color)
    s.box((0.01, w * 0.62, h - 0.08), (d / 2 - 0.015, -w * 0.15, 0.04), SCREEN)
    s.box((0.02, 0.02, h - 0.08), (d / 2 - 0.01, w * 0.2, 0.04), METAL)
    s.box((0.01, w * 0.18, h - 0.08), (d / 2 - 0.015, w * 0.37, 0.04), shade(color, 0.7))


@object_class(Group.SMALL, "0.15-0.18 x 0.18-0.22 x 0.22-0.26", "silver, white, black, red, teal")
def kettle(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A tapered jug on a base with spout, lid and handle."""
    radius = d / 2
    s.cylinder(radius, 0.02, (0, 0, 0), RUBBER)
    s.revolved([(0.95 * radius, 0), (0.66 * radius, h - 0.05), (0.3 * radius, h - 0.03)], (0, 0, 0.02), color)
    s.ball((0.012, 0.012, 0.01), (0, 0, h - 0.006), RUBBER, sections=6)
    s.cylinder(
        0.022, 0.06, (0, radius * 0.6, h * 0.6), color, top_radius=0.01, sections=8, yaw=math.pi / 2, pitch=0.9
    )
    s.box((0.025, 0.02, h * 0.6), (0, -radius - 0.02, h * 0.25), RUBBER)
    s.box((0.025, 0.06, 0.02), (0, -radius + 0.005, h * 0.78), RUBBER)


@object_class(Group.SMALL, "0.17-0.2 x 0.27-0.32 x 0.18-0.21", "silver, white, black, red, light blue")
def toaster(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two slots, a lever and feet."""
    s.box((d - 0.03, w - 0.03, 0.015), (0, 0, 0), RUBBER)
    s.box((d, w, h - 0.019), (0, 0, 0.015), color)
    s.box((0.03, w * 0.75, 0.004), (d / 5, 0, h - 0.004), RUBBER, mirror="x")
    s.box((0.05, 0.03, 0.02), (0, w / 2 + 0.01, h * 0.6), RUBBER)


@object_class(Group.SMALL, "0.24-0.3 x 0.18-0.24 x 0.3-0.36", "black, silver, red, white")
def coffee_maker(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A column with an overhanging head and a glass pot on a plate."""
    s.box((d, w, 0.03), (0, 0, 0), shade(color, 0.8))
    s.box((d * 0.35, w, h - 0.03), (-d * 0.325, 0, 0.03), color)
    s.box((d * 0.65, w, h * 0.28), (d * 0.175, 0, h * 0.72), color)
    radius = min(w, d * 0.6) / 2 - 0.015
    pot = [(radius, 0), (radius, h * 0.3), (radius * 0.6, h * 0.5)]
    s.revolved(pot, (d * 0.17, 0, 0.03), (70, 50, 40))
    s.box((0.05, 0.02, h * 0.3), (d * 0.17 + radius, 0, h * 0.2), RUBBER)


@object_class(Group.SMALL, "0.24-0.28 x 0.11-0.13 x 0.13-0.15", "blue, white, red, purple, teal")
def iron(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A steel sole, a body and a handle."""
    s.revolved([(1, 0), (1, 0.012)], (0, 0, 0), METAL, stretch=(d / 2, w / 2))
    s.revolved([(0.92, 0), (0.6, h * 0.4)], (-0.01, 0, 0.012), color, stretch=(d / 2, w / 2))
    for x in (-1, 1):
        s.box((0.03, 0.03, h * 0.45), (-0.01 + x * d / 5, 0, h * 0.4), color)
    s.box((d * 0.6, 0.032, h * 0.18), (-0.01, 0, h * 0.82), shade(color, 0.6))


@object_class(Group.SMALL, "0.26-0.3 x 0.28-0.32 x 1.0-1.12", "red, blue, grey, green, purple")
def vacuum_cleaner(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Upright: a floor head, a dust bin, a body and a handle."""
    s.box((d, w, 0.09), (0, 0, 0), DARK_METAL)
    s.cylinder(0.08, 0.4, (-d / 2 + 0.09, 0, 0.09), color)
    s.cylinder(0.07, 0.2, (-d / 2 + 0.09, 0, 0.49), (150, 160, 170), top_radius=0.04)
    s.cylinder(0.018, h - 0.79, (-d / 2 + 0.09, 0, 0.69), METAL, sections=8)
    s.box((0.14, 0.04, 0.1), (-d / 2 + 0.09, 0, h - 0.1), color)


@object_class(Group.SMALL, "0.26-0.3 x 0.34-0.4 x 0.5-0.9", "white, black, grey, light blue")
def fan(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A round guard with a hub on a post and foot."""
    radius = w / 2
    s.cylinder(d / 2, 0.025, (0, 0, 0), shade(color, 0.8))
    s.cylinder(0.018, h - radius - 0.02, (0, 0, 0.02), shade(color, 0.8), sections=8)
    s.cylinder(radius, 0.05, (0.03, 0, h - radius), color, axis="x", sections=16)
    s.cylinder(radius * 0.86, 0.004, (0.08, 0, h - radius), shade(color, 0.6), axis="x", sections=16)
    s.cylinder(0.05, 0.08, (0.03, 0, h - radius), color, axis="x", sections=8)
    s.cylinder(0.05, 0.08, (-0.05, 0, h - radius), shade(color, 0.7), axis="x", sections=8)


@object_class(Group.APPLIANCE, "0.2-0.24 x 0.9-1.15 x 0.58-0.72", "black, dark grey")
def tv(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A foot, a neck, a frame and a screen."""
    s.box((d, w * 0.4, 0.02), (0, 0, 0), color)
    s.box((0.04, 0.1, 0.08), (0, 0, 0.02), color)
    s.box((0.04, w, h - 0.08), (0, 0, 0.08), color)
    s.box((0.006, w - 0.04, h - 0.13), (0.023, 0, 0.11), SCREEN)


@object_class(Group.SMALL, "0.18-0.22 x 0.52-0.62 x 0.42-0.5", "black, silver, white")
def monitor(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """As a television, smaller and on a tall neck."""
    s.box((d, 0.22, 0.015), (0, 0, 0), color)
    s.box((0.03, 0.05, 0.14), (-0.04, 0, 0.015), color)
    s.box((0.03, w, h - 0.11), (-0.01, 0, 0.11), color)
    s.box((0.004, w - 0.03, h - 0.14), (0.007, 0, 0.125), (44, 70, 110))


@object_class(Group.SMALL, "0.27-0.31 x 0.31-0.37 x 0.21-0.24", "silver, black, white, navy")
def laptop(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Open: a base with keys and a pad, and a lid with a screen that leans back."""
    base = d - 0.06
    s.box((base, w, 0.016), (0.03, 0, 0), color)
    s.box((base * 0.45, w - 0.04, 0.002), (-0.01, 0, 0.016), RUBBER)
    s.box((base * 0.28, w * 0.32, 0.001), (base * 0.38 + 0.0, 0, 0.016), shade(color, 0.8))
    hinge = -d / 2 + 0.06
    s.box((0.01, w, h - 0.02), (hinge, 0, 0.014), color, pitch=-0.25)
    s.box((0.003, w - 0.03, h - 0.05), (hinge + 0.0055, 0, 0.03), (60, 110, 160), pitch=-0.25)


@object_class(Group.SMALL, "0.13-0.16 x 0.38-0.44 x 0.025-0.032", "black, white, silver")
def keyboard(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Four rows of keys on a plate."""
    s.box((d, w, h - 0.008), (0, 0, 0), color)
    for row in range(4):
        x = (row - 1.5) * d / 4.6
        s.box((d / 6, w - 0.03, 0.008), (x, 0, h - 0.008), shade(color, 0.7 if sum(color) > 300 else 2.0))


@object_class(Group.SMALL, "0.1-0.12 x 0.06-0.07 x 0.035-0.042", "black, white, red, blue")
def mouse(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A rounded back and a wheel."""
    s.revolved([(0.95, 0), (1, h * 0.4), (0.6, h)], (0, 0, 0), color, stretch=(d / 2, w / 2))
    s.cylinder(0.008, 0.008, (d * 0.25, -0.004, h * 0.85), DARK_METAL, axis="y", sections=8)


@object_class(Group.SMALL, "0.145-0.165 x 0.07-0.08 x 0.01-0.013", "black, white, blue, red, pink, silver")
def phone(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Lying on its back: a case, a screen and a camera."""
    s.box((d, w, h - 0.002), (0, 0, 0), color)
    s.box((d - 0.016, w - 0.01, 0.002), (0, 0, h - 0.002), SCREEN)
    s.box((0.006, 0.02, 0.0005), (d / 2 - 0.013, 0, h), METAL)


@object_class(Group.SMALL, "0.17-0.21 x 0.045-0.055 x 0.02-0.026", "black, grey, white, dark grey")
def remote(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A bar with rows of buttons, one of them red."""
    s.box((d, w, h - 0.004), (0, 0, 0), color)
    s.box((0.012, 0.012, 0.004), (d / 2 - 0.02, 0, h - 0.004), (200, 40, 40))
    keys = shade(color, 0.6) if sum(color) > 300 else (150, 152, 156)
    for row in range(5):
        s.box((0.012, w * 0.65, 0.003), (d * (0.22 - 0.13 * row), 0, h - 0.004), keys)


@object_class(Group.SMALL, "0.17-0.19 x 0.24-0.27 x 0.01-0.014", "black, silver, white, pink")
def tablet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A slab with a large screen."""
    s.box((d, w, h - 0.002), (0, 0, 0), color)
    s.box((d - 0.024, w - 0.024, 0.002), (0, 0, h - 0.002), (40, 60, 96))


@object_class(Group.SMALL, "0.17-0.2 x 0.17-0.2 x 0.07-0.08", "black, white, red, blue")
def headphones(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Lying flat: a bow in five pieces between two cups."""
    for side in (-1, 1):
        at = (d * 0.3, side * (w / 2 - 0.04), h / 2)
        s.cylinder(h / 2, 0.035, (at[0], at[1] - 0.0175, at[2]), color, axis="y", sections=10)
    for piece in range(5):
        angle = np.pi * (piece + 0.5) / 5
        x = d * 0.2 - np.sin(angle) * d * 0.62
        y = np.cos(angle) * (w / 2 - 0.02)
        s.box(
            (0.014, w * 0.34, 0.022),
            (float(x), float(y), h / 2 - 0.011),
            shade(color, 0.7),
            yaw=float(angle - np.pi / 2),
        )


@object_class(Group.SMALL, "0.16-0.22 x 0.15-0.2 x 0.26-0.36", "woods, black, white")
def speaker(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A box with two cones."""
    s.box((d - 0.012, w, h), (0, 0, 0), color, WOOD)
    front = d / 2 - 0.006
    s.cylinder(w * 0.36, 0.01, (front, 0, h * 0.32), RUBBER, axis="x")
    s.cylinder(w * 0.2, 0.012, (front, 0, h * 0.76), RUBBER, axis="x")


@object_class(Group.SMALL, "0.34-0.4 x 0.42-0.48 x 0.18-0.24", "white, black, grey")
def printer(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body, a tray with paper and a panel."""
    s.box((d - 0.08, w, h), (-0.04, 0, 0), color)
    s.box((0.14, w * 0.7, 0.015), (d / 2 - 0.07, 0, 0.04), shade(color, 0.8))
    s.box((0.12, w * 0.55, 0.006), (d / 2 - 0.06, 0, 0.055), PAPER)
    s.box((0.01, 0.14, 0.06), (d / 2 - 0.078, -w / 4, h - 0.08), SCREEN)


@object_class(Group.SMALL, "0.1-0.12 x 0.15-0.17 x 0.045-0.06", "black, white, red, blue")
def game_controller(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two grips, a bridge and two sticks."""
    body = h - 0.015
    for side in (-1, 1):
        s.ball((d / 2, w * 0.2, body / 2), (0, side * w * 0.3, body / 2), color, sections=8)
        s.cylinder(0.012, 0.022, (0.01, side * w * 0.16, body * 0.7), RUBBER, sections=8)
    s.box((d * 0.55, w * 0.55, body * 0.7), (0.01, 0, body * 0.15), color)


@object_class(Group.SMALL, "0.13-0.16 x 0.2-0.25 x 0.15-0.18", "black, white")
def router(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A flat box with three antennas and lights."""
    s.box((d, w, 0.035), (0, 0, 0), color)
    for antenna in (-1, 0, 1):
        s.box((0.012, 0.016, h - 0.02), (-d / 2 + 0.01, antenna * w / 2.6, 0.02), shade(color, 0.8))
    s.box((0.002, w * 0.5, 0.006), (d / 2, 0, 0.014), (80, 200, 110))
