"""What a question says besides the noun, checked on remembered boxes, places and times: one call a part.

A false presupposition is refused with its reason: there is a kettle, but none in the garage; it is in the bedroom.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from lastseen.encoders.words import parse, singular, tokens
from lastseen.memory.query.filter import Filter, select
from lastseen.memory.query.parser import Relation, Thing
from lastseen.memory.query.ranker import MARGIN, NameRanker, Ranking, main_color
from lastseen.memory.query.relations import RANKED, Relations
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.query.vocabulary import ALL, room_name
from lastseen.memory.rooms.room import UNKNOWN

if TYPE_CHECKING:
    from lastseen.memory.browse import Browse

Refused = Literal[
    "thing", "colour", "anchor", "anchor colour", "relation", "place", "place not known", "number", "time"
]


class Refusal(Exception):
    """Raised where a part of a question does not hold: which part, and why in one sentence."""

    def __init__(self, part: Refused, reason: str) -> None:
        super().__init__(reason)
        self.part, self.reason = part, reason


@dataclass(slots=True)
class Constraints:
    """Applies the parts of one question to ranked rows; ``notes`` names what could not be compared."""

    snapshot: Snapshot
    names: NameRanker
    around: Browse
    limits: Filter
    notes: list[str] = field(default_factory=list)
    _relations: Relations = field(init=False)

    def __post_init__(self) -> None:
        self._relations = Relations(self.snapshot, self.around, self.notes)

    def apply(self, thing: Thing, ranking: Ranking) -> Ranking:
        """The ranking without the rows that a part of the question rules out; ``Refusal`` where one leaves none."""
        rows = [row for row, score in zip(ranking.rows, ranking.scores, strict=True) if score >= ranking.accept]
        if not rows or not thing.limited:
            self._note_unknown(thing)
            return ranking
        best = dict(zip(ranking.rows, ranking.scores, strict=True))
        if thing.size or thing.number not in (None, ALL) or any(one.kind in RANKED for one in thing.relations):
            # "the second closest chair" counts chairs, not what is merely like one
            rows = [row for row in rows if best[row] >= best[rows[0]] - MARGIN]
        rows = self._called_so(thing, rows)
        try:
            left = self._keep(thing, rows)
        except Refusal as refusal:
            if refusal.part == "relation" and thing.phrase.colors and thing.phrase.words:
                raise self._other_color(thing) or refusal from None
            raise
        kept = set(left)
        if any(one.kind in RANKED for one in thing.relations) or thing.size:
            order = left
        else:
            order = [row for row in ranking.rows if row in kept]
        scores = tuple(best[row] for row in order)
        return replace(ranking, rows=tuple(order), scores=scores)

    def _other_color(self, thing: Thing) -> Refusal | None:
        """What is wrong with "the red sofa closest to the door" where the sofa closest to it is grey: the colour."""
        if not any(relation.kind in RANKED for relation in thing.relations):
            return None
        plain = replace(thing, phrase=replace(thing.phrase, colors=()))
        try:
            rows = self.resolve(plain, said=thing.noun)
        except Refusal:
            return None
        if len(rows) != 1:
            return None
        seen = main_color(self.snapshot.table.columns.colors[rows[0]]) or "of another colour"
        said = " and ".join(relation.words for relation in thing.relations)
        asked, kind = " and ".join(thing.phrase.colors), " ".join(thing.phrase.words)
        return Refusal("colour", f"the {kind} {said} is {self.snapshot.table.ids[rows[0]]}: {seen}, not {asked}")

    def _keep(self, thing: Thing, rows: list[int]) -> list[int]:
        """The rows that every part of a noun phrase lets pass, in the order of the checks."""
        self._note_unknown(thing)
        # the small chair near the desk is the smallest of those near it; the closest small one, of the small ones
        checks = self._in_places, self._seen_in_time, self._related, self._of_size, self._by_rank, self._of_number
        for check in checks:
            rows = check(thing, rows)
        return rows

    def _note_unknown(self, thing: Thing) -> None:
        labels = {word for label in self.snapshot.table.label_names for word in tokens(label)}
        for words in thing.not_understood:
            if words not in labels:
                self.notes.append(words)

    def _in_places(self, thing: Thing, rows: list[int]) -> list[int]:
        for term in thing.places:
            if term.storey and len(self.around.storeys) < 2:
                if thing.anything and not term.negated:
                    reason = f"one storey is known, and whether it is {term.words} is not"
                    raise Refusal("place not known", reason)
                # a thing that was asked for is worth telling, wherever it is
                self.notes.append(f"{term.words} (one storey is known)")
                continue
            inside = self._on_storey(term.name, rows) if term.storey else self._in_room(term.name, rows)
            left = [row for row, is_in in zip(rows, inside, strict=True) if is_in is (not term.negated)]
            if not left and None in inside and not thing.anything:
                where = self._where(rows[inside.index(None)])
                reason = f"{self._there_is(thing, rows)}, but whether any is {term.words} is not known: {where}"
                raise Refusal("place not known", reason)
            if not left:
                but = f"all of them are {term.words}" if term.negated else f"none {term.words}"
                raise Refusal("place", f"{self._there_is(thing, rows)}, but {but}: {self._where(rows[0])}")
            rows = left
        return rows

    def _in_room(self, name: str, rows: list[int]) -> list[bool | None]:
        """Whether each row is in a room or region of a name; None where the room's name is not known."""
        regions = self.around.facts.regions_at([self.snapshot.table.xyz(row) for row in rows])
        found: list[bool | None] = []
        for place, names in zip(self._places(rows), regions, strict=True):
            if name in names:
                found.append(True)
            else:
                found.append(None if place is None or place[1] == UNKNOWN else room_name(place[1]) == name)
        return found

    def _on_storey(self, name: str, rows: list[int]) -> list[bool | None]:
        """Whether each row is on a storey that is meant."""
        meant = self.around.storeys.named(name)
        heights = [self.snapshot.table.xyz(row)[2] for row in rows]
        return [number in meant for number in self.around.storeys.numbers(heights).tolist()]

    def _seen_in_time(self, thing: Thing, rows: list[int]) -> list[int]:
        for term in thing.times:
            clock = self.snapshot.clock
            now = clock.wall(self.snapshot.now)
            if now is None:
                if term.seconds is None:
                    self.notes.append(f"{term.words} (no session has a date)")
                    continue
                since, before = self.snapshot.now - term.seconds, None
            else:
                start, end = term.bounds(now)
                since = clock.time(start, name="since")
                before = None if end is None else clock.time(end, name="before")
            seen = self.snapshot.table.columns.last_seen
            left = [row for row in rows if seen[row] >= since and (before is None or seen[row] < before)]
            if not left:
                reason = f"{self._there_is(thing, rows)}, but none was last seen {term.words}: {self._where(rows[0])}"
                raise Refusal("time", reason)
            rows = left
        return rows

    def _of_size(self, thing: Thing, rows: list[int]) -> list[int]:
        if thing.size is None:
            return rows
        if len(rows) < 2:
            self.notes.append(f"{thing.size} (there is only one {_one(thing)} to compare)")
            return rows
        faces = dict(zip(rows, self._relations.boxes(rows).faces.tolist(), strict=True))
        order = sorted(rows, key=lambda row: (-faces[row] if thing.size == "big" else faces[row], row))
        # "the small table" is the smallest, "small tables" are the smaller half
        return order[: (len(order) + 1) // 2] if _is_plural(thing) else order[:1]

    def _related(self, thing: Thing, rows: list[int]) -> list[int]:
        one = thing.number is None and not thing.anything and not thing.size
        for relation in thing.relations:
            if relation.kind in RANKED:
                continue
            anchors = self._anchors(relation)
            true = self._relations.hold(relation, rows, anchors)
            left = [row for row, is_so in zip(rows, true, strict=True) if is_so != relation.negated]
            if one and not relation.negated:
                left = self._relations.meant(relation.kind, left, rows, anchors)
            if not left:
                raise Refusal("relation", self._no_such(thing, relation, rows))
            rows = left
        return rows

    def _by_rank(self, thing: Thing, rows: list[int]) -> list[int]:
        for relation in thing.relations:
            if relation.kind not in RANKED:
                continue
            anchors = self._anchors(relation)
            left = self._relations.ranked(relation, rows, anchors)
            if not left:
                raise Refusal("relation", self._no_such(thing, relation, rows))
            rows = left
        return rows

    def _anchors(self, relation: Relation) -> list[list[int]]:
        """The rows that each anchor may mean."""
        return [self.resolve(anchor, said=relation.words) for anchor in relation.anchors]

    def resolve(self, anchor: Thing, *, said: str) -> list[int]:
        """The rows that a noun phrase means, best first; raises ``Refusal`` where there are none."""
        table = self.snapshot.table
        rows = select(table, Filter(include_tentative=self.limits.include_tentative))
        scores = self.names.scores(table, rows, anchor.phrase)
        fits = np.flatnonzero(scores >= max(self.names.accept, float(scores.max(initial=0.0)) - MARGIN))
        noun = anchor.noun or "such thing"
        if not len(fits):
            meaning = self.names.meaning(table, rows, replace(anchor.phrase, colors=()))
            if anchor.phrase.words and anchor.phrase.colors and (meaning >= self.names.accept).any():
                kind, colors = " ".join(anchor.phrase.words), " and ".join(anchor.phrase.colors)
                raise Refusal("anchor colour", f"{said!r} cannot be: {kind} is remembered, but none is {colors}")
            raise Refusal("anchor", f"{said!r} cannot be: no {noun} is remembered")
        return self._keep(replace(anchor, number=None), self._called_so(anchor, sorted(rows[fits].tolist())))

    def _called_so(self, thing: Thing, rows: list[int]) -> list[int]:
        """Of rows that one thing may mean, those of just that name, if there are any: then a shelf is no bookcase."""
        if thing.number is not None or not thing.phrase.words:
            return rows
        names = {row: self.snapshot.table.label(row) or "" for row in rows}
        words = {name: parse(name).words for name in set(names.values())}
        exact = [row for row in rows if words[names[row]] == thing.phrase.words]
        return exact or rows

    def _of_number(self, thing: Thing, rows: list[int]) -> list[int]:
        wanted = thing.number
        if wanted is None or wanted == ALL or len(rows) == wanted:
            return rows
        if len(rows) < wanted:
            reason = f"{self._there_is(thing, rows)}, not {wanted}: {self._where(rows[0])}"
            raise Refusal("number", reason)
        self.notes.append(f"{wanted} (there are {len(rows)})")
        return rows

    def _places(self, rows: Sequence[int]) -> list[tuple[int, str] | None]:
        table = self.snapshot.table
        return self.around.places([table.xyz(row) for row in rows], [table.ids[row] for row in rows])

    def _no_such(self, thing: Thing, relation: Relation, rows: list[int]) -> str:
        if relation.kind in RANKED:
            return f"{self._there_is(thing, rows)}: none is {relation.words}"
        but = f"all of them are {relation.words}" if relation.negated else f"none {relation.words}"
        return f"{self._there_is(thing, rows)}, but {but}: {self._where(rows[0])}"

    def _there_is(self, thing: Thing, rows: list[int]) -> str:
        if len(rows) == 1:
            return f"there is a {_one(thing)}"
        return f"there are {len(rows)} {_many(thing)}"

    def _where(self, row: int) -> str:
        table = self.snapshot.table
        (place,) = self._places([row])
        support = self.around.support(table.ids[row])
        parts = [
            *([f"in the {place[1]}"] if place is not None and place[1] != UNKNOWN else []),
            *([f"on the {support}"] if support is not None else []),
        ]
        x, y, _ = table.xyz(row)
        return f"{table.ids[row]} is {' '.join(parts) or f'at ({x:.1f}, {y:.1f})'}"


def _one(thing: Thing) -> str:
    words = tokens(thing.noun) or ["thing"]
    return " ".join([*words[:-1], singular(words[-1])])


def _many(thing: Thing) -> str:
    name = _one(thing)
    return name if name.endswith("s") else f"{name}s"


def _is_plural(thing: Thing) -> bool:
    last = tokens(thing.noun)[-1:]
    return bool(last) and singular(last[0]) != last[0]
