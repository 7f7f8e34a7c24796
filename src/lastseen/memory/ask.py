"""``Memory.ask``: questions as people put them, answered from what is remembered, each with its evidence.

A question is sorted by its first words (where, when, how many, what is in ...), the rest is read by the query parser
and put to ``find``, the histories or the changes. The answer is a value; its sentence says nothing that the value
does not hold. No model is needed, and what is not remembered is said to be so (docs/search.md).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from lastseen.encoders.words import is_filler, singular, tokens
from lastseen.memory.facts import Fact
from lastseen.memory.object import Object
from lastseen.memory.query.question_kinds import Kind, asked_state, sort_question
from lastseen.memory.query.vocabulary import ROOMS, STOREYS, room_name
from lastseen.memory.reply import (
    MOST,
    NAMED,
    Answers,
    Reply,
    capital,
    date,
    is_structure,
    name,
    noted,
    noted_words,
    seen,
)

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

_STILL = re.compile(r"\b(still|there|now|any ?more|yet|last seen|seen(?! from)|been|it|so far|located|kept)\b")
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
        "rooms": asker.rooms,
        "home": asker.home,
        "told": asker.told,
    }
    if kind not in answers or not (rest or kind in ("what changed", "what is missing", "told", "rooms")):
        lacking = (
            "ask where, when, how many, how often, what is in or on something, what changed, what is missing, "
            "or which rooms there are"
        )
        return asker.not_remembered("not understood", f"The question is not understood; {lacking}.")
    state = asked_state(question)
    if kind == "is it there" and state is not None:
        sentence = f"States such as {state} are not remembered."
        return replace(asker.not_remembered(kind, sentence), not_understood=(state,))
    return asker.with_pictures(answers[kind](rest))


class _Asker(Answers):
    """Puts the rest of one question to a memory."""

    def where(self, rest: str) -> Reply:
        before = re.search(r"\bbefore (?:it|they) (?:was |were |got )?moved\b", rest)
        text = rest[: before.start()] if before else rest
        answer = self.find(_STILL.sub(" ", text))
        if not answer.fitting:
            return self._lives(text) or self._room("where", text) or self.refused("where", answer)
        best = self.equal(answer)
        if before:
            return self._earlier(best[0])
        past = self.asked_time(text)
        if past is not None:
            sentence = "; ".join(f"{name(one)} was {self._spot(one)}" for one in best[:NAMED])
            return self.about("where", best, f"{capital(sentence)}, as known on {date(past)}{noted(answer)}.", answer)
        sentence = "; ".join(f"{name(one)} is {self.place_of(one)}, {seen(one)}" for one in best[:NAMED])
        more = f" ({max(answer.total, len(best)) - NAMED} more)" if len(best) > NAMED else ""
        homes = self._homes(text)
        lives = f"; told that {homes[-1].text.rstrip('.')} ({homes[-1].id})" if homes else ""
        reply = self.about("where", best, f"{capital(sentence)}{more}{lives}{noted(answer)}.", answer)
        return replace(reply, facts=(*reply.facts, *homes[-1:]))

    def when(self, rest: str) -> Reply:
        answer = self.find(_STILL.sub(" ", rest), gone=True, k=MOST)
        if not answer.fitting:
            return self.refused("when", answer)
        best = min(self.equal(answer), key=lambda one: (one.age, one.id))
        sentence = f"{name(best)} was {seen(best)}, {self.place_of(best)}"
        return self.about("when", [best], f"{capital(sentence)}{noted(answer)}.", answer)

    def since_when(self, rest: str) -> Reply:
        answer = self.find(_STILL.sub(" ", rest))
        if not answer.fitting:
            return self.refused("since when", answer)
        best = self.equal(answer)[0]
        came = [entry for entry in self.memory.history(best.id) if entry.kind in ("appeared", "moved", "reappeared")]
        wall = came[-1].wall if came else best.first_seen
        when = (
            date(wall)
            if wall is not None
            else f"memory time {came[-1].stamp:.0f} s"
            if came
            else "its first sighting"
        )
        sentence = f"{name(best)} is {self.place_of(best)} since {when}"
        reply = self.about("since when", [best], f"{capital(sentence)}{noted(answer)}.", answer)
        return replace(reply, times=() if wall is None else (wall,))

    def how_often(self, rest: str) -> Reply:
        answer = self.find(_STILL.sub(" ", rest), gone=True, k=MOST)
        if not answer.fitting:
            return self.refused("how often", answer)
        best = self.equal(answer)
        count = sum(one.hits or 0 for one in best)
        sentence = " and ".join(f"{name(one)} {one.hits or 0} times" for one in best[:NAMED])
        return replace(self.about("how often", best, f"Seen: {sentence}{noted(answer)}.", answer), count=count)

    def how_many(self, rest: str) -> Reply:
        text = re.sub(r"\b(?:are|is|do|you|we|have|see|there|remember|know)\b", " ", rest)
        answer = self.find(f"all {text}")
        # nobody said "all"
        answer = replace(answer, reason=answer.reason.replace("'all ", "'", 1))
        if not answer.fitting:
            if text.strip() == "rooms":
                return self.rooms("", kind="how many")
            if (room := self._room("how many", text)) is not None:
                return replace(room, sentence=f"{room.count}: {_lower(room.sentence)}") if room.count else room
            refused = replace(self.refused("how many", answer), count=0)
            return refused if self.is_unknown(answer, text) else replace(refused, status="answered")
        best = [one for one in self.equal(answer) if not is_structure(one)]
        if not best:
            return replace(self.plain("how many", "Nothing is remembered."), count=0)
        count = max(answer.total - sum(map(is_structure, answer.fitting)), len(best))
        names = ", ".join(one.id for one in best[:NAMED]) + (" ..." if count > NAMED else "")
        noun = self.parse(text).noun or "things"
        noun = " ".join([*tokens(noun)[:-1], singular(tokens(noun)[-1])]) if count == 1 else noun
        sentence = f"{count} {noun} {'is' if count == 1 else 'are'} remembered: {names}"
        return replace(self.about("how many", best, f"{sentence}{noted(answer)}.", answer), count=count)

    def what_is_there(self, rest: str) -> Reply:
        answer = self.find(f"all things {rest}", k=MOST)
        if not answer.fitting and answer.refused in ("place", "relation"):
            nothing = replace(self.plain("what is there", f"Nothing is remembered {rest}."), count=0)
            return replace(nothing, refused=answer.refused, not_understood=answer.not_understood)
        if not answer.fitting:
            return self.refused("what is there", answer)
        found = [one for one in answer.fitting if not is_structure(one)]
        if not found:
            return replace(self.plain("what is there", f"Nothing is remembered {rest}."), count=0)
        labels = Counter(one.label for one in found if one.label is not None)
        named = ", ".join(f"{count} x {label}" if count > 1 else label for label, count in sorted(labels.items()))
        nameless = len(found) - labels.total()
        if nameless:
            named += f"{' and ' if named else ''}{nameless} without a name"
        thing = "thing" if len(found) == 1 else "things"
        sentence = f"{len(found)} {thing} {rest}: {named}"
        return replace(self.about("what is there", found, f"{sentence}{noted(answer)}.", answer), count=len(found))

    def is_it_there(self, rest: str) -> Reply:
        answer = self.find(_STILL.sub(" ", rest))
        if not answer.fitting:
            if (room := self._room("is it there", rest)) is not None:
                yes = room.status == "answered"
                return replace(room, sentence=f"{'Yes' if yes else 'No'}: {_lower(room.sentence)}", yes=yes)
            refused = self.refused("is it there", answer, lead="No: ")
            if not self.is_unknown(answer):
                return replace(refused, status="answered", yes=False)
            # "is there a piano" asks the memory, and it has none; "is the piano in the hall" supposes one
            supposed = re.match(r"\W*(?:is|are|was|were) (?!there\b)", self.question, re.IGNORECASE) is not None
            return self.refused("is it there", answer) if supposed else replace(refused, yes=False)
        best = self.equal(answer)
        sentence = f"{name(best[0])} is {self.place_of(best[0])}, {seen(best[0])}"
        if answer.not_understood:
            # a part that was not compared may be the one that is false
            reply = self.about("is it there", best, f"Not known: {sentence}{noted(answer)}.", answer)
            return replace(reply, status="not_remembered")
        sentence, doubt = f"Yes: {sentence}", " (not seen for long)" if best[0].stale else ""
        return replace(self.about("is it there", best, f"{sentence}{doubt}{noted(answer)}.", answer), yes=True)

    def what_changed(self, rest: str) -> Reply:
        thing = self.dated(self.parse(f"things {rest}"))
        wanted = None
        if re.search(r"\bmoved\b", self.question.lower()):
            wanted = ("moved",)
        elif re.search(r"\b(?:new|appeared)\b", self.question.lower()):
            wanted = ("appeared",)
        kinds = wanted or ("appeared", "moved", "missing", "removed", "reappeared")
        found = [one for one in self.changes(thing) if one.kind in kinds]
        if not found:
            return replace(self.nothing("what changed", "Nothing is known to have changed", thing), count=0)
        # a first sighting may only be a late one: what is known to have changed is named before it
        sure = [one for one in found if wanted or one.kind != "appeared" or one.evidence.get("place_was_free")]
        first = len(found) - len(sure) if sure else 0
        # of a thing that went missing and turned up elsewhere the end of the story is told
        said = list({one.object_id: one for one in sure or found}.values())
        named = "; ".join(f"{one.label or one.object_id} ({one.object_id}) {one.kind}" for one in said[-NAMED:])
        more = f" and {len(said) - NAMED} more" if len(said) > NAMED else ""
        more += f"; and {first} seen for the first time" if first else ""
        told = len(said) + first
        count = f"{told} change" + ("" if told == 1 else "s")
        ids = tuple(dict.fromkeys(one.object_id for one in (*said[-NAMED:], *found[-NAMED * 20 :])))
        return Reply(
            question=self.question,
            kind="what changed",
            status="answered",
            sentence=f"{count}: {named}{more}{noted_words(thing.not_understood)}.",
            objects=tuple(self.memory.browse.described(self.memory.browse.states(list(ids)))),
            count=told,
            times=tuple(one.wall for one in found if one.wall is not None),
            changes=tuple(found),
            confidence=1.0,
            not_understood=thing.not_understood,
        )

    def what_is_missing(self, rest: str) -> Reply:
        thing = self.dated(self.parse(f"things {rest}"))
        gone = self.memory.browse.described(self.memory.browse.gone())
        gone = [one for one in gone if self.is_in(thing, one.place, one.position)]
        if thing.times:
            late = {one.object_id for one in self.changes(thing) if one.kind in ("missing", "removed")}
            gone = [one for one in gone if one.id in late]
        if not gone:
            return replace(self.nothing("what is missing", "Nothing is known to be missing", thing), count=0)
        named = "; ".join(f"{name(one)}, {seen(one)} {self.place_of(one)}" for one in gone[:NAMED])
        more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
        sentence = f"{capital(named)}{more}{noted_words(thing.not_understood)}."
        return replace(self.about("what is missing", gone, sentence), count=len(gone))

    def been_there(self, rest: str) -> Reply:
        thing = self.parse(f"things in {re.sub(r'^(?:to|in|at|inside) ', '', rest)}")
        rooms = [room for room in self.memory.rooms() if room.name != "unknown"]
        if rest.startswith("here"):
            here = self.memory.pose()
            known = here is not None and self.memory.room_at([here.translation])[0] is not None
            sentence = "Yes: this place is remembered." if known else "No: nothing around here is remembered."
            return replace(self.plain("been there", sentence), yes=known)
        if not thing.places:
            return self.not_remembered("been there", f"{rest!r} is no place that is known.")
        if thing.places[0].storey:
            return self._been_on(thing.places[0].name)
        name = thing.places[0].name
        seen = [room for room in rooms if room_name(room.name) == name]
        if not seen:
            none = self._no_room("been there", name)
            return replace(none, sentence=f"No: {_lower(none.sentence)}", yes=False)
        counted = f"{len(seen)} {name}{'' if len(seen) == 1 else 's'} remembered"
        reply = self.plain("been there", f"Yes: {counted}.")
        return replace(reply, yes=True, places=(name,), confidence=max(room.confidence for room in seen))

    def rooms(self, rest: str, *, kind: Kind = "rooms") -> Reply:
        del rest
        rooms = self.memory.rooms()
        counted = Counter(room.name for room in rooms if room.name != "unknown")
        named = [f"{count} x {name}" if count > 1 else name for name, count in sorted(counted.items())]
        nameless = len(rooms) - counted.total()
        if nameless:
            named.append(f"{nameless} not yet named")
        remembered = "1 room is remembered" if len(rooms) == 1 else f"{len(rooms)} rooms are remembered"
        sentence = f"{remembered}: {', '.join(named)}." if rooms else f"{remembered}."
        return replace(self.plain(kind, sentence), count=len(rooms), places=tuple(sorted(counted)))

    def _room(self, kind: Kind, text: str) -> Reply | None:
        """Where the rooms of a name are, or that there is none; None where the words name no room."""
        words = [word for word in tokens(text) if not is_filler(word)]
        said = " ".join([*words[:-1], *map(singular, words[-1:])])
        wanted = room_name(said)
        rooms = {room.id: room for room in self.memory.rooms()}
        found = [room for room in rooms.values() if room.name != "unknown" and room_name(room.name) == wanted]
        if not found:
            # a toilet is a thing as well
            named = said in ROOMS or said.endswith(" room")
            return self._no_room(kind, said) if named and said == wanted else None
        sentences = []
        for room in found[:NAMED]:
            beside = sorted({rooms[other].name for other in room.next_to if other in rooms} - {"unknown", room.name})
            next_to = f", next to the {' and the '.join(beside)}" if beside else ""
            x, y = room.center
            sentences.append(f"the {room.name} is around ({x:.1f}, {y:.1f}), {room.area:.0f} m2{next_to}")
        more = f" ({len(found) - NAMED} more)" if len(found) > NAMED else ""
        sentence = f"{capital('; '.join(sentences))}{more}."
        reply = replace(self.plain(kind, sentence), count=len(found), places=(found[0].name,))
        return replace(reply, confidence=max(room.confidence for room in found))

    def _no_room(self, kind: Kind, name: str) -> Reply:
        known = sorted({room.name for room in self.memory.rooms()} - {"unknown"})
        sentence = f"No {name} is remembered; rooms: {', '.join(known) or 'none yet'}."
        return replace(self.not_remembered(kind, sentence), count=0)

    def _been_on(self, name: str) -> Reply:
        """Whether a storey was seen: with one alone, there is no upstairs."""
        storeys = self.memory.space.storeys
        on = [room for room in self.memory.rooms() if room.storey in storeys.named(name)]
        been = bool(on) and (len(storeys) > 1 or name not in ("upstairs", "downstairs"))
        if not been:
            return replace(self.plain("been there", "No: one storey is remembered."), yes=False)
        rooms = tuple(sorted({room.name for room in on}))
        reply = self.plain("been there", f"Yes: {STOREYS[name]} these rooms are remembered: {', '.join(rooms)}.")
        return replace(reply, yes=True, places=rooms, confidence=1.0)

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
            return replace(self.plain("told", f"Nothing was told{about}."), count=0)
        named = "; ".join(f"{fact.text.rstrip('.')} ({fact.id})" for fact in found[-NAMED:])
        more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
        reply = replace(self.plain("told", f"Told: {named}{more}."), count=len(found), facts=tuple(found))
        return replace(reply, times=tuple(fact.wall for fact in found if fact.wall is not None), confidence=1.0)

    def _homes(self, text: str) -> list[Fact]:
        """The facts that say where a thing lives, oldest first."""
        noun = [singular(word) for word in tokens(self.parse(text).noun) if not is_filler(word)]
        homes = [fact for fact in self.memory.facts() if fact.kind == "home"] if noun else []
        return [fact for fact in homes if noun[-1] in [singular(word) for word in tokens(fact.name or "")]]

    def _lives(self, text: str, *, kind: Kind = "where") -> Reply | None:
        """Where a thing was told to live, with what stands there; None where nothing was told."""
        homes = self._homes(text)
        if not homes:
            return None
        fact = homes[-1]
        there = self.parse(f"thing {fact.relation}")
        nouns = [anchor.noun for relation in there.relations for anchor in relation.anchors]
        at = [one for noun in nouns for one in self.find(noun).fitting[:1]]
        placed = "; ".join(f"{name(one)} is {self.place_of(one)}" for one in at)
        unseen = "not seen, but told" if kind == "where" else "told"
        sentence = f"{unseen} that {fact.text.rstrip('.')} ({fact.id}){': ' + placed if placed else ''}"
        reply = self.about(kind, at, f"{capital(sentence)}.")
        times = () if fact.wall is None else (fact.wall,)
        return replace(reply, facts=(fact,), times=times, confidence=0.5)

    def _spot(self, one: Object) -> str:
        """Where an object was, by what was known then."""
        room = f"in the {one.place} " if one.place not in (None, "unknown") else ""
        return f"{room}at ({one.position[0]:.1f}, {one.position[1]:.1f})"

    def _earlier(self, one: Object) -> Reply:
        """Where an object was before its last move."""
        moves = [entry for entry in self.memory.history(one.id) if entry.kind == "moved"]
        before = moves[-1].evidence.get("before") if moves else None
        if not isinstance(before, list | tuple) or len(before) < 3:
            return replace(self.plain("where", f"{name(one)} is not known to have moved."), objects=(one,))
        room = self.memory.room_at([before])[0]
        place = f"in the {room.name}, " if room is not None and room.name != "unknown" else ""
        sentence = f"{name(one)} was {place}at ({before[0]:.1f}, {before[1]:.1f}) before it moved"
        wall = moves[-1].wall
        reply = replace(self.plain("where", f"{capital(sentence)}."), objects=(one,), confidence=one.score)
        return replace(reply, times=() if wall is None else (wall,))


def _lower(sentence: str) -> str:
    """A sentence as it goes on after a colon."""
    return sentence[:1].lower() + sentence[1:]
