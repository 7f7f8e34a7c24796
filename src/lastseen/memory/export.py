"""A memory as a file for other programs, and files of others into a memory.

Everything is written from one tree, which ``home.json`` holds as it is (schema ``home_export``): CSV for a
spreadsheet, PLY boxes for a 3-D viewer, a route graph for Nav2, and a scene graph for spark-dsg (Hydra).
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lastseen import schemas
from lastseen.errors import InvalidValue, shorten
from lastseen.memory.objects.boxes import corners

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

Tree = Mapping[str, Any]
FORMAT, VERSION = "lastseen-home", 1
ROUTE_STEP = 1.0
"""Metres between the points of a route: Nav2 plans the way between two of them itself."""
MAX_IMPORT = 32 * 2**20
"""Bytes of a file that is imported: a house has a few hundred kilobytes, and hostile JSON takes 20 times its size."""
_FORMULA = re.compile(r"((?:^|[,;|\"])\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a formula may begin: with one of the four marks that spreadsheets know, also in full width."""
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)]
"""Pairs of box corners that differ along one axis."""
_OBJECTS, _PLACES, _ROOMS, _BUILDINGS = 2, 3, 4, 5
"""Layers of a spark-dsg scene graph."""
_NO_LABEL = 2**32 - 1
_SMALLEST = 0.01
"""Metres: a thing without a size is told so large."""


def home_tree(objects: Sequence[Tree], rooms: Sequence[Tree], path: Sequence[Sequence[float]] = ()) -> dict[str, Any]:
    """The tree of a home: objects and rooms as serialized, and routes from the robot's path (x, y)."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "objects": [dict(one) for one in objects],
        "rooms": [dict(one) for one in rooms],
        "routes": routes(path),
    }


def routes(path: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Points about ``ROUTE_STEP`` apart on a driven path, and which were driven one after the other.

    >>> routes([(0.0, 0.0), (0.5, 0.0), (1.2, 0.0), (0.1, 0.0)])
    {'points': [[0.0, 0.0], [1.2, 0.0]], 'edges': [[0, 1]]}
    """
    points: list[list[float]] = []
    edges: set[tuple[int, int]] = set()
    at: int | None = None
    for x, y in path:
        near = min(range(len(points)), key=lambda number: math.dist(points[number], (x, y)), default=None)
        if near is None or math.dist(points[near], (x, y)) >= ROUTE_STEP:
            points.append([round(float(x), 3), round(float(y), 3)])
            near = len(points) - 1
        # a leap is another walk: nobody drove there
        if at is not None and at != near and math.dist(points[at], points[near]) < 3 * ROUTE_STEP:
            edges.add((min(at, near), max(at, near)))
        at = near
    return {"points": points, "edges": [list(edge) for edge in sorted(edges)]}


def write_home(path: Path, home: Tree) -> None:
    """Write a home in the format that its name ends with; what was there stays until the new file is whole."""
    write = writer_of(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part, home)
        part.replace(path)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
        raise InvalidValue("out", str(path), problem, remedy="check its folder and the free space") from error
    finally:
        part.unlink(missing_ok=True)


def write_json(path: Path, home: Tree) -> None:
    """The tree itself."""
    path.write_text(json.dumps(home, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_csv(path: Path, home: Tree) -> None:
    """One line per object; vectors in columns of their own."""
    names = ["id", "label", "x", "y", "z", "width", "depth", "height", "yaw", "hits", "stability", "state", "place"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "first_seen", "last_seen"])
        for one in home["objects"]:
            writer.writerow(
                [
                    one["id"],
                    _cell(one["label"]),
                    *one["position"],
                    *one["extent"],
                    one.get("yaw", 0.0),
                    *(one.get(name) for name in ("hits", "stability", "state")),
                    _cell(one.get("place")),
                    *(one.get(name) for name in ("first_seen", "last_seen")),
                ]
            )


def write_ply(path: Path, home: Tree) -> None:
    """Each object's box as eight corners and twelve edges, in metres."""
    objects = home["objects"]
    lines = ["ply", "format ascii 1.0"]
    lines += [f"comment {8 * i} {one['id']} {_line(one['label'])}" for i, one in enumerate(objects)]
    lines += [f"element vertex {8 * len(objects)}", *(f"property float {axis}" for axis in "xyz")]
    lines += [f"element edge {12 * len(objects)}", "property int vertex1", "property int vertex2", "end_header"]
    for one in objects:
        for corner in corners(np.array(one["position"]), np.array(one["extent"]), one.get("yaw", 0.0)).tolist():
            lines.append(" ".join(f"{value:.4f}" for value in corner))
    lines += [f"{8 * i + a} {8 * i + b}" for i in range(len(objects)) for a, b in _EDGES]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_geojson(path: Path, home: Tree) -> None:
    """Where the robot drove as a graph for Nav2's route server: points, and an edge each way between two."""
    points, edges = home["routes"]["points"], home["routes"]["edges"]
    features: list[dict[str, Any]] = [
        {
            "type": "Feature",
            "properties": {"id": number, "frame": "map"},
            "geometry": {"type": "Point", "coordinates": point},
        }
        for number, point in enumerate(points)
    ]
    both_ways = [way for first, second in edges for way in ((first, second), (second, first))]
    for number, (start, end) in enumerate(both_ways, start=len(points)):
        features.append(
            {
                "type": "Feature",
                "properties": {"id": number, "startid": start, "endid": end},
                "geometry": {"type": "MultiLineString", "coordinates": [[points[start], points[end]]]},
            }
        )
    tree = {"type": "FeatureCollection", "name": "graph", "features": features}
    path.write_text(json.dumps(tree, indent=1) + "\n", encoding="utf-8")


def write_spark_dsg(path: Path, home: Tree) -> None:
    """A scene graph as spark-dsg 1.1 reads it: objects below rooms, rooms below one building."""
    nodes: list[dict[str, Any]] = []
    edges: list[tuple[int, int]] = []
    building = _symbol("B", 0)
    rooms = {room["id"]: _symbol("R", room["id"]) for room in home["rooms"]}
    for room in home["rooms"]:
        outline = room["outline"] or [room["center"]]
        low, high = ([pick(point[axis] for point in outline) for axis in (0, 1)] for pick in (min, max))
        center = [(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, 1.25]
        box = _box(center, [high[0] - low[0], high[1] - low[1], 2.5])
        attributes = _attributes("RoomNodeAttributes", [*room["center"], 0.0], room["name"], box)
        nodes.append(_node(rooms[room["id"]], _ROOMS, {**attributes, "semantic_class_probabilities": {}}))
        edges.append((building, rooms[room["id"]]))
        edges += [(rooms[room["id"]], rooms[other]) for other in room["next_to"] if room["id"] < other in rooms]
    labels = sorted({one["label"] for one in home["objects"] if one["label"]})
    for number, one in enumerate(home["objects"]):
        symbol = _symbol("O", number)
        attributes = _attributes(
            "ObjectNodeAttributes",
            one["position"],
            one["label"] or "",
            _box(one["position"], one["extent"], one.get("yaw", 0.0)),
        )
        attributes |= {"mesh_connections": [], "registered": False, "world_R_object": _TURN}
        attributes["semantic_label"] = labels.index(one["label"]) if one["label"] else _NO_LABEL
        attributes["metadata"] = {name: one.get(name) for name in ("id", "state", "color", "last_seen", "provenance")}
        nodes.append(_node(symbol, _OBJECTS, attributes))
        if one.get("place_id") in rooms:
            edges.append((rooms[one["place_id"]], symbol))
    if rooms:
        nodes.append(_node(building, _BUILDINGS, _attributes("SemanticNodeAttributes", [0.0, 0.0, 0.0], "home")))
    layers = {"OBJECTS": _OBJECTS, "PLACES": _PLACES, "ROOMS": _ROOMS, "BUILDINGS": _BUILDINGS}
    keys = {name: {"layer": layer, "partition": 0} for name, layer in layers.items()}
    info = {"type": "EdgeAttributes", "weight": 1.0, "weighted": False, "metadata": {}}
    tree = {
        "SPARK_DSG_header": {"project_name": "main", "version": {"major": 1, "minor": 1, "patch": 3}},
        "directed": False,
        "multigraph": False,
        "metadata": {"written_by": "lastseen", "labels": labels},
        "layer_keys": list(keys.values()),
        "layer_names": keys,
        "nodes": nodes,
        "edges": [{"source": source, "target": target, "info": info} for source, target in edges],
    }
    path.write_text(json.dumps(tree) + "\n", encoding="utf-8")


def read_home(path: Path) -> dict[str, Any]:
    """The tree of a home from a file of ours or of spark-dsg; what is neither raises ``InvalidValue``."""
    remedy = "give what `lastseen export home.json` or spark-dsg wrote"
    try:
        if path.stat().st_size > MAX_IMPORT:
            raise InvalidValue("file", str(path), f"has more than {MAX_IMPORT} bytes", remedy=remedy)
        tree = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidValue):
            raise
        raise InvalidValue("file", str(path), "is not JSON", remedy=remedy) from None
    if isinstance(tree, dict) and tree.get("format") == FORMAT:
        schemas.validate("home_export", tree)
        return tree
    # files of before 1.0 have no header
    if isinstance(tree, dict) and ("SPARK_DSG_header" in tree or {"directed", "nodes", "edges"} <= tree.keys()):
        try:
            found = _from_spark_dsg(tree)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            told = f"is no scene graph that can be read ({type(error).__name__}: {shorten(str(error))})"
            raise InvalidValue("file", str(path), told, remedy="write it with spark-dsg 1.x") from None
        schemas.validate("home_export", found)
        return found
    raise InvalidValue("file", str(path), "is no home that is known here", remedy=remedy)


def import_facts(memory: Memory, home: Tree) -> tuple[int, list[str]]:
    """Tell a memory the objects and rooms of a home; returns how many it took, and one line for each it did not.

    They are told, not seen: what the robot sees later corrects them (docs/telling.md).
    """
    taken, refused = 0, []
    for room in home["rooms"]:
        if room["name"] == "unknown" or not room["outline"]:
            continue
        try:
            memory.tell(f"this area is the {room['name']}", outline=room["outline"])
            taken += 1
        except InvalidValue as error:
            refused.append(f"room {shorten(room['name'])}: {error}")
    for one in home["objects"]:
        if one["state"] in {"missing", "removed"}:
            continue
        try:
            if one["label"] is None:
                raise InvalidValue("label", None, "is missing", remedy="name it first")
            x, y, z = one["position"]
            wide, deep, high = (max(side, _SMALLEST) for side in one["extent"])
            memory.tell(f"there is a {one['label']}", position=(x, y, z), extent=(wide, deep, high))
            taken += 1
        except InvalidValue as error:
            refused.append(f"object {shorten(one['id'])}: {error}")
    return taken, refused


def _from_spark_dsg(tree: Tree) -> dict[str, Any]:
    """Objects and rooms of a scene graph; the room of an object is the one above it, directly or by a place."""
    kinds = {node["id"]: node["attributes"]["type"] for node in tree["nodes"]}
    above: dict[int, list[int]] = {}
    for edge in tree["edges"]:
        for one, other in ((edge["source"], edge["target"]), (edge["target"], edge["source"])):
            above.setdefault(one, []).append(other)
    room_ids = {node: number for number, node in enumerate(n for n in kinds if kinds[n] == "RoomNodeAttributes")}
    room_beside = {node: next((one for one in around if one in room_ids), None) for node, around in above.items()}
    names = tree.get("metadata", {}).get("labelspaces", {})
    objects, rooms = [], []
    for node in tree["nodes"]:
        attributes = node["attributes"]
        box = attributes.get(
            "bounding_box", {"dimensions": [0.0, 0.0, 0.0], "world_P_center": attributes["position"]}
        )
        size = [max(0.0, float(value)) for value in box["dimensions"]]
        center = box["world_P_center"] if any(size) else attributes["position"]
        position = [float(value) for value in center]
        if kinds[node["id"]] in {"ObjectNodeAttributes", "KhronosObjectAttributes"}:
            near = [node["id"], *above.get(node["id"], ())]
            room = next((room_beside[one] for one in near if room_beside.get(one) is not None), None)
            label = (
                str(attributes.get("name") or names.get(str(attributes.get("semantic_label"))) or "").strip() or None
            )
            objects.append(
                {
                    "id": f"O{node['id'] & (2**56 - 1)}",
                    "label": label,
                    "position": position,
                    "extent": size,
                    "state": "confirmed",
                    "place_id": None if room is None else room_ids[room],
                }
            )
        elif node["id"] in room_ids:
            x, y = position[:2]
            half = size[0] / 2, size[1] / 2
            ends = [(x + a * half[0], y + b * half[1]) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
            name = str(attributes.get("name") or "").strip() or "unknown"
            outline = [list(corner) for corner in ends] if all(half) else []
            rooms.append({"id": room_ids[node["id"]], "name": name, "center": [x, y], "outline": outline})
    return {"format": FORMAT, "version": VERSION, "objects": objects, "rooms": rooms}


_TURN = {"w": 1.0, "x": 0.0, "y": 0.0, "z": 0.0}


def _symbol(category: str, index: int) -> int:
    """A node's number in spark-dsg: a letter in the highest byte, then the index."""
    return (ord(category) << 56) + index


def _node(symbol: int, layer: int, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"id": symbol, "layer": layer, "partition": 0, "attributes": attributes}


def _box(center: Sequence[float], size: Sequence[float], yaw: float = 0.0) -> dict[str, Any]:
    """A box of a scene graph; RAABB is one that is turned about the vertical."""
    turn = {"w": math.cos(yaw / 2), "x": 0.0, "y": 0.0, "z": math.sin(yaw / 2)} if yaw else _TURN
    kind = "RAABB" if yaw else "AABB"
    return {"type": kind, "dimensions": list(size), "world_P_center": list(center), "world_R_center": turn}


def _attributes(kind: str, position: Sequence[float], name: str, box: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": kind,
        "position": list(position),
        "name": name,
        "bounding_box": box or {**_box([0.0] * 3, [0.0] * 3), "type": "INVALID"},
        "color": {"r": 0, "g": 0, "b": 0, "a": 255},
        "is_active": False,
        "is_predicted": False,
        "last_update_time_ns": 0,
        "metadata": {},
        "semantic_feature": {"cols": 0, "data": None, "rows": 0},
        "semantic_label": _NO_LABEL,
    }


def _cell(text: str | None) -> str:
    """A label as plain text in one line: a spreadsheet would run what starts like a formula.

    Some split a line at other marks than commas, so each part of a label is taken for a cell of its own.
    """
    return _FORMULA.sub(r"\1'", _line(text))


def _line(text: str | None) -> str:
    # a nul or an escape is no text, and some readers stop there
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text or "").split())


WRITERS: dict[str, Callable[[Path, Tree], None]] = {
    ".csv": write_csv,
    ".dsg.json": write_spark_dsg,
    ".geojson": write_geojson,
    ".json": write_json,
    ".ply": write_ply,
}
"""How to write each kind of file, by its ending; of two that fit the longer one counts."""


def writer_of(path: Path) -> Callable[[Path, Tree], None]:
    """What writes a file of this name; a name of no kind raises ``InvalidValue``."""
    fitting = [ending for ending in WRITERS if path.name.lower().endswith(ending)]
    if not fitting:
        known = ", ".join(sorted(WRITERS))
        raise InvalidValue("out", str(path), "is of no kind that can be written", remedy=f"name it {known}")
    return WRITERS[max(fitting, key=len)]
