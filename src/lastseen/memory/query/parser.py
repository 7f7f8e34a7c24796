"""The query parser: what a question asks for, as a tree; deterministic, no model needed (docs/search.md).

A thing is a noun with colours and a size; relations to other things, places and times follow it. What cannot be
understood is kept by its words, so that the answer can name it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from lastseen.encoders.words import Parsed, is_filler, parse, tokens, word_set
from lastseen.memory.query.times import NUMBERS, TimeTerm, match_time

Kind = Literal["closest", "farthest", "between", "on", "under", "above", "in", "near", "next to", "far"]
Size = Literal["big", "small"]
ALL = -1
"""The number of a thing that is asked for in all its examples."""
_LONGEST = 80
"""Words of a question that are read; no sentence that points at a thing is longer."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a thing stands to others; ``rank`` counts from the closest or farthest, no anchor means the robot."""

    kind: Kind
    anchors: tuple[Thing, ...]
    words: str
    rank: int = 1
    negated: bool = False


@dataclass(frozen=True, slots=True)
class PlaceTerm:
    """A room or another place that a thing stands in."""

    name: str
    negated: bool = False


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


_CONNECTORS: dict[str, Kind | Literal["not known"]] = {
    **dict.fromkeys(("closest to", "nearest to", "nearest", "closest"), "closest"),
    **dict.fromkeys(
        (
            *("farthest from", "furthest from", "most distant from", "farthest away from", "furthest away from"),
            *("most far from", "most remote from"),
        ),
        "farthest",
    ),
    **dict.fromkeys(("between", "in between", "in the middle of"), "between"),
    **dict.fromkeys(("on", "on top of", "atop", "upon", "onto"), "on"),
    **dict.fromkeys(("under", "underneath", "beneath", "below"), "under"),
    **dict.fromkeys(("above", "over"), "above"),
    **dict.fromkeys(("in", "inside", "inside of", "within", "at"), "in"),
    **dict.fromkeys(("near", "near to", "close to", "around", "not far from"), "near"),
    **dict.fromkeys(("next to", "beside", "besides", "by", "adjacent to", "alongside"), "next to"),
    **dict.fromkeys(("far from", "far away from", "away from"), "far"),
    **dict.fromkeys(
        (
            *("left of", "to the left of", "on the left of", "right of", "to the right of", "on the right of"),
            *("behind", "in front of", "opposite", "across from", "facing", "against", "outside", "with", "without"),
            *("to the left side of", "to the right side of", "in the corner of", "along", "from"),
        ),
        "not known",
    ),
}
_MOST_WORDS = max(len(words.split()) for words in _CONNECTORS)
_RANKS = {
    "first": 1,
    "second": 2,
    "third": 3,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "seventh": 7,
    "eighth": 8,
    "1st": 1,
    "2nd": 2,
    "3rd": 3,
    "4th": 4,
    "5th": 5,
    "6th": 6,
    "7th": 7,
    "8th": 8,
}
_ORDINALS = {rank: word for word, rank in reversed(_RANKS.items())}
_NUMBERS = {
    **NUMBERS,
    "both": 2,
    "all": ALL,
    "every": ALL,
    "each": ALL,
}
_SIZES: dict[str, Size] = {
    **dict.fromkeys(("big", "large", "huge", "bigger", "larger", "biggest", "largest"), "big"),
    **dict.fromkeys(("small", "little", "tiny", "smaller", "smallest"), "small"),
}
_VERBS = word_set("standing lying sitting located placed found kept hanging resting mounted positioned situated")
_ANYTHING = word_set("thing things object objects item items stuff something anything one ones")
_WHO = word_set("i we you he she they")
_STOREYS = ("upstairs", "downstairs")
_LINKS = word_set("that which who is are was were be its it s there")
_QUALITIES = word_set(
    "old new nice clean dirty empty full open closed broken wooden wood metal plastic ceramic leather tall "
    "short long round square heavy soft hard warm cold hot"
)
"""What is said of things and is not remembered: an answer names it."""
_ROOMS = word_set(
    "kitchen bathroom bedroom garage office study hall hallway corridor pantry basement attic cellar balcony "
    "garden toilet nursery entrance lounge den library workshop kitchenette entryway foyer terrace patio "
    "stairwell closet washroom restroom lobby playroom sunroom"
)
_SAME_ROOM = {
    "hallway": "corridor",
    "hall": "corridor",
    "lounge": "living room",
    "washroom": "bathroom",
    "restroom": "bathroom",
    "toilet": "bathroom",
    "study": "office",
    "sitting room": "living room",
    "family room": "living room",
    "entryway": "entrance",
    "foyer": "entrance",
}


def parse_question(text: str, places: Collection[str] = ()) -> Thing:
    """Read what a question points at; ``places`` are names of places that the memory knows besides usual rooms.

    >>> parse_question("the red mug that is not on the table").relations[0].negated
    True
    """
    words = [word for word in tokens(text) if word not in ("t", "please")][:_LONGEST]
    reader = _Reader(words, frozenset(room_name(place) for place in places))
    thing = reader.thing()
    rest = reader.rest()
    return replace(thing, not_understood=(*thing.not_understood, *((rest,) if rest else ())))


def room_name(name: str) -> str:
    """The name under which a room is compared: hallway is corridor, a lounge is a living room."""
    plain = " ".join(tokens(name))
    return _SAME_ROOM.get(plain, plain)


class _Reader:
    """Reads words from left to right; ``at`` is the next one."""

    def __init__(self, words: list[str], places: frozenset[str]) -> None:
        self.words = words
        self.places = places
        self.at = 0

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
            if self.words[self.at] in _STOREYS:
                unknown.append(self.words[self.at])
                self.at += 1
                continue
            found = self._connector(self.at)
            if found is None:
                break
            kind, rank, negated, start, after = found
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
            words = " ".join(self.words[start : self.at])
            if kind == "not known":
                unknown.append(words)
            else:
                relations.append(Relation(kind, anchors, words, rank, negated))
        return replace(
            thing,
            relations=(*thing.relations, *relations),
            places=tuple(places),
            times=tuple(times),
            not_understood=tuple(unknown),
        )

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
                name in _ROOMS or room_name(name) in self.places or (count == 2 and name.endswith(" room"))
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
            or self.words[at] in _LINKS
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
            if word in _RANKS and not kept and self._is_superlative(self.at + 1):
                rank = _RANKS[word]
            elif not kept and self._is_superlative(self.at):
                pending = ("closest" if word in ("closest", "nearest") else "farthest"), rank
            elif ((kept or anything) and self._says_more(self.at)) or (
                pending is not None and kept and word in ("to", "from")
            ):
                break
            elif word in _NUMBERS and not kept:
                number = _NUMBERS[word]
                if self.words[self.at + 1 : self.at + 2] == ["of"]:
                    self.at += 1
            elif word in _SIZES and not kept:
                size = _SIZES[word]
            elif word in _WHO and kept:
                # "the mug I saw", "the keys that we left"
                self.at += 1
            elif word in _QUALITIES and self.at + 1 < len(self.words):
                unknown.append(word)
                qualities.append(word)
            elif kept or not (is_filler(word) or word in _RANKS):
                kept.append(word)
            elif word in _ANYTHING:
                anything = True
            self.at += 1
        # a label may say it ("wooden spoon"), so it stays in the noun
        noun = " ".join([*qualities, *kept])
        thing = Thing(noun, parse(noun), size, number, anything=anything and not kept, not_understood=tuple(unknown))
        return thing, pending

    def _says_more(self, at: int) -> bool:
        return self._connector(at) is not None or match_time(self.words, at) is not None or self.words[at] in _STOREYS

    def _is_superlative(self, at: int) -> bool:
        return self.words[at : at + 1] != [] and self.words[at] in ("closest", "nearest", "farthest", "furthest")

    def _superlative(self, pending: tuple[Kind, int]) -> Relation:
        """The rest of "closest chair to the table"; without one the robot is meant."""
        kind, rank = pending
        if self.words[self.at : self.at + 1] and self.words[self.at] in ("to", "from"):
            self.at += 1
            anchor = self._anchor()
            said = f"{kind} {'to' if kind == 'closest' else 'from'} the {anchor.noun}"
            return Relation(kind, (anchor,), f"{_ORDINALS[rank]} {said}" if rank > 1 else said, rank)
        return Relation(kind, (), kind, rank)

    def _connector(self, at: int) -> tuple[Kind | Literal["not known"], int, bool, int, int] | None:
        """Kind, rank, negation, and where its own words begin and end; None where none begins here."""
        words, here, negated, rank = self.words, at, False, None
        while here < len(words) and (words[here] in _LINKS or words[here] in _VERBS or words[here] in ("not", "isn")):
            negated = negated or words[here] in ("not", "isn")
            here += 1
        start = here
        if here + 1 < len(words) and words[here] == "the" and words[here + 1] in _RANKS:
            here += 1
        if here < len(words) and words[here] in _RANKS:
            rank = _RANKS[words[here]]
            here += 1
        for count in range(min(_MOST_WORDS, len(words) - here), 0, -1):
            said = " ".join(words[here : here + count])
            kind = _CONNECTORS.get(said)
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
