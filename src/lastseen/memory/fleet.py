"""The side of a memory that other robots see: a shared index, told through the outbox and asked on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.store import LongTermStore

if TYPE_CHECKING:
    from lastseen.memory.query.filter import Filter
    from lastseen.memory.query.finder import Query
    from lastseen.memory.query.shared import SharedSnapshot
    from lastseen.memory.store.index.milvus import MilvusIndex
    from lastseen.memory.store.outbox import Outbox

_CLOSING_WAIT = 2.0
"""Seconds that closing waits for the outbox: what is left then is sent by the next run."""


class Shared:
    """The shared index of a memory, or none."""

    def __init__(self, store: LongTermStore, settings: Settings, *, address: str | None) -> None:
        self._store = store
        self._settings = settings
        self._address = address
        self._outbox: Outbox | None = None
        self._asked: MilvusIndex | None = None

    @classmethod
    def open(cls, index: str, store: LongTermStore, clock: Clock, settings: Settings) -> Shared:
        """Read the address and start sending where this process may write."""
        if index == "faiss":
            return cls(store, settings, address=None)
        from lastseen.memory.store.index.milvus import MilvusAddress
        from lastseen.memory.store.outbox import Outbox

        MilvusAddress.parse(index)
        shared = cls(store, settings, address=index)
        if store.journal.writable:
            shared._outbox = Outbox(
                store.journal,
                shared._connect,
                robot=settings.store.robot,
                dim=lambda: None if store.main is None else store.main.dim,
                session_of=lambda time: session.id if (session := clock.session_at(time)) is not None else 0,
                is_stale=lambda seen: bool(clock.sessions) and clock.now - seen > settings.lifecycle.stale_after,
            )
            shared._outbox.start()
        return shared

    @property
    def used(self) -> bool:
        """Whether commits are to be queued for a shared index."""
        return self._outbox is not None

    @property
    def outbox(self) -> Outbox | None:
        """What carries commits to the index, if there is one."""
        return self._outbox

    def wake(self) -> None:
        """Send what was queued."""
        if self._outbox is not None:
            self._outbox.wake()

    def not_told(self) -> str | None:
        """Why the index has not been told everything, after a moment's wait; None when it has, or there is none."""
        if self._outbox is None or self._outbox.settle(0.0 if self._outbox.last_error else _CLOSING_WAIT):
            return None
        return "the shared index does not answer"

    def snapshot(self, robots: str, query: Query, limits: Filter, *, now: float) -> SharedSnapshot:
        """What all robots, or one by its name, remember, as far as a query needs it."""
        from lastseen.memory.query.shared import fetch

        if self._address is None:
            raise InvalidValue(
                "robots", robots, "needs a shared index", remedy="open with index='milvus://host:port/collection'"
            )
        if self._asked is None:
            self._asked = self._connect(None if self._store.main is None else self._store.main.dim)
        vector = query.text_embedding if query.embedding is None else query.embedding
        return fetch(
            self._asked,
            self._store,
            limits,
            robots=robots,
            vector=vector,
            only_nearest=query.embedding is not None,
            k=query.k,
            now=now,
            stale_after=self._settings.lifecycle.stale_after,
        )

    def close(self) -> None:
        """Send what can be sent at once and stop; may be called twice."""
        if self._outbox is not None:
            if self._outbox.last_error is None:
                self._outbox.settle(_CLOSING_WAIT)
            self._outbox.stop()
            self._outbox = None
        if self._asked is not None:
            self._asked.close()
            self._asked = None

    def _connect(self, dim: int | None) -> MilvusIndex:
        from lastseen.memory.store.index.milvus import MilvusIndex

        assert self._address is not None
        if dim is None:
            raise InvalidValue("robots", "all", "needs vectors", remedy="observe something with an embedding first")
        return MilvusIndex(self._address, dim, look=self._store.look or "")
