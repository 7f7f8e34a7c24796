"""Seats, beds, tables, shelves and cupboards: most of what small things stand on.

Only open boards count as surfaces, so that nothing is hidden behind a door.
"""

from __future__ import annotations

import math

from lastseen.sim.catalog.object_class import Group, object_class
from lastseen.sim.catalog.palette import DARK_METAL, METAL, PALETTE, RUBBER, TIMBER, Rgb, shade
from lastseen.sim.catalog.shape import FABRIC, PLASTER, WOOD, ShapeBuilder

_TOP = 0.035
"""Metres: a table top."""
_BOARD = 0.025
"""Metres: a shelf board."""
_WORKTOP: Rgb = (96, 92, 88)


@object_class(Group.FURNITURE, "0.42-0.5 x 0.4-0.48 x 0.8-0.94", "woods, white, black, red, grey, green")
def chair(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Four legs, a seat, two posts and a back of slats or one panel."""
    seat = 0.45
    s.legs((d, w), seat, shade(color, 0.85), thick=0.04)
    s.box((d, w, 0.04), (0, 0, seat), color, WOOD)
    rear = -d / 2 + 0.02
    s.box((0.035, 0.035, h - seat - 0.04), (rear, w / 2 - 0.02, seat + 0.04), shade(color, 0.85), WOOD, mirror="y")
    slats = int(s.rng.integers(1, 4))
    tall = (h - seat - 0.14) / slats
    for slat in range(slats):
        z = seat + 0.12 + slat * tall
        s.box((0.025, w - 0.08, tall * 0.75), (rear, 0, z), color, WOOD)
    s.surface(seat + 0.04, (d - 0.1, w - 0.06), middle=(0.03, 0))


def _upholstered(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb, *, cushions: int) -> None:
    arm, back, seat = 0.16, 0.2, 0.42
    s.legs((d, w), 0.08, DARK_METAL, thick=0.05, inset=0.04)
    s.box((d, w, 0.2), (0, 0, 0.08), shade(color, 0.8), FABRIC)
    inner = w - 2 * arm
    for index in range(cushions):
        y = -inner / 2 + (index + 0.5) * inner / cushions
        x = back / 2
        s.box((d - back, inner / cushions - 0.015, seat - 0.28), (x, y, 0.28), color, FABRIC)
        rear = (-d / 2 + back + 0.05, y, seat)
        s.box((0.1, inner / cushions - 0.03, h - seat - 0.05), rear, color, FABRIC)
    s.box((back, w, h - 0.28), (-d / 2 + back / 2, 0, 0.28), shade(color, 0.9), FABRIC)
    s.box((d - back, arm, 0.32), (back / 2, (w - arm) / 2, 0.28), shade(color, 0.9), FABRIC, mirror="y")
    s.surface(seat, (d - back - 0.14, inner - 0.04), middle=(back / 2 + 0.06, 0))


@object_class(Group.FURNITURE, "0.75-0.88 x 0.75-0.9 x 0.8-0.98", "fabrics")
def armchair(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A base on short feet, a cushion, a back and two arms."""
    _upholstered(s, d, w, h, color, cushions=1)


@object_class(Group.FURNITURE, "0.82-0.95 x 1.6-2.2 x 0.78-0.88", "fabrics")
def sofa(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """As an armchair, for two or three."""
    _upholstered(s, d, w, h, color, cushions=2 if w < 1.85 else 3)


@object_class(Group.FURNITURE, "0.54-0.62 x 0.54-0.62 x 0.92-1.1", "black, grey, blue, white, red")
def office_chair(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Five spokes with castors, a gas lift, a padded seat and a back."""
    reach = min(d, w) / 2 - 0.03
    for spoke in range(5):
        angle = 2 * math.pi * spoke / 5
        middle = (reach / 2 * math.cos(angle), reach / 2 * math.sin(angle), 0.06)
        s.box((reach, 0.04, 0.03), middle, DARK_METAL, yaw=angle)
        s.ball((0.03, 0.03, 0.03), (reach * math.cos(angle), reach * math.sin(angle), 0.03), RUBBER, sections=6)
    s.cylinder(0.03, 0.36, (0, 0, 0.07), METAL, sections=8)
    s.box((d - 0.12, w - 0.1, 0.08), (0.02, 0, 0.43), color, FABRIC)
    s.box((0.05, 0.06, 0.2), (-d / 2 + 0.09, 0, 0.47), DARK_METAL)
    s.box((0.06, w - 0.14, h - 0.62), (-d / 2 + 0.1, 0, 0.62), color, FABRIC)
    s.surface(0.51, (d - 0.26, w - 0.16), middle=(0.05, 0))


@object_class(Group.FURNITURE, "0.32-0.38 x 0.32-0.38 x 0.44-0.66", "woods, white, black, yellow")
def stool(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A round seat on four legs."""
    s.legs((d * 0.8, w * 0.8), h - 0.035, shade(color, 0.8), thick=0.035)
    s.cylinder(min(d, w) / 2, 0.035, (0, 0, h - 0.035), color, WOOD)
    s.surface(h, (d * 0.66, w * 0.66))


@object_class(Group.FURNITURE, "0.34-0.42 x 0.85-1.2 x 0.42-0.47", "woods, white")
def bench(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A board on two cheeks with a rail."""
    s.box((d, w, 0.045), (0, 0, h - 0.045), color, WOOD)
    s.box((d - 0.06, 0.05, h - 0.045), (0, w / 2 - 0.08, 0), shade(color, 0.85), mirror="y")
    s.box((0.04, w - 0.2, 0.07), (0, 0, 0.16), shade(color, 0.85), WOOD)
    s.surface(h, (d - 0.04, w - 0.04))


@object_class(Group.FURNITURE, "1.98-2.1 x 0.95-1.8 x 0.85-1.1", "linens")
def bed(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A frame with headboard and feet, a mattress, a folded-back duvet in the bed's colour."""
    s.legs((d, w), 0.16, TIMBER, thick=0.07)
    s.box((d, w, 0.14), (0, 0, 0.16), TIMBER, WOOD)
    s.box((0.06, w, h - 0.3), (-d / 2 + 0.03, 0, 0.3), TIMBER, WOOD)
    s.box((d - 0.12, w - 0.06, 0.18), (0.03, 0, 0.3), PALETTE["white"], FABRIC)
    cover = (d - 0.12) * 0.66
    s.box((cover, w - 0.02, 0.05), (d / 2 - cover / 2 - 0.02, 0, 0.48), color, FABRIC)
    s.surface(0.48, (d - 0.16 - cover, w - 0.16), middle=(-d / 2 + 0.06 + (d - 0.12 - cover) / 2, 0))
    s.surface(0.53, (cover - 0.1, w - 0.12), middle=(d / 2 - cover / 2 - 0.02, 0))


def _table(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb, *, thick: float) -> None:
    s.legs((d, w), h - _TOP, shade(color, 0.85), thick=thick, inset=0.02)
    s.box((0.02, w - 0.24, 0.06), (d / 2 - 0.05, 0, h - _TOP - 0.06), shade(color, 0.85), WOOD, mirror="x")
    s.box((d, w, _TOP), (0, 0, h - _TOP), color, WOOD)
    s.surface(h, (d - 0.04, w - 0.04))


@object_class(Group.FURNITURE, "0.8-0.95 x 1.2-1.8 x 0.73-0.76", "woods, white")
def dining_table(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A top on four legs with an apron."""
    _table(s, d, w, h, color, thick=0.07)


@object_class(Group.FURNITURE, "0.5-0.62 x 0.8-1.15 x 0.4-0.46", "woods, white, black")
def coffee_table(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A low table with a board below the top."""
    _table(s, d, w, h, color, thick=0.05)
    s.box((d - 0.12, w - 0.12, 0.02), (0, 0, 0.12), shade(color, 0.8), WOOD)


@object_class(Group.FURNITURE, "0.4-0.48 x 0.4-0.48 x 0.5-0.58", "woods, white, black")
def side_table(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A round top on a column with a foot."""
    radius = min(d, w) / 2
    s.cylinder(radius * 0.7, 0.025, (0, 0, 0), DARK_METAL)
    s.cylinder(0.025, h - 0.055, (0, 0, 0.025), DARK_METAL, sections=8)
    s.cylinder(radius, 0.03, (0, 0, h - 0.03), color, WOOD, sections=16)
    s.surface(h, (radius * 1.35, radius * 1.35))


@object_class(Group.FURNITURE, "0.3-0.36 x 0.8-1.1 x 0.76-0.84", "woods, white")
def console_table(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Narrow, for halls."""
    _table(s, d, w, h, color, thick=0.04)


@object_class(Group.FURNITURE, "0.6-0.75 x 1.1-1.5 x 0.72-0.76", "woods, white, black")
def desk(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A top on two legs and a block of drawers."""
    s.box((d, w, _TOP), (0, 0, h - _TOP), color, WOOD)
    s.box((0.045, 0.045, h - _TOP), (d / 2 - 0.04, -w / 2 + 0.04, 0), DARK_METAL, mirror="x")
    y = w / 2 - 0.22
    s.box((d - 0.1, 0.38, h - _TOP - 0.08), (-0.02, y, 0.08), shade(color, 0.88), WOOD)
    s.box((d - 0.14, 0.34, 0.08), (-0.02, y, 0), DARK_METAL)
    for drawer in range(3):
        z = 0.1 + drawer * (h - _TOP - 0.12) / 3
        s.box((0.02, 0.14, 0.02), (d / 2 - 0.06, y, z + 0.1), METAL)
    s.box((0.02, w - 0.5, 0.3), (-d / 2 + 0.05, -0.2, h - _TOP - 0.3), shade(color, 0.88))
    s.surface(h, (d - 0.04, w - 0.06))


@object_class(Group.FURNITURE, "0.36-0.42 x 0.4-0.5 x 0.48-0.58", "woods, white")
def nightstand(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A small chest of two drawers on feet."""
    s.legs((d, w), 0.1, shade(color, 0.7), thick=0.04)
    s.box((d - 0.02, w, h - 0.1), (-0.01, 0, 0.1), color, WOOD)
    for drawer in range(2):
        tall = (h - 0.14) / 2
        z = 0.12 + drawer * tall
        s.box((0.02, w - 0.05, tall - 0.03), (d / 2 - 0.01, 0, z), shade(color, 0.85), WOOD)
    s.surface(h, (d - 0.06, w - 0.04))


@object_class(Group.FURNITURE, "0.38-0.45 x 1.2-1.7 x 0.45-0.55", "woods, white, black")
def tv_stand(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A low sideboard with doors on plinth."""
    s.box((d - 0.08, w - 0.08, 0.08), (0, 0, 0), DARK_METAL)
    s.box((d - 0.02, w, h - 0.08), (-0.01, 0, 0.08), color, WOOD)
    for door in (-1, 0, 1):
        panel = (d / 2 - 0.01, door * w / 3, 0.11)
        s.box((0.02, w / 3 - 0.02, h - 0.14), panel, shade(color, 0.88), WOOD)
    s.surface(h, (d - 0.05, w - 0.06))


def _base_cabinet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    s.box((d - 0.08, w, 0.1), (-0.03, 0, 0), DARK_METAL)
    s.box((d - 0.04, w, h - 0.14), (-0.02, 0, 0.1), color)
    doors = 2 if w > 0.7 else 1
    for door in range(doors):
        y = -w / 2 + (door + 0.5) * w / doors
        front = (d / 2 - 0.03, y, 0.12)
        s.box((0.02, w / doors - 0.02, h - 0.19), front, shade(color, 0.93))
        s.box((0.02, 0.12, 0.015), (d / 2 - 0.01, y, h - 0.16), METAL)
    s.box((d, w, 0.04), (0, 0, h - 0.04), _WORKTOP, PLASTER)


@object_class(Group.FURNITURE, "0.6 x 0.6-1.2 x 0.9", "cabinets")
def kitchen_counter(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A base cabinet with doors, a plinth and a worktop."""
    _base_cabinet(s, d, w, h, color)
    s.surface(h, (d - 0.06, w - 0.04))


@object_class(Group.FURNITURE, "0.6 x 0.8-1.0 x 0.9", "cabinets")
def kitchen_sink(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A base cabinet whose worktop holds a basin with a tap; room for a thing beside the basin."""
    _base_cabinet(s, d, w, h, color)
    y = -w / 2 + 0.26
    s.box((0.42, 0.4, 0.012), (0.02, y, h), METAL)
    s.box((0.34, 0.32, 0.004), (0.02, y, h + 0.012), DARK_METAL)
    s.cylinder(0.016, 0.26, (-0.22, y, h), METAL, sections=8)
    s.cylinder(0.012, 0.16, (-0.22, y, h + 0.25), METAL, axis="x", sections=8)
    s.surface(h, (d - 0.08, w - 0.54), middle=(0, 0.24))


@object_class(Group.FURNITURE, "0.7-0.85 x 1.2-1.6 x 0.9-0.92", "cabinets")
def kitchen_island(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A free-standing block with a worktop that stands over."""
    s.box((d - 0.2, w - 0.1, h - 0.04), (0, 0, 0), color, WOOD)
    s.box((d, w, 0.04), (0, 0, h - 0.04), _WORKTOP, PLASTER)
    s.surface(h, (d - 0.06, w - 0.06))


def _open_shelf(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb, *, boards: int, top_surface: bool) -> None:
    s.box((d, _BOARD, h), (0, (w - _BOARD) / 2, 0), color, WOOD, mirror="y")
    inner = w - 2 * _BOARD
    s.box((0.01, inner, h), (-d / 2 + 0.005, 0, 0), shade(color, 0.75), WOOD)
    s.box((d - 0.01, inner, _BOARD), (0.005, 0, h - _BOARD), color, WOOD)
    gap = (h - 0.06 - _BOARD) / boards
    for board in range(boards):
        z = 0.06 + board * gap
        s.box((d - 0.01, inner, _BOARD), (0.005, 0, z), color, WOOD)
        # above eye height a board is seen from below only: what stands there would be hidden
        if z < 1.2:
            s.surface(z + _BOARD, (d - 0.03, inner - 0.02), middle=(0.005, 0), clear=gap - _BOARD - 0.01)
    if top_surface:
        s.surface(h, (d - 0.03, w - 0.04))


@object_class(Group.FURNITURE, "0.28-0.34 x 0.75-1.0 x 1.6-2.0", "woods, white, black")
def bookshelf(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Five open boards between two cheeks and a thin back."""
    _open_shelf(s, d, w, h, color, boards=5, top_surface=False)


@object_class(Group.FURNITURE, "0.3-0.38 x 0.8-1.2 x 0.8-1.05", "woods, white, black")
def shelf(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A low open shelf whose top is used too."""
    _open_shelf(s, d, w, h, color, boards=3, top_surface=True)


@object_class(Group.FURNITURE, "0.32-0.36 x 0.7-1.0 x 0.5-0.62", "woods, white")
def shoe_rack(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """Two boards for shoes and a top."""
    _open_shelf(s, d, w, h, color, boards=2, top_surface=True)


def _doors(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb, *, doors: int) -> None:
    s.box((d - 0.06, w - 0.02, 0.07), (-0.02, 0, 0), DARK_METAL)
    s.box((d - 0.02, w, h - 0.1), (-0.01, 0, 0.07), color, WOOD)
    for door in range(doors):
        y = -w / 2 + (door + 0.5) * w / doors
        panel = (0.02, w / doors - 0.015, h - 0.14)
        s.box(panel, (d / 2 - 0.015, y, 0.09), shade(color, 0.92), WOOD)
        edge = y + (w / doors / 2 - 0.05) * (1 if door % 2 == 0 else -1)
        s.box((0.025, 0.015, min(0.18, h * 0.2)), (d / 2 - 0.005, edge, h * 0.5), METAL)


@object_class(Group.FURNITURE, "0.56-0.62 x 1.0-1.6 x 1.95-2.15", "woods, white, grey")
def wardrobe(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A carcass with two or three doors and their handles."""
    _doors(s, d, w, h, color, doors=2 if w < 1.3 else 3)
    s.box((d, w, 0.03), (0, 0, h - 0.03), shade(color, 0.8), WOOD)


@object_class(Group.FURNITURE, "0.38-0.45 x 0.8-1.2 x 0.8-0.95", "woods, white, grey, teal")
def cabinet(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A sideboard: two doors, and a top to put things on."""
    _doors(s, d, w, h, color, doors=2)
    s.box((d, w, 0.03), (0, 0, h - 0.03), shade(color, 0.8), WOOD)
    s.surface(h, (d - 0.05, w - 0.05))


@object_class(Group.FURNITURE, "0.42-0.5 x 0.8-1.2 x 0.75-0.95", "woods, white")
def dresser(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A chest of three wide drawers with knobs."""
    s.legs((d, w), 0.09, shade(color, 0.7), thick=0.05)
    s.box((d - 0.02, w, h - 0.09), (-0.01, 0, 0.09), color, WOOD)
    tall = (h - 0.13) / 3
    for drawer in range(3):
        z = 0.11 + drawer * tall
        s.box((0.02, w - 0.05, tall - 0.03), (d / 2 - 0.01, 0, z), shade(color, 0.87), WOOD)
        s.box((0.03, 0.04, 0.02), (d / 2 + 0.005, w / 4, z + tall / 2), METAL, mirror="y")
    s.surface(h, (d - 0.06, w - 0.04))


@object_class(Group.FURNITURE, "0.4-0.46 x 0.4-0.46 x 1.65-1.8", "woods, black")
def coat_rack(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A post on a cross foot with hooks at the top."""
    reach = min(d, w)
    s.box((reach, 0.05, 0.04), (0, 0, 0), color)
    s.box((0.05, reach, 0.04), (0, 0, 0), color)
    s.cylinder(0.022, h - 0.04, (0, 0, 0.04), color, WOOD, sections=8)
    for hook in range(6):
        angle = math.pi * hook / 3
        z = h - 0.16 - 0.14 * (hook % 2)
        s.cylinder(0.01, 0.15, (0, 0, z), shade(color, 0.8), sections=6, pitch=math.pi / 3, yaw=angle)


@object_class(Group.FURNITURE, "0.32-0.38 x 1.1-1.25 x 0.85-0.92", "blue, grey, red, light blue, green")
def ironing_board(s: ShapeBuilder, d: float, w: float, h: float, color: Rgb) -> None:
    """A padded board on crossed legs."""
    s.box((d, w, 0.04), (0, 0, h - 0.04), color, FABRIC)
    lean = math.atan2(w * 0.55, h - 0.06)
    long = math.hypot(w * 0.55, h - 0.06)
    for x, sign in ((-0.05, 1), (0.05, -1)):
        s.box((0.03, 0.03, long - 0.03), (x, sign * w * 0.27, 0.012), METAL, roll=sign * lean)
    s.box((d * 0.8, 0.03, 0.03), (0, w * 0.27, 0), TIMBER, mirror="y")
    s.surface(h, (d - 0.04, w - 0.1))
