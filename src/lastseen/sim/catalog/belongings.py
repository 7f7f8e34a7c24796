"""What people carry, wear, read, wash and play with: most of what they ask a robot to find."""

from __future__ import annotations

import math

from lastseen.sim.catalog.object_class import Group, object_class
from lastseen.sim.catalog.palette import DARK_METAL, METAL, PALETTE, PAPER, RUBBER, SCREEN, Rgb, shade
from lastseen.sim.catalog.shape import FABRIC, STRIPES, WOOD, ShapeBuilder


@object_class(Group.SMALL, "0.19-0.25 x 0.13-0.18 x 0.022-0.045", "brights")
def book(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Lying flat: two covers, a spine, the pages and a title."""
    s.box((d, w, 0.003), (0, 0, 0), color)
    s.box((d - 0.008, w - 0.008, h - 0.007), (0, 0.002, 0.003), PAPER)
    s.box((d, w, 0.003), (0, 0, h - 0.004), color)
    s.box((d, 0.004, h - 0.001), (0, -w / 2 + 0.002, 0), shade(color, 0.8))
    s.box((d * 0.14, w * 0.6, 0.001), (d * 0.2, 0, h - 0.001), shade(PAPER, 0.95))


@object_class(Group.SMALL, "0.27-0.3 x 0.2-0.22 x 0.008-0.012", "brights")
def magazine(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Pages, a cover and its picture."""
    s.box((d - 0.003, w - 0.003, h - 0.002), (0, 0, 0), PAPER)
    s.box((d, w, 0.002), (0, 0, h - 0.002), color)
    s.box((d * 0.5, w * 0.8, 0.001), (-d * 0.12, 0, h), shade(color, 0.55))


@object_class(Group.SMALL, "0.1-0.12 x 0.06-0.08 x 0.01-0.014", "silver, red, blue, yellow, black")
def keys(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two keys and a fob in the colour on a ring."""
    s.cylinder(0.016, 0.004, (0, 0, h * 0.3), METAL, sections=10)
    for turn in (-0.35, 0.35):
        x, y = d * 0.26 * math.cos(turn), d * 0.26 * math.sin(turn)
        s.box((d * 0.44, 0.008, 0.004), (x, y, 0), shade(METAL, 0.9), yaw=turn)
        s.cylinder(0.012, 0.004, (x * 0.55, y * 0.55, 0), shade(METAL, 1.1), sections=8)
    s.box((d * 0.45, w * 0.5, h), (-d * 0.28, 0, 0), color)


@object_class(Group.SMALL, "0.09-0.1 x 0.11-0.125 x 0.018-0.025", "leather")
def wallet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Folded leather with notes at the edge."""
    s.box((d, w, h * 0.35), (0, 0, 0), color)
    s.box((d - 0.008, w - 0.004, h * 0.3), (0.004, 0, h * 0.35), (150, 170, 130))
    s.box((d, w, h * 0.35), (0, 0, h * 0.65), shade(color, 1.15))


@object_class(Group.SMALL, "0.13-0.15 x 0.13-0.145 x 0.04-0.048", "black, brown, red, blue")
def glasses(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two lenses in rims, a bridge and two arms."""
    front = d / 2 - 0.005
    for side in (-1, 1):
        s.box((0.006, w * 0.4, h), (front, side * w * 0.27, 0), color)
        s.box((0.008, w * 0.33, h * 0.7), (front, side * w * 0.27, h * 0.15), (170, 190, 200))
        s.box((d - 0.01, 0.005, 0.007), (-0.002, side * (w / 2 - 0.003), h * 0.6), color)
    s.box((0.006, w * 0.16, 0.006), (front, 0, h * 0.6), color)


@object_class(Group.SMALL, "0.1-0.12 x 0.04-0.048 x 0.016-0.022", "black, silver, brown, red")
def watch(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A strap laid out, a case and a dial."""
    s.box((d, w * 0.55, h * 0.35), (0, 0, 0), color)
    s.cylinder(w / 2, h * 0.9, (0, 0, 0), METAL)
    s.cylinder(w * 0.4, h * 0.1, (0, 0, h * 0.9), PAPER)


@object_class(Group.SMALL, "0.2-0.26 x 0.3-0.36 x 0.42-0.5", "brights but white")
def backpack(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body with a rounded top, a front pocket, a zip, straps and a loop."""
    s.box((d * 0.7, w, h * 0.72), (-d * 0.08, 0, 0), color, FABRIC)
    s.cylinder(w / 2, d * 0.7, (-d * 0.43, 0, h * 0.62), color, FABRIC, axis="x", stretch=(1.0, 0.46))
    s.box((d * 0.24, w * 0.8, h * 0.42), (d * 0.38, 0, h * 0.04), shade(color, 0.8), FABRIC)
    s.box((d * 0.02, w * 0.7, 0.012), (d * 0.5, 0, h * 0.36), METAL)
    s.box((0.03, 0.05, h * 0.6), (-d / 2 + 0.015, w / 4, h * 0.12), shade(color, 0.6), mirror="y")
    s.box((0.02, 0.1, h * 0.16), (-d * 0.36, 0, h * 0.84), shade(color, 0.6))


@object_class(Group.SMALL, "0.12-0.16 x 0.28-0.36 x 0.32-0.4", "leather, pink, white")
def handbag(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A tapered bag with a flap, a clasp and a handle."""
    body = h * 0.62
    s.box((d, w, body), (0, 0, 0), color)
    s.box((d + 0.006, w * 0.96, body * 0.45), (0, 0, body * 0.56), shade(color, 0.85))
    s.box((0.012, 0.04, 0.03), (d / 2 + 0.003, 0, body * 0.5), METAL)
    s.box((0.018, 0.018, h - body), (0, w * 0.3, body), shade(color, 0.7), mirror="y")
    s.box((0.018, w * 0.6, 0.018), (0, 0, h - 0.018), shade(color, 0.7))


@object_class(Group.SMALL, "0.26-0.3 x 0.21-0.25 x 0.1-0.13", "black, white, brown, red, blue, grey, navy, pink")
def shoes(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A pair: sole, toe, heel and laces each."""
    wide = w * 0.42
    for side in (-1, 1):
        y = side * w * 0.27
        s.box((d, wide, 0.025), (0, y, 0), PAPER)
        s.ball((d * 0.3, wide / 2, h * 0.35), (d * 0.19, y, h * 0.36), color, sections=8)
        s.box((d * 0.5, wide * 0.9, h - 0.025), (-d * 0.24, y, 0.025), color)
        s.box((d * 0.3, wide * 0.6, 0.004), (-d * 0.28, y, h - 0.003), shade(color, 0.4))
        s.box((d * 0.12, wide * 0.5, 0.012), (d * 0.06, y, h * 0.72), PAPER)


@object_class(Group.SMALL, "0.25-0.28 x 0.21-0.24 x 0.07-0.085", "blue, pink, grey, red, brown")
def slippers(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A pair: soles with a vamp over the toes."""
    wide = w * 0.42
    for side in (-1, 1):
        y = side * w * 0.27
        s.revolved([(1, 0), (1, 0.02)], (0, y, 0), shade(color, 0.6), stretch=(d / 2, wide / 2))
        s.ball((d * 0.26, wide * 0.48, h * 0.6), (d * 0.2, y, h * 0.4), color, FABRIC, sections=8)


@object_class(Group.SMALL, "0.26-0.32 x 0.26-0.32 x 0.11-0.14", "beige, black, brown, red, navy")
def hat(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A brim, a crown and a band."""
    radius = min(d, w) / 2
    s.cylinder(radius, 0.012, (0, 0, 0), color, sections=16)
    s.revolved([(radius * 0.58, 0), (radius * 0.5, h - 0.03), (radius * 0.3, h - 0.012)], (0, 0, 0.012), color)
    s.cylinder(radius * 0.6, 0.025, (0, 0, 0.012), shade(color, 0.5))


@object_class(Group.SMALL, "0.08-0.1 x 0.78-0.88 x 0.07-0.09", "black, red, blue, yellow, green")
def umbrella(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Rolled and lying: a furled cone, a shaft and a handle."""
    radius = h / 2
    s.cylinder(radius * 0.3, w * 0.66, (0, -w / 2 + 0.05, radius), color, FABRIC, axis="y", top_radius=radius)
    s.cylinder(0.007, 0.05, (0, -w / 2, radius), METAL, axis="y", sections=6)
    s.cylinder(0.008, w * 0.34 - 0.06, (0, w * 0.16 + 0.05, radius), METAL, axis="y", sections=6)
    s.box((d * 0.7, 0.02, 0.02), (d * 0.15, w / 2 - 0.01, radius - 0.01), (110, 70, 40))


@object_class(Group.SMALL, "0.36-0.42 x 0.46-0.58 x 0.12-0.15", "linens")
def pillow(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A plump middle in a flat seam."""
    s.box((d, w, h * 0.3), (0, 0, h * 0.35), color, FABRIC)
    middle = (0.0, 0.0, h / 2)
    s.ball((d * 0.5, w * 0.5, h / 2), middle, color, FABRIC, sections=12)


@object_class(Group.SMALL, "0.34-0.42 x 0.44-0.55 x 0.1-0.14", "grey, red, beige, navy, green, orange")
def blanket(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Folded in three layers with fringes."""
    for layer in range(3):
        x = 0.012 * (layer - 1)
        s.box((d - 0.03, w, h / 3), (x, 0, layer * h / 3), shade(color, 1 - 0.08 * layer), STRIPES)
    s.box((0.02, w - 0.02, 0.02), (d / 2 - 0.01, 0, 0), PAPER)


@object_class(Group.SMALL, "0.3-0.33 x 0.22-0.24 x 0.012-0.018", "brown, black, blue, red")
def clipboard(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A board with sheets under a clip."""
    s.box((d, w, 0.005), (0, 0, 0), color)
    s.box((d - 0.03, w - 0.02, 0.004), (-0.008, 0, 0.005), PAPER)
    s.box((0.03, w * 0.45, h - 0.009), (d / 2 - 0.02, 0, 0.009), METAL)


@object_class(Group.SMALL, "0.08-0.09 x 0.08-0.09 x 0.17-0.2", "black, silver, blue, green, white")
def pencil_cup(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A beaker with four pencils of other colours."""
    radius = d / 2
    s.cylinder(radius, h * 0.55, (0, 0, 0), color)
    for pencil, name in enumerate(("yellow", "red", "blue", "green")):
        angle = math.pi / 2 * pencil
        at = (radius * 0.5 * math.cos(angle), radius * 0.5 * math.sin(angle), h * 0.5)
        s.cylinder(0.004, h * 0.5 - 0.01 * pencil, at, PALETTE[name], sections=6)
    s.cylinder(radius * 0.85, 0.002, (0, 0, h * 0.55), DARK_METAL)


@object_class(Group.SMALL, "0.2-0.24 x 0.22-0.28 x 0.3-0.38", "brown, beige, white, pink")
def teddy_bear(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Sitting: body, head, ears, snout, arms and legs."""
    s.ball((d * 0.32, w * 0.32, h * 0.3), (-d * 0.1, 0, h * 0.3), color)
    s.ball((d * 0.3, w * 0.28, h * 0.2), (-d * 0.05, 0, h * 0.72), color)
    s.ball((0.03, 0.035, 0.028), (d * 0.2, 0, h * 0.68), shade(color, 1.3), sections=6)
    for side in (-1, 1):
        s.ball((0.02, 0.035, 0.035), (-d * 0.08, side * w * 0.22, h * 0.9), shade(color, 0.8), sections=6)
        s.ball((d * 0.3, 0.045, 0.045), (d * 0.2, side * w * 0.24, 0.045), color, sections=6)
        s.ball((d * 0.2, 0.035, 0.035), (d * 0.06, side * w * 0.36, h * 0.42), color, sections=6)


@object_class(Group.SMALL, "0.18-0.24 x 0.18-0.24 x 0.18-0.24", "red, blue, orange, yellow, green, white")
def ball(s: ShapeBuilder, d: float, _w: float, _h: float, color: Rgb) -> None:
    """A ball with a belt."""
    radius = d / 2
    s.ball((radius, radius, radius), (0, 0, radius), color, sections=14)
    s.cylinder(radius * 0.985, radius * 0.16, (0, 0, radius * 0.92), PAPER, sections=14)


@object_class(Group.SMALL, "0.2-0.26 x 0.1-0.13 x 0.09-0.12", "red, blue, yellow, green, orange")
def toy_car(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body, a cabin with windows and four wheels."""
    s.box((d, w * 0.86, h * 0.42), (0, 0, h * 0.18), color)
    s.box((d * 0.5, w * 0.76, h * 0.3), (-d * 0.04, 0, h * 0.6), SCREEN)
    s.box((d * 0.46, w * 0.78, h * 0.1), (-d * 0.04, 0, h * 0.9), color)
    for x in (-1, 1):
        for y in (-1, 1):
            at = (x * d * 0.3, y * w * 0.43 - 0.5 * w * 0.14, h * 0.22)
            s.cylinder(h * 0.22, w * 0.14, at, RUBBER, axis="y", sections=10)


@object_class(Group.SMALL, "0.16-0.2 x 0.16-0.2 x 0.1-0.14", "red, blue, yellow, green")
def toy_blocks(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Five blocks, two of them stacked, most in the colour named."""
    edge = h / 2
    s.box((edge, edge, edge), (0, 0, 0), color)
    s.box((edge, edge, edge), (0, 0, edge), shade(color, 0.8), yaw=0.5)
    others = (PALETTE["yellow"], PALETTE["blue"], color)
    for at, tint in zip(((d / 2 - edge / 2, 0), (-d / 3, w / 3), (-d / 4, -w / 3)), others, strict=True):
        s.box((edge * 0.9, edge * 0.9, edge * 0.9), (at[0], at[1], 0), tint, yaw=at[1])


@object_class(Group.SMALL, "0.1-0.13 x 0.24-0.3 x 0.1-0.13", "black, red, blue, purple")
def dumbbell(s: ShapeBuilder, d: float, w: float, _h: float, color: Rgb) -> None:
    """Two weights on a bar."""
    radius = d / 2
    for side in (-1, 1):
        s.cylinder(radius, w * 0.28, (0, side * w * 0.36 - w * 0.14, radius), color, axis="y", sections=8)
    s.cylinder(0.016, w * 0.5, (0, -w * 0.25, radius), METAL, axis="y", sections=8)


@object_class(Group.SMALL, "0.26-0.4 x 0.3-0.45 x 0.22-0.34", "light brown, brown")
def cardboard_box(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A carton with tape along its flaps."""
    s.box((d, w, h - 0.004), (0, 0, 0), color)
    s.box((0.05, w, 0.004), (0, 0, h - 0.004), shade(color, 1.25))
    s.box((d, 0.006, 0.004), (0, 0, h - 0.004), shade(color, 0.7))


@object_class(Group.SMALL, "0.22-0.3 x 0.28-0.38 x 0.16-0.24", "light brown, beige, brown, grey")
def basket(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Wicker, with two handles."""
    half = (d / 2, w / 2 - 0.02)
    body = h - 0.05
    s.revolved([(0.82, 0), (1, body)], (0, 0, 0), color, STRIPES, stretch=half)
    s.revolved([(0.9, 0), (0.9, 0.006)], (0, 0, body), shade(color, 0.5), stretch=half)
    s.box((0.1, 0.02, 0.09), (0, w / 2 - 0.01, body - 0.04), shade(color, 0.8), mirror="y")


@object_class(Group.SMALL, "0.26-0.3 x 0.26-0.3 x 0.26-0.32", "red, blue, yellow, grey, green")
def bucket(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A pail with a rim and a bail."""
    radius, height = min(d, w) / 2, h - 0.04
    s.cylinder(radius * 0.75, height, (0, 0, 0), color, top_radius=radius * 0.97)
    s.cylinder(radius, 0.02, (0, 0, height - 0.02), shade(color, 0.8))
    s.cylinder(radius * 0.9, 0.003, (0, 0, height), shade(color, 0.45))
    s.box((0.01, radius * 1.9, 0.012), (0, 0, height + 0.028), METAL)
    s.box((0.01, 0.012, 0.05), (0, radius * 0.93, height - 0.01), METAL, mirror="y")


@object_class(Group.SMALL, "0.22-0.28 x 0.38-0.46 x 0.58-0.7", "brights but white")
def suitcase(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A hard case on wheels with ribs and a pull-out handle."""
    shell = h - 0.16
    s.box((d - 0.02, w, shell), (0, 0, 0.04), color)
    for rib in range(4):
        s.box((d, 0.02, shell - 0.08), (0, -w / 2 + (rib + 0.5) * w / 4, 0.08), shade(color, 0.8))
    s.cylinder(0.022, 0.02, (d / 3, w / 2.6, 0.022), DARK_METAL, axis="y", sections=8, mirror="xy")
    s.box((0.015, 0.015, 0.1), (-d / 4, w / 5, shell + 0.04), METAL, mirror="y")
    s.box((0.025, w * 0.45, 0.025), (-d / 4, 0, h - 0.025), DARK_METAL)


@object_class(Group.SMALL, "0.1-0.12 x 0.1-0.12 x 0.1-0.11", "white")
def toilet_paper(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """A roll with its core."""
    radius = d / 2
    s.cylinder(radius, h - 0.002, (0, 0, 0), color)
    s.cylinder(radius * 0.35, 0.002, (0, 0, h - 0.002), (150, 120, 90), sections=8)


@object_class(Group.SMALL, "0.22-0.3 x 0.3-0.4 x 0.06-0.1", "linens")
def towel(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Folded, two layers and a stripe."""
    s.box((d, w, h / 2), (0, 0, 0), color, FABRIC)
    s.box((d - 0.01, w - 0.01, h / 2), (-0.005, 0, h / 2), shade(color, 0.93), FABRIC)
    s.box((d - 0.01, 0.03, 0.003), (-0.005, w / 3, h), shade(color, 0.6))


@object_class(Group.SMALL, "0.055-0.07 x 0.065-0.085 x 0.17-0.21", "green, blue, white, pink, orange")
def soap_bottle(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A body, a neck and a pump."""
    s.revolved([(1, 0), (1, h * 0.6), (0.4, h * 0.68)], (0, 0, 0), color, stretch=(d / 2, w / 2))
    s.cylinder(0.008, h * 0.26, (0, 0, h * 0.68), PAPER, sections=8)
    s.box((0.05, 0.016, h * 0.06), (0.012, 0, h * 0.94), PAPER)


@object_class(Group.SMALL, "0.07-0.08 x 0.07-0.08 x 0.19-0.22", "brights")
def toothbrush(s: ShapeBuilder, d: float, _w: float, h: float, color: Rgb) -> None:
    """In its beaker."""
    radius = d / 2
    s.cylinder(radius * 0.85, h * 0.5, (0, 0, 0), (206, 218, 224), top_radius=radius)
    s.box((0.012, 0.012, h * 0.5), (0, 0, h * 0.5), color)
    s.box((0.022, 0.014, h * 0.12), (0.008, 0, h * 0.86), PAPER)


@object_class(Group.SMALL, "0.28-0.32 x 0.28-0.32 x 0.035-0.05", "white, black, grey, pink")
def scale(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A bathroom scale with its display."""
    s.box((d, w, h - 0.008), (0, 0, 0.006), color)
    s.box((0.05, 0.1, 0.002), (d / 2 - 0.06, 0, h - 0.002), DARK_METAL)
    s.legs((d - 0.02, w - 0.02), 0.006, DARK_METAL, thick=0.03)


@object_class(Group.SMALL, "0.16-0.2 x 0.16-0.19 x 0.08-0.09", "black, pink, white, red, purple")
def hair_dryer(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Lying on its side: barrel, nozzle, handle."""
    radius = h / 2
    s.cylinder(radius, d * 0.6, (-d / 2, 0, radius), color, axis="x")
    s.cylinder(radius * 0.8, d * 0.4, (d * 0.1, 0, radius), shade(color, 0.6), axis="x", top_radius=radius * 0.6)
    s.box((0.035, w - radius, 0.03), (-d / 4, (w - radius) / 2, 0.02), shade(color, 0.85))


@object_class(Group.SMALL, "0.1-0.12 x 0.16-0.2 x 0.24-0.3", "blue, green, orange, white, purple")
def detergent(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A jug with a cap, a label and a handle."""
    s.box((d - 0.004, w, h * 0.72), (0, 0, 0), color)
    s.box((d, w * 0.6, h * 0.35), (0, 0, h * 0.15), PAPER)
    s.box((d * 0.6, w * 0.5, h * 0.14), (0, -w * 0.2, h * 0.72), color)
    s.cylinder(0.03, h * 0.14, (0, -w * 0.2, h * 0.86), shade(color, 0.6), sections=8)
    s.box((0.03, 0.03, h * 0.2), (0, w * 0.38, h * 0.72), color)
    s.box((0.03, w * 0.45, 0.03), (0, w * 0.2, h * 0.9 - 0.03), color)


@object_class(Group.SMALL, "0.24-0.28 x 0.36-0.4 x 0.98-1.06", "light brown, brown, red, black")
def guitar(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """In a stand: two bouts, a sound hole, a neck and a head."""
    s.box((d, 0.02, 0.02), (0, 0.08, 0), DARK_METAL, mirror="y")
    s.box((0.02, 0.2, 0.3), (-d / 2 + 0.01, 0, 0.02), DARK_METAL)
    s.cylinder(w / 2, 0.09, (-0.06, 0, 0.03 + w / 2), color, WOOD, axis="x")
    s.cylinder(w * 0.36, 0.09, (-0.06, 0, 0.03 + w * 1.05), color, WOOD, axis="x")
    s.cylinder(0.045, 0.004, (0.03, 0, 0.03 + w * 0.85), DARK_METAL, axis="x")
    s.box((0.025, 0.05, h - w * 1.15 - 0.12), (0.0, 0, 0.03 + w * 1.1), PALETTE["dark brown"])
    s.box((0.03, 0.08, 0.14), (0.0, 0, h - 0.14), color)
