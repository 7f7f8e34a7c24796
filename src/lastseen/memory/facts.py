"""What a memory was told rather than saw: objects, rooms, regions, homes of things, contents, notes.

Each fact is one row of the journal with its words, its time and its provenance. Facts are never mixed with what was
seen: an answer that rests on one says so, and what is seen later corrects it (docs/telling.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.memory.objects import ObjectState
from lastseen.memory.store.journal import Journal
from lastseen.memory.store.journal.opening import decoding

FactKind = Literal["object", "contents", "room", "region", "home", "note", "restored"]
Provenance = Literal["seen", "told", "restored"]
Outline = tuple[tuple[float, float], ...]
ID_PREFIX = "fact-"
_MOST_CORNERS = 200
"""Corners of an outline: more than a room drawn by hand has."""
_BELOW, _HIGH = 0.3, 2.5
"""Metres below and above the floor that a region was told on within which a thing is in it: one storey."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that was told, in its own words (``text``); positions are metres in the world frame.

    ``kind`` is object (it is there), contents (it is inside ``container_id``), room (``name`` of the room at
    ``position`` or within ``outline``), region (a named part of a room), home (``name`` lives ``relation``), note, or
    restored (``object_id`` was brought back by an undo). ``time`` is the memory time of the newest frame when it was
    told, ``wall`` the same in UTC where the session has a date.
    """

    id: str
    kind: FactKind
    text: str
    time: float
    provenance: Provenance = "told"
    name: str | None = None
    relation: str | None = None
    object_id: str | None = None
    container_id: str | None = None
    position: tuple[float, float, float] | None = None
    outline: Outline = ()
    room_id: int | None = None
    wall: datetime | None = None

    @property
    def number(self) -> int:
        """The number in its id."""
        return int(self.id.removeprefix(ID_PREFIX))


class Facts:
    """The facts of one memory, read from its journal; ``revision`` grows with every change."""

    def __init__(self, journal: Journal) -> None:
        self.revision = 0
        self._changed: dict[int, str] = {}
        with decoding(journal.path, "its facts"):
            found = [_read(number, body) for number, body in journal.bodies("facts").items()]
        self._facts = {fact.number: fact for fact in found}
        self._next = max(self._facts, default=0) + 1

    def __len__(self) -> int:
        return len(self._facts)

    def all(self) -> list[Fact]:
        """Every fact in the order it was told."""
        return [self._facts[number] for number in sorted(self._facts)]

    def of(self, kind: FactKind) -> list[Fact]:
        """The facts of a kind, oldest first."""
        return [fact for fact in self.all() if fact.kind == kind]

    @property
    def next_id(self) -> str:
        """The id that the next fact gets."""
        return f"{ID_PREFIX}{self._next}"

    def add(self, fact: Fact) -> Fact:
        """Keep a fact under the next id; it is staged for the journal. Returns it."""
        kept = replace(fact, id=self.next_id)
        self._facts[self._next] = kept
        self._changed[self._next] = _body(kept)
        self._next += 1
        self.revision += 1
        return kept

    def drop(self, numbers: Iterable[int]) -> list[str]:
        """Take facts out; returns the ids of those that were there."""
        gone = [number for number in sorted(set(numbers)) if self._facts.pop(number, None) is not None]
        for number in gone:
            self._changed[number] = ""
        self.revision += bool(gone)
        return [f"{ID_PREFIX}{number}" for number in gone]

    def about(self, object_ids: Collection[str], labels: Collection[str] = ()) -> list[int]:
        """Numbers of the facts that name one of these objects, or a label in their words."""
        names = [label.casefold() for label in labels]
        return [
            number
            for number, fact in self._facts.items()
            if fact.object_id in object_ids
            or fact.container_id in object_ids
            or any(name in f"{fact.text} {fact.name}".casefold() for name in names)
        ]

    def before(self, time: float) -> list[int]:
        """Numbers of the facts that were told before a memory time."""
        return [number for number, fact in self._facts.items() if fact.time < time]

    def drain_changed(self) -> dict[int, str]:
        """Bodies that the journal has yet to learn, by number; an empty one is to be deleted."""
        changed, self._changed = self._changed, {}
        return changed

    def provenance(self, state: ObjectState) -> Provenance:
        """Whether an object was seen, told and not yet seen, or brought back by an undo and not seen since."""
        if state.hits == 0:
            return "told"
        back = [fact.time for fact in self.of("restored") if fact.object_id == state.id] if self._facts else []
        return "restored" if back and state.last_seen <= max(back) else "seen"

    def container_of(self, state: ObjectState) -> Fact | None:
        """The newest fact that says what an object is inside of; None where it was seen since."""
        told = [fact for fact in self.of("contents") if fact.object_id == state.id] if self._facts else []
        return told[-1] if told and (state.hits == 0 or state.last_seen <= told[-1].time) else None

    def rooms(self) -> list[Fact]:
        """Told rooms with an outline, oldest first."""
        return [fact for fact in self.of("room") if fact.outline] if self._facts else []

    def place_names(self) -> list[str]:
        """Names of rooms and regions that were told, sorted."""
        return sorted({fact.name for fact in self.all() if fact.kind in ("room", "region") and fact.name})

    def regions_at(self, points: Sequence[Any]) -> list[tuple[str, ...]]:
        """The names of the told regions that each point (x, y, z) lies in."""
        regions = self.of("region") if self._facts else []
        found: list[tuple[str, ...]] = [()] * len(points)
        for fact in regions:
            xyz = np.asarray(points, dtype=np.float64).reshape(-1, 3)
            within = inside(fact.outline, xyz[:, :2])
            if fact.position is not None:
                within &= (xyz[:, 2] >= fact.position[2] - _BELOW) & (xyz[:, 2] < fact.position[2] + _HIGH)
            found = [
                (*names, fact.name or "") if is_in else names for names, is_in in zip(found, within, strict=True)
            ]
        return found


def checked_outline(outline: Sequence[Sequence[float]]) -> Outline:
    """An outline as corners (x, y) in metres; one that is no polygon raises."""
    remedy = "give three or more corners as x,y"
    try:
        corners = tuple((float(x), float(y)) for x, y in outline)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue("outline", outline, "is no list of corners", remedy=remedy) from None
    if not 3 <= len(corners) <= _MOST_CORNERS or not all(math.isfinite(value) for each in corners for value in each):
        raise InvalidValue("outline", outline, f"must have 3 to {_MOST_CORNERS} finite corners", remedy=remedy)
    if area_of(corners) <= 0.0:
        raise InvalidValue("outline", outline, "encloses nothing", remedy=remedy)
    return corners


def area_of(outline: Outline) -> float:
    """Square metres that an outline encloses."""
    x, y = np.array(outline).T
    return float(abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2.0)


def inside(outline: Outline, xy: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Whether each point (n, 2) lies within an outline."""
    within = np.zeros(len(xy), dtype=bool)
    x, y = xy.T
    for (x0, y0), (x1, y1) in zip(outline, (*outline[1:], outline[0]), strict=True):
        if y0 != y1:
            within ^= ((y0 > y) != (y1 > y)) & (x < (x1 - x0) * (y - y0) / (y1 - y0) + x0)
    return within


def _body(fact: Fact) -> str:
    values = {name: value for name, value in asdict(fact).items() if name not in ("id", "wall")}
    return json.dumps({name: value for name, value in values.items() if value not in (None, ())}, ensure_ascii=False)


def _read(number: int, body: str) -> Fact:
    values = json.loads(body)
    known = {field.name for field in fields(Fact)}
    if not set(values) <= known:
        raise ValueError(f"fact {number} has a part that is not known")
    if "outline" in values:
        values["outline"] = tuple((float(x), float(y)) for x, y in values["outline"])
    if "position" in values:
        x, y, z = values["position"]
        values["position"] = float(x), float(y), float(z)
    return Fact(id=f"{ID_PREFIX}{number}", **values)
