"""A floor plan in a picture: floors of rooms, walls, and doors as architects draw them; for every map that is saved.

Pictures are drawn larger and then reduced, so that lines come out smooth.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from lastseen.memory.rooms import FloorPlan, Room

Colour = tuple[int, int, int]
Point = tuple[float, float]
Box = tuple[float, float, float, float]

SCALE = 2
"""How many times larger pictures are drawn than they are saved."""
PAPER: Colour = (250, 249, 246)
INK: Colour = (38, 42, 50)
WALL: Colour = (58, 62, 72)
DOOR: Colour = (176, 128, 72)
QUIET: Colour = (128, 132, 140)

_GOLDEN = 0.618
"""The golden ratio's part: successive multiples of it never come close."""
_LIGHT = 0.09
"""Saturation of a room's floor: enough to tell rooms apart, too little to colour what stands in them."""
_NAME_OFFSETS = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9)
"""Metres from a room's middle at which its name may stand, the best first."""
_LEAF = 1.2
"""Metres up to which an opening has a door's leaf; wider ones are passages."""


@dataclass(frozen=True, slots=True)
class View:
    """How metres become pixels of the large picture: x to the right, y up, both to one scale."""

    left: float
    top: float
    pixels_per_metre: float
    margin: float

    def pixel(self, x: float, y: float) -> Point:
        """Where a point of the floor lies."""
        return self.margin + (x - self.left) * self.pixels_per_metre, self.margin + (
            self.top - y
        ) * self.pixels_per_metre

    def size(self, metres: float) -> float:
        """A length in pixels."""
        return metres * self.pixels_per_metre


def room_colour(room_id: int) -> Colour:
    """A pale colour of its own for each room, neighbours in number far apart in hue."""
    red, green, blue = colorsys.hsv_to_rgb((0.10 + room_id * _GOLDEN) % 1.0, _LIGHT, 0.98)
    return round(red * 255), round(green * 255), round(blue * 255)


def draw_plan(draw: ImageDraw.ImageDraw, view: View, plans: Iterable[FloorPlan], rooms: Iterable[Room]) -> None:
    """Draw floors, then walls, then doors."""
    for room in rooms:
        if len(room.outline) > 2:
            draw.polygon([view.pixel(x, y) for x, y in room.outline], fill=room_colour(room.id))
    for plan in plans:
        for wall in plan.walls:
            _strip(draw, view, wall.start, wall.end, across=wall.thickness, colour=WALL)
        for door in plan.doors:
            _door(draw, view, door.start, door.end)


def draw_label(
    draw: ImageDraw.ImageDraw, text: str, at: Point, *, colour: Colour, size: int, taken: list[Box], edges: Point
) -> bool:
    """Write a name beside a mark, where it covers neither another name nor a mark; False where there is no room.

    ``edges`` are the first and last column that names may cover; ``taken`` learns where the name stands.
    """
    face = font(size)
    left, top, right, bottom = draw.textbbox((0, 0), text, font=face)
    width, height = right - left, bottom - top
    (u, v), pad, gap = at, 2 * SCALE, 7.0 * SCALE
    for x, y in (
        (gap, -height / 2),
        (-gap - width, -height / 2),
        (-width / 2, -gap - height),
        (-width / 2, gap),
    ):
        box = (u + x - pad, v + y - pad, u + x + width + pad, v + y + height + pad)
        if edges[0] <= box[0] and box[2] <= edges[1] and not _covers(box, taken):
            taken.append(box)
            draw.text(
                (u + x - left, v + y - top), text, fill=colour, font=face, stroke_width=SCALE, stroke_fill="white"
            )
            return True
    return False


def draw_room_names(draw: ImageDraw.ImageDraw, view: View, rooms: Iterable[Room], taken: list[Box]) -> None:
    """Write the name of each room at its middle, in small capitals as plans have them."""
    face = font(13)
    for room in rooms:
        text = room.name.upper() if room.name != "unknown" else "?"
        x, y = room.center
        boxes = [
            (view.pixel(x, y + off), draw.textbbox(view.pixel(x, y + off), text, font=face, anchor="mm"))
            for off in _NAME_OFFSETS
        ]
        at, box = next(((at, box) for at, box in boxes if not _covers(box, taken)), boxes[0])
        draw.text(at, text, fill=QUIET, font=face, anchor="mm", stroke_width=SCALE, stroke_fill=room_colour(room.id))
        taken.append(box)


def draw_arrow(draw: ImageDraw.ImageDraw, start: Point, end: Point, colour: Colour, width: int) -> None:
    """A line with a head at its end."""
    heading = math.atan2(end[1] - start[1], end[0] - start[0])
    reach = 5.0 * width
    base = end[0] - reach * 0.8 * math.cos(heading), end[1] - reach * 0.8 * math.sin(heading)
    draw.line([start, base], fill=colour, width=width)
    sides = [
        (end[0] + reach * math.cos(heading + turn), end[1] + reach * math.sin(heading + turn)) for turn in (2.7, -2.7)
    ]
    draw.polygon([end, *sides], fill=colour)


def draw_scale_bar(draw: ImageDraw.ImageDraw, view: View, at: Point) -> None:
    """A bar of one metre, with its length."""
    (u, v), length, tick = at, view.size(1.0), 4 * SCALE
    draw.line([(u, v), (u + length, v)], fill=INK, width=SCALE)
    for end in (u, u + length):
        draw.line([(end, v - tick), (end, v + tick)], fill=INK, width=SCALE)
    draw.text((u + length + 3 * tick, v), "1 m", fill=INK, font=font(12), anchor="lm")


def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own face, at the size it has in the saved picture."""
    return ImageFont.load_default(size=size * SCALE)


def reduced(image: Image.Image) -> Image.Image:
    """The picture as it is saved."""
    return image.resize((image.width // SCALE, image.height // SCALE), Image.Resampling.LANCZOS)


def _covers(box: Box, taken: Iterable[Box]) -> bool:
    return any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)


def _strip(draw: ImageDraw.ImageDraw, view: View, start: Point, end: Point, *, across: float, colour: Colour) -> None:
    length = math.dist(start, end) or 1.0
    off_x, off_y = (end[1] - start[1]) / length * across / 2, (start[0] - end[0]) / length * across / 2
    corners = [
        (start[0] + off_x, start[1] + off_y),
        (end[0] + off_x, end[1] + off_y),
        (end[0] - off_x, end[1] - off_y),
        (start[0] - off_x, start[1] - off_y),
    ]
    draw.polygon([view.pixel(*corner) for corner in corners], fill=colour)


def _door(draw: ImageDraw.ImageDraw, view: View, start: Point, end: Point) -> None:
    """A threshold; of a door also its leaf, open, and the way it swings."""
    width = math.dist(start, end)
    _strip(draw, view, start, end, across=0.06, colour=DOOR)
    if not 0.0 < width <= _LEAF:
        return
    along = math.atan2(end[1] - start[1], end[0] - start[0])
    tip = start[0] + width * math.cos(along + math.pi / 2), start[1] + width * math.sin(along + math.pi / 2)
    draw.line([view.pixel(*start), view.pixel(*tip)], fill=DOOR, width=SCALE)
    swing = [
        (start[0] + width * math.cos(along + turn), start[1] + width * math.sin(along + turn))
        for turn in (math.radians(degrees) for degrees in range(0, 91, 5))
    ]
    draw.line([view.pixel(*point) for point in swing], fill=DOOR, width=1)


def bounds(points: Sequence[Point]) -> Box:
    """Left, bottom, right and top of points; a square metre where there are none."""
    if not points:
        return 0.0, 0.0, 1.0, 1.0
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
