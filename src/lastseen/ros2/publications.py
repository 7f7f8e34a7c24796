"""What a node publishes of a memory, and when: messages as plain trees, so that rclpy and Zenoh carry the same.

Every message about objects is whole: whoever joins late, or missed one, is right again with the next. Markers die by
themselves soon after the node does.
"""

from __future__ import annotations

import json
import math
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np

from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.memory.objects import Event
from lastseen.memory.space.floor import FloorGrid
from lastseen.server.serializers import events_json
from lastseen.sources.ros.messages import TEXT
from lastseen.sources.ros.transport import Publication, Tree

OBJECTS, MARKERS, EVENTS, FLOOR = "~/objects", "~/markers", "~/events", "~/floor"
EVENTS_TEXT, DIAGNOSTICS = "~/events_json", "/diagnostics"
DETECTIONS_3D = "vision_msgs/msg/Detection3DArray"
MARKER_ARRAY = "visualization_msgs/msg/MarkerArray"
GRID = "nav_msgs/msg/OccupancyGrid"
STATUS = "diagnostic_msgs/msg/DiagnosticArray"
EVENT = "lastseen_interfaces/msg/ObjectEvent"

PERIOD = 0.5
"""Seconds between messages about objects at least: a display needs no more, and each message is whole."""
FLOOR_PERIOD = 2.0
"""Seconds between grids at least: a grid of a home has some ten thousand cells."""
HEARTBEAT = 5.0
"""Seconds after which objects are published again though nothing changed: ages grow, and markers would die."""
MARKER_LIFETIME = 3 * HEARTBEAT
"""Seconds a marker lives: two lost messages do no harm, and a dead node leaves no ghosts."""
DIAGNOSTICS_PERIOD = 1.0
"""Seconds, as /diagnostics is published by custom."""
SILENT = 5.0
"""Seconds without a frame after which diagnostics warn."""
MAX_EVENTS = 500
"""Events that wait to be published at most; the oldest are dropped and counted."""

_CUBE, _TEXT, _ADD, _DELETE_ALL = 1, 9, 0, 3
_COLORS = {"confirmed": (0.2, 0.8, 0.3, 0.6), "stale": (0.6, 0.6, 0.6, 0.4), "told": (0.3, 0.5, 1.0, 0.5)}
_WHITE = (1.0, 1.0, 1.0, 1.0)
_LETTER = 0.12
"""Metres: the height of a label's letters."""
_SMALLEST = 0.02
"""Metres: a thing without a size is drawn so large, and RViz refuses a marker of none."""
_OK, _WARN, _ERROR, _STALE = (bytes([level]) for level in range(4))


@dataclass(slots=True)
class Health:
    """What the way in counts, for diagnostics: written by the thread that feeds, read by the one that publishes."""

    state: str = "inactive"
    error: str = ""
    frames: int = 0
    """Frames that reached the memory."""
    dropped: int = 0
    silent: float = 0.0
    skipped: Counter[str] = field(default_factory=Counter)
    """Frames and messages left out, by reason."""
    notes: tuple[str, ...] = ()

    def level(self) -> tuple[bytes, str]:
        """Level and sentence of the diagnostics."""
        if self.error:
            return _ERROR, self.error
        if self.state != "active":
            return _STALE, f"the node is {self.state}"
        if self.silent >= SILENT or not self.frames:
            why = ", ".join(f"{count} {reason}" for reason, count in self.skipped.most_common(2))
            return _WARN, "no frame reaches the memory" + (f": {why}" if why else "")
        return _OK, "frames reach the memory"


class Publications:
    """What is due to be published of one memory; ``due`` is called a few times a second.

    Args:
        memory: The open memory.
        health: What diagnostics tell of the way in.
        node: The node's name, for diagnostics.
    """

    def __init__(self, memory: Memory, health: Health, *, node: str = "lastseen") -> None:
        self.memory, self.health, self.node = memory, health, node
        self.world = "map"
        """The frame that positions are in; the source names it."""
        self.missed_events = 0
        self._events: deque[Event] = deque()
        self._lock = threading.Lock()
        self._last: dict[str, float] = {}
        self._revisions: dict[str, object] = {}
        self._unsubscribe = memory.subscribe(self._take)

    def close(self) -> None:
        """Hear no more events."""
        self._unsubscribe()

    def due(self, now: float) -> list[Publication]:
        """What to publish at a time in seconds of any clock that does not jump."""
        found = self._events_due()
        objects = self.memory.browse.revision
        age = now - self._last.get(OBJECTS, -np.inf)
        if age >= HEARTBEAT or (age >= PERIOD and self._revisions.get(OBJECTS) != objects):
            self._last[OBJECTS], self._revisions[OBJECTS] = now, objects
            found += self.objects()
        # each storey has a grid of its own
        floor = id(self.memory.floor), self.memory.floor.revision
        if now - self._last.get(FLOOR, -np.inf) >= FLOOR_PERIOD and self._revisions.get(FLOOR) != floor:
            self._last[FLOOR], self._revisions[FLOOR] = now, floor
            with self.memory.browse.lock:
                tree = floor_tree(self.memory.floor, self._header())
            if tree is not None:
                found.append(Publication(FLOOR, GRID, tree, kept=True))
        if now - self._last.get(DIAGNOSTICS, -np.inf) >= DIAGNOSTICS_PERIOD:
            self._last[DIAGNOSTICS] = now
            found.append(Publication(DIAGNOSTICS, STATUS, self.diagnostics()))
        return found

    def objects(self) -> list[Publication]:
        """All objects that are believed to be there, as detections and as markers."""
        clock, header = self.memory.browse.clock, self._header()
        objects = self.memory.objects()
        session = clock.sessions[-1].id if clock.sessions else None
        detections = [
            detection_tree(
                one, self.world, clock.stamp(one.last_seen_memory_time) if one.session == session else None
            )
            for one in objects
        ]
        return _all_objects({"header": header, "detections": detections}, marker_trees(objects, header))

    def cleared(self) -> list[Publication]:
        """What takes the node's things off every display: for the moment it is deactivated."""
        return _all_objects({"header": self._header(), "detections": []}, marker_trees([], self._header()))

    def diagnostics(self) -> Tree:
        """The state of the way in and of the memory."""
        level, message = self.health.level()
        counts = self.memory.browse.counts()
        values = {"frames": self.health.frames, "dropped": self.health.dropped, "world_frame": self.world}
        values |= {f"skipped: {reason}": count for reason, count in sorted(self.health.skipped.items())}
        values |= {name: counts[name] for name in sorted(counts)}
        if self.missed_events:
            values["events_not_published"] = self.missed_events
        values |= {f"note {number}": note for number, note in enumerate(self.health.notes, start=1)}
        status = {
            "level": level,
            "name": f"{self.node}: memory",
            "message": message,
            "hardware_id": self.memory.settings.store.robot,
            "values": [{"key": key, "value": str(value)} for key, value in values.items()],
        }
        return {"header": self._header(), "status": [status]}

    def _take(self, event: Event) -> None:
        with self._lock:
            if len(self._events) >= MAX_EVENTS:
                self._events.popleft()
                self.missed_events += 1
            self._events.append(event)

    def _events_due(self) -> list[Publication]:
        with self._lock:
            events, self._events = list(self._events), deque()
        found: list[Publication] = []
        for tree in events_json(self.memory, events):
            found.append(Publication(EVENTS, EVENT, event_tree(tree)))
            found.append(Publication(EVENTS_TEXT, TEXT, {"data": json.dumps(tree)}))
        return found

    def _header(self) -> Tree:
        clock = self.memory.browse.clock
        return {"stamp": time_tree(clock.stamp(clock.now) if clock.sessions else 0.0), "frame_id": self.world}


def _all_objects(detections: Tree, markers: list[Tree]) -> list[Publication]:
    return [
        Publication(OBJECTS, DETECTIONS_3D, detections, kept=True),
        Publication(MARKERS, MARKER_ARRAY, {"markers": markers}, kept=True),
    ]


def detection_tree(one: Object, world: str, stamp: float | None) -> Tree:
    """An object as Detection3D; its own stamp is its last sighting, on the frames' clock or as wall time."""
    if stamp is None:
        stamp = 0.0 if one.last_seen is None else one.last_seen.timestamp()
    pose = {"position": point_tree(one.position), "orientation": _turn(one.yaw)}
    scores = one.label_scores if one.record is not None else {}
    scores = scores or {one.label or "": one.stability or 0.0}
    return {
        "header": {"stamp": time_tree(stamp), "frame_id": world},
        "results": [
            {"hypothesis": {"class_id": label, "score": float(score)}, "pose": {"pose": pose}}
            for label, score in scores.items()
        ],
        "bbox": {"center": pose, "size": point_tree(one.extent or (0.0, 0.0, 0.0))},
        "id": one.id,
    }


def _turn(yaw: float) -> Tree:
    return {"z": math.sin(yaw / 2), "w": math.cos(yaw / 2)}


def marker_trees(objects: Sequence[Object], header: Mapping[str, Any]) -> list[Tree]:
    """A box and a label for each object, after one marker that deletes what was shown before."""
    markers: list[Tree] = [{"header": dict(header), "action": _DELETE_ALL}]
    for number, one in enumerate(objects):
        extent = [max(side, _SMALLEST) for side in (one.extent or (0.1, 0.1, 0.1))]
        told = one.provenance == "told"
        color = _COLORS["told" if told else one.state] if told or one.state in _COLORS else _COLORS["stale"]
        common = {"header": dict(header), "id": number, "action": _ADD, "lifetime": time_tree(MARKER_LIFETIME)}
        markers.append(
            {
                **common,
                "ns": "objects",
                "type": _CUBE,
                "pose": {"position": point_tree(one.position), "orientation": _turn(one.yaw)},
                "scale": point_tree(extent),
                "color": dict(zip("rgba", color, strict=True)),
            }
        )
        x, y, z = one.position
        words = [
            one.label or "thing",
            *([one.state] if one.state != "confirmed" else []),
            *(["told"] if told else []),
        ]
        markers.append(
            {
                **common,
                "ns": "labels",
                "type": _TEXT,
                "pose": {"position": point_tree((x, y, z + extent[2] / 2 + _LETTER)), "orientation": {"w": 1.0}},
                "scale": {"z": _LETTER},
                "color": dict(zip("rgba", _WHITE, strict=True)),
                "text": f"{one.id} {', '.join(words)}",
            }
        )
    return markers


def floor_tree(floor: FloorGrid, header: Mapping[str, Any]) -> Tree | None:
    """The explored floor as OccupancyGrid: 0 free, 100 occupied, -1 where nobody has looked; None before any."""
    rows, columns = np.nonzero(floor.evidence)
    if not rows.size:
        return None
    first, last = (int(rows.min()), int(columns.min())), (int(rows.max()) + 1, int(columns.max()) + 1)
    part = slice(first[0], last[0]), slice(first[1], last[1])
    wide, high = last[0] - first[0], last[1] - first[1]
    data = np.full((wide, high), -1, dtype=np.int8)
    data[floor.free[part]], data[floor.occupied[part]] = 0, 100
    cell = floor.settings.cell
    x, y = floor.point_of(first)
    return {
        "header": dict(header),
        "info": {
            "map_load_time": header["stamp"],
            "resolution": cell,
            "width": wide,
            "height": high,
            "origin": {"position": point_tree((x - cell / 2, y - cell / 2, 0.0)), "orientation": {"w": 1.0}},
        },
        # our first axis is x, a grid's rows run along it
        "data": data.T.ravel(),
    }


def event_tree(event: Mapping[str, Any]) -> Tree:
    """An event or change, as ``serializers`` gives it, as ObjectEvent."""
    position = event["position"]
    return {
        "id": event["id"],
        "kind": event["kind"],
        "label": event["label"] or "",
        "stamp": wall_tree(event["time"]),
        "has_position": position is not None,
        "position": point_tree(position or (0.0, 0.0, 0.0)),
        "evidence": json.dumps(event["evidence"]),
    }


def object_tree(one: Mapping[str, Any]) -> Tree:
    """An object, as ``serializers`` gives it, as RememberedObject."""
    tree = {name: one[name] or "" for name in ("id", "label", "state", "place", "color", "provenance")}
    return {
        **tree,
        "position": point_tree(one["position"]),
        "extent": point_tree(one["extent"] or (0.0, 0.0, 0.0)),
        "yaw": float(one["yaw"] or 0.0),
        "first_seen": wall_tree(one["first_seen"]),
        "last_seen": wall_tree(one["last_seen"]),
        "age": float(one["age"]),
        "hits": one["hits"] or 0,
        "score": float(one["score"] or 0.0),
        "fits": bool(one.get("fits", True)),
    }


def point_tree(values: Iterable[float]) -> Tree:
    """x, y and z, as Point and Vector3 have them."""
    return dict(zip("xyz", map(float, values), strict=True))


def time_tree(seconds: float) -> Tree:
    """Seconds as Time or Duration; what a message cannot hold (before 1970, after 2038) becomes 0."""
    whole, nanoseconds = divmod(round(seconds * 1e9), 1_000_000_000)
    return {"sec": whole, "nanosec": nanoseconds} if 0 <= whole < 2**31 else {"sec": 0, "nanosec": 0}


def wall_tree(text: str | None) -> Tree:
    """A wall time as ISO 8601 text, or none, as Time."""
    return time_tree(0.0 if text is None else datetime.fromisoformat(text).timestamp())
