"""``Memory.tell``: what a person or agent says becomes a fact, and where it is of a thing, an object of the memory.

Nothing is guessed: a sentence whose room or thing is not remembered, or could be several, is refused with what to say
instead. What is seen later corrects what was told (docs/telling.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from lastseen.detection import check_readable
from lastseen.encoders.words import tokens
from lastseen.errors import InvalidValue
from lastseen.finite import FARTHEST
from lastseen.memory.facts import Fact, checked_outline
from lastseen.memory.object import Object, Point
from lastseen.memory.objects import Event
from lastseen.memory.query.parser import parse_question
from lastseen.memory.query.vocabulary import room_name
from lastseen.memory.rooms import Room
from lastseen.memory.write_path import WritePath

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

StatementKind = Literal["room", "region", "home", "object", "note"]
LONGEST = 500
"""Characters of a sentence that may be told."""
_ARTICLE = r"(?:(?:the|a|an|my|our|your|his|her|some) )?"
_WHERE = (
    r"(?:(?:up)?on|on top of|in|inside|into|within|under|underneath|below|beneath|near|next to|beside|by|close to|at)"
)
_LIVES = r"(?:lives?|belongs?|go(?:es)?|(?:is|are) (?:kept|usually|always|stored))"
_PUT = r"(?:put|placed|left|moved|laid|stored)"
_IS = rf"(?:(?:is|are)(?: now)?|stands?|lies|lie|(?:was|were) {_PUT})"
_NOTE = re.compile(r"\s*(?:note|remember)(?:\s+that)?\s*[:,]?\s+(?P<text>\S.*)", re.IGNORECASE | re.DOTALL)
_FORMS: tuple[tuple[StatementKind, str], ...] = (
    ("region", rf"th(?:is|at) (?:area|region|corner|part|spot) is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?:this|here)(?: room| place)? is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?:call|rename) (?P<room>this(?: room| place)?|room \d+) (?:to |as )?{_ARTICLE}(?P<name>.+)"),
    ("room", rf"(?P<room>room \d+) is (?:called )?{_ARTICLE}(?P<name>.+)"),
    ("room", r"(?:call|rename) the (?P<room>.+?) (?:to |as |into )(?:the )?(?P<name>.+)"),
    ("room", r"(?:call|rename) the (?P<room>.+?) (?:the|my|our) (?P<name>.+)"),
    (
        "home",
        rf"{_ARTICLE}(?P<name>.+?) {_LIVES} (?P<where>{_WHERE} .+)",
    ),
    ("object", rf"there(?: is| are|s| s) {_ARTICLE}(?P<name>.+?) (?P<where>here|{_WHERE} .+)"),
    ("object", rf"there(?: is| are|s| s) {_ARTICLE}(?P<name>.+)"),
    (
        "object",
        rf"(?:i|we|you)(?: have| ve)? {_PUT} {_ARTICLE}(?P<name>.+?) (?P<where>here|{_WHERE} .+)",
    ),
    (
        "object",
        rf"{_ARTICLE}(?P<name>.+?) {_IS} (?P<where>here|{_WHERE} .+)",
    ),
)
_PATTERNS = [(kind, re.compile(form)) for kind, form in _FORMS]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a sentence says: the ``name`` of a place or thing, ``where`` in words, and for a name which ``room``.

    ``definite`` is a thing that may be remembered already: "the mug is on the table", not "there is a mug".
    """

    kind: StatementKind
    name: str
    where: str = ""
    room: str = ""
    definite: bool = False


def parse_statement(text: str) -> Statement:
    """Read what is told; a sentence of no known form raises.

    >>> parse_statement("The keys live on the hook.")
    Statement(kind='home', name='keys', where='on the hook', room='', definite=True)
    """
    if len(text) > LONGEST:
        raise InvalidValue(
            "tell", f"{text[:40]}...", f"is longer than {LONGEST} characters", remedy="tell less at once"
        )
    note = _NOTE.fullmatch(text)
    if note is not None:
        return Statement("note", note["text"].strip())
    words = " ".join(tokens(text))
    for kind, pattern in _PATTERNS:
        found = pattern.fullmatch(words)
        if found is not None:
            parts = found.groupdict()
            where = re.sub(r"^(?:into|within)\b", "in", parts.get("where") or "")
            definite = re.match(r"(?:there|an?|some)\b", words) is None
            return Statement(kind, parts["name"], where, parts.get("room") or "", definite)
    remedy = "tell it as: there is a kettle on the stove; keys live on the hook; this is the pantry; note: ..."
    raise InvalidValue("tell", text, "is not understood", remedy=remedy)


_EXTENT = (0.2, 0.2, 0.2)
"""Metres of a thing whose size was not told: between a cup and a box."""
_HELD = 0.5
"""Metres above the floor of a thing of which only the room was told, and below the camera of one that is "here"."""
_BESIDE = 0.2
"""Free metres between a thing and what it is said to be next to."""
Change = Callable[[int], tuple[str | None, tuple[Event, ...]]]


def tell(
    memory: Memory,
    writes: WritePath,
    text: str,
    *,
    keep: Callable[[Fact, Change], Fact],
    position: Sequence[float] | None = None,
    extent: Sequence[float] | None = None,
    outline: Sequence[Sequence[float]] | None = None,
) -> Fact:
    """Take one sentence into a memory; returns the fact it became. See ``Memory.tell``.

    ``keep`` writes a fact and makes the change of objects that it means, given its number.
    """
    writes.check_writable("tell it something")
    statement = parse_statement(text)
    check_readable("tell", text)
    teller = _Teller(memory, writes, keep, " ".join(text.split()), statement)
    point = None if position is None else _checked_point("position", position)
    size = None if extent is None else _checked_point("extent", extent, least=0.0)
    if outline is not None and statement.kind not in ("room", "region"):
        raise InvalidValue("outline", text, "is of no room or region", remedy="leave it out")
    if size is not None and statement.kind != "object":
        raise InvalidValue("extent", text, "is of no thing", remedy="leave it out")
    if statement.kind in ("room", "region"):
        return teller.place(point, outline)
    if statement.kind == "home":
        return teller.home()
    return teller.note() if statement.kind == "note" else teller.thing(point, size)


class _Teller:
    """Makes a fact of one statement."""

    def __init__(
        self, memory: Memory, writes: WritePath, keep: Callable[[Fact, Change], Fact], text: str, said: Statement
    ) -> None:
        self.memory, self.writes, self.keep = memory, writes, keep
        self.text, self.said = text, said

    def note(self) -> Fact:
        """A note, as it was said."""
        return self._keep(self._fact(kind="note", name=self.said.name))

    def home(self) -> Fact:
        """Where a thing lives; both may be unknown yet."""
        return self._keep(self._fact(kind="home", name=self.said.name, relation=self.said.where))

    def place(self, point: Point | None, outline: Sequence[Sequence[float]] | None) -> Fact:
        """A room or region: within an outline, the room that is named, or the one here."""
        name = room_name(self.said.name)
        if not name:
            raise InvalidValue("tell", self.text, "names no room", remedy="say: this is the pantry")
        if outline is not None:
            corners = checked_outline(outline)
            number = self.writes.rooms.take_id() if self.said.kind == "room" else None
            # of the storey the robot is on
            x, y = (sum(axis) / len(corners) for axis in zip(*corners, strict=True))
            middle = (x, y, self.writes.space.storeys.current.height)
            return self._keep(
                self._fact(kind=self.said.kind, name=name, outline=corners, room_id=number, position=middle)
            )
        if self.said.kind == "region":
            raise InvalidValue("outline", self.text, "is needed for a region", remedy="give its corners as x,y")
        room = self._room(point)
        return self._keep(self._fact(kind="room", name=name, position=(*room.center, self._height(room))))

    def thing(self, point: Point | None, extent: Point | None) -> Fact:
        """A thing that is somewhere: the remembered one that is meant, or a new one."""
        size = extent or _EXTENT
        if point is None and not self.said.where:
            raise InvalidValue(
                "tell", self.text, "does not say where", remedy="say on, in or near what, or give a position"
            )
        anchor = None if point is not None else self._anchor()
        known = self._known()
        if known is not None and extent is None:
            size = known.extent or size
        xyz = point if point is not None else self._spot(anchor, size)
        inside = isinstance(anchor, Object) and self.said.where.split()[0] in ("in", "inside")
        container = anchor.id if inside and isinstance(anchor, Object) else None
        fact = self._fact(
            kind="contents" if container else "object", name=self.said.name, position=xyz, container_id=container
        )
        objects = self.writes.objects
        if known is None:
            return self._keep(fact, lambda number: objects.tell(number, label=self.said.name, xyz=xyz, extent=size))
        return self._keep(fact, lambda number: (known.id, objects.put(number, known.id, xyz=xyz)))

    def _known(self) -> Object | None:
        """The remembered thing that is meant; None where a new one is."""
        if not self.said.definite:
            return None
        found = self.memory.find(self.said.name, k=2, include_removed=True)
        exact = [hit for hit in found.fitting if hit.score == found.fitting[0].score]
        if len(exact) > 1:
            ids = ", ".join(hit.id for hit in exact)
            remedy = "say there is a ..., or correct one by its id"
            raise InvalidValue("tell", self.text, f"could be several: {ids} ...", remedy=remedy)
        return exact[0] if exact else None

    def _anchor(self) -> Object | Room | None:
        """What a thing is said to stand to: another thing, a room, or None for "here"."""
        if self.said.where == "here":
            return None
        meant = parse_question(f"thing {self.said.where}", self.writes.facts.place_names())
        if meant.not_understood or len(meant.relations) + len(meant.places) == 0:
            raise InvalidValue("tell", self.said.where, "is not understood", remedy="say on, in or near one thing")
        if not meant.relations:
            return self._named_room(meant.places[0].name)
        if meant.relations[0].kind not in ("on", "in", "under", "near", "next to"):
            raise InvalidValue("tell", self.said.where, "says no place", remedy="say on, in, under or next to what")
        noun = " ".join(self.said.where.split()[1:])
        for lead in ("top of ", "to "):
            noun = noun.removeprefix(lead)
        found = self.memory.find(noun, k=2)
        if not found.fitting:
            raise InvalidValue("tell", noun, f"is not remembered: {found.reason}", remedy="give its position")
        if found.status == "ambiguous":
            ids = ", ".join(hit.id for hit in found.fitting)
            raise InvalidValue("tell", noun, f"could be several: {ids}", remedy="say which, or give a position")
        return found.fitting[0]

    def _spot(self, anchor: Object | Room | None, size: Point) -> Point:
        """Where a thing of a size stands, by the words that say it."""
        if isinstance(anchor, Room):
            return (*anchor.center, self._height(anchor) + _HELD)
        if anchor is None:
            pose = self.memory.pose()
            if pose is None:
                raise InvalidValue("tell", self.text, "is not known: there is no frame yet", remedy="give a position")
            x, y, z = pose.translation.tolist()
            return x, y, z - _HELD
        (x, y, z), box = anchor.position, anchor.extent or _EXTENT
        low, high = z - 0.5 * box[2], z + 0.5 * box[2]
        word = self.said.where.split()[0]
        if word in ("in", "inside"):
            return x, y, z
        if word in ("on", "upon"):
            return x, y, high + 0.5 * size[2]
        if word in ("under", "underneath", "below", "beneath"):
            return x, y, low + 0.5 * size[2]
        return x + 0.5 * (box[0] + size[0]) + _BESIDE, y, low + 0.5 * size[2]

    def _room(self, point: Point | None) -> Room:
        """The room that gets a name: the one said, the one at a point, or the one here."""
        said = self.said.room.removeprefix("this").strip()
        if said.startswith("room ") and said[5:].isdigit():
            found = [room for room in self.memory.rooms() if room.id == int(said[5:])]
            if not found:
                raise InvalidValue("tell", said, "is not remembered", remedy="`memory.rooms()` lists their numbers")
            return found[0]
        if said not in ("", "room", "place"):
            return self._named_room(room_name(said))
        pose = self.memory.pose()
        here = point if point is not None else None if pose is None else pose.translation
        room = None if here is None else self.memory.room_at([here])[0]
        if room is None:
            raise InvalidValue("tell", self.text, "is of no room seen so far", remedy="give its outline")
        return room

    def _height(self, room: Room) -> float:
        """Metres of a room's floor in the world frame."""
        return next(one.height for one in self.writes.space.storeys if one.number == room.storey)

    def _named_room(self, name: str) -> Room:
        found = [room for room in self.memory.rooms() if room_name(room.name) == name]
        if len(found) == 1:
            return found[0]
        if found:
            numbers = " or ".join(f"room {room.id}" for room in found)
            raise InvalidValue("tell", name, "could be several rooms", remedy=f"say {numbers}")
        known = ", ".join(sorted({room.name for room in self.memory.rooms()})) or "none yet"
        raise InvalidValue("tell", name, "is no room that is remembered", remedy=f"rooms are: {known}")

    def _fact(self, **values: object) -> Fact:
        return Fact(id="", text=self.text, time=self.memory.browse.now, **values)  # type: ignore[arg-type]

    def _keep(self, fact: Fact, change: Change | None = None) -> Fact:
        def alone(number: int) -> tuple[None, tuple[Event, ...]]:
            self.writes.objects.remember_told(number)
            return None, ()

        return self.keep(fact, change or alone)


def _checked_point(name: str, values: Sequence[float], *, least: float = -FARTHEST) -> Point:
    try:
        x, y, z = (float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(name, values, "must be three numbers", remedy="give x, y, z in metres") from None
    if not all(math.isfinite(value) and least <= value <= FARTHEST for value in (x, y, z)):
        raise InvalidValue(name, values, "is out of range", remedy="give metres")
    return x, y, z
