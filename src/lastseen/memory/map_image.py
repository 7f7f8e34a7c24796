"""A memory as a picture from above: explored floor, rooms, what stands where, and arrows for what moved.

Given the truth of a simulated home, it shows the memory against it: what is right, what is wrong, what is not known.
"""

from __future__ import annotations

import colorsys
import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from lastseen.memory.memory import Memory
from lastseen.memory.object import Object

Truth = Sequence[tuple[str, tuple[float, float]]]
"""Label and floor position of every thing that is really there."""
Colour = tuple[int, int, int]
Box = tuple[float, float, float, float]

_PIXELS = 90
"""Pixels to a metre."""
_MARGIN, _LEGEND = 24, 340
_RIGHT = 0.5
"""Metres between a remembered object and a thing of its name for which it is right."""
_UNKNOWN: Colour = (226, 226, 224)
_FREE: Colour = (252, 252, 250)
_WALL: Colour = (188, 189, 194)
_HIGH_WALL: Colour = (92, 94, 102)
"""Of what stands higher than furniture; the lighter one is of whatever is in a robot's way."""
_KNOWN: Colour = (36, 132, 76)
_WRONG: Colour = (204, 56, 48)
_GONE: Colour = (150, 150, 150)
_MOVED: Colour = (32, 88, 196)
_ROOM: Colour = (70, 50, 90)
_PATH: Colour = (224, 150, 90)
_LONGEST_STEP = 1.5
"""Metres between two points of a path that was walked."""
_TINT = 60
"""Of 255: how much of a room's colour lies over the floor."""
_HUES_APART = 0.618
"""The golden ratio's part: successive multiples of it never come close."""


def draw_memory(memory: Memory, *, truth: Truth | None = None, title: str = "") -> Image.Image:
    """Draw what a memory holds now; with ``truth``, objects are coloured by whether they are right."""
    floor = memory.floor
    free, occupied = floor.free, floor.occupied
    objects = memory.objects(include_removed=True)
    if not free.size:
        free = occupied = np.zeros((1, 1), dtype=np.bool_)
    seen = np.argwhere(free | occupied)
    low, high = (seen.min(axis=0), seen.max(axis=0) + 1) if len(seen) else (np.zeros(2, int), np.ones(2, int))
    cell = floor.settings.cell
    left, bottom = (value - cell / 2 for value in floor.point_of((int(low[0]), int(low[1]))))
    width, height = ((high - low) * cell * _PIXELS).astype(int).tolist()
    colours = np.full((*free.shape, 3), _UNKNOWN, dtype=np.uint8)
    colours[free], colours[occupied] = _FREE, _WALL
    part = colours[low[0] : high[0], low[1] : high[1]]
    # rows of the grid run along x, those of a picture down along y
    plan = Image.fromarray(np.ascontiguousarray(part.transpose(1, 0, 2)[::-1]))
    image = Image.new("RGB", (width + 2 * _MARGIN + _LEGEND, max(height + 2 * _MARGIN, 260)), "white")
    image.paste(plan.resize((max(width, 1), max(height, 1)), Image.Resampling.NEAREST), (_MARGIN, _MARGIN))
    draw = ImageDraw.Draw(image)

    def pixel(x: float, y: float) -> tuple[float, float]:
        return _MARGIN + (x - left) * _PIXELS, _MARGIN + height - (y - bottom) * _PIXELS

    rooms = memory.rooms()
    image = _with_rooms(image, [[pixel(x, y) for x, y in room.outline] for room in rooms])
    draw = ImageDraw.Draw(image)
    walls = memory.space.walls
    for i, j in np.argwhere(walls.occupied).tolist():
        x, y = walls.point_of((i, j))
        half = walls.settings.cell / 2
        draw.rectangle([*pixel(x - half, y + half), *pixel(x + half, y - half)], fill=_HIGH_WALL)
    for start, end in pairwise(memory.space.path.points):
        # a robot that was carried, or begins a session elsewhere, did not walk there
        if math.dist(start[1:3], end[1:3]) < _LONGEST_STEP:
            draw.line([pixel(*start[1:3]), pixel(*end[1:3])], fill=_PATH, width=2)
    for _, (x, y) in truth or ():
        u, v = pixel(x, y)
        draw.rectangle([u - 5, v - 5, u + 5, v + 5], outline=_GONE, width=1)
    font = ImageFont.load_default(size=11)
    taken: list[Box] = []
    marks = [(pixel(*each.position[:2]), each) for each in objects]
    for (u, v), each in marks:
        colour = _colour(each, truth)
        draw.ellipse([u - 4, v - 4, u + 4, v + 4], fill=None if colour == _GONE else colour, outline=colour)
        taken.append((u - 4, v - 4, u + 4, v + 4))
    # what is wrong is named first, then what is large: a label that finds no room is left out
    for (u, v), each in sorted(marks, key=lambda mark: (_colour(mark[1], truth) != _WRONG, -_floor_area(mark[1]))):
        if each.label is not None:
            _write_label(draw, each.label, (u, v), font=font, colour=_colour(each, truth), taken=taken)
    for before, after in _moves(memory):
        _arrow(draw, pixel(*before[:2]), pixel(*after[:2]))
    large = ImageFont.load_default(size=16)
    for room in rooms:
        text = f"{room.name} ({room.id})"
        u, v = pixel(*room.center)
        draw.text((u, v), text, fill=_ROOM, font=large, anchor="mm", stroke_width=2, stroke_fill=_FREE)
    _write_legend(draw, width + 2 * _MARGIN, memory, objects=objects, truth=truth, title=title)
    return image


def _with_rooms(image: Image.Image, outlines: Sequence[Sequence[tuple[float, float]]]) -> Image.Image:
    """The picture with a tint for each room, neighbours apart in hue."""
    tinted = image.convert("RGBA")
    layer = Image.new("RGBA", image.size)
    draw = ImageDraw.Draw(layer)
    for number, outline in enumerate(outlines):
        if len(outline) > 2:
            hue = (0.08 + number * _HUES_APART) % 1.0
            red, green, blue = (round(255 * value) for value in colorsys.hsv_to_rgb(hue, 0.7, 0.9))
            draw.polygon(outline, fill=(red, green, blue, _TINT))
    return Image.alpha_composite(tinted, layer).convert("RGB")


def _floor_area(each: Object) -> float:
    return 0.0 if each.extent is None else each.extent[0] * each.extent[1]


def _write_label(
    draw: ImageDraw.ImageDraw,
    text: str,
    at: tuple[float, float],
    *,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    colour: Colour,
    taken: list[Box],
) -> None:
    """Write a name beside its mark, where it covers neither another name nor a mark; nowhere if there is no room."""
    u, v = at
    left, top, right, bottom = draw.textbbox((0, 0), text, font=font)
    width, height = right - left, bottom - top
    for x, y in ((7, -height / 2), (-7 - width, -height / 2), (-width / 2, -9 - height), (-width / 2, 8)):
        box = (u + x, v + y, u + x + width, v + y + height)
        if not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken):
            taken.append(box)
            corner = box[0] - left, box[1] - top
            draw.text(corner, text, fill=colour, font=font, stroke_width=2, stroke_fill="white")
            return


def _colour(each: Object, truth: Truth | None) -> Colour:
    if each.state in ("missing", "removed"):
        return _GONE
    if truth is None:
        return _KNOWN
    x, y, _ = each.position
    right = any(label == each.label and math.dist((x, y), spot) <= _RIGHT for label, spot in truth)
    return _KNOWN if right else _WRONG


def _moves(memory: Memory) -> list[tuple[list[float], list[float]]]:
    """Where things were and where they went, as memory noticed it."""
    return [
        (list(change.evidence["before"]), list(change.evidence["after"]))
        for change in memory.what_changed()
        if change.kind == "moved" and "before" in change.evidence and "after" in change.evidence
    ]


def _arrow(draw: ImageDraw.ImageDraw, start: tuple[float, float], end: tuple[float, float]) -> None:
    draw.line([start, end], fill=_MOVED, width=3)
    heading = math.atan2(end[1] - start[1], end[0] - start[0])
    for side in (heading + 2.6, heading - 2.6):
        draw.line([end, (end[0] + 12 * math.cos(side), end[1] + 12 * math.sin(side))], fill=_MOVED, width=3)


def _write_legend(
    draw: ImageDraw.ImageDraw,
    left: int,
    memory: Memory,
    *,
    objects: Sequence[Object],
    truth: Truth | None,
    title: str,
) -> None:
    here = [each for each in objects if each.state not in ("missing", "removed")]
    rows: list[tuple[str, Colour]] = [(title or "memory", (0, 0, 0)), (f"{len(here)} objects remembered", _KNOWN)]
    if truth is not None:
        right = sum(_colour(each, truth) == _KNOWN for each in here)
        rows[1] = (f"{right} remembered where they are", _KNOWN)
        rows.append((f"{len(here) - right} remembered elsewhere or by another name", _WRONG))
        rows.append((f"{len(truth)} things in the home (squares)", _GONE))
    rows.append((f"{len(objects) - len(here)} known to be gone (rings)", _GONE))
    rows.append((f"{len(_moves(memory))} seen to have moved (arrows)", _MOVED))
    rows.append((f"{len(memory.rooms())} rooms, {len(memory.spatial.graph.anchors)} anchors", _ROOM))
    font = ImageFont.load_default(size=13)
    for number, (text, colour) in enumerate(rows):
        draw.text((left, _MARGIN + 24 * number), text, fill=colour, font=font)
