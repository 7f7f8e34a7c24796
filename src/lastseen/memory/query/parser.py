"""The query parser: what a question asks for, as a tree; deterministic, no model needed (docs/search.md).

A thing is a noun with colours and a size; relations to other things, places and times follow it. What cannot be
understood is kept by its words, so that the answer can name it.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from lastseen.encoders.words import Parsed, is_filler, parse, tokens
from lastseen.memory.query.times import TimeTerm, match_time
from lastseen.memory.query.vocabulary import (
    ANYTHING,
    ASIDE,
    CONNECTORS,
    COUNTS,
    FROM_SIDE,
    LINKS,
    MOST_WORDS,
    ORDINALS,
    QUALITIES,
    RANKS,
    ROOMS,
    SEEN_FROM,
    SIZES,
    STOREY,
    STOREYS,
    VERBS,
    VIEWED,
    WHO,
    Kind,
    Size,
    room_name,
)

_LONGEST = 80
"""Words of a question that are read; no sentence that points at a thing is longer."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a thing stands to others; ``rank`` counts from the closest or farthest, no anchor means the robot.

    ``viewed`` tells that the last anchor is what the others are seen from.
    """

    kind: Kind
    anchors: tuple[Thing, ...]
    words: str
    rank: int = 1
    negated: bool = False
    viewed: bool = False


@dataclass(frozen=True, slots=True)
class PlaceTerm:
    """A room or another place that a thing stands in; with ``storey`` one of the storeys in ``STOREYS``."""

    name: str
    negated: bool = False
    storey: bool = False

    @property
    def words(self) -> str:
        """The place as a phrase: in the kitchen, upstairs."""
        return f"in the {self.name}" if not self.storey else STOREYS[self.name]


@dataclass(frozen=True, slots=True)
class Thing:
    """A noun phrase; ``number`` is how many are meant ("both", "three", ``ALL``), None where it does not say.

    ``anything`` is a thing without a noun: "the thing on the table".
    """

    noun: str
    phrase: Parsed
    size: Size | None = None
    number: int | None = None
    anything: bool = False
    relations: tuple[Relation, ...] = ()
    places: tuple[PlaceTerm, ...] = ()
    times: tuple[TimeTerm, ...] = ()
    not_understood: tuple[str, ...] = ()

    @property
    def limited(self) -> bool:
        """Whether more than the noun with its colours is asked for."""
        return bool(self.size or self.number is not None or self.relations or self.places or self.times)


def parse_question(text: str, places: Collection[str] = ()) -> Thing:
    """Read what a question points at; ``places`` are names of places that the memory knows besides usual rooms.

    >>> parse_question("the red mug that is not on the table").relations[0].negated
    True
    """
    words = [word for word in tokens(text) if word not in ("t", "please")][:_LONGEST]
    reader = _Reader(words, frozenset(room_name(place) for place in places))
    thing = reader.thing()
    rest = reader.rest()
    # "the first chair" does not say first of what
    rank = [] if reader.said_rank is None else [ORDINALS[reader.said_rank]]
    return replace(thing, not_understood=(*thing.not_understood, *rank, *((rest,) if rest else ())))


class _Reader:
    """Reads words from left to right; ``at`` is the next one."""

    def __init__(self, words: list[str], places: frozenset[str]) -> None:
        self.words = words
        self.places = places
        self.at = 0
        self.said_rank: int | None = None
        """The rank before the first noun: "the second chair from the left"."""

    def rest(self) -> str:
        return " ".join(self.words[self.at :])

    def thing(self, *, in_pair: bool = False) -> Thing:
        """A noun phrase with all that follows it; ``in_pair`` ends it at "and"."""
        thing, pending = self._noun(in_pair=in_pair)
        relations, places, times, unknown = [], list(thing.places), list(thing.times), list(thing.not_understood)
        if pending is not None:
            relations.append(self._superlative(pending))
        while self.at < len(self.words):
            time = match_time(self.words, self.at)
            if time is not None:
                term, self.at = time
                times.append(term)
                continue
            storey = self._storey(self.at)
            if storey is not None:
                place_term, self.at = storey
                places.append(place_term)
                continue
            side = self._side()
            if side is not None:
                relations.append(side)
                continue
            found = self._connector(self.at)
            if found is None:
                break
            kind, rank, negated, start, after = found
            if kind == "not known" and self.words[after - 1] == "from" and self.said_rank:
                # "the second chair from the window"
                kind, rank, self.said_rank = "closest", self.said_rank, None
            if in_pair and relations:
                break
            self.at = after
            if kind == "between":
                anchors = self._pair()
            elif kind == "in" and (place := self._place()) is not None:
                places.append(PlaceTerm(place, negated))
                continue
            else:
                anchors = (self.thing(in_pair=True) if in_pair else self._anchor(),)
            viewpoint = self._viewpoint() if kind in VIEWED else ()
            words = " ".join(self.words[start : self.at])
            if kind == "not known":
                unknown.append(words)
            else:
                viewed = bool(viewpoint)
                relations.append(Relation(kind, (*anchors, *viewpoint), words, rank, negated, viewed))
        return replace(
            thing,
            relations=(*thing.relations, *relations),
            places=tuple(places),
            times=tuple(times),
            not_understood=tuple(unknown),
        )

    def _side(self) -> Relation | None:
        """What "from the left" means after a noun with a rank, and from where that is seen."""
        found = self._said(FROM_SIDE, self.at)
        if found is None:
            return None
        start, self.at = self.at, self.at + len(found[0].split())
        rank, self.said_rank = RANKS.get(found["rank"] or "", self.said_rank or 1), None
        viewpoint = self._viewpoint()
        kind: Kind = "leftmost" if found["side"] == "left" else "rightmost"
        words = " ".join(self.words[start : self.at])
        return Relation(kind, viewpoint, words, rank, found["not"] is not None, bool(viewpoint))

    def _viewpoint(self) -> tuple[Thing, ...]:
        """What "as seen from the door" names; nothing where the robot is meant or nobody is."""
        found = self._said(SEEN_FROM, self.at)
        if found is None:
            return ()
        self.at += len(found[0].split())
        return () if found["robot"] is not None else (self._anchor(),)

    def _said(self, pattern: re.Pattern[str], at: int) -> re.Match[str] | None:
        return pattern.match(" ".join(self.words[at : at + 8]))

    def _anchor(self) -> Thing:
        """The noun after a connector; what follows it is said of the first thing."""
        thing, pending = self._noun(in_pair=False)
        return thing if pending is None else replace(thing, relations=(self._superlative(pending),))

    def _pair(self) -> tuple[Thing, ...]:
        """Two things joined by "and", or one noun of which two are meant: "both tables"."""
        first = self._noun(in_pair=True)[0]
        if self.at < len(self.words) and self.words[self.at] == "and":
            self.at += 1
            return first, self._noun(in_pair=False)[0]
        return (replace(first, number=2),)

    def _place(self) -> str | None:
        """A room or known place at the next words."""
        start = self.at
        while start < len(self.words) and self.words[start] in ("the", "a", "an", "my", "our", "your"):
            start += 1
        for count in (3, 2, 1):
            name = " ".join(self.words[start : start + count])
            if len(name.split()) == count and (
                name in ROOMS or room_name(name) in self.places or (count == 2 and name.endswith(" room"))
            ):
                # "in the kitchen cabinet" names a cabinet
                following = self.words[start + count : start + count + 1]
                if following and not self._ends_noun(start + count):
                    return None
                self.at = start + count
                return room_name(name)
        return None

    def _ends_noun(self, at: int) -> bool:
        return (
            self._connector(at) is not None
            or match_time(self.words, at) is not None
            or self.words[at] in LINKS
            or is_filler(self.words[at])
        )

    def _noun(self, *, in_pair: bool) -> tuple[Thing, tuple[Kind, int] | None]:
        """Words up to the next connector: a noun with colours, size and number; and "closest" said before it."""
        kept: list[str] = []
        size: Size | None = None
        number: int | None = None
        rank, anything = 1, False
        pending: tuple[Kind, int] | None = None
        qualities: list[str] = []
        unknown: list[str] = []
        while self.at < len(self.words):
            word = self.words[self.at]
            if in_pair and word == "and" and kept:
                break
            if word in RANKS and not kept and self._is_superlative(self.at + 1):
                rank = RANKS[word]
            elif not kept and self._is_superlative(self.at):
                pending = ("closest" if word in ("closest", "nearest") else "farthest"), rank
            elif ((kept or anything) and self._says_more(self.at)) or (
                pending is not None and kept and word in ("to", "from")
            ):
                break
            elif word in COUNTS and not kept:
                number = COUNTS[word]
                if self.words[self.at + 1 : self.at + 2] == ["of"]:
                    self.at += 1
            elif word in SIZES and not kept:
                size = SIZES[word]
            elif word in ASIDE and kept:
                # "the mug my aunt gave me": what is said of a thing and cannot be compared
                break
            elif word in WHO and kept:
                # "the mug I saw", "the keys that we left"
                self.at += 1
            elif word in QUALITIES and self.at + 1 < len(self.words):
                unknown.append(word)
                qualities.append(word)
            elif not kept and word in ("leftmost", "rightmost"):
                pending = ("leftmost" if word == "leftmost" else "rightmost"), rank
            elif kept or not (is_filler(word) or word in RANKS or word == "other"):
                kept.append(word)
            elif word in RANKS and self.said_rank is None:
                self.said_rank = RANKS[word]
            elif word in ANYTHING:
                anything = True
            self.at += 1
        # a label may say it ("wooden spoon"), so it stays in the noun
        noun = " ".join([*qualities, *kept])
        thing = Thing(noun, parse(noun), size, number, anything=anything and not kept, not_understood=tuple(unknown))
        return thing, pending

    def _says_more(self, at: int) -> bool:
        return (
            self._connector(at) is not None
            or match_time(self.words, at) is not None
            or self._storey(at) is not None
            or self._said(FROM_SIDE, at) is not None
            or self._said(SEEN_FROM, at) is not None
        )

    def _storey(self, at: int) -> tuple[PlaceTerm, int] | None:
        """A storey that is named from a word on, and where the words after it begin."""
        found = STOREY.match(" ".join(self.words[at : at + 6]))
        if found is None:
            return None
        negated = found["not"] is not None
        return PlaceTerm(found["name"], negated, storey=True), at + len(found[0].split())

    def _is_superlative(self, at: int) -> bool:
        return self.words[at : at + 1] != [] and self.words[at] in ("closest", "nearest", "farthest", "furthest")

    def _superlative(self, pending: tuple[Kind, int]) -> Relation:
        """The rest of "closest chair to the table"; without one the robot is meant."""
        kind, rank = pending
        by_distance = kind in ("closest", "farthest")
        if by_distance and self.words[self.at : self.at + 1] and self.words[self.at] in ("to", "from"):
            self.at += 1
            anchor = self._anchor()
            said = f"{kind} {'to' if kind == 'closest' else 'from'} the {anchor.noun}"
            return Relation(kind, (anchor,), f"{ORDINALS[rank]} {said}" if rank > 1 else said, rank)
        viewpoint = () if by_distance else self._viewpoint()
        return Relation(kind, viewpoint, kind, rank, viewed=bool(viewpoint))

    def _connector(self, at: int) -> tuple[Kind | Literal["not known"], int, bool, int, int] | None:
        """Kind, rank, negation, and where its own words begin and end; None where none begins here."""
        words, here, negated, rank = self.words, at, False, None
        while here < len(words) and (words[here] in LINKS or words[here] in VERBS or words[here] in ("not", "isn")):
            negated = negated or words[here] in ("not", "isn")
            here += 1
        start = here
        if here + 1 < len(words) and words[here] == "the" and words[here + 1] in RANKS:
            here += 1
        if here < len(words) and words[here] in RANKS:
            rank = RANKS[words[here]]
            here += 1
        for count in range(min(MOST_WORDS, len(words) - here), 0, -1):
            said = " ".join(words[here : here + count])
            kind = CONNECTORS.get(said)
            if kind is None or not self._names_something(here + count):
                continue
            if rank is not None:
                if kind not in ("closest", "farthest") and said != "from":
                    return None
                kind = "closest" if said == "from" else kind
            return kind, rank or 1, negated, start, here + count
        return None

    def _names_something(self, at: int) -> bool:
        """Whether a noun can follow: "something to sit on" ends in no relation."""
        return any(not is_filler(word) for word in self.words[at:])
