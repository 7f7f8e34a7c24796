"""What a question says besides the noun, checked on remembered boxes, places and times: one call a part.

A false presupposition is refused with its reason: there is a kettle, but none in the garage; it is in the bedroom.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from lastseen.encoders.words import singular, tokens
from lastseen.memory.facts import Facts
from lastseen.memory.object import Point
from lastseen.memory.query.filter import Filter, select
from lastseen.memory.query.geometry import REACH, Boxes, between, holds, nearest, pairs_within
from lastseen.memory.query.parser import ALL, Relation, Thing, room_name
from lastseen.memory.query.ranker import MARGIN, NameRanker, Ranking
from lastseen.memory.query.snapshot import Snapshot

Refused = Literal["thing", "colour", "anchor", "anchor colour", "relation", "place", "size", "number", "time"]

_MOST_PAIRED = 12
"""Things of one name that are tried as one end of "between"."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Which part of a question does not hold, and why in one sentence."""

    part: Refused
    reason: str


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What constraints need to know of objects besides their names.

    ``extents`` gives sizes by id, ``places`` id and name of the room by position and id, ``support`` what a thing
    stands on in words, ``here`` where the robot is, and ``facts`` what was told,
    ``told_inside`` the id of what each object was told to be inside of. ``lock`` is held while they are
    asked, and is taken before any lock of the store, as whoever writes does.
    """

    extents: Callable[[Sequence[str]], np.ndarray[Any, np.dtype[np.float64]]]
    places: Callable[[Sequence[Any], Sequence[str]], list[tuple[int, str] | None]]
    support: Callable[[str], str | None]
    here: Callable[[], Point | None]
    lock: AbstractContextManager[Any]
    facts: Facts
    told_inside: Callable[[Sequence[str]], list[str | None]]


@dataclass(slots=True)
class Constraints:
    """Applies the parts of one question to ranked rows; ``notes`` names what could not be compared."""

    snapshot: Snapshot
    names: NameRanker
    around: Surroundings
    limits: Filter
    notes: list[str] = field(default_factory=list)

    def apply(self, thing: Thing, ranking: Ranking) -> tuple[Ranking, Refusal | None]:
        """The ranking without the rows that a part of the question rules out, or the part that leaves none."""
        rows = [row for row, score in zip(ranking.rows, ranking.scores, strict=True) if score >= ranking.accept]
        if not rows or not thing.limited:
            self._note_unknown(thing)
            return ranking, None
        best = dict(zip(ranking.rows, ranking.scores, strict=True))
        if thing.size or thing.number not in (None, ALL) or any(_is_superlative(one) for one in thing.relations):
            # "the second closest chair" counts chairs, not what is merely like one
            rows = [row for row in rows if best[row] >= best[rows[0]] - MARGIN]
        left, refusal = self._keep(thing, rows)
        kept = set(left)
        if any(_is_superlative(one) for one in thing.relations) or thing.size:
            order = left
        else:
            order = [row for row in ranking.rows if row in kept]
        scores = tuple(best[row] for row in order)
        return replace(ranking, rows=tuple(order), scores=scores), refusal

    def _keep(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
        """The rows that every part of a noun phrase lets pass, in the order of the checks; or what refused them."""
        self._note_unknown(thing)
        for check in (self._in_places, self._seen_in_time, self._of_size, self._related, self._of_number):
            rows, refusal = check(thing, rows)
            if refusal is not None:
                return [], refusal
        return rows, None

    def _note_unknown(self, thing: Thing) -> None:
        labels = {word for label in self.snapshot.table.label_names for word in tokens(label)}
        for words in thing.not_understood:
            if words not in labels:
                self.notes.append(words)

    def _in_places(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
        for term in thing.places:
            found = self._places(rows)
            regions = self.around.facts.regions_at([self.snapshot.table.xyz(row) for row in rows])
            inside = [
                term.name in names or (place is not None and room_name(place[1]) == term.name)
                for place, names in zip(found, regions, strict=True)
            ]
            left = [row for row, is_in in zip(rows, inside, strict=True) if is_in != term.negated]
            if not left:
                but = f"all of them are in the {term.name}" if term.negated else f"none in the {term.name}"
                return [], Refusal("place", f"{self._there_is(thing, rows)}, but {but}: {self._where(rows[0])}")
            rows = left
        return rows, None

    def _seen_in_time(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
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
                return [], Refusal("time", reason)
            rows = left
        return rows, None

    def _of_size(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
        if thing.size is None:
            return rows, None
        if len(rows) < 2:
            self.notes.append(f"{thing.size} (there is only one {_one(thing)} to compare)")
            return rows, None
        volumes = dict(zip(rows, self._boxes(rows).volumes.tolist(), strict=True))
        order = sorted(rows, key=lambda row: (-volumes[row] if thing.size == "big" else volumes[row], row))
        # "the small table" is the smallest, "small tables" are the smaller half
        return (order[: (len(order) + 1) // 2] if _is_plural(thing) else order[:1]), None

    def _related(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
        for relation in sorted(thing.relations, key=_is_superlative):
            anchors, refusal = self._anchors(relation)
            if refusal is not None:
                return [], refusal
            if _is_superlative(relation):
                left = self._by_distance(relation, rows, anchors)
            else:
                true = self._holds(relation, rows, anchors)
                left = [row for row, is_so in zip(rows, true, strict=True) if is_so != relation.negated]
            if not left:
                return [], Refusal("relation", self._no_such(thing, relation, rows))
            rows = left
        return rows, None

    def _anchors(self, relation: Relation) -> tuple[list[list[int]], Refusal | None]:
        """The rows that each anchor may mean."""
        found = []
        for anchor in relation.anchors:
            rows, refusal = self.resolve(anchor, said=relation.words)
            if refusal is not None:
                return [], refusal
            found.append(rows)
        return found, None

    def resolve(self, anchor: Thing, *, said: str) -> tuple[list[int], Refusal | None]:
        """The rows that a noun phrase means, best first; or why there are none."""
        table = self.snapshot.table
        rows = select(table, Filter(include_tentative=self.limits.include_tentative))
        scores = self.names.scores(table, rows, anchor.phrase)
        fits = np.flatnonzero(scores >= max(self.names.accept, float(scores.max(initial=0.0)) - MARGIN))
        noun = anchor.noun or "such thing"
        if not len(fits):
            meaning = self.names.meaning(table, rows, replace(anchor.phrase, colors=()))
            if anchor.phrase.words and anchor.phrase.colors and (meaning >= self.names.accept).any():
                kind, colors = " ".join(anchor.phrase.words), " and ".join(anchor.phrase.colors)
                return [], Refusal("anchor colour", f"{said!r} cannot be: {kind} is remembered, but none is {colors}")
            return [], Refusal("anchor", f"{said!r} cannot be: no {noun} is remembered")
        return self._keep(replace(anchor, number=None), sorted(rows[fits].tolist()))

    def _holds(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[bool]:
        """Whether a relation is true of each row."""
        things = self._boxes(rows)
        if relation.kind == "between":
            first, second = anchors[0][:_MOST_PAIRED], anchors[-1][:_MOST_PAIRED]
            true = np.zeros(len(rows), dtype=bool)
            for one in first:
                for other in second:
                    if one != other:
                        apart = np.array([row not in (one, other) for row in rows])
                        true |= apart & between(things, self._center(one), self._center(other))
        else:
            true = self._near_any(relation.kind, rows, things, anchors[0])
        found: list[bool] = true.tolist()
        return found

    def _near_any(
        self, kind: str, rows: list[int], things: Boxes, others: list[int]
    ) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row stands so to any of the others; far from them is near to none."""
        anchors = self._boxes(others)
        first, second = pairs_within(things, anchors, REACH.get(kind, 0.0))
        apart = np.array(rows)[first] != np.array(others, dtype=np.int64)[second]
        first, second = first[apart], second[apart]
        fits = holds(kind, things.only(first), anchors.only(second))
        true = np.zeros(len(rows), dtype=bool)
        true[first[fits]] = True
        if kind == "in":
            true |= self._told_inside(rows, others)
        return ~true if kind == "far" else true

    def _told_inside(self, rows: list[int], others: list[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Whether each row was told to be inside one of the others and was not seen elsewhere since."""
        ids = {self.snapshot.table.ids[row] for row in others}
        inside = self.around.told_inside([self.snapshot.table.ids[row] for row in rows])
        return np.array([container in ids for container in inside], dtype=bool)

    def _by_distance(self, relation: Relation, rows: list[int], anchors: list[list[int]]) -> list[int]:
        """The row of the asked rank by distance of centres; none where there are fewer."""
        if anchors:
            others = anchors[0]
            there = self._boxes(others)
        else:
            others, near = [], self.around.here()
            if near is None:
                self.notes.append(f"{relation.words} (where the robot is, is not known)")
                return rows
            there = Boxes(np.array([near]), np.zeros((1, 3)))
        place_of = {row: at for at, row in enumerate(others)}
        same = np.array([place_of.get(row, -1) for row in rows])
        apart = nearest(self._boxes(rows), there, same=same).tolist()
        # the anchor itself is not meant
        known = {row: metres for row, metres in zip(rows, apart, strict=True) if np.isfinite(metres)}
        sign = 1.0 if relation.kind == "closest" else -1.0
        order = sorted(known, key=lambda row: (sign * known[row], row))
        return order[relation.rank :] if relation.negated else order[relation.rank - 1 : relation.rank]

    def _of_number(self, thing: Thing, rows: list[int]) -> tuple[list[int], Refusal | None]:
        wanted = thing.number
        if wanted is None or wanted == ALL or len(rows) == wanted:
            return rows, None
        if len(rows) < wanted:
            reason = f"{self._there_is(thing, rows)}, not {wanted}: {self._where(rows[0])}"
            return [], Refusal("number", reason)
        self.notes.append(f"{wanted} (there are {len(rows)})")
        return rows, None

    def _boxes(self, rows: Sequence[int]) -> Boxes:
        table = self.snapshot.table
        centers = np.array([table.xyz(row) for row in rows]).reshape(-1, 3)
        return Boxes(centers, self.around.extents([table.ids[row] for row in rows]))

    def _places(self, rows: Sequence[int]) -> list[tuple[int, str] | None]:
        table = self.snapshot.table
        return self.around.places([table.xyz(row) for row in rows], [table.ids[row] for row in rows])

    def _center(self, row: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array(self.snapshot.table.xyz(row))

    def _no_such(self, thing: Thing, relation: Relation, rows: list[int]) -> str:
        if _is_superlative(relation):
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
            *([f"in the {place[1]}"] if place is not None and place[1] != "unknown" else []),
            *([f"on the {support}"] if support is not None else []),
        ]
        x, y, _ = table.xyz(row)
        return f"{table.ids[row]} is {' '.join(parts) or f'at ({x:.1f}, {y:.1f})'}"


def _is_superlative(relation: Relation) -> bool:
    return relation.kind in ("closest", "farthest")


def _one(thing: Thing) -> str:
    words = tokens(thing.noun) or ["thing"]
    return " ".join([*words[:-1], singular(words[-1])])


def _many(thing: Thing) -> str:
    name = _one(thing)
    return name if name.endswith("s") else f"{name}s"


def _is_plural(thing: Thing) -> bool:
    last = tokens(thing.noun)[-1:]
    return bool(last) and singular(last[0]) != last[0]
