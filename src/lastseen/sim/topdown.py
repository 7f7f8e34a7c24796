"""A home from above: a floor plan that a person can read.

Walls are cut at chest height, so doorways are gaps and windows thin lines; furniture is drawn from its own
triangles; small things are numbered dots with a key beside the plan.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from lastseen.errors import InvalidValue
from lastseen.sim.catalog.palette import PALETTE, Rgb
from lastseen.sim.home import Home, Room, Thing
from lastseen.sim.maplabels import FAINT, TEXT, Box, Labels, font, meets
from lastseen.sim.mesh import Mesh, Pattern, cut, is_closed

_CUT, _ABOVE_DOORS = 1.5, 2.25
"""Metres above the floor at which walls are cut, and above which doorways are closed by a lintel."""
_MARGIN = 0.5
"""Metres of paper about the plan."""
_SHARPER = 3
"""The plan is drawn this much larger and scaled down, which smooths its edges."""
_PAPER: Rgb = (252, 252, 250)
_WALL: Rgb = (64, 66, 72)
_LINTEL: Rgb = (222, 218, 208)
_ROOM_TINTS: dict[str, Rgb] = {
    "living room": (246, 232, 208),
    "kitchen": (250, 240, 196),
    "dining room": (248, 222, 206),
    "bedroom": (222, 230, 246),
    "bathroom": (208, 236, 240),
    "office": (226, 238, 214),
    "laundry room": (216, 226, 232),
    "entrance": (238, 228, 238),
    "storage room": (230, 226, 218),
    "corridor": (240, 238, 232),
}
_OTHER_TINT: Rgb = (236, 236, 236)
_SMALL = 0.75
"""Metres: a movable thing, or one narrower than this on a support, gets a number instead of a label."""
_THIN = 0.06
"""Metres: what is thinner hangs on a wall."""
_DOT = 3.5
"""Pixels: the radius of a numbered dot."""
_LINE = 0.015
"""Metres by which an outline runs outside its thing, so that the thing itself does not cover it."""
_START: Rgb = (34, 150, 74)
_END: Rgb = (206, 48, 48)

Point = tuple[float, float]


class Raster:
    """Maps metres on the floor plan to pixels; y points up in the world and down in the picture."""

    def __init__(self, low: NDArray[np.float64], high: NDArray[np.float64], scale: float) -> None:
        self.low, self.high, self.scale = low, high, scale
        self.width = math.ceil((high[0] - low[0]) * scale)
        self.height = math.ceil((high[1] - low[1]) * scale)

    def pixel(self, x: float, y: float) -> tuple[float, float]:
        """The pixel of a floor point."""
        return (x - self.low[0]) * self.scale, (self.high[1] - y) * self.scale

    def pixels(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """The pixels (n, 2) of floor points (n, 2 or more)."""
        return np.stack(
            [(points[:, 0] - self.low[0]) * self.scale, (self.high[1] - points[:, 1]) * self.scale], axis=-1
        )


def draw_map(
    home: Home, *, path: Sequence[Point] | None = None, scale: float = 80.0, labels: bool = True, key: bool = True
) -> Image.Image:
    """The home from above at ``scale`` pixels to a metre, with an optional walked path of (x, y) in metres.

    >>> draw_map(home, path=[(1.0, 1.0), (2.5, 1.0)]).save("house.png")  # doctest: +SKIP
    """
    if not (math.isfinite(scale) and 5.0 <= scale <= 400.0):
        raise InvalidValue("scale", scale, "must lie in 5 to 400", remedy="80 pixels to a metre is readable")
    walked = _checked(path)
    low, high = _extent(home, walked)
    raster = Raster(low, high, scale)
    plan = _drawn_plan(home, Raster(low, high, scale * _SHARPER)).resize(
        (raster.width, raster.height), Image.Resampling.LANCZOS
    )
    draw = ImageDraw.Draw(plan, "RGBA")
    if walked is not None:
        _draw_path(draw, raster.pixels(walked))
    text = Labels(draw, (0.0, 0.0, float(raster.width), float(raster.height)))
    numbered = _numbered(home) if labels else []
    if labels:
        _write(home, numbered, raster, text)
    _draw_scale_bar(draw, raster)
    return _composed(home, plan, numbered if key else [])


def save_map(home: Home, file: str | Path, *, path: Sequence[Point] | None = None, scale: float = 80.0) -> Path:
    """Draw the map and write it as an image file; the suffix decides the format."""
    target = Path(file)
    if target.suffix.lower() not in (".png", ".jpg", ".jpeg", ".webp"):
        raise InvalidValue("file", str(file), "has no image suffix", remedy="name it .png, .jpg or .webp")
    if not target.parent.is_dir():
        raise InvalidValue("file", str(file), "lies in no folder", remedy=f"make {target.parent} first")
    draw_map(home, path=path, scale=scale).save(target)
    return target


def _checked(path: Sequence[Point] | None) -> NDArray[np.float64] | None:
    if path is None or len(path) == 0:
        return None
    points = np.asarray([tuple(point)[:2] for point in path], dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise InvalidValue("path", path, "must hold finite (x, y) pairs", remedy="give metres on the floor")
    return points


def _extent(home: Home, path: NDArray[np.float64] | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    parts = np.array([part for room in home.rooms for part in room.rectangles]).reshape(-1, 4)
    points = [parts[:, :2], parts[:, 2:]]
    if path is not None:
        points.append(path)
    if not len(parts):
        points.append(home.bounds[:, :2])
    every = np.concatenate(points)
    return every.min(axis=0) - _MARGIN, every.max(axis=0) + _MARGIN


def _drawn_plan(home: Home, raster: Raster) -> Image.Image:
    image = Image.new("RGB", (raster.width, raster.height), _PAPER)
    draw = ImageDraw.Draw(image)
    for room in home.rooms:
        for x0, y0, x1, y1 in room.rectangles:
            left, top = raster.pixel(x0, y1)
            right, bottom = raster.pixel(x1, y0)
            draw.rectangle((left, top, right, bottom), fill=_ROOM_TINTS.get(room.type, _OTHER_TINT))
    _draw_things(home, draw, raster)
    if len(home.structure.faces):
        image = _draw_walls(home, image, raster)
    return image


def _draw_things(home: Home, draw: ImageDraw.ImageDraw, raster: Raster) -> None:
    """Every upward face, the low ones first; furniture gets the outline of its footprint."""
    triangles, colors, heights = [], [], []
    for thing in home.things.values():
        mesh = thing.mesh.moved(thing.pose)
        corners = mesh.vertices[mesh.faces].astype(np.float64)
        normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(normal, axis=1)
        up = normal[:, 2] > 0.05 * length
        light = 0.62 + 0.38 * normal[up, 2] / np.maximum(length[up], 1e-12)
        triangles.append(corners[up])
        colors.append(mesh.colors[up] * light[:, None])
        heights.append(corners[up][:, :, 2].mean(axis=1))
    if not triangles:
        return
    corners, shades, height = np.concatenate(triangles), np.concatenate(colors), np.concatenate(heights)
    flat = raster.pixels(corners.reshape(-1, 3)).reshape(-1, 6)
    strokes: list[tuple[float, int, Thing | None]] = [(float(z), i, None) for i, z in enumerate(height)]
    # an outline is drawn at the foot of its thing, so that a table hides what is tucked below it
    strokes += [
        (float(thing.box[0, 2]) + 0.02, len(height) + i, thing)
        for i, thing in enumerate(home.things.values())
        if not _is_small(thing)
    ]
    for _, index, outlined in sorted(strokes, key=lambda stroke: stroke[:2]):
        if outlined is None:
            red, green, blue = (int(value) for value in shades[index])
            draw.polygon(flat[index].tolist(), fill=(red, green, blue))
        else:
            outline = raster.pixels(_footprint(outlined)).ravel().tolist()
            draw.polygon(outline, outline=(88, 84, 80), width=4)


def _footprint(thing: Thing) -> NDArray[np.float64]:
    """The turned rectangle about a thing on the floor plan, a line's width outside it."""
    (x0, y0, _), (x1, y1, _) = thing.mesh.bounds + np.array([[-_LINE], [_LINE]])
    corners = np.array([[x0, y0, 0.0], [x1, y0, 0.0], [x1, y1, 0.0], [x0, y1, 0.0]])
    return thing.pose.transform(corners)


def _draw_walls(home: Home, image: Image.Image, raster: Raster) -> Image.Image:
    """Filled where the structure is closed, as lines where it is not."""
    structure = home.structure
    closed = is_closed(structure)
    if closed:
        walls = solid(structure, _CUT, raster)
        pixels = np.array(image)
        pixels[solid(structure, _ABOVE_DOORS, raster) & ~walls] = _LINTEL
        pixels[walls] = _WALL
        image = Image.fromarray(pixels)
    draw = ImageDraw.Draw(image)
    segments, faces = cut(structure, _CUT)
    for (start, end), face in zip(segments, faces, strict=True):
        plaster = not closed or structure.patterns[face] == Pattern.PLASTER
        red, green, blue = (int(value * 0.7) for value in structure.colors[face])
        color = _WALL if plaster else (red, green, blue)
        draw.line([raster.pixel(*start), raster.pixel(*end)], fill=color, width=3 if plaster else 5)
    return image


def solid(mesh: Mesh, height: float, raster: Raster) -> NDArray[np.bool_]:
    """Which pixels lie inside a closed mesh at a height, by winding number."""
    segments, _ = cut(mesh, height)
    winding = np.zeros((raster.height, raster.width + 1), dtype=np.int32)
    for start, end in segments:
        (x0, y0), (x1, y1) = raster.pixel(*start), raster.pixel(*end)
        sign = 1 if y1 > y0 else -1
        if y0 > y1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        first, last = max(math.ceil(y0 - 0.5), 0), min(math.ceil(y1 - 0.5), raster.height)
        if first >= last:
            continue
        rows = np.arange(first, last)
        columns = x0 + (rows + 0.5 - y0) / (y1 - y0) * (x1 - x0)
        columns = np.clip(np.ceil(columns - 0.5), 0, raster.width).astype(np.int64)
        winding[rows, columns] += sign
    return np.cumsum(winding, axis=1)[:, :-1] != 0


def _is_small(thing: Thing) -> bool:
    """Movable, small on a support, or so thin that it must hang on a wall."""
    across = thing.extent[:2]
    on_support = thing.support_id is not None and float(across.max()) < _SMALL
    return thing.movable or on_support or float(across.min()) < _THIN


def _numbered(home: Home) -> list[Thing]:
    """Small things in the order of the key: by room, then class, then id."""
    small = [thing for thing in home.things.values() if _is_small(thing)]
    return sorted(small, key=lambda thing: (thing.room_id or 0, thing.label, thing.color, thing.id))


def _write(home: Home, numbered: list[Thing], raster: Raster, text: Labels) -> None:
    dots = [raster.pixel(thing.position[0], thing.position[1]) for thing in numbered]
    for x, y in dots:
        text.taken.append((x - _DOT, y - _DOT, x + _DOT, y + _DOT))
    for number, (thing, dot) in enumerate(zip(numbered, dots, strict=True), start=1):
        color = thing.mesh.colors.astype(np.float64).mean(axis=0)
        shade = PALETTE.get(thing.color) or (int(color[0]), int(color[1]), int(color[2]))
        text.badge(str(number), dot, shade, radius=_DOT, points=10)
    large = [thing for thing in home.things.values() if not _is_small(thing) and thing.extent[2] > 0.05]
    blocked = [
        (*raster.pixel(thing.box[0, 0], thing.box[1, 1]), *raster.pixel(thing.box[1, 0], thing.box[0, 1]))
        for thing in large
    ]
    centers = {room.id: raster.pixel(*room.center) for room in home.rooms}
    for room in home.rooms:
        _write_room(room, raster, text, blocked)
    for thing in sorted(large, key=lambda thing: (-float(np.prod(thing.extent[:2])), thing.id)):
        _write_thing(thing, raster, text, centers.get(thing.room_id or 0))


def _write_room(room: Room, raster: Raster, text: Labels, furniture: list[Box]) -> None:
    """The name where the room has space, searched outwards from its middle; over furniture only if it must be."""
    x0, y0, x1, y1 = max(room.rectangles, key=lambda part: (part[2] - part[0]) * (part[3] - part[1]))
    middle = np.array(raster.pixel((x0 + x1) / 2, (y0 + y1) / 2))
    half = np.array([(x1 - x0) / 2, (y1 - y0) / 2]) * raster.scale
    for points, others in ((17, furniture), (14, furniture), (14, []), (12, []), (10, [])):
        wide, tall = text.size(room.type, points)
        slack = half - np.array([wide / 2 + 10, tall / 2 + 10])
        if (slack < 0).any() and points > 10:
            continue
        for reach in np.linspace(0.0, 1.0, 11):
            for dx, dy in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, -1), (1, -1), (-1, 1)):
                x, y = (float(value) for value in middle + reach * np.maximum(slack, 0) * (dx, dy))
                box = (x - wide / 2, y - tall / 2, x + wide / 2, y + tall / 2)
                if not any(meets(box, other) for other in others) and text.put(
                    room.type, (x, y), points=points, plate=True
                ):
                    return


def _write_thing(thing: Thing, raster: Raster, text: Labels, center: tuple[float, float] | None) -> None:
    """The class inside the thing where it fits, else just beside it, towards the middle of the room."""
    x, y = raster.pixel(thing.position[0], thing.position[1])
    width, height = (float(value) * raster.scale for value in thing.extent[:2])
    writings = list(dict.fromkeys((thing.label, thing.label.replace(" ", "\n"))))
    for points in (11, 10):
        for words in writings:
            wide, tall = text.size(words, points)
            if wide <= width and tall <= height:
                slack = (width - wide) / 2, (height - tall) / 2
                for share in (0.0, 0.5, -0.5, 0.9, -0.9):
                    spot = (x + share * slack[0], y + share * slack[1])
                    if text.put(words, spot, points=points, plate=True):
                        return
    to_x, to_y = center or (x, y)
    sides = sorted(((0, 1), (0, -1), (1, 0), (-1, 0)), key=lambda to: -(to[0] * (to_x - x) + to[1] * (to_y - y)))
    for dx, dy in sides:
        for words in writings:
            wide, tall = text.size(words, 10)
            spot = (x + dx * ((width + wide) / 2 + 3), y + dy * ((height + tall) / 2 + 3))
            if text.put(words, spot, points=10, plate=True):
                return


def _draw_path(draw: ImageDraw.ImageDraw, pixels: NDArray[np.float64]) -> None:
    """From green to red, so that the direction shows without arrows."""
    steps = max(len(pixels) - 1, 1)
    for index in range(len(pixels) - 1):
        share = index / steps
        red, green, blue = (int(a + (b - a) * share) for a, b in zip(_START, _END, strict=True))
        line = [tuple(pixels[index]), tuple(pixels[index + 1])]
        draw.line(line, fill=(red, green, blue, 210), width=3, joint="curve")
    for (x, y), color in ((pixels[0], _START), (pixels[-1], _END)):
        draw.ellipse((x - 6, y - 6, x + 6, y + 6), fill=color, outline=(255, 255, 255), width=2)


def _draw_scale_bar(draw: ImageDraw.ImageDraw, raster: Raster) -> None:
    x, y = _MARGIN * raster.scale, raster.height - 0.2 * raster.scale
    draw.line([(x, y), (x + 2 * raster.scale, y)], fill=FAINT, width=2)
    for mark in (0, 1, 2):
        draw.line([(x + mark * raster.scale, y - 4), (x + mark * raster.scale, y + 1)], fill=FAINT, width=2)
    draw.text((x + 2 * raster.scale + 6, y), "2 m", font=font(11), fill=FAINT, anchor="lm")


def _composed(home: Home, plan: Image.Image, numbered: list[Thing]) -> Image.Image:
    """The plan under its title with the key of the numbered things to its right."""
    types = {room.id: room.type for room in home.rooms}
    lines: list[tuple[str, Rgb | None]] = []
    room: int | None = -1
    for number, thing in enumerate(numbered, start=1):
        if thing.room_id != room:
            room = thing.room_id
            lines.append((types.get(room or 0, "elsewhere"), None))
        named = thing.label if thing.color in ("", thing.label) else f"{thing.color} {thing.label}"
        lines.append((f"{number}  {named}", PALETTE.get(thing.color)))
    head, row = 44, 15
    column = math.ceil(max((font(11).getlength(words) for words, _ in lines), default=0.0)) + 34
    height = max(plan.height, 420)
    per_column = max((height - 10) // row, 1)
    _keep_headings(lines, per_column)
    columns = math.ceil(len(lines) / per_column)
    sheet = Image.new("RGB", (plan.width + columns * column + (16 if columns else 0), height + head), _PAPER)
    sheet.paste(plan, (0, head))
    draw = ImageDraw.Draw(sheet)
    rooms = "1 room" if len(home.rooms) == 1 else f"{len(home.rooms)} rooms"
    caption = f"{home.name}: {rooms}, {len(home.things)} things"
    draw.text((_MARGIN * 80, head / 2 + 4), caption, font=font(20), fill=TEXT, anchor="lm")
    for index, (words, color) in enumerate(lines):
        x = plan.width + 10 + (index // per_column) * column
        y = head + 8 + (index % per_column) * row
        if color is None and not words[:1].isdigit():
            draw.text((x, y), words, font=font(12), fill=TEXT, anchor="lm")
            continue
        draw.ellipse((x + 4, y - 4, x + 12, y + 4), fill=color or FAINT, outline=FAINT)
        draw.text((x + 18, y), words, font=font(11), fill=TEXT, anchor="lm")
    return sheet


def _keep_headings(lines: list[tuple[str, Rgb | None]], per_column: int) -> None:
    """A room's name moves to the next column with the first of its things."""
    index = per_column - 1
    while index < len(lines):
        words, color = lines[index]
        if color is None and not words[:1].isdigit():
            lines.insert(index, ("", None))
        index += per_column
