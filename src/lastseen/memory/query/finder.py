"""``Memory.find``, step by step: what is searched, what may answer, how well it fits, and what is believed."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.registry import open_stored, reads_both
from lastseen.encoders.words import Parsed, parse
from lastseen.errors import IndexMismatch, IndexUnreachable, InvalidValue, MissingExtra
from lastseen.memory.history import past_table
from lastseen.memory.object import Answer, id_order
from lastseen.memory.query.constraints import Constraints, Refusal
from lastseen.memory.query.filter import Filter, select
from lastseen.memory.query.parser import Thing, parse_question
from lastseen.memory.query.ranker import EMBEDDING_ACCEPT, MOST_RANKED, NameRanker, Ranking, best_rows, fuse
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.query.verdict import judge, why_no_embedding_fits, why_no_name_fits
from lastseen.memory.store.clock import Moment
from lastseen.protocols import Encoder

if TYPE_CHECKING:
    from lastseen.memory.browse import Browse
    from lastseen.memory.write_path import WritePath

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, by words or by an embedding, and how many objects to list; neither lists what a filter leaves.

    ``asked`` names it in reasons. ``text_embedding`` are the words in the space of the image embeddings, scaled so
    that its product with an embedding is just enough where a name's score is; None where no encoder reads both, and
    ``note`` says why where one could.
    """

    k: int
    thing: Thing | None = None
    text_embedding: NDArray[np.float32] | None = None
    embedding: NDArray[np.float32] | None = None
    asked: str = ""
    note: str | None = None


class Finder:
    """Answers queries from one memory, or from the index that robots share.

    ``browse`` tells what the searched table does not hold of objects: places, extents, what they stand on.
    """

    def __init__(self, writes: WritePath, browse: Browse, *, encoder: Encoder, image_encoder: Encoder | None) -> None:
        self._store, self._clock, self._shared = writes.store, writes.clock, writes.shared
        self._settings, self._browse = writes.settings, browse
        self.names = NameRanker(encoder)
        self.image_encoder = image_encoder

    def find(self, query: Query, limits: Filter, *, now: float, past: bool = False) -> Answer:
        """The answer of this memory at a memory time; a ``past`` one is read from the journal."""
        limited = query.thing is not None and query.thing.limited
        with self._browse.lock if limited else nullcontext(), self._store.guard:
            # what is searched: the objects of now, or as they were known then
            table = past_table(self._store, now) if past else self._store.table
            stale_after = self._settings.lifecycle.stale_after
            snapshot = Snapshot(self._store, table, self._clock, now, stale_after, past)
            # which may answer, how well each fits, and whether the best is believed
            answer = self.answer(query, limits, snapshot, self._browse)
        # what people want to know of each: its place and extent
        return replace(answer, hits=tuple(self._browse.with_places(answer.hits)))

    def find_shared(
        self,
        robots: str,
        query: Query,
        limits: Filter,
        *,
        now: float,
        since: Moment | None = None,
        before: Moment | None = None,
    ) -> Answer:
        """The answer of the shared index; while it is away, that of this memory, which says so."""
        try:
            meant = None
            if query.thing is not None and query.thing.phrase.words:
                meant = partial(self.names.nearest_labels, phrase=query.thing.phrase)
            snapshot = self._shared.snapshot(robots, query, limits, since=since, before=before, meant=meant)
            # it bounded what was fetched, on the clock that robots share
            return self.answer(query, replace(limits, fresh_after=None), snapshot)
        except IndexUnreachable as error:
            _log.warning("%s; this memory answers alone", error)
        limits = replace(
            limits,
            since=None if since is None else self._clock.time(since, name="since"),
            before=None if before is None else self._clock.time(before, name="before"),
        )
        answer = self.find(query, limits, now=now)
        return replace(answer, reason=f"{answer.reason} (the shared index is away: this memory alone)")

    def answer(self, query: Query, limits: Filter, snapshot: Snapshot, around: Browse | None = None) -> Answer:
        """Rank what the limits leave, and judge it; without ``around`` relations and places cannot be compared."""
        if query.embedding is not None:
            return self._by_embedding(query.embedding, query, limits, snapshot)
        if query.thing is not None:
            return self._by_words(query.thing, query, limits, snapshot, around)
        return _listed(query, limits, snapshot)

    def _by_words(
        self, thing: Thing, query: Query, limits: Filter, snapshot: Snapshot, around: Browse | None
    ) -> Answer:
        phrase = thing.phrase
        anything = thing.anything and thing.limited
        if not phrase.words and not phrase.colors and not anything:
            return Answer("not_found", f"{query.asked} names nothing to look for", refused="thing")
        # which may answer: place, time, label, state
        rows = select(snapshot.table, limits)
        # names and colours: exact, and nearly free whatever the size of memory
        scores = dict.fromkeys(rows.tolist(), 1.0)
        if not anything:
            found = self.names.scores(snapshot.table, rows, phrase)
            scores = best_rows(snapshot.table, rows, found)
            if thing.limited:
                # a relation may leave any of them, and all are counted
                fits = np.flatnonzero(found >= self.names.accept)
                scores |= dict(zip(rows[fits].tolist(), found[fits].tolist(), strict=True))
        by_appearance: frozenset[int] = frozenset()
        if query.text_embedding is not None and not anything:
            # text -> encoder -> index -> top-k, fused with names by one rule
            appearance = self._appearance(query.text_embedding, scores, limits, snapshot)
            by_appearance = frozenset(row for row in appearance if scores.get(row, 0.0) < self.names.accept)
            scores = fuse(
                scores, appearance, named=self._named(phrase, scores, appearance, snapshot), accept=self.names.accept
            )
        ranking = self._ranking(snapshot, scores, by_appearance=by_appearance)
        if "glasses" in phrase.words and not any(score >= self.names.accept for score in ranking.scores):
            # several to drink from, where there are none to read with
            noun = thing.noun.replace("glasses", "glass")
            drinking = replace(thing, noun=noun, phrase=parse(noun))
            return self._by_words(drinking, query, limits, snapshot, around)
        # relations, places, times, sizes and numbers, on remembered boxes
        left, notes = ranking, _parts(thing)
        if around is not None:
            constraints = Constraints(snapshot, self.names, around, limits)
            try:
                left = constraints.apply(thing, ranking)
            except Refusal as refusal:
                hits = tuple(snapshot.object(row, score) for row, score in ranking.pairs()[: query.k])
                notes = tuple(dict.fromkeys(constraints.notes))
                reason = refusal.reason + _not_compared(notes)
                return Answer("not_found", reason, hits, ranking.accept, refusal.part, notes)
            notes = tuple(dict.fromkeys(constraints.notes))

        def why_not() -> str:
            reason = why_no_name_fits(snapshot, ranking, limits, names=self.names, phrase=phrase, asked=query.asked)
            return reason if query.note is None else f"{reason} ({query.note})"

        # found, ambiguous or not found, and why
        answer = judge(
            snapshot, left, asked=query.asked, k=query.k, why_not=why_not, several=thing.number is not None
        )
        if answer.status == "not_found":
            answer = replace(answer, refused=self._lacking(phrase, limits, snapshot))
        return replace(answer, reason=answer.reason + _not_compared(notes), not_understood=notes)

    def _lacking(self, phrase: Parsed, limits: Filter, snapshot: Snapshot) -> str:
        """Whether nothing of that name is known, or something is, but not of that colour."""
        rows = select(snapshot.table, limits)
        if not phrase.colors or not phrase.words:
            return "thing"
        named = bool((self.names.meaning(snapshot.table, rows, phrase) >= self.names.accept).any())
        return "colour" if named else "thing"

    def _appearance(
        self, text_embedding: NDArray[np.float32], names: dict[int, float], limits: Filter, snapshot: Snapshot
    ) -> dict[int, float]:
        """How well the nearest by appearance, and all that were ranked by name, look like the words, 0 to 1."""
        table = snapshot.table
        matches = snapshot.nearest(text_embedding, limits, k=MOST_RANKED)
        seen = {match.key for match in matches}
        left = [table.ids[row] for row in names if table.ids[row] not in seen]
        if left:
            matches = [*matches, *snapshot.nearest(text_embedding, limits, k=len(left), among=left)]
        return {table.row_of[key]: min(max(score, 0.0), 1.0) for key, score in matches if key in table.row_of}

    def _named(
        self, phrase: Parsed, names: dict[int, float], appearance: dict[int, float], snapshot: Snapshot
    ) -> dict[int, bool]:
        """Whether the name of each row can be compared with the phrase."""
        return {
            row: self.names.comparable(phrase, snapshot.table.label(row), names.get(row, 0.0))
            for row in {**names, **appearance}
        }

    def _ranking(
        self, snapshot: Snapshot, scores: dict[int, float], *, by_appearance: frozenset[int] = frozenset()
    ) -> Ranking:
        order = sorted(
            (row for row in scores if scores[row] > 0.0),
            key=lambda row: (-scores[row], id_order(snapshot.table.ids[row])),
        )
        return Ranking(
            tuple(order),
            tuple(scores[row] for row in order),
            self.names.accept,
            by_appearance,
        )

    def _by_embedding(
        self, embedding: NDArray[np.float32], query: Query, limits: Filter, snapshot: Snapshot
    ) -> Answer:
        table = snapshot.table
        matches = snapshot.nearest(embedding, limits, k=query.k + 1)
        known = [match for match in matches if match.key in table.row_of and match.score > 0.0]
        rows = tuple(table.row_of[match.key] for match in known)
        ranking = Ranking(rows, tuple(match.score for match in known), EMBEDDING_ACCEPT)

        def why_not() -> str:
            return why_no_embedding_fits(snapshot, ranking, limits, asked=query.asked)

        return judge(snapshot, ranking, asked=query.asked, k=query.k, why_not=why_not)

    def query(
        self,
        text: str | None = None,
        *,
        image: NDArray[np.uint8] | None = None,
        embedding: NDArray[np.float32] | None = None,
        k: int | None = None,
    ) -> Query:
        """What is asked, by at most one of three ways; an image is encoded as this memory's embeddings were."""
        k = self._settings.find.k if k is None else k
        if k < 1:
            raise InvalidValue("k", k, "must be 1 or more", remedy="5 is usual")
        if sum(asked is not None for asked in (text, image, embedding)) > 1:
            raise InvalidValue("find", "several", "takes one of text, image, embedding", remedy="ask one at a time")
        if image is not None:
            return Query(k, embedding=self._encoder_of_images().encode_image([image])[0], asked="that image")
        if embedding is not None:
            return Query(k, embedding=_unit(np.asarray(embedding, dtype=np.float32)), asked="that embedding")
        if text is None:
            return Query(k)
        thing = self.parse(text)
        encoder, note = self.text_to_image_encoder()
        text_embedding = None
        if encoder is not None and thing.noun:
            rules = self._settings.find
            needed = rules.siglip_accept if encoder.name.startswith("siglip2") else rules.clip_accept
            text_embedding = encoder.encode_text([thing.noun])[0] * np.float32(self.names.accept / needed)
        return Query(k, thing=thing, text_embedding=text_embedding, asked=repr(text.strip()), note=note)

    def parse(self, text: str) -> Thing:
        """What a text points at; a text that is the label of a remembered object names it, whatever its words."""
        plain = " ".join(text.lower().split())
        thing = Thing(text.strip(), parse(text))
        if plain in self._store.table.label_names:
            return thing
        parsed = parse_question(text, self._browse.facts.place_names())
        # without any relation the whole phrase counts: "somewhere to sit"
        return parsed if parsed.limited or parsed.not_understood else thing

    def use_image_encoder(self, encoder: Encoder) -> None:
        """Read words and images with this encoder from now on; it must be the one the embeddings were made with."""
        stored = self._store.image_encoder
        if stored is not None and encoder.name != stored:
            raise IndexMismatch(
                "image_encoder",
                encoder.name,
                f"is not the encoder of this memory ({stored})",
                remedy="open that one, or run `lastseen reindex`",
            )
        self.image_encoder = encoder

    def text_to_image_encoder(self) -> tuple[Encoder | None, str | None]:
        """The encoder of this memory's embeddings where it reads words too, opened when first needed.

        Without it the second value says why only names are searched, None where there is nothing else to search.
        """
        stored = self._store.image_encoder
        if stored is None or not reads_both(stored):
            return None, None
        if self.image_encoder is None or self.image_encoder.name != stored:
            try:
                self.use_image_encoder(open_stored(stored, self._settings.encoding))
            except (InvalidValue, MissingExtra, IndexMismatch) as error:
                return None, f"only names are searched, not appearance: {error}"
        return self.image_encoder, None

    def _encoder_of_images(self) -> Encoder:
        stored = self._store.image_encoder
        if stored in (None, ColorShapeEncoder.name):
            return ColorShapeEncoder()
        if self.image_encoder is not None and self.image_encoder.name == stored:
            return self.image_encoder
        encoder, _ = self.text_to_image_encoder()
        if encoder is None:
            raise InvalidValue(
                "image",
                stored,
                "is the encoder of this memory and it is not open",
                remedy="encode the image with it and ask by embedding=",
            )
        return encoder


def _parts(thing: Thing) -> tuple[str, ...]:
    """What a thing is limited by, in its words."""
    relations = [relation.words for relation in thing.relations]
    places = [place.words for place in thing.places]
    return (*thing.not_understood, *relations, *places, *(time.words for time in thing.times))


def _not_compared(notes: Sequence[str]) -> str:
    return f" (not compared: {', '.join(notes)})" if notes else ""


def _listed(query: Query, limits: Filter, snapshot: Snapshot) -> Answer:
    """What a place, a time or a label holds: nearest first where a place is given."""
    rows = select(snapshot.table, limits)
    if not len(rows):
        return Answer("not_found", f"nothing is remembered {limits.in_words()}")
    hits = [snapshot.object(row, 1.0) for row in rows.tolist()]
    near = limits.near
    if near is None:
        hits.sort(key=lambda hit: id_order(hit.id))
    else:
        hits.sort(key=lambda hit: (_squared(hit.position, near), id_order(hit.id)))
    return Answer("found", f"{len(hits)} remembered {limits.in_words()}", tuple(hits[: query.k]))


def _squared(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    if not np.isfinite(length) or length == 0.0:
        raise InvalidValue("embedding", vector, "has no direction", remedy="check the encoder")
    return vector / np.float32(length)
