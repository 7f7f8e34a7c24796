"""Apartments of VirtualHome: rooms and boxes from a scene graph that others drew.

The graph gives wall pieces as boxes that would fill whole corners, so walls are raised anew along the outline of
each room's floor tiles, open where a door frame stands between two rooms.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.sim.catalog import PALETTE, ShapeBuilder
from lastseen.sim.catalog.palette import Rgb
from lastseen.sim.floorplan.plan import (
    FloorPlan,
    Opening,
    OpeningKind,
    Rectangle,
    Wall,
    structure_mesh,
    walls_between,
)
from lastseen.sim.home import Home, Room, Thing

_WORDS = Path(__file__).with_name("virtualhome.txt").read_text(encoding="utf-8").splitlines()
_SPACED = {words.replace(" ", ""): words for words in _WORDS}
"""VirtualHome writes class names as one word; people write them as they speak."""
_STRUCTURE = ("Floor", "Floors", "Walls", "Ceiling", "Doors", "Windows", "Characters")
_SNAP = 0.2
"""Metres by which tile edges of neighbouring rooms miss each other; tiles are 2.5 m wide."""
_WALL = 0.12
"""The depth of the scenes' own door frames."""
_HEIGHT, _HEAD = 2.5, 2.05
"""Metres: the height of walls and of doorways, which the graph does not give."""
_THINNEST = 0.005
"""Metres: boxes without thickness get this much, so that they can be seen from the side."""
_ENCLOSED = 0.95
"""Share of a box inside another one beyond which nobody could see it."""

_HOLLOW = ("stall",)
"""Cubicles that one enters: as a solid box a toilet stall would hide the toilet."""
_POST = 0.05
"""Metres: the thickness of a cubicle's posts and rails."""

_Box = tuple[tuple[float, float, float], tuple[float, float, float]]


def home_from_graph(path: str | Path) -> Home:
    """One scene as a home of boxes, ids and room ids as in the file.

    The data has no colours: each class gets one by its name. A thing whose box lies inside another's (a plate in a
    closed cupboard) is left out, because no camera can see it.
    """
    scene = _read(Path(path))
    objects = [_checked(item, f"objects[{i}]") for i, item in enumerate(_list(scene, "objects"))]
    rooms = _rooms(_list(scene, "rooms"), objects)
    walls = walls_between(rooms)
    plan = FloorPlan(rooms, walls, _openings(walls, objects), _WALL, _HEIGHT)
    things = [_thing(item) for item in objects if item["category"] not in _STRUCTURE]
    kept = {thing.id: thing for thing in _in_sight(things)}
    supported = {
        item["id"]: next((i for i in item.get("relations", {}).get("ON", ()) if i in kept and i != item["id"]), None)
        for item in objects
    }
    # seeded by nothing: the tints of a scene never change
    structure = structure_mesh(plan, np.random.default_rng(0), ceiling=True)
    return Home(
        str(scene.get("scene", Path(path).stem)),
        rooms,
        structure,
        {key: replace(thing, support_id=supported[key]) for key, thing in kept.items()},
    )


def _read(path: Path) -> Mapping[str, Any]:
    remedy = "give a TestScene<n>.json.gz or its unpacked JSON"
    if not path.is_file():
        raise InvalidValue("path", str(path), "is not a file", remedy=remedy)
    try:
        raw = path.read_bytes()
        scene = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
    except (OSError, EOFError, zlib.error, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidValue("path", str(path), f"cannot be read: {error}", remedy=remedy) from error
    if not isinstance(scene, dict):
        raise InvalidValue("path", str(path), "holds no scene", remedy=remedy)
    return scene


def _list(scene: Mapping[str, Any], name: str) -> list[Any]:
    rows = scene.get(name)
    if not isinstance(rows, list) or not rows:
        raise InvalidValue(f"scene.{name}", rows, "must be a list with entries", remedy="check the scene file")
    return rows


def _checked(item: Any, field: str) -> dict[str, Any]:
    """An object with its id, class, category and room, and its box turned to z up."""
    if not isinstance(item, dict):
        raise InvalidValue(field, item, "must be an object", remedy="check the scene file")
    for name, kind in (("id", int), ("class", str), ("category", str), ("room", int), ("box", dict)):
        if not isinstance(item.get(name), kind):
            raise InvalidValue(f"{field}.{name}", item.get(name), f"must be {kind.__name__}", remedy="check the file")
    return {**item, "box": _z_up(item["box"], f"{field}.box")}


def _z_up(box: Mapping[str, Any], field: str) -> _Box:
    """Centre and size from Unity's y-up, left-handed axes: (x, y, z) becomes (x, z, y)."""
    turned = []
    for name in ("center", "size"):
        value = box.get(name)
        if not (isinstance(value, list) and len(value) == 3 and all(isinstance(v, int | float) for v in value)):
            raise InvalidValue(f"{field}.{name}", value, "must hold three numbers", remedy="check the scene file")
        x, y, z = (float(v) for v in value)
        if not all(math.isfinite(v) for v in (x, y, z)):
            raise InvalidValue(f"{field}.{name}", value, "must be finite", remedy="check the scene file")
        turned.append((x, z, y))
    if min(turned[1]) < 0.0:
        raise InvalidValue(f"{field}.size", turned[1], "is negative", remedy="check the scene file")
    return turned[0], turned[1]


def spaced(name: str) -> str:
    """A class or room name in lower case with spaces: ``livingroom`` becomes ``living room``."""
    plain = name.strip().lower().replace("_", " ")
    return _SPACED.get(plain, plain)


def _plan_rectangle(box: _Box) -> Rectangle:
    (x, y, _), (wide, long, _) = box
    return x - wide / 2, y - long / 2, x + wide / 2, y + long / 2


def _rooms(rows: list[Any], objects: list[dict[str, Any]]) -> tuple[Room, ...]:
    tiles: dict[int, list[Rectangle]] = {}
    for item in objects:
        if item["category"] in ("Floor", "Floors"):
            tiles.setdefault(item["room"], []).append(_plan_rectangle(item["box"]))
    every = [tile for group in tiles.values() for tile in group]
    along_x = _snapped(value for tile in every for value in (tile[0], tile[2]))
    along_y = _snapped(value for tile in every for value in (tile[1], tile[3]))
    rooms = []
    for row in rows:
        if not isinstance(row, dict) or not isinstance(row.get("id"), int) or row["id"] not in tiles:
            raise InvalidValue("scene.rooms", row, "has no id or no floor tiles", remedy="check the scene file")
        parts = {(along_x[x0], along_y[y0], along_x[x1], along_y[y1]) for x0, y0, x1, y1 in tiles[row["id"]]}
        rooms.append(Room(row["id"], spaced(str(row.get("class", "room"))), _joined(parts)))
    return tuple(rooms)


def _snapped(values: Iterable[float]) -> dict[float, float]:
    """Each value with the mean of the cluster it belongs to."""
    clusters: list[list[float]] = []
    for value in sorted(set(values)):
        if clusters and value - clusters[-1][-1] <= _SNAP:
            clusters[-1].append(value)
        else:
            clusters.append([value])
    return {value: round(sum(cluster) / len(cluster), 3) for cluster in clusters for value in cluster}


def _joined(tiles: set[Rectangle]) -> tuple[Rectangle, ...]:
    """Tiles put together to rows, and equal rows to larger rectangles."""
    rows: list[Rectangle] = []
    for tile in sorted(tiles, key=lambda t: (t[1], t[3], t[0])):
        if rows and rows[-1][1] == tile[1] and rows[-1][3] == tile[3] and rows[-1][2] == tile[0]:
            rows[-1] = (rows[-1][0], tile[1], tile[2], tile[3])
        else:
            rows.append(tile)
    blocks: list[Rectangle] = []
    for row in sorted(rows, key=lambda r: (r[0], r[2], r[1])):
        if blocks and blocks[-1][0] == row[0] and blocks[-1][2] == row[2] and blocks[-1][3] == row[1]:
            blocks[-1] = (row[0], blocks[-1][1], row[2], row[3])
        else:
            blocks.append(row)
    return tuple(blocks)


def _openings(walls: tuple[Wall, ...], objects: list[dict[str, Any]]) -> tuple[Opening, ...]:
    """A doorway for each frame between two rooms, a closed front door elsewhere, windows in outer walls."""
    openings: list[Opening] = []
    order = {"doorjamb": 0, "maindoor": 1, "door": 2}
    doors = [item for item in objects if item["category"] == "Doors"]
    for item in sorted(doors, key=lambda item: (order.get(item["class"], 3), item["id"])):
        index = _wall_at(walls, item["box"])
        if index is None:
            continue
        low, high = walls[index].low, walls[index].high
        kind = OpeningKind.FRONT_DOOR if None in (low, high) else OpeningKind.DOOR
        _add(openings, walls, item["box"], (kind, index, 0.0, _HEAD))
    for item in objects:
        index = _wall_at(walls, item["box"]) if item["category"] == "Windows" else None
        if index is not None and None in (walls[index].low, walls[index].high):
            (_, _, z), (_, _, tall) = item["box"]
            sill, head = max(z - tall / 2, 0.1), min(z + tall / 2, _HEIGHT - 0.1)
            _add(openings, walls, item["box"], (OpeningKind.WINDOW, index, sill, head))
    return tuple(sorted(openings, key=lambda opening: (opening.wall, opening.start)))


def _wall_at(walls: tuple[Wall, ...], box: _Box) -> int | None:
    """The wall that an opening stands in: its middle lies on the wall's line and within its ends."""
    (x, y, _), (wide, long, _) = box
    best: tuple[float, int] | None = None
    for index, wall in enumerate(walls):
        if wide != long and (wide > long) != (wall.along == "x"):
            continue
        along, across = (x, y) if wall.along == "x" else (y, x)
        off = abs(across - wall.at)
        if off <= 2 * _SNAP and wall.start + 0.3 <= along <= wall.end - 0.3:
            best = min(best or (math.inf, -1), (off, index))
    return None if best is None else best[1]


def _add(
    openings: list[Opening], walls: tuple[Wall, ...], box: _Box, what: tuple[OpeningKind, int, float, float]
) -> None:
    kind, index, sill, head = what
    wall = walls[index]
    middle, width = (box[0][0], box[1][0]) if wall.along == "x" else (box[0][1], box[1][1])
    start, end = max(middle - width / 2, wall.start + _WALL), min(middle + width / 2, wall.end - _WALL)
    # a frame and its leaf are two objects in one hole
    taken = any(other.wall == index and other.start < end and other.end > start for other in openings)
    if not taken and end > start:
        openings.append(Opening(kind, index, round(start, 3), round(end, 3), round(sill, 3), round(head, 3)))


def _thing(item: dict[str, Any]) -> Thing:
    (x, y, z), size = item["box"]
    wide, long, tall = (max(value, _THINNEST) for value in size)
    label = spaced(item["class"])
    names = sorted(PALETTE)
    color = names[zlib.crc32(label.encode()) % len(names)]
    builder = ShapeBuilder()
    if label in _HOLLOW:
        _frame(builder, (wide, long, tall), PALETTE[color])
    else:
        builder.box((wide, long, tall), (0.0, 0.0, 0.0), PALETTE[color])
    return Thing(
        id=item["id"],
        label=label,
        color=color,
        mesh=builder.shape().mesh,
        pose=Pose3D.from_quaternion([x, y, z - tall / 2], [0.0, 0.0, 0.0, 1.0]),
        room_id=item["room"],
        movable="GRABBABLE" in item.get("properties", ()),
    )


def _frame(builder: ShapeBuilder, size: tuple[float, float, float], color: Rgb) -> None:
    """Posts at the corners of a box and rails along its top."""
    wide, long, tall = size
    x, y = (wide - _POST) / 2, (long - _POST) / 2
    for sx in (-1, 1):
        for sy in (-1, 1):
            builder.box((_POST, _POST, tall), (sx * x, sy * y, 0.0), color)
        builder.box((_POST, long - 2 * _POST, _POST), (sx * x, 0.0, tall - _POST), color)
        builder.box((wide - 2 * _POST, _POST, _POST), (0.0, sx * y, tall - _POST), color)


def _in_sight(things: list[Thing]) -> list[Thing]:
    """Things that are not swallowed by a larger box."""
    boxes = np.stack([thing.box for thing in things])
    volume = np.prod(boxes[:, 1] - boxes[:, 0], axis=1)
    low = np.maximum(boxes[:, None, 0], boxes[None, :, 0])
    high = np.minimum(boxes[:, None, 1], boxes[None, :, 1])
    shared = np.prod(np.clip(high - low, 0.0, None), axis=-1)
    opaque = np.array([thing.label not in _HOLLOW for thing in things])
    swallowed = (shared >= _ENCLOSED * volume[:, None]) & (volume[None, :] > volume[:, None]) & opaque[None, :]
    return [thing for thing, hidden in zip(things, swallowed.any(axis=1), strict=True) if not hidden]
