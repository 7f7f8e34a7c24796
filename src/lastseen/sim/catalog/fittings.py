"""What fits a room out: bathroom fixtures, bins, lamps, plants, pictures, rugs and ornaments."""

from __future__ import annotations

import math

from lastseen.sim.catalog.object_class import Group, object_class
from lastseen.sim.catalog.palette import CERAMIC, DARK_METAL, FOLIAGE, METAL, PALETTE, PAPER, SOIL, Rgb, shade
from lastseen.sim.catalog.shape import CARPET, FABRIC, LEAVES, STRIPES, TILES, WOOD, ShapeBuilder

_LAMPSHADE: Rgb = (246, 234, 200)


@object_class(Group.FURNITURE, "0.64-0.7 x 0.37-0.42 x 0.76-0.84", "white, beige")
def toilet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A foot, a bowl, a seat, a tank with a button."""
    tank = 0.18
    bowl = (d - tank) / 2
    x = tank / 2
    s.revolved([(0.55, 0), (0.6, 0.22), (1, 0.38)], (x, 0, 0), color, stretch=(bowl, w / 2))
    s.revolved([(1, 0), (0.98, 0.035)], (x, 0, 0.38), shade(color, 0.92), stretch=(bowl, w / 2))
    s.revolved([(0.7, 0), (0.7, 0.004)], (x + 0.02, 0, 0.415), shade(color, 0.6), stretch=(bowl, w / 2))
    s.box((tank, w * 0.6, 0.38), (-d / 2 + tank / 2, 0, 0), color)
    s.box((tank, w, h - 0.4), (-d / 2 + tank / 2, 0, 0.38), color)
    s.box((tank + 0.01, w + 0.01, 0.02), (-d / 2 + tank / 2, 0, h - 0.02), shade(color, 0.95))
    s.surface(h, (tank - 0.03, w - 0.06), middle=(-d / 2 + tank / 2, 0))


@object_class(Group.FURNITURE, "0.44-0.52 x 0.55-0.8 x 0.84-0.88", "white, grey")
def sink(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A washbasin on a cabinet with a tap; its rim holds small things."""
    s.box((d - 0.04, w - 0.04, h - 0.14), (-0.02, 0, 0), shade(color, 0.85))
    s.box((0.02, w / 2 - 0.05, h - 0.22), (d / 2 - 0.04, w / 4, 0.04), shade(color, 0.78), mirror="y")
    s.box((d, w, 0.14), (0, 0, h - 0.14), CERAMIC)
    reach = min(w - 0.3, 0.4)
    basin = (d / 2 - 0.08, reach / 2)
    middle = -w / 2 + 0.05 + reach / 2
    s.revolved([(1, 0), (1, 0.004)], (0.03, middle, h), (196, 200, 204), stretch=basin)
    s.revolved([(0.5, 0), (0.5, 0.006)], (0.03, middle, h), (160, 166, 172), stretch=basin)
    s.cylinder(0.016, 0.16, (-d / 2 + 0.06, middle, h), METAL, sections=8)
    s.cylinder(0.012, 0.12, (-d / 2 + 0.06, middle, h + 0.14), METAL, axis="x", sections=8)
    left = w - 0.08 - reach
    s.surface(h, (d - 0.08, left), middle=(0, w / 2 - 0.01 - left / 2))


@object_class(Group.FURNITURE, "0.72-0.8 x 1.5-1.7 x 0.55-0.6", "white")
def bathtub(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Four walls about a floor, with a tap at one end."""
    s.box((d, w, 0.16), (0, 0, 0), color)
    s.box((0.08, w, h - 0.16), (d / 2 - 0.04, 0, 0.16), color, mirror="x")
    s.box((d - 0.16, 0.1, h - 0.16), (0, w / 2 - 0.05, 0.16), color, mirror="y")
    s.box((d - 0.16, w - 0.2, 0.005), (0, 0, 0.16), (206, 220, 228))
    s.cylinder(0.018, 0.12, (0, -w / 2 + 0.05, h), METAL, sections=8)
    s.cylinder(0.014, 0.12, (0, -w / 2 + 0.04, h + 0.1), METAL, axis="y", sections=8)


@object_class(Group.FURNITURE, "0.85-0.95 x 0.85-0.95 x 2.0-2.1", "white, grey")
def shower(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A tray with a tiled rear wall, corner posts, a rail and a shower head."""
    s.box((d, w, 0.1), (0, 0, 0), color)
    s.box((d - 0.14, w - 0.14, 0.004), (0, 0, 0.1), shade(color, 0.85))
    s.box((0.03, w, h - 0.1), (-d / 2 + 0.015, 0, 0.1), shade(color, 0.9), TILES)
    for y in (-1, 1):
        s.box((0.03, 0.03, h - 0.1), (d / 2 - 0.015, y * (w / 2 - 0.015), 0.1), METAL)
        s.box((d - 0.06, 0.02, 0.03), (0, y * (w / 2 - 0.01), h - 0.03), METAL)
    s.box((0.03, w - 0.06, 0.03), (d / 2 - 0.015, 0, h - 0.03), METAL)
    s.cylinder(0.012, 1.0, (-d / 2 + 0.06, 0, 1.0), METAL, sections=8)
    s.cylinder(0.08, 0.02, (-d / 2 + 0.14, 0, 1.95), METAL)
    s.box((0.16, 0.015, 0.015), (-d / 2 + 0.11, 0, 1.97), METAL)


@object_class(Group.FURNITURE, "0.36-0.42 x 0.4-0.5 x 0.5-0.6", "white, beige, light brown, grey")
def laundry_basket(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A tapered tub with a rim and washing in it."""
    half = (d / 2, w / 2)
    s.revolved([(0.78, 0), (0.96, h - 0.06)], (0, 0, 0), color, STRIPES, stretch=half)
    s.revolved([(1, 0), (1, 0.05)], (0, 0, h - 0.06), shade(color, 0.8), stretch=half)
    s.ball((d * 0.38, w * 0.38, 0.07), (0, 0, h - 0.05), (150, 170, 196), FABRIC)


@object_class(Group.FURNITURE, "0.24-0.3 x 0.24-0.3 x 0.3-0.6", "silver, black, white, grey, green")
def trash_can(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A tapered bin with a lid and a pedal."""
    radius = min(d, w) / 2
    s.cylinder(radius * 0.85, h - 0.05, (0, 0, 0), color, top_radius=radius)
    s.revolved([(radius, 0), (radius, 0.02), (radius * 0.5, 0.05)], (0, 0, h - 0.05), shade(color, 0.7))
    s.box((0.05, 0.08, 0.02), (radius, 0, 0.01), DARK_METAL)


def _potted(s: ShapeBuilder, across: float, height: float, color: Rgb) -> None:
    pot = min(0.32 * height, 0.34)
    radius = across * 0.33
    s.cylinder(radius * 0.72, pot, (0, 0, 0), color, top_radius=radius)
    s.cylinder(radius * 0.9, 0.006, (0, 0, pot), SOIL)
    s.cylinder(0.04 * across, height * 0.4, (0, 0, pot), SOIL, sections=6)
    crown = (height - pot) * 0.5
    for leaf in range(6):
        angle = 2 * math.pi * leaf / 6 + float(s.rng.uniform(-0.3, 0.3))
        reach = across * 0.26
        z = pot + crown * (0.75 + 0.5 * (leaf % 3) / 2)
        at = (reach * math.cos(angle), reach * math.sin(angle), z)
        radii = (across * 0.22, across * 0.11, crown * 0.55)
        green = shade(FOLIAGE, 0.85 + 0.12 * (leaf % 3))
        s.ball(radii, at, green, LEAVES, sections=6, yaw=angle, pitch=0.45)
    s.ball((across * 0.18, across * 0.18, crown * 0.6), (0, 0, height - crown * 0.6), FOLIAGE, LEAVES)


@object_class(Group.FURNITURE, "0.34-0.5 x 0.34-0.5 x 0.6-1.3", "pots")
def plant(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A pot in the plant's colour name, a stem and a crown of leaves."""
    _potted(s, min(d, w), h, color)


@object_class(Group.SMALL, "0.14-0.18 x 0.14-0.18 x 0.24-0.34", "pots")
def potted_flower(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A small pot with leaves and three blossoms."""
    across = min(d, w)
    _potted(s, across, h * 0.9, color)
    bloom = PALETTE[("pink", "red", "yellow", "purple")[int(s.rng.integers(4))]]
    for petal in range(3):
        angle = 2 * math.pi * petal / 3
        at = (across * 0.2 * math.cos(angle), across * 0.2 * math.sin(angle), h * 0.93)
        s.ball((across * 0.12, across * 0.12, h * 0.07), at, bloom, sections=6)


@object_class(Group.FURNITURE, "0.3-0.38 x 0.3-0.38 x 1.45-1.7", "black, white, silver, brown")
def floor_lamp(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A foot, a pole and a fabric shade."""
    radius = min(d, w) / 2
    s.cylinder(radius * 0.8, 0.03, (0, 0, 0), color)
    s.cylinder(0.015, h - 0.25, (0, 0, 0.03), color, sections=8)
    s.cylinder(radius, 0.26, (0, 0, h - 0.26), _LAMPSHADE, FABRIC, top_radius=radius * 0.7)


@object_class(Group.SMALL, "0.2-0.26 x 0.2-0.26 x 0.36-0.46", "white, black, blue, teal, red, silver")
def table_lamp(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A bellied base, a neck and a shade."""
    radius = min(d, w) / 2
    s.revolved([(0.5 * radius, 0), (0.7 * radius, h * 0.2), (0.15 * radius, h * 0.5)], (0, 0, 0), color)
    s.cylinder(radius, h * 0.45, (0, 0, h * 0.55), _LAMPSHADE, FABRIC, top_radius=radius * 0.65)
    s.cylinder(0.008, h * 0.1, (0, 0, h * 0.48), METAL, sections=6)


@object_class(Group.HUNG, "0.025-0.035 x 0.5-0.95 x 0.4-0.65", "woods, black, white")
def picture(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A frame, a mount and a landscape of three bands."""
    s.box((d - 0.006, w, h), (0, 0, 0), color, WOOD)
    s.box((0.003, w - 0.06, h - 0.06), (d / 2 - 0.0015, 0, 0.03), PAPER)
    names = ("light blue", "teal", "green", "orange", "navy", "yellow", "pink")
    for band, share in enumerate((0.3, 0.25, 0.45)):
        low = (0.0, 0.3, 0.55)[band]
        tint = PALETTE[names[int(s.rng.integers(len(names)))]]
        tall = h - 0.16
        s.box((0.003, w - 0.16, tall * share), (d / 2 + 0.0015, 0, 0.08 + tall * low), tint)


@object_class(Group.HUNG, "0.025-0.035 x 0.45-0.65 x 0.6-0.85", "silver, black, white, woods")
def mirror(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A frame and a pale glass."""
    s.box((d - 0.005, w, h), (0, 0, 0), color)
    s.box((0.005, w - 0.06, h - 0.06), (d / 2, 0, 0.03), (198, 212, 220))


@object_class(Group.HUNG, "0.035-0.045 x 0.26-0.34 x 0.26-0.34", "black, white, red, silver, brown")
def clock(s: ShapeBuilder, d: float, w: float, _h: float, color: Rgb) -> None:
    """A round wall clock with two hands."""
    radius = w / 2
    s.cylinder(radius, d - 0.01, (-d / 2, 0, radius), color, axis="x", sections=16)
    s.cylinder(radius * 0.86, 0.004, (d / 2 - 0.01, 0, radius), PAPER, axis="x", sections=16)
    s.box((0.004, 0.014, radius * 0.5), (d / 2 - 0.004, 0, radius), DARK_METAL)
    s.box((0.004, 0.01, radius * 0.7), (d / 2 - 0.004, 0, radius), DARK_METAL, roll=1.9)


def _carpet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    s.box((d, w, h * 0.6), (0, 0, 0), shade(color, 0.7), CARPET)
    border = min(d, w) * 0.08
    inner = (d - 2 * border, w - 2 * border, h * 0.4)
    s.box(inner, (0, 0, h * 0.6), color, CARPET)
    s.surface(h, (inner[0], inner[1]))


@object_class(Group.RUG, "1.4-1.9 x 2.0-2.6 x 0.01-0.014", "fabrics, orange, purple")
def rug(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A carpet with a border and an inner field."""
    _carpet(s, d, w, h, color)


@object_class(Group.RUG, "0.4-0.5 x 0.6-0.75 x 0.01-0.014", "brown, dark grey, black, green")
def door_mat(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A small carpet at a door."""
    _carpet(s, d, w, h, color)


@object_class(Group.RUG, "0.45-0.55 x 0.7-0.85 x 0.01-0.014", "linens")
def bath_mat(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A thin mat with a border."""
    s.box((d, w, h * 0.7), (0, 0, 0), shade(color, 0.8), CARPET)
    s.box((d - 0.08, w - 0.08, h * 0.3), (0, 0, h * 0.7), color, CARPET)


@object_class(Group.SMALL, "0.11-0.15 x 0.11-0.15 x 0.2-0.32", "brights")
def vase(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A bellied vessel with a flared rim."""
    radius = min(d, w) / 2
    profile = [(0.5, 0), (1, 0.38), (0.42, 0.8), (0.62, 1)]
    s.revolved([(r * radius, z * h) for r, z in profile], (0, 0, 0), color)
    s.cylinder(radius * 0.5, 0.002, (0, 0, h), shade(color, 0.4))


@object_class(Group.SMALL, "0.07-0.09 x 0.07-0.09 x 0.12-0.18", "white, red, beige, purple")
def candle(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """On a saucer, with a wick."""
    radius = min(d, w) / 2
    s.cylinder(radius, 0.012, (0, 0, 0), METAL)
    s.cylinder(radius * 0.65, h - 0.03, (0, 0, 0.012), color)
    s.cylinder(0.003, 0.018, (0, 0, h - 0.018), DARK_METAL, sections=6)


@object_class(Group.SMALL, "0.05-0.07 x 0.14-0.2 x 0.18-0.24", "woods, black, white, silver")
def photo_frame(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Leaning on its stand."""
    s.box((0.012, w, h), (0.01, 0, 0), color, pitch=-0.15)
    s.box((0.004, w - 0.04, h - 0.04), (0.016, 0, 0.02), (150, 176, 196), pitch=-0.15)
    s.box((0.008, 0.03, h * 0.8), (-d / 2, 0, 0), shade(color, 0.7), pitch=0.1)
