"""Putting a question to a memory: to its table of now or of then, or to the index that robots share.

Memory must answer while the shared index is away, so that case is handled here, once, and told in the answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.errors import IndexMismatch, IndexUnreachable
from lastseen.memory.answer import Answer
from lastseen.memory.fleet import Shared
from lastseen.memory.history import past_table
from lastseen.memory.object import Object
from lastseen.memory.query import Region, Wording
from lastseen.memory.query.question import Question
from lastseen.memory.query.search import Search
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.store import LongTermStore
from lastseen.protocols import Encoder

_log = logging.getLogger(__name__)
Complete = Callable[[Sequence[Object]], list[Object]]
"""Adds to hits what the searched table does not hold of them: their places and sizes."""


class Asking:
    """Asks one memory; ``wording`` gives words their meaning, ``seeing`` puts them to looks where it is open."""

    def __init__(
        self,
        store: LongTermStore,
        clock: Clock,
        shared: Shared,
        settings: Settings,
        *,
        wording: Wording,
        seeing: Encoder | None,
        complete: Complete,
    ) -> None:
        self._store = store
        self._clock = clock
        self._shared = shared
        self._settings = settings
        self._wording = wording
        self._seeing = seeing
        self._complete = complete

    def see_with(self, encoder: Encoder) -> None:
        """Put words to looks with this encoder from now on; it must be the one the looks were made with."""
        if self._store.look is not None and encoder.name != self._store.look:
            raise IndexMismatch(
                "look",
                encoder.name,
                f"is not the encoder of this memory ({self._store.look})",
                remedy="open that one, or run `lastseen reindex`",
            )
        self._seeing = encoder

    def question(
        self,
        text: str | None = None,
        *,
        image: NDArray[np.uint8] | None = None,
        embedding: NDArray[np.float32] | None = None,
    ) -> Question:
        """What is asked, ready to be put."""
        return Question.of(
            self._wording,
            self._settings.find,
            look=self._store.look,
            text=text,
            image=image,
            embedding=embedding,
            seeing=self._seeing,
        )

    def ask(self, question: Question, region: Region, *, now: float, past: bool, k: int) -> Answer:
        """The answer of this memory at a memory time; a ``past`` one is read from the journal."""
        with self._store.guard:
            table = past_table(self._store, now) if past else self._store.table
            search = Search(self._store, table, self._clock, self._settings, now, past=past)
            answer = question.put_to(search, region, k=k, look=self._store.look)
        return replace(answer, hits=tuple(self._complete(answer.hits)))

    def ask_robots(
        self, robots: str, question: Question, region: Region, *, now: float, past: bool, k: int
    ) -> Answer:
        """The answer of the shared index; while it is away, that of this memory, which says so."""
        try:
            search = self._shared.search(robots, now=now)
            return question.put_to(search, region, k=k, look=self._store.look)
        except IndexUnreachable as error:
            _log.warning("%s; this memory answers alone", error)
        answer = self.ask(question, region, now=now, past=past, k=k)
        return replace(answer, reason=f"{answer.reason} (the shared index is away: this memory alone)")
