"""Every room of a memory, with its name: cut anew when somebody asks and the walls have changed, never per frame."""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.facts import Fact, Facts, area_of, inside
from lastseen.memory.objects import ObjectMemory, State
from lastseen.memory.objects.columns import ID_PREFIX, id_text
from lastseen.memory.places.place import normalize_scene_type
from lastseen.memory.rooms.floor_plan import FloorPlan, floor_plan
from lastseen.memory.rooms.plan import open_points
from lastseen.memory.rooms.room import FURNITURE, Room, Votes, name_of
from lastseen.memory.rooms.room_map import Cut, RoomMap, outline
from lastseen.memory.space.space import Space
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.journal.opening import decoding

_STATE = "rooms.state"
"""Where the memory file keeps what ids last by."""
_PERIOD = 2.0
"""Seconds of memory time between two cuts: one takes as long as some frames, and a robot goes a metre meanwhile."""
_KEPT = 1_000_000
"""Objects whose rooms the file keeps beside the ids at most: some megabytes; beyond, opening takes longer anyway."""
_DIGITS = 19
"""A number of fewer digits fits 64 bits."""
_PACKED_NONE = np.zeros((0, 2), dtype=np.int64)


class Rooms:
    """The rooms of one memory; whoever calls holds the memory's lock.

    Where rooms lie follows from the walls alone, and their names from the objects and scenes of the moment; only the
    ids depend on what was asked before, and those are kept in the file. A file that was closed also keeps the
    answers, so that the first question to it cuts nothing.
    """

    def __init__(self, space: Space, objects: ObjectMemory, journal: Journal, facts: Facts) -> None:
        self._space, self._objects, self._facts = space, objects, facts
        self._maps = [RoomMap(storey) for storey in space.storeys]
        self._next_id = 0
        self._kept_rooms: dict[int, Room] = {}
        self._kept_of = _PACKED_NONE
        self._settled: tuple[int, ...] | None = None
        self._written = journal.meta().get(_STATE)
        if self._written is not None:
            self._restore(self._written, journal.path)
        self._next_id = max([self._next_id, *(1 + (fact.room_id or 0) for fact in facts.rooms())])
        self._shapes: list[Room] = []
        self._named: dict[int, Room] = {}
        self._votes: dict[int, Votes] = {}
        self._cut_from = (-1, -1, -1, -1)
        self._seen = (-1, -1, -1, -1)
        self._cut_at = -math.inf
        self._version = 0
        self._room_of_row = np.full(0, -1, dtype=np.int64)

    def all(self) -> list[Room]:
        """Every room in the order of its id."""
        if self._kept_rooms and self._is_settled():
            return list(self._kept_rooms.values())
        self._refresh()
        return [self._named[room] for room in sorted(self._named)]

    def floor_plans(self) -> list[FloorPlan]:
        """Walls and doors of every storey of which any were seen, from the lowest number."""
        self._cut()
        return [floor_plan(each.cut, each.storey.number) for each in self._maps if each.cut is not None]

    def at(self, points: Sequence[Any] | NDArray[np.float64], ids: Sequence[str] | None = None) -> list[Room | None]:
        """The room of each point (x, y, z); None where nothing was seen near it.

        With the ids of the objects that stand there, one at a wall belongs to the side it was seen from.
        """
        if ids is not None and (kept := self._kept_at(points, ids)) is not None:
            return kept
        self._refresh()
        if not len(points):
            return []
        return [self._named.get(room) for room in self._room_ids(np.asarray(points, dtype=np.float64), ids).tolist()]

    def drain_changed(self) -> dict[str, str]:
        """What the memory file has yet to learn of ids; cuts nothing anew, but whoever asks next gets a new cut."""
        self._cut_at = -math.inf
        if not any(each.known for each in self._maps):
            return {}
        state: dict[str, Any] = {"next_id": self._next_id, "storeys": [each.to_dict() for each in self._maps]}
        if self._kept_rooms and self._is_settled():
            rooms = [asdict(room) for room in self._kept_rooms.values()]
            state["settled"] = {"rooms": rooms, "objects": _packed(self._kept_of)}
        text = json.dumps(state)
        if text == self._written:
            return {}
        self._written = text
        return {_STATE: text}

    def settle(self) -> None:
        """Give every room its id now, as at the end of a session: who opens the file next finds the same ones."""
        if self._is_settled():
            return
        self._cut_at = -math.inf
        self._refresh()
        rows = self._confirmed()
        self._settled, self._kept_rooms, self._kept_of = self._inputs(), {}, _PACKED_NONE
        if len(rows) <= _KEPT:
            self._kept_rooms = dict(sorted(self._named.items()))
            kept = np.stack([self._objects.store.seq[rows], self._room_of_row[rows]], axis=1)
            self._kept_of = kept[np.argsort(kept[:, 0])]

    def _inputs(self) -> tuple[int, ...]:
        """Grows with anything that rooms are cut from or named by."""
        return *self._space_revisions(), self._objects.store.version, self._facts.revision

    def _space_revisions(self) -> tuple[int, int, int, int]:
        storeys = self._space.storeys
        walls, floor = sum(each.walls.revision for each in storeys), sum(each.floor.revision for each in storeys)
        return len(storeys), walls, floor, self._space.spatial.revision

    def _is_settled(self) -> bool:
        """Whether nothing has changed since rooms were settled, here or by whoever closed the file."""
        return self._settled is not None and self._settled == self._inputs()

    def _kept_at(self, points: Sequence[Any] | NDArray[np.float64], ids: Sequence[str]) -> list[Room | None] | None:
        """The rooms of objects as they were settled; None where one is not among them, or is asked for elsewhere."""
        if not self._kept_rooms or not self._is_settled():
            return None
        numbers = np.array([_number(each) for each in ids], dtype=np.int64)
        at = np.minimum(np.searchsorted(self._kept_of[:, 0], numbers), len(self._kept_of) - 1)
        if len(numbers) and (not len(self._kept_of) or not np.array_equal(self._kept_of[at, 0], numbers)):
            return None
        store = self._objects.store
        rows = [store.row_of[number] for number in numbers.tolist()]
        if not np.array_equal(
            np.asarray(points, dtype=np.float32).reshape(-1, 3), store.xyz[rows].astype(np.float32)
        ):
            return None
        return [self._kept_rooms.get(room) for room in self._kept_of[at, 1].tolist()]

    def _room_ids(self, xyz: NDArray[np.float64], ids: Sequence[str] | None) -> NDArray[np.int64]:
        found = np.full(len(xyz), -1, dtype=np.int64)
        storeys = self._space.storeys.numbers(xyz[:, 2])
        for each in self._maps:
            rows = np.flatnonzero(storeys == each.storey.number)
            if each.cut is None or not len(rows):
                continue
            if ids is None:
                found[rows] = each.cut.rooms_of(xyz[rows, :2])
            else:
                spots = [self._space.viewpoints.of(ids[row]) for row in rows.tolist()]
                found[rows] = each.cut.rooms_of_things(xyz[rows, :2], spots)
        for fact in self._facts.rooms():
            there = inside(fact.outline, xyz[:, :2]) & (storeys == self._storey_told(fact))
            found = np.where(there, -1 if fact.room_id is None else fact.room_id, found)
        return found

    def _storey_told(self, fact: Fact) -> int:
        """The storey of a told room: that of its position, the ground one where none was kept."""
        return 0 if fact.position is None else int(self._space.storeys.numbers([fact.position[2]])[0])

    def _cut(self) -> None:
        """Cut anew if anything changed that rooms are cut from."""
        now = self._space_revisions()
        if now == self._cut_from or 0.0 <= self._objects.now - self._cut_at < _PERIOD:
            return
        self._cut_from, self._cut_at = now, self._objects.now
        store = self._objects.store
        rows = self._confirmed()
        xyz = store.xyz[rows].astype(np.float64)
        storeys = self._space.storeys.numbers(xyz[:, 2])
        self._maps += [RoomMap(storey) for storey in list(self._space.storeys)[len(self._maps) :]]
        for each in self._maps:
            here = np.flatnonzero(storeys == each.storey.number)
            ids = [id_text(number) for number in store.seq[rows[here]].tolist()]
            self._next_id = each.refresh(self._next_id, open_points(self._space, each.storey, xyz[here], ids))

    def _confirmed(self) -> NDArray[np.int64]:
        """Rows of the confirmed objects in the order of their numbers."""
        rows = self._objects.store.live()
        return rows[self._objects.store.state[rows] == State.CONFIRMED]

    def _refresh(self) -> None:
        self._cut()
        store, spatial = self._objects.store, self._space.spatial
        cuts = sum(each.revision for each in self._maps)
        now = (cuts, store.version, spatial.revision, self._facts.revision)
        if now == self._seen:
            return
        anew = cuts != self._seen[0] or self._facts.revision != self._seen[3]
        scenes_changed = spatial.revision != self._seen[2]
        if anew:
            self._measure()
        self._place_objects(anew=anew)
        if anew or scenes_changed:
            self._count_scenes()
        self._seen = now
        self._named = {}
        for shape in self._shapes:
            name, confidence = name_of(self._votes[shape.id])
            self._named[shape.id] = replace(shape, name=name, confidence=round(confidence, 3))
        self._name_told()

    def _name_told(self) -> None:
        """Give rooms the names they were told to have, and add those that were told by their outline."""
        for fact in self._facts.of("room"):
            name = fact.name or ""
            if fact.outline and fact.room_id is not None:
                x, y = np.array(fact.outline).mean(axis=0).tolist()
                self._named[fact.room_id] = Room(
                    id=fact.room_id,
                    name=name,
                    confidence=1.0,
                    storey=self._storey_told(fact),
                    area=round(area_of(fact.outline), 2),
                    center=(round(x, 2), round(y, 2)),
                    outline=fact.outline,
                    next_to=(),
                    provenance="told",
                )
            elif fact.position is not None:
                room = int(self._room_ids(np.array([fact.position]), None)[0])
                if room in self._named:
                    self._named[room] = replace(self._named[room], name=name, confidence=1.0, provenance="told")

    def take_id(self) -> int:
        """A number that no room has had."""
        self._next_id += 1
        return self._next_id - 1

    def _measure(self) -> None:
        """Area, outline, width and neighbours of every region."""
        self._shapes, self._votes = [], {}
        for each in self._maps:
            if each.cut is not None:
                self._measure_storey(each.cut, each.storey.number)

    def _measure_storey(self, cut: Cut, storey: int) -> None:
        beside = cut.next_to()
        for number, area, width, center, mask, corner in cut.shapes():
            room = cut.ids[number]
            border = cut.plan.points(outline(mask) + np.array(corner))
            self._shapes.append(
                Room(
                    id=room,
                    name="",
                    confidence=0.0,
                    storey=storey,
                    area=round(area, 2),
                    center=(round(center[0], 2), round(center[1], 2)),
                    outline=tuple((round(x, 2), round(y, 2)) for x, y in border.tolist()),
                    next_to=tuple(sorted(beside[room])),
                )
            )
            self._votes[room] = Votes(width=width, length=area / width, doors=len(beside[room]))

    def _place_objects(self, *, anew: bool) -> None:
        """Count which things stand in which room; only those that changed are looked up again."""
        store = self._objects.store
        if len(self._room_of_row) < len(store.seq):
            more = np.full(len(store.seq) - len(self._room_of_row), -1, dtype=np.int64)
            self._room_of_row = np.concatenate([self._room_of_row, more])
        rows = self._confirmed()
        changed = rows if anew else rows[store.changed_at[rows] > self._version]
        self._version = store.version
        if len(changed):
            ids = [id_text(number) for number in store.seq[changed].tolist()]
            self._room_of_row[changed] = self._room_ids(store.xyz[changed].astype(np.float64), ids)
        rooms = self._room_of_row[rows]
        scores = store.label_scores[rows]
        best = scores.argmax(axis=1) if len(rows) else np.zeros(0, dtype=np.int64)
        at = np.arange(len(rows))
        labels, sure = store.label_ids[rows, best], scores[at, best] / np.maximum(scores.sum(axis=1), 1e-9)
        large = store.extent[rows].max(axis=1, initial=0.0) >= FURNITURE
        names = store.labels.names
        known = (rooms >= 0) & (scores[at, best] > 0.0)
        for votes in self._votes.values():
            votes.furniture, votes.carried = {}, {}
        keys, inverse = np.unique(np.stack([rooms, labels, large], axis=1)[known], axis=0, return_inverse=True)
        amounts = np.bincount(inverse.ravel(), weights=sure[known], minlength=len(keys))
        for (room, label, is_furniture), amount in zip(keys.tolist(), amounts.tolist(), strict=True):
            if names[label] and room in self._votes:
                votes = self._votes[room]
                (votes.furniture if is_furniture else votes.carried)[names[label]] = amount

    def _count_scenes(self) -> None:
        """Count what the scene analyzer said in which room."""
        heights = [storey.height for storey in self._space.storeys]
        told = [
            (anchor.world_pose, heights[self._space.storey_of_anchor.get(anchor.anchor_id, 0)], anchor.scenes)
            for anchor in self._space.spatial.graph.anchors.values()
            if anchor.world_pose is not None and anchor.scenes
        ]
        for votes in self._votes.values():
            votes.scenes = {}
        xyz = np.array([(pose.x, pose.y, height) for pose, height, _ in told]).reshape(-1, 3)
        for room, (_, _, scenes) in zip(self._room_ids(xyz, None).tolist(), told, strict=True):
            if room in self._votes:
                counted = self._votes[room].scenes
                for scene_type, count in scenes.items():
                    kind = normalize_scene_type(scene_type)
                    counted[kind] = counted.get(kind, 0.0) + count

    def _restore(self, text: str, path: object) -> None:
        with decoding(path, "its rooms"):
            state = json.loads(text)
            self._next_id = int(state["next_id"])
            self._maps[0].restore(state["storeys"][0])
            for each, kept in zip(self._maps[1:], state["storeys"][1:], strict=False):
                each.restore(kept)
            if "settled" in state:
                self._kept_rooms = {room["id"]: _room(room) for room in state["settled"]["rooms"]}
                self._kept_of = _unpacked(state["settled"]["objects"])
                self._settled = self._inputs()


def _room(values: dict[str, Any]) -> Room:
    """A room as JSON gave it back."""
    x, y = values["center"]
    border = tuple((float(x), float(y)) for x, y in values["outline"])
    return Room(**{**values, "center": (x, y), "outline": border, "next_to": tuple(values["next_to"])})


def _number(object_id: str) -> int:
    """The number in an object's id; -1 for an id that is none of ours."""
    text = object_id.removeprefix(ID_PREFIX)
    return int(text) if text.isdecimal() and text.isascii() and len(text) < _DIGITS else -1


def _packed(pairs: NDArray[np.int64]) -> str:
    """Numbers of objects and their rooms as text; steps between numbers are small, so they pack well."""
    steps = np.stack([np.diff(pairs[:, 0], prepend=0), pairs[:, 1]])
    return base64.b64encode(zlib.compress(steps.astype("<i8").tobytes())).decode()


def _unpacked(text: str) -> NDArray[np.int64]:
    # the file may be anyone's: a few bytes can unpack to more than there is room for
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(base64.b64decode(text), 2 * 8 * _KEPT)
    if unpacker.unconsumed_tail:
        raise ValueError(f"the rooms of more than {_KEPT} objects")
    steps, rooms = np.frombuffer(raw, dtype="<i8").reshape(2, -1)
    return np.stack([np.cumsum(steps), rooms], axis=1)
