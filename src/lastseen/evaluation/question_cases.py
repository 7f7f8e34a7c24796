"""Questions about a simulated home with their truth, computed from the home alone.

Twenty kinds about what is there, and four about what changed. Each question names the things it rests on, so that an
answer can be judged only where the memory could know. Questions whose truth hangs on a few centimetres are not asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from lastseen.memory.query.vocabulary import room_name
from lastseen.memory.reply import Reply
from lastseen.sim.catalog import CLASSES
from lastseen.sim.change import Change, ChangeKind
from lastseen.sim.home import Home, Room, Thing
from lastseen.vlm.household import rooms_of

NEAR = 0.5
"""Metres within which an answer's place is the thing's: a robot there sees it."""
_CLEAR = 0.5
"""Metres by which the closest or farthest thing must be clear of the next."""
_BESIDE, _APART = 0.7, 1.5
"""Metres between boxes up to which things are near, and from which they are not, whatever the noise."""
_PER_KIND = 4
"""Questions of one kind about one home."""

Judge = Callable[[Reply], bool]


@dataclass(frozen=True, slots=True)
class Case:
    """One question; ``things`` are those it rests on, ``judge`` tells a right reply, ``blind`` what a guess gives.

    ``absent`` is a question about what is not there, which any memory can answer. One about a change names where the
    thing is ``gone_from``, or where it ``came_to``.
    """

    kind: str
    question: str
    judge: Judge
    things: tuple[int, ...] = ()
    absent: bool = False
    blind: bool = False
    gone_from: Thing | None = None
    came_to: Thing | None = None

    @property
    def change(self) -> bool:
        """Whether it is about a change."""
        return self.gone_from is not None or self.came_to is not None


@dataclass(slots=True)
class Sightings:
    """How often and when last each thing was detected, and the rooms the robot was in; memory is not asked."""

    count: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    last: dict[int, float] = field(default_factory=dict)
    visited: set[int] = field(default_factory=set)


def cases(home: Home, changes: Sequence[Change], seen: Sightings, *, seed: int) -> Iterator[Case]:
    """Every question about a home as it is at the end, a few of each kind, drawn from a seed."""
    maker = _Maker(home, seen)
    rng = np.random.default_rng([seed, 47])
    for kind in maker.kinds():
        found = list(kind())
        for at in sorted(rng.permutation(len(found))[:_PER_KIND].tolist()):
            yield found[at]
    yield from _about_changes(home, changes)


class _Maker:
    def __init__(self, home: Home, seen: Sightings) -> None:
        self.home, self.seen = home, seen
        self.by_label: dict[str, list[Thing]] = defaultdict(list)
        for thing in home.things.values():
            self.by_label[thing.label].append(thing)
        self.unique = [things[0] for _, things in sorted(self.by_label.items()) if len(things) == 1]
        types = [room_name(room.type) for room in home.rooms]
        self.rooms = [room for room in home.rooms if types.count(room_name(room.type)) == 1]

    def kinds(self) -> list[Callable[[], Iterator[Case]]]:
        return [
            *(self.where, self.where_in_room, self.where_on, self.closest, self.farthest, self.on, self.not_on),
            *(self.in_room, self.not_in_room, self.near, self.not_near, self.there, self.not_there, self.count),
            *(self.count_in_room, self.what_is_on, self.when, self.how_often, self.absent, self.been),
        ]

    def where(self) -> Iterator[Case]:
        for one in self.unique:
            yield Case("where", f"where is the {one.label}?", _at(one), (one.id,))

    def where_in_room(self) -> Iterator[Case]:
        for room, one in self._alone_in_rooms():
            question = f"where is the {one.label} in the {room.type}?"
            yield Case("where in a room", question, _at(one), tuple(each.id for each in self.by_label[one.label]))

    def where_on(self) -> Iterator[Case]:
        for one, support in self._supported():
            question = f"where is the {one.label} on the {support.label}?"
            yield Case("where on something", question, _at(one), (one.id, support.id))

    def closest(self) -> Iterator[Case]:
        yield from self._by_distance("closest", "closest to", 1.0)

    def farthest(self) -> Iterator[Case]:
        yield from self._by_distance("farthest", "farthest from", -1.0)

    def on(self) -> Iterator[Case]:
        for one, support in self._supported():
            question = f"is the {one.label} on the {support.label}?"
            yield Case("is it on: yes", question, _says(yes=True), (one.id, support.id), blind=True)

    def not_on(self) -> Iterator[Case]:
        supports = {support.id for _, support in self._supported()}
        for one in self.unique:
            for other in self.unique:
                if other.id in supports and other.id not in (one.id, one.support_id) and _gap(one, other) > _APART:
                    question = f"is the {one.label} on the {other.label}?"
                    yield Case("is it on: no", question, _says(yes=False), (one.id, other.id))

    def in_room(self) -> Iterator[Case]:
        for one in self.unique:
            room = self._room(one)
            if room is not None:
                likely = _likely_room(one.label) == room_name(room.type)
                question = f"is the {one.label} in the {room.type}?"
                yield Case("in a room: yes", question, _says(yes=True), (one.id,), blind=likely)

    def not_in_room(self) -> Iterator[Case]:
        for one in self.unique:
            for room in self.rooms:
                if room.id != one.room_id and self._room(one) is not None:
                    likely = _likely_room(one.label) != room_name(room.type)
                    question = f"is the {one.label} in the {room.type}?"
                    yield Case("in a room: no", question, _says(yes=False), (one.id,), blind=likely)

    def near(self) -> Iterator[Case]:
        for one, other in self._pairs():
            if _gap(one, other) <= _BESIDE:
                question, ids = f"is the {one.label} near the {other.label}?", (one.id, other.id)
                yield Case("near: yes", question, _says(yes=True), ids, blind=True)

    def not_near(self) -> Iterator[Case]:
        for one, other in self._pairs():
            if _gap(one, other) >= _APART:
                question, ids = f"is the {one.label} near the {other.label}?", (one.id, other.id)
                yield Case("near: no", question, _says(yes=False), ids)

    def there(self) -> Iterator[Case]:
        for label, things in sorted(self.by_label.items()):
            yield Case("is there: yes", f"is there a {label}?", _says(yes=True), (things[0].id,), blind=True)

    def not_there(self) -> Iterator[Case]:
        for label in self._absent_classes():
            yield Case("is there: no", f"is there a {label}?", _says(yes=False), absent=True)

    def count(self) -> Iterator[Case]:
        for label, things in sorted(self.by_label.items()):
            question, ids = f"how many {_plural(label)} are there?", tuple(one.id for one in things)
            yield Case("how many", question, _counts(len(things)), ids, blind=len(things) == 1)

    def count_in_room(self) -> Iterator[Case]:
        for room in self.rooms:
            for label, things in sorted(self.by_label.items()):
                inside = sum(one.room_id == room.id for one in things)
                if inside:
                    question, ids = (
                        f"how many {_plural(label)} are in the {room.type}?",
                        tuple(one.id for one in things),
                    )
                    yield Case("how many in a room", question, _counts(inside), ids, blind=inside == 1)

    def what_is_on(self) -> Iterator[Case]:
        for support in self.unique:
            carried = [one for one in self.home.things.values() if one.support_id == support.id]
            if carried:
                labels = sorted({one.label for one in carried})
                ids = (support.id, *(one.id for one in carried))
                yield Case("what is on", f"what is on the {support.label}?", _lists(labels), ids)

    def when(self) -> Iterator[Case]:
        for one in self.unique:
            if one.id in self.seen.last:
                question = f"when did you last see the {one.label}?"
                yield Case("when", question, _last_seen(self.seen.last[one.id]), (one.id,))

    def how_often(self) -> Iterator[Case]:
        for one in self.unique:
            question, count = f"how often have you seen the {one.label}?", self.seen.count.get(one.id, 0)
            yield Case("how often", question, _about(count), (one.id,))

    def absent(self) -> Iterator[Case]:
        for label in self._absent_classes():
            yield Case("where: not there", f"where is the {label}?", _refuses, absent=True)

    def been(self) -> Iterator[Case]:
        for room in self.rooms:
            if room.id in self.seen.visited and any(self._room(one) == room for one in self.unique):
                ids = tuple(one.id for one in self.unique if one.room_id == room.id)
                yield Case("been there", f"have you been in the {room.type}?", _says(yes=True), ids, blind=True)

    def _absent_classes(self) -> list[str]:
        return sorted(set(CLASSES) - set(self.by_label))

    def _room(self, one: Thing) -> Room | None:
        return next((room for room in self.rooms if room.id == one.room_id), None)

    def _alone_in_rooms(self) -> Iterator[tuple[Room, Thing]]:
        for room in self.rooms:
            for _, things in sorted(self.by_label.items()):
                inside = [one for one in things if one.room_id == room.id]
                if len(inside) == 1 and len(things) > 1:
                    yield room, inside[0]

    def _supported(self) -> Iterator[tuple[Thing, Thing]]:
        for one in self.unique:
            support = self.home.things.get(-1 if one.support_id is None else one.support_id)
            if support is not None and support in self.unique:
                yield one, support

    def _pairs(self) -> Iterator[tuple[Thing, Thing]]:
        yield from ((one, other) for one in self.unique for other in self.unique if one.id < other.id)

    def _by_distance(self, kind: str, words: str, sign: float) -> Iterator[Case]:
        for label, things in sorted(self.by_label.items()):
            if len(things) < 2:
                continue
            for anchor in self.unique:
                away = sorted(
                    (sign * float(np.linalg.norm(one.position - anchor.position)), one.id) for one in things
                )
                if away[1][0] - away[0][0] >= _CLEAR:
                    ids = (anchor.id, *(one.id for one in things))
                    question = f"which {label} is {words} the {anchor.label}?"
                    yield Case(kind, question, _at(self.home.things[away[0][1]]), ids)


def _about_changes(home: Home, changes: Sequence[Change]) -> Iterator[Case]:
    for kind, question, wanted in (
        (ChangeKind.MOVE, "what has moved?", "moved"),
        (ChangeKind.REMOVE, "what is missing?", None),
        (ChangeKind.ADD, "what is new since yesterday?", "appeared"),
    ):
        for change in changes:
            for edit in change.edits:
                thing = edit.thing
                if change.kind is kind:
                    name, judge = question.rstrip("?"), _names(thing.label, wanted)
                    came_to = edit.after if edit.before is None else None
                    yield Case(name, question, judge, (thing.id,), gone_from=edit.before, came_to=came_to)
    alone = [thing.label for thing in home.things.values()]
    for change in changes:
        if change.kind is ChangeKind.MOVE:
            before, thing = change.edits[0].before, change.edits[0].thing
            if before is not None and alone.count(thing.label) == 1:
                question = f"where was the {thing.label} before it moved?"
                x, y = before.position[:2].tolist()
                yield Case("before it moved", question, _says_spot(x, y), (thing.id,), gone_from=before)


def _plural(label: str) -> str:
    if label.endswith("s") and not label.endswith("ss"):
        # scissors, slippers, keys
        return label
    if label.endswith("knife"):
        return f"{label[:-2]}ves"
    if label.endswith("shelf"):
        return f"{label[:-1]}ves"
    return f"{label}es" if label.endswith(("s", "x", "ch", "sh")) else f"{label}s"


def _likely_room(label: str) -> str | None:
    expected = rooms_of(label)
    return room_name(max(sorted(expected), key=lambda kind: expected[kind])) if expected else None


def _gap(one: Thing, other: Thing) -> float:
    apart = np.maximum(np.maximum(one.box[0] - other.box[1], other.box[0] - one.box[1]), 0.0)
    return float(np.linalg.norm(apart))


def _at(one: Thing) -> Judge:
    def judge(reply: Reply) -> bool:
        near = [float(np.linalg.norm(np.array(each.position) - one.position)) for each in reply.objects]
        return reply.status == "answered" and len(near) == 1 and near[0] <= max(NEAR, 0.5 * float(one.extent.max()))

    return judge


def _says(*, yes: bool) -> Judge:
    return lambda reply: reply.yes is yes


def _counts(count: int) -> Judge:
    return lambda reply: reply.count == count


def _about(count: int) -> Judge:
    return lambda reply: reply.count is not None and abs(reply.count - count) <= max(2, 0.1 * count)


def _lists(labels: Sequence[str]) -> Judge:
    return lambda reply: sorted({one.label for one in reply.objects if one.label}) == list(labels)


def _last_seen(stamp: float) -> Judge:
    return lambda reply: any(abs(one.last_seen_memory_time - stamp) <= 1.0 for one in reply.objects)


def _refuses(reply: Reply) -> bool:
    return reply.status == "not_remembered"


def _names(label: str, kind: str | None) -> Judge:
    if kind is None:
        return lambda reply: any(one.label == label for one in reply.objects)
    return lambda reply: any(one.label == label and one.kind == kind for one in reply.changes)


def _says_spot(x: float, y: float) -> Judge:
    def judge(reply: Reply) -> bool:
        found = reply.sentence.partition("at (")[2].partition(")")[0].split(",")
        return len(found) == 2 and float(np.hypot(float(found[0]) - x, float(found[1]) - y)) <= NEAR

    return judge
