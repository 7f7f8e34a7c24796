"""A memory as a picture from above: rooms with walls and doors, what stands where, and arrows for what moved.

Given the truth of a simulated home, it shows the memory against it: what is right, what is wrong, what is not known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from PIL import Image, ImageDraw

from lastseen.memory import plan_image
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.plan_image import INK, PAPER, QUIET, SCALE, Box, Colour, Point, View

Truth = Sequence[tuple[str, tuple[float, float]]]
"""Label and floor position of every thing that is really there."""

_PIXELS = 90
"""Pixels to a metre of the saved picture; fewer where the home is larger than ``_LARGEST`` of them across."""
_LARGEST = 1800
_MARGIN, _LEGEND = 48, 320
_RIGHT = 0.5
"""Metres between a remembered object and a thing of its name for which it is right."""
_FURNITURE = 0.15
"""Square metres of floor from which a thing is drawn as large as it is; smaller ones are dots."""
_FREE: Colour = (240, 239, 235)
_KNOWN: Colour = (28, 124, 84)
_WRONG: Colour = (204, 56, 48)
_GONE: Colour = (140, 142, 148)
_MOVED: Colour = (32, 88, 196)
_PATH: Colour = (236, 152, 84)
_LONGEST_STEP = 1.5
"""Metres between two points of a path that was walked."""


def draw_memory(memory: Memory, *, truth: Truth | None = None, title: str = "") -> Image.Image:
    """Draw what a memory holds now; with ``truth``, objects are coloured by whether they are right."""
    objects = memory.objects(include_removed=True)
    rooms, plans, moves = memory.rooms(), memory.floor_plans(), _moves(memory)
    view, size = _view(memory, objects, truth or ())
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    _draw_seen_floor(draw, view, memory)
    plan_image.draw_plan(draw, view, plans, rooms)
    taken: list[Box] = []
    edges = (0.0, size[0] - (_LEGEND + 8.0) * SCALE)
    _draw_furniture(draw, view, objects, truth)
    for _, (x, y) in truth or ():
        _square(draw, view.pixel(x, y), 6, _GONE)
    _draw_path(draw, view, memory)
    for _, before, after in moves:
        plan_image.draw_arrow(draw, view.pixel(*before), view.pixel(*after), _MOVED, 3 * SCALE)
        _ring(draw, view.pixel(*before), 6, _MOVED)
    # over the arrows, whose heads would hide what they lead to
    _draw_marks(draw, view, objects, truth, taken)
    plan_image.draw_room_names(draw, view, rooms, taken)
    for label, before, _ in moves:
        plan_image.draw_label(
            draw, f"{label} was here", view.pixel(*before), colour=_MOVED, size=11, taken=taken, edges=edges
        )
    # what is wrong is named first, then what is large: a label that finds no room is left out
    for each in sorted(objects, key=lambda one: (_colour(one, truth) != _WRONG, -_floor_area(one), one.id)):
        if each.label is not None:
            at = view.pixel(*each.position[:2])
            plan_image.draw_label(
                draw, each.label, at, colour=_colour(each, truth), size=11, taken=taken, edges=edges
            )
    plan_image.draw_scale_bar(draw, view, (_MARGIN * SCALE, size[1] - 14 * SCALE))
    rows = _legend(
        objects, truth=truth, rooms=len(rooms), doors=sum(len(plan.doors) for plan in plans), moves=len(moves)
    )
    _write_legend(draw, size[0] - _LEGEND * SCALE, rows, title=title or "memory")
    return plan_image.reduced(image)


def _view(memory: Memory, objects: Sequence[Object], truth: Truth) -> tuple[View, tuple[int, int]]:
    """The view that holds the home, and the size of the large picture."""
    points: list[Point] = [each.position[:2] for each in objects] + [spot for _, spot in truth]
    for plan in memory.floor_plans():
        points += [point for wall in plan.walls for point in (wall.start, wall.end)]
    points += [corner for room in memory.rooms() for corner in room.outline]
    points += [(x, y) for _, x, y, *_ in memory.space.path.points]
    left, bottom, right, top = plan_image.bounds(points)
    across = max(right - left, top - bottom, 1.0)
    scale = min(_PIXELS, _LARGEST / across) * SCALE
    width = round((right - left) * scale) + (2 * _MARGIN + _LEGEND) * SCALE
    height = max(round((top - bottom) * scale) + 2 * _MARGIN * SCALE, 320 * SCALE)
    return View(left, top, scale, _MARGIN * SCALE), (width, height)


def _draw_seen_floor(draw: ImageDraw.ImageDraw, view: View, memory: Memory) -> None:
    """The floor that is known to be free: of a home without walls it is all there is to draw."""
    floor = memory.floor
    half = floor.settings.cell / 2
    for i, j in np.argwhere(floor.free).tolist():
        x, y = floor.point_of((i, j))
        draw.rectangle([*view.pixel(x - half, y + half), *view.pixel(x + half, y - half)], fill=_FREE)


def _draw_path(draw: ImageDraw.ImageDraw, view: View, memory: Memory) -> None:
    points = memory.space.path.points
    for start, end in pairwise(points):
        # a robot that was carried, or begins a session elsewhere, did not walk there
        if math.dist(start[1:3], end[1:3]) < _LONGEST_STEP:
            draw.line([view.pixel(*start[1:3]), view.pixel(*end[1:3])], fill=_PATH, width=2 * SCALE)
    if len(points):
        draw.circle(view.pixel(*points[-1][1:3]), 6 * SCALE, fill=_PATH, outline="white", width=SCALE)


def _draw_furniture(draw: ImageDraw.ImageDraw, view: View, objects: Sequence[Object], truth: Truth | None) -> None:
    """What takes floor, as large as it is, from the largest."""
    for each in sorted(objects, key=lambda one: (-_floor_area(one), one.id)):
        colour = _colour(each, truth)
        x, y, _ = each.position
        if each.extent is not None and _floor_area(each) >= _FURNITURE and colour != _GONE:
            half_x, half_y = each.extent[0] / 2, each.extent[1] / 2
            cosine, sine = math.cos(each.yaw), math.sin(each.yaw)
            sides = [(a * half_x, b * half_y) for a, b in ((-1, 1), (1, 1), (1, -1), (-1, -1))]
            corners = [view.pixel(x + cosine * a - sine * b, y + sine * a + cosine * b) for a, b in sides]
            draw.polygon(corners, fill=_mixed(colour, 0.84), outline=_mixed(colour, 0.5), width=SCALE)


def _draw_marks(
    draw: ImageDraw.ImageDraw, view: View, objects: Sequence[Object], truth: Truth | None, taken: list[Box]
) -> None:
    """A dot for each thing, a ring for what is gone; ``taken`` learns where they are."""
    for each in objects:
        colour = _colour(each, truth)
        u, v = view.pixel(*each.position[:2])
        if colour == _GONE:
            _ring(draw, (u, v), 4, colour)
        else:
            draw.circle((u, v), 4 * SCALE, fill=colour, outline="white", width=SCALE)
        taken.append((u - 4 * SCALE, v - 4 * SCALE, u + 4 * SCALE, v + 4 * SCALE))


def _mixed(colour: Colour, white: float) -> Colour:
    red, green, blue = (round(value + (255 - value) * white) for value in colour)
    return red, green, blue


def _ring(draw: ImageDraw.ImageDraw, at: Point, radius: int, colour: Colour) -> None:
    draw.circle(at, radius * SCALE, outline=colour, width=2 * SCALE)


def _square(draw: ImageDraw.ImageDraw, at: Point, radius: int, colour: Colour) -> None:
    (u, v), reach = at, radius * SCALE
    draw.rectangle([u - reach, v - reach, u + reach, v + reach], outline=colour, width=SCALE)


def _floor_area(each: Object) -> float:
    return 0.0 if each.extent is None else each.extent[0] * each.extent[1]


def _colour(each: Object, truth: Truth | None) -> Colour:
    if each.state in ("missing", "removed"):
        return _GONE
    if truth is None:
        return _KNOWN
    x, y, _ = each.position
    right = any(label == each.label and math.dist((x, y), spot) <= _RIGHT for label, spot in truth)
    return _KNOWN if right else _WRONG


def _moves(memory: Memory) -> list[tuple[str, Point, Point]]:
    """What moved, where it was and where it went, as memory noticed it."""
    found: list[tuple[str, Point, Point]] = []
    for change in memory.what_changed():
        if change.kind == "moved" and "before" in change.evidence and "after" in change.evidence:
            before, after = (tuple(change.evidence[end][:2]) for end in ("before", "after"))
            found.append((change.label or "thing", (before[0], before[1]), (after[0], after[1])))
    return found


def _legend(
    objects: Sequence[Object], *, truth: Truth | None, rooms: int, doors: int, moves: int
) -> list[tuple[str, str, Colour]]:
    """Sign, words and colour of each line."""
    here = [each for each in objects if each.state not in ("missing", "removed")]
    gone = len(objects) - len(here)
    rows = [("dot", _count(len(here), "thing remembered", "things remembered"), _KNOWN)]
    if truth is not None:
        right = sum(_colour(each, truth) == _KNOWN for each in here)
        rows = [
            ("dot", f"{right} remembered where they are", _KNOWN),
            ("dot", f"{len(here) - right} elsewhere or by another name", _WRONG),
            ("square", _count(len(truth), "thing in the home", "things in the home"), _GONE),
        ]
    if gone:
        rows.append(("ring", f"{gone} known to be gone", _GONE))
    if moves:
        rows.append(("arrow", f"{moves} seen to have moved", _MOVED))
    return [
        *rows,
        ("line", "where the robot went", _PATH),
        ("wall", f"{_count(rooms, 'room', 'rooms')}, {_count(doors, 'door', 'doors')}", plan_image.WALL),
    ]


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _write_legend(
    draw: ImageDraw.ImageDraw, left: int, rows: Sequence[tuple[str, str, Colour]], *, title: str
) -> None:
    top = _MARGIN * SCALE
    draw.text((left, top), title, fill=INK, font=plan_image.font(18))
    for number, (sign, words, colour) in enumerate(rows, start=1):
        u, v = left + 8 * SCALE, top + (18 + 26 * number) * SCALE
        if sign == "dot":
            draw.circle((u, v), 5 * SCALE, fill=colour)
        elif sign == "ring":
            _ring(draw, (u, v), 5, colour)
        elif sign == "square":
            _square(draw, (u, v), 5, colour)
        elif sign == "arrow":
            plan_image.draw_arrow(draw, (u - 8 * SCALE, v), (u + 8 * SCALE, v), colour, 2 * SCALE)
        else:
            width = 6 if sign == "wall" else 3
            draw.line([(u - 8 * SCALE, v), (u + 8 * SCALE, v)], fill=colour, width=width * SCALE)
        draw.text(
            (u + 18 * SCALE, v), words, fill=INK if sign != "ring" else QUIET, font=plan_image.font(13), anchor="lm"
        )
