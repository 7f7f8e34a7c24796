"""``Memory.ask``: questions as people put them, answered from what is remembered, each with its evidence.

A question is sorted by its first words (where, when, how many, what is in ...), the rest is read by the query parser
and put to ``find``, the histories or the changes. The answer is a value; its sentence says nothing that the value
does not hold. No model is needed, and what is not remembered is said to be so (docs/search.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lastseen.encoders.words import is_filler, singular, tokens
from lastseen.memory.facts import Fact
from lastseen.memory.history import Change
from lastseen.memory.object import Answer, Object
from lastseen.memory.phrases import capital, confidence, date, name, noted, noted_words, seen
from lastseen.memory.query.parser import Thing, parse_question, room_name
from lastseen.memory.query.question_kinds import Kind, asked_state, sort_question
from lastseen.memory.query.ranker import MARGIN
from lastseen.memory.reply import Reply

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

_MOST = 1000
"""Objects that an answer counts; more of one name than a building holds."""
_MOST_EVENTS = 2000
"""Events that a question about changes reads, from the newest back: weeks of a home."""
_NAMED = 5
"""Objects or changes that a sentence names; twenty times as many objects come beside it."""
_STILL = re.compile(r"\b(still|there|now|any ?more|yet|last seen|seen|been|it|so far|located|kept)\b")
"""Words that a question may say of a thing without asking for more."""


def ask(memory: Memory, question: str) -> Reply:
    """Answer a question from one memory; nothing stored changes."""
    kind, rest = sort_question(question)
    asker = _Asker(memory, question.strip())
    answers: dict[Kind, Callable[[str], Reply]] = {
        "where": asker.where,
        "when": asker.when,
        "since when": asker.since_when,
        "how often": asker.how_often,
        "how many": asker.how_many,
        "what is there": asker.what_is_there,
        "is it there": asker.is_it_there,
        "what changed": asker.what_changed,
        "what is missing": asker.what_is_missing,
        "been there": asker.been_there,
        "home": asker.home,
        "told": asker.told,
    }
    if kind not in answers or not (rest or kind in ("what changed", "what is missing", "told")):
        lacking = "ask where, when, how many, how often, what is in or on something, what changed, or what is missing"
        return asker.not_remembered("not understood", f"The question is not understood; {lacking}.")
    state = asked_state(question)
    if kind == "is it there" and state is not None:
        told = f"States such as {state} are not remembered."
        return replace(asker.not_remembered(kind, told), not_understood=(state,))
    return asker.with_pictures(answers[kind](rest))


class _Asker:
    """Puts the rest of one question to a memory."""

    def __init__(self, memory: Memory, question: str) -> None:
        self.memory = memory
        self.question = question

    def where(self, rest: str) -> Reply:
        before = re.search(r"\bbefore (?:it|they) (?:was |were |got )?moved\b", rest)
        text = rest[: before.start()] if before else rest
        answer = self._find(_STILL.sub(" ", text))
        if not answer.fitting:
            return self._lives(text) or self._refused("where", answer)
        best = self._equal(answer)
        if before:
            return self._earlier(best[0])
        told = "; ".join(f"{name(one)} is {self._place_of(one)}, {seen(one)}" for one in best[:_NAMED])
        more = f" ({len(best) - _NAMED} more)" if len(best) > _NAMED else ""
        homes = self._homes(text)
        lives = f"; told that {homes[-1].text.rstrip('.')} ({homes[-1].id})" if homes else ""
        reply = self._about("where", best, f"{capital(told)}{more}{lives}{noted(answer)}.", answer)
        return replace(reply, facts=(*reply.facts, *homes[-1:]))

    def when(self, rest: str) -> Reply:
        answer = self._find(_STILL.sub(" ", rest), gone=True)
        if not answer.fitting:
            return self._refused("when", answer)
        best = min(self._equal(answer), key=lambda one: (one.age, one.id))
        told = f"{name(best)} was {seen(best)}, {self._place_of(best)}"
        return self._about("when", [best], f"{capital(told)}{noted(answer)}.", answer)

    def since_when(self, rest: str) -> Reply:
        answer = self._find(_STILL.sub(" ", rest))
        if not answer.fitting:
            return self._refused("since when", answer)
        best = self._equal(answer)[0]
        came = [entry for entry in self.memory.history(best.id) if entry.kind in ("appeared", "moved", "reappeared")]
        wall = came[-1].wall if came else best.first_seen
        when = (
            date(wall)
            if wall is not None
            else f"memory time {came[-1].stamp:.0f} s"
            if came
            else "its first sighting"
        )
        told = f"{name(best)} is {self._place_of(best)} since {when}"
        reply = self._about("since when", [best], f"{capital(told)}{noted(answer)}.", answer)
        return replace(reply, times=() if wall is None else (wall,))

    def how_often(self, rest: str) -> Reply:
        answer = self._find(_STILL.sub(" ", rest), gone=True)
        if not answer.fitting:
            return self._refused("how often", answer)
        best = self._equal(answer)
        count = sum(one.hits or 0 for one in best)
        told = " and ".join(f"{name(one)} {one.hits or 0} times" for one in best[:_NAMED])
        return replace(self._about("how often", best, f"Seen: {told}{noted(answer)}.", answer), count=count)

    def how_many(self, rest: str) -> Reply:
        text = re.sub(r"\b(?:are|is|do|you|we|have|see|there|remember|know)\b", " ", rest)
        answer = self._find(f"all {text}")
        if not answer.fitting:
            return replace(self._refused("how many", answer), status="answered", count=0, confidence=None)
        best = self._equal(answer)
        names = ", ".join(one.id for one in best[:_NAMED]) + (" ..." if len(best) > _NAMED else "")
        noun = self._parse(text).noun or "thing"
        noun = " ".join([*tokens(noun)[:-1], singular(tokens(noun)[-1])]) if len(best) == 1 else noun
        told = f"{len(best)} {noun} {'is' if len(best) == 1 else 'are'} remembered: {names}"
        return replace(self._about("how many", best, f"{told}{noted(answer)}.", answer), count=len(best))

    def what_is_there(self, rest: str) -> Reply:
        answer = self._find(f"all things {rest}")
        if not answer.fitting and answer.refused in ("place", "relation"):
            nothing = replace(self._plain("what is there", f"Nothing is remembered {rest}."), count=0)
            return replace(nothing, refused=answer.refused, not_understood=answer.not_understood)
        if not answer.fitting:
            return self._refused("what is there", answer)
        found = list(answer.fitting)
        labels: dict[str, int] = {}
        for one in found:
            labels[one.label or "something"] = labels.get(one.label or "something", 0) + 1
        named = ", ".join(f"{count} x {label}" if count > 1 else label for label, count in sorted(labels.items()))
        thing = "thing" if len(found) == 1 else "things"
        told = f"{len(found)} {thing} {rest}: {named}"
        return replace(self._about("what is there", found, f"{told}{noted(answer)}.", answer), count=len(found))

    def is_it_there(self, rest: str) -> Reply:
        answer = self._find(_STILL.sub(" ", rest))
        if not answer.fitting:
            return replace(self._refused("is it there", answer, lead="No: "), status="answered", yes=False)
        best = self._equal(answer)
        told = f"Yes: {name(best[0])} is {self._place_of(best[0])}, {seen(best[0])}"
        doubt = " (not seen for long)" if best[0].stale else ""
        return replace(self._about("is it there", best, f"{told}{doubt}{noted(answer)}.", answer), yes=True)

    def what_changed(self, rest: str) -> Reply:
        thing = self._dated(self._parse(f"things {rest}"))
        wanted = None
        if re.search(r"\bmoved\b", self.question.lower()):
            wanted = ("moved",)
        elif re.search(r"\b(?:new|appeared)\b", self.question.lower()):
            wanted = ("appeared",)
        kinds = wanted or ("appeared", "moved", "missing", "removed", "reappeared")
        found = [one for one in self._changes(thing) if one.kind in kinds]
        if not found:
            return replace(self._nothing("what changed", "Nothing is known to have changed", thing), count=0)
        named = "; ".join(f"{one.label or one.object_id} ({one.object_id}) {one.kind}" for one in found[-_NAMED:])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        count = f"{len(found)} change" + ("" if len(found) == 1 else "s")
        ids = tuple(dict.fromkeys(one.object_id for one in found[-_NAMED * 20 :]))
        return Reply(
            question=self.question,
            kind="what changed",
            status="answered",
            sentence=f"{count}: {named}{more}{noted_words(thing.not_understood)}.",
            objects=tuple(self.memory.described(self.memory.browse.states(list(ids)))),
            count=len(found),
            times=tuple(one.wall for one in found if one.wall is not None),
            changes=tuple(found),
            confidence=1.0,
            not_understood=thing.not_understood,
        )

    def what_is_missing(self, rest: str) -> Reply:
        thing = self._dated(self._parse(f"things {rest}"))
        gone = [one for one in self.memory.objects(include_removed=True) if one.state in ("missing", "removed")]
        gone = [one for one in gone if _in_places(thing, one.place)]
        if thing.times:
            late = {one.object_id for one in self._changes(thing) if one.kind in ("missing", "removed")}
            gone = [one for one in gone if one.id in late]
        if not gone:
            return replace(self._nothing("what is missing", "Nothing is known to be missing", thing), count=0)
        named = "; ".join(f"{name(one)}, {seen(one)} {self._place_of(one)}" for one in gone[:_NAMED])
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        sentence = f"{capital(named)}{more}{noted_words(thing.not_understood)}."
        return replace(self._about("what is missing", gone, sentence), count=len(gone))

    def been_there(self, rest: str) -> Reply:
        thing = self._parse(f"things in {re.sub(r'^(?:to|in|at|inside) ', '', rest)}")
        rooms = [room for room in self.memory.rooms() if room.name != "unknown"]
        if rest.startswith("here"):
            here = self.memory.pose()
            known = here is not None and self.memory.room_at([here.translation])[0] is not None
            sentence = "Yes: this place is remembered." if known else "No: nothing around here is remembered."
            return replace(self._plain("been there", sentence), yes=known)
        if not thing.places:
            return self.not_remembered("been there", f"{rest!r} is no place that is known.")
        name = thing.places[0].name
        seen = [room for room in rooms if room_name(room.name) == name]
        if not seen:
            known_rooms = ", ".join(sorted({room.name for room in rooms})) or "none yet"
            return replace(
                self._plain("been there", f"No: no {name} is remembered; rooms: {known_rooms}."), yes=False
            )
        counted = f"{len(seen)} {name}{'' if len(seen) == 1 else 's'} remembered"
        reply = self._plain("been there", f"Yes: {counted}.")
        return replace(reply, yes=True, places=(name,), confidence=max(room.confidence for room in seen))

    def home(self, rest: str) -> Reply:
        plain = re.sub(r" (?:live|belong|go)$", "", rest)
        lives = self._lives(plain, kind="home")
        return lives or self.not_remembered("home", f"Nothing was told of where {plain!r} belongs.")

    def told(self, rest: str) -> Reply:
        words = {singular(word) for word in tokens(rest) if not is_filler(word)}
        found = [
            fact
            for fact in self.memory.facts()
            if words <= {singular(word) for word in tokens(f"{fact.text} {fact.name or ''}")}
        ]
        if not found:
            about = f" about {rest}" if rest else ""
            return replace(self._plain("told", f"Nothing was told{about}."), count=0)
        named = "; ".join(f"{fact.text.rstrip('.')} ({fact.id})" for fact in found[-_NAMED:])
        more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        reply = replace(self._plain("told", f"Told: {named}{more}."), count=len(found), facts=tuple(found))
        return replace(reply, times=tuple(fact.wall for fact in found if fact.wall is not None), confidence=1.0)

    def _homes(self, text: str) -> list[Fact]:
        """The facts that say where a thing lives, oldest first."""
        noun = [singular(word) for word in tokens(self._parse(text).noun) if not is_filler(word)]
        homes = [fact for fact in self.memory.facts() if fact.kind == "home"] if noun else []
        return [fact for fact in homes if noun[-1] in [singular(word) for word in tokens(fact.name or "")]]

    def _lives(self, text: str, *, kind: Kind = "where") -> Reply | None:
        """Where a thing was told to live, with what stands there; None where nothing was told."""
        homes = self._homes(text)
        if not homes:
            return None
        fact = homes[-1]
        there = self._parse(f"thing {fact.relation}")
        nouns = [anchor.noun for relation in there.relations for anchor in relation.anchors]
        at = [one for noun in nouns for one in self._find(noun).fitting[:1]]
        placed = "; ".join(f"{name(one)} is {self._place_of(one)}" for one in at)
        unseen = "not seen, but told" if kind == "where" else "told"
        sentence = f"{unseen} that {fact.text.rstrip('.')} ({fact.id}){': ' + placed if placed else ''}"
        reply = self._about(kind, at, f"{capital(sentence)}.")
        times = () if fact.wall is None else (fact.wall,)
        return replace(reply, facts=(fact,), times=times, confidence=0.5)

    def not_remembered(self, kind: Kind, sentence: str) -> Reply:
        """A reply that says what is lacking."""
        return Reply(question=self.question, kind=kind, status="not_remembered", sentence=sentence)

    def with_pictures(self, reply: Reply) -> Reply:
        """The reply with the ids of its first objects that have a picture."""
        kept = [one.id for one in reply.objects[:_NAMED] if self.memory.store.journal.crops(one.id)]
        return replace(reply, pictures=tuple(kept))

    def _parse(self, text: str) -> Thing:
        return parse_question(text, self.memory.browse.facts.place_names())

    def _find(self, text: str, *, gone: bool = False) -> Answer:
        plain = " ".join(text.split())
        if not self._parse(plain).noun and not self._parse(plain).limited:
            return Answer("not_found", "the question names no thing")
        return self.memory.find(plain, k=_MOST, include_removed=gone)

    def _equal(self, answer: Answer) -> list[Object]:
        """The objects that fit as well as the best: a cup is not counted among mugs."""
        best = answer.fitting
        return [one for one in best if (one.score or 0.0) >= (best[0].score or 0.0) - MARGIN]

    def _dated(self, thing: Thing) -> Thing:
        """The thing without days that cannot be told where no session has a date; they are named instead."""
        clock = self.memory.browse.clock
        if clock.wall(clock.now) is not None:
            return thing
        lost = [f"{term.words} (no session has a date)" for term in thing.times if term.seconds is None]
        kept = tuple(term for term in thing.times if term.seconds is not None)
        return replace(thing, times=kept, not_understood=(*thing.not_understood, *lost))

    def _changes(self, thing: Thing) -> list[Change]:
        clock = self.memory.browse.clock
        found = self.memory.what_changed(newest=_MOST_EVENTS)
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
                for one, room in zip(found, rooms, strict=True)
                if _in_places(thing, None if room is None else room.name)
            ]
        return found

    def _earlier(self, one: Object) -> Reply:
        """Where an object was before its last move."""
        moves = [entry for entry in self.memory.history(one.id) if entry.kind == "moved"]
        before = moves[-1].evidence.get("before") if moves else None
        if not isinstance(before, list | tuple) or len(before) < 3:
            return replace(self._plain("where", f"{name(one)} is not known to have moved."), objects=(one,))
        room = self.memory.room_at([before])[0]
        place = f"in the {room.name}, " if room is not None and room.name != "unknown" else ""
        told = f"{name(one)} was {place}at ({before[0]:.1f}, {before[1]:.1f}) before it moved"
        wall = moves[-1].wall
        reply = replace(self._plain("where", f"{capital(told)}."), objects=(one,), confidence=one.score)
        return replace(reply, times=() if wall is None else (wall,))

    def _about(self, kind: Kind, found: Sequence[Object], sentence: str, answer: Answer | None = None) -> Reply:
        places = tuple(dict.fromkeys(one.place for one in found if one.place is not None))
        return Reply(
            question=self.question,
            kind=kind,
            status="answered",
            sentence=sentence,
            objects=tuple(found),
            times=tuple(one.last_seen for one in found if one.last_seen is not None),
            places=places,
            facts=self._facts_of(found[:_NAMED]),
            confidence=min((confidence(one) for one in found), default=None),
            not_understood=() if answer is None else answer.not_understood,
        )

    def _facts_of(self, found: Sequence[Object]) -> tuple[Fact, ...]:
        """What was told of objects and not seen since."""
        facts = self.memory.browse.facts
        told = [one for one in found if one.record is not None and len(facts)]
        ids = {one.id for one in told if one.provenance != "seen" or facts.container_of(one.record) is not None}  # type: ignore[arg-type]
        return tuple(fact for fact in self.memory.facts() if fact.object_id in ids) if ids else ()

    def _refused(self, kind: Kind, answer: Answer, *, lead: str = "") -> Reply:
        reply = self.not_remembered(kind, f"{capital(lead + answer.reason)}.")
        return replace(
            reply, objects=answer.closest[:_NAMED], refused=answer.refused, not_understood=answer.not_understood
        )

    def _nothing(self, kind: Kind, sentence: str, thing: Thing) -> Reply:
        where = "".join(f" in the {place.name}" for place in thing.places)
        when = "".join(f" {term.words}" for term in thing.times)
        reply = self._plain(kind, f"{sentence}{where}{when}{noted_words(thing.not_understood)}.")
        return replace(reply, not_understood=thing.not_understood)

    def _plain(self, kind: Kind, sentence: str) -> Reply:
        return Reply(question=self.question, kind=kind, status="answered", sentence=capital(sentence))

    def _place_of(self, one: Object) -> str:
        container = self.memory.browse.container(one.id)
        support = None if container is not None else self.memory.browse.support(one.id)
        parts = [
            *([f"in the {one.place}"] if one.place not in (None, "unknown") else []),
            *([f"in the {container}"] if container is not None else []),
            *([f"on the {support}"] if support is not None else []),
        ]
        return " ".join(parts) or f"at ({one.position[0]:.1f}, {one.position[1]:.1f})"


def _in_places(thing: Thing, place: str | None) -> bool:
    name = None if place is None else room_name(place)
    return all((name == term.name) != term.negated for term in thing.places)
