"""The answer to a question in words, as a value, and what every kind of question needs to make one.

That is finding what is meant and what changed, and the words in which a sentence speaks of objects.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from lastseen.errors import InvalidValue
from lastseen.memory.facts import Fact
from lastseen.memory.history import Change
from lastseen.memory.object import Answer, Object, Point
from lastseen.memory.query.parser import Thing, parse_question
from lastseen.memory.query.question_kinds import Kind
from lastseen.memory.query.ranker import MARGIN
from lastseen.memory.query.vocabulary import room_name
from lastseen.observation import SURFACE

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

MOST = 1000
"""Objects that an answer counts; more of one name than a building holds."""
MOST_EVENTS = 2000
"""Events that a question about changes reads, from the newest back: weeks of a home."""
NAMED = 5
"""Objects or changes that a sentence names; twenty times as many objects come beside it."""
_UNKNOWN = ("thing", "colour", "anchor", "anchor colour", "place not known")
"""Refused parts of which a memory cannot say more than that it has not seen such a thing."""
_PAST = re.compile(r"\b(?:was|were|had)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """The answer to a question: its kind, the evidence, and one plain sentence about it.

    ``status`` is ``answered`` or ``not_remembered``; then the sentence names what is lacking. ``objects`` are those
    that the sentence speaks of, ``pictures`` the ids of those that have one; ``times`` are wall time (UTC) and empty
    in a session without a date. ``facts`` were told and not seen. ``confidence`` is 0 to 1, None where nothing
    speaks for or against it. ``refused`` and ``not_understood`` are those of ``Answer``.

    Where a language model was asked for, ``phrased`` is how it says it, None where nothing it said could be kept;
    ``cut`` counts its sentences that rest on nothing, ``asked`` are the questions it made of the one that was not
    understood, ``model`` is its name and ``model_error`` why it gave nothing.
    """

    question: str
    kind: Kind
    status: Literal["answered", "not_remembered"]
    sentence: str
    objects: tuple[Object, ...] = ()
    count: int | None = None
    yes: bool | None = None
    times: tuple[datetime, ...] = ()
    places: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    facts: tuple[Fact, ...] = ()
    pictures: tuple[str, ...] = ()
    confidence: float | None = None
    refused: str | None = None
    not_understood: tuple[str, ...] = ()
    phrased: str | None = None
    cut: int = 0
    asked: tuple[str, ...] = ()
    model: str | None = None
    model_error: str | None = None


class Answers:
    """Puts parts of one question to a memory and makes replies of what they give."""

    def __init__(self, memory: Memory, question: str) -> None:
        self.memory = memory
        self.question = question

    def parse(self, text: str) -> Thing:
        """What a text points at, with the places that were told."""
        return parse_question(text, self.memory.browse.facts.place_names())

    def find(self, text: str, *, gone: bool = False, k: int = NAMED * 20) -> Answer:
        """What a text means, the best k in the order of how well they fit; ``gone`` takes in what is gone."""
        plain = " ".join(text.split())
        if not self.parse(plain).noun and not self.parse(plain).limited:
            return Answer("not_found", "the question names no thing")
        past = self.asked_time(plain)
        if past is None:
            return self.memory.find(plain, k=k, include_removed=gone)
        for term in self.parse(plain).times:
            plain = " ".join(plain.replace(term.words, " ").split())
        try:
            return self.memory.find(plain, k=k, include_removed=gone, as_of=past)
        except InvalidValue as error:
            return Answer("not_found", str(error))

    def asked_time(self, text: str) -> datetime | None:
        """The earlier time that a question is about ("where was the mug yesterday"); None where it asks of now."""
        clock = self.memory.browse.clock
        now, times = clock.wall(clock.now), self.parse(text).times
        if now is None or not times or _PAST.search(self.question.lower()) is None:
            return None
        start, end = times[0].bounds(now)
        if times[0].words.endswith("ago"):
            return start
        return end if end is not None and end <= now else None

    def equal(self, answer: Answer) -> list[Object]:
        """The objects that fit as well as the best: a cup is not counted among mugs."""
        best = answer.fitting
        return [one for one in best if (one.score or 0.0) >= (best[0].score or 0.0) - MARGIN]

    def is_unknown(self, answer: Answer, text: str = "") -> bool:
        """Whether a refusal says that the memory does not know, rather than that it knows better.

        It does not know a thing or an anchor that it never saw, nor how many stand in a room that it never saw.
        """
        known = {room_name(room.name) for room in self.memory.rooms()} | set(self.memory.browse.facts.place_names())
        never_seen = any(not place.storey and place.name not in known for place in self.parse(text).places)
        return answer.refused in _UNKNOWN or answer.refused is None or (answer.refused == "place" and never_seen)

    def dated(self, thing: Thing) -> Thing:
        """The thing without days that cannot be told where no session has a date; they are named instead."""
        clock = self.memory.browse.clock
        if clock.wall(clock.now) is not None:
            return thing
        lost = [f"{term.words} (no session has a date)" for term in thing.times if term.seconds is None]
        kept = tuple(term for term in thing.times if term.seconds is not None)
        return replace(thing, times=kept, not_understood=(*thing.not_understood, *lost))

    def changes(self, thing: Thing) -> list[Change]:
        """What happened within the times and places that a thing is limited by, oldest first."""
        clock = self.memory.browse.clock
        found = self.memory.what_changed(newest=MOST_EVENTS)
        now = clock.wall(clock.now)
        for term in thing.times:
            if now is not None:
                start, end = term.bounds(now)
                found = [
                    one
                    for one in found
                    if one.wall is not None and one.wall >= start and (end is None or one.wall < end)
                ]
            elif term.seconds is not None:
                since = clock.now - term.seconds
                found = [one for one in found if clock.time((one.session, one.stamp), name="stamp") >= since]
        if thing.places and found:
            points = [one.position or (0.0, 0.0, 0.0) for one in found]
            rooms = self.memory.room_at(points, [one.object_id for one in found])
            found = [
                one
                for one, point, room in zip(found, points, rooms, strict=True)
                if self.is_in(thing, None if room is None else room.name, point)
            ]
        return found

    def is_in(self, thing: Thing, place: str | None, position: Point) -> bool:
        """Whether a position in a room of this name is in every place that is asked for."""
        storeys = self.memory.space.storeys
        names = {*self.memory.browse.facts.regions_at([position])[0], *([room_name(place)] if place else [])}
        number = int(storeys.numbers([position[2]])[0])
        return all(
            (number in storeys.named(term.name) if term.storey else term.name in names) != term.negated
            for term in thing.places
        )

    def about(self, kind: Kind, found: Sequence[Object], sentence: str, answer: Answer | None = None) -> Reply:
        """A reply about objects, with their times, places and what was told of them."""
        places = tuple(dict.fromkeys(one.place for one in found if one.place is not None))
        return Reply(
            question=self.question,
            kind=kind,
            status="answered",
            sentence=sentence,
            objects=tuple(found),
            times=tuple(one.last_seen for one in found if one.last_seen is not None),
            places=places,
            facts=self.facts_of(found[:NAMED]),
            confidence=min((confidence(one) for one in found), default=None),
            not_understood=() if answer is None else answer.not_understood,
        )

    def facts_of(self, found: Sequence[Object]) -> tuple[Fact, ...]:
        """What was told of objects and not seen since."""
        facts = self.memory.browse.facts
        told = [one for one in found if one.record is not None and len(facts)]
        ids = {one.id for one in told if one.provenance != "seen" or facts.container_of(one.record) is not None}  # type: ignore[arg-type]
        return tuple(fact for fact in self.memory.facts() if fact.object_id in ids) if ids else ()

    def refused(self, kind: Kind, answer: Answer, *, lead: str = "") -> Reply:
        """A reply that gives the reason of a refusal, and what came closest."""
        stop = "" if answer.reason.endswith("?") else "."
        reply = self.not_remembered(kind, capital(lead + answer.reason) + stop)
        return replace(
            reply, objects=answer.closest[:NAMED], refused=answer.refused, not_understood=answer.not_understood
        )

    def nothing(self, kind: Kind, sentence: str, thing: Thing) -> Reply:
        """A reply that nothing is known within the limits of a thing."""
        where = "".join(f" {place.words}" for place in thing.places)
        when = "".join(f" {term.words}" for term in thing.times)
        reply = self.plain(kind, f"{sentence}{where}{when}{noted_words(thing.not_understood)}.")
        return replace(reply, not_understood=thing.not_understood)

    def plain(self, kind: Kind, sentence: str) -> Reply:
        """A reply that rests on no object."""
        return Reply(question=self.question, kind=kind, status="answered", sentence=capital(sentence))

    def not_remembered(self, kind: Kind, sentence: str) -> Reply:
        """A reply that says what is lacking."""
        return Reply(question=self.question, kind=kind, status="not_remembered", sentence=sentence)

    def with_pictures(self, reply: Reply) -> Reply:
        """The reply with the ids of its first objects that have a picture."""
        kept = [one.id for one in reply.objects[:NAMED] if self.memory.store.journal.crops(one.id)]
        return replace(reply, pictures=tuple(kept))

    def place_of(self, one: Object) -> str:
        """Where an object is, in words: its room, what it is in or on, else its position."""
        container, support = self.memory.browse.stands(one.id)
        parts = [
            *([f"in the {one.place}"] if one.place not in (None, "unknown") else []),
            *([f"in the {container}"] if container is not None else []),
            *([f"on the {support}"] if support is not None and container is None else []),
        ]
        return " ".join(parts) or f"at ({one.position[0]:.1f}, {one.position[1]:.1f})"


def name(one: Object) -> str:
    """A name with colour and id."""
    color = f"{one.color} " if one.color is not None and one.label is not None else ""
    return f"{color}{one.name or 'something'} ({one.id})"


def is_structure(one: Object) -> bool:
    """Whether it is a wall, a floor or a table top that nothing has named: it is not counted among things."""
    return one.kind == SURFACE and one.label is None


def seen(one: Object) -> str:
    """When an object was last seen, or told."""
    time = f"at memory time {one.last_seen_memory_time:.0f} s" if one.last_seen is None else date(one.last_seen)
    if one.provenance == "told":
        return f"told {time} and not yet seen"
    return f"last seen {time}" + (", restored since" if one.provenance == "restored" else "")


def date(wall: datetime) -> str:
    """A time to the second."""
    return wall.strftime("%Y-%m-%d %H:%M:%S UTC")


def confidence(one: Object) -> float:
    """How sure an object is: its score, halved where it is tentative, stale, gone or only told."""
    return (one.score if one.score is not None else 1.0) * (
        1.0 if one.state == "confirmed" and one.provenance == "seen" else 0.5
    )


def capital(text: str) -> str:
    """A text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def noted(answer: Answer) -> str:
    """The parts of a question that an answer did not compare."""
    return noted_words(answer.not_understood)


def noted_words(words: Sequence[str]) -> str:
    """Parts of a question that were not compared."""
    return f" (not compared: {', '.join(words)})" if words else ""
