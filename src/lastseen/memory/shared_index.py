"""The side of a memory that other robots see: a shared index, told through the outbox and asked on request."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.errors import InvalidValue
from lastseen.memory.store.clock import Clock, Moment
from lastseen.memory.store.store import LongTermStore

if TYPE_CHECKING:
    from lastseen.memory.query.filter import Filter
    from lastseen.memory.query.finder import Query
    from lastseen.memory.query.shared import SharedSnapshot
    from lastseen.memory.store.milvus import MilvusIndex
    from lastseen.memory.store.outbox import Outbox

_CLOSING_WAIT = 2.0
"""Seconds that closing waits for the outbox: what is left then is sent by the next run."""


class SharedIndex:
    """The shared index of a memory, or none; ``wall_clock`` (s since 1970) says how old what is asked of it is."""

    def __init__(
        self,
        store: LongTermStore,
        clock: Clock,
        settings: Settings,
        *,
        address: str | None,
        wall_clock: Callable[[], float] | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._address = address
        self._wall_clock = wall_clock or time.time
        self._outbox: Outbox | None = None
        self._asked: MilvusIndex | None = None

    @classmethod
    def open(
        cls,
        index: str,
        store: LongTermStore,
        clock: Clock,
        settings: Settings,
        *,
        wall_clock: Callable[[], float] | None = None,
    ) -> SharedIndex:
        """Read the address and start sending where this process may write."""
        if index == "faiss":
            return cls(store, clock, settings, address=None)
        from lastseen.memory.store.milvus import MilvusAddress
        from lastseen.memory.store.outbox import Outbox

        address = str(MilvusAddress.parse(index))
        shared = cls(store, clock, settings, address=address, wall_clock=wall_clock)
        if store.journal.writable:
            shared._outbox = Outbox(
                store.journal,
                shared._connect,
                robot=_checked_robot(settings.store.robot),
                target=f"{address} {settings.store.robot}",
                session_of=lambda time: session.id if (session := clock.session_at(time)) is not None else 0,
                wall_of=lambda time: None if (wall := clock.wall(time)) is None else wall.timestamp(),
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

    def state(self) -> dict[str, Any] | None:
        """Address, entries that wait to be sent, and why; None where there is no shared index, nor was one."""
        from lastseen.memory.store.outbox import ERROR, TARGET

        meta, queued = self._store.journal.meta(), self._store.journal.count_queued()
        target = meta.get(TARGET)
        if self._address is None and target is None:
            return None
        return {"address": self._address or str(target).split()[0], "queued": queued, "error": meta.get(ERROR)}

    def not_sent(self) -> str | None:
        """Why the index has not been sent everything, after a moment's wait; None when it has, or there is none."""
        if self._outbox is None or self._outbox.settle(0.0 if self._outbox.last_error else _CLOSING_WAIT):
            return None
        return "the shared index does not answer"

    def snapshot(
        self,
        robots: str,
        query: Query,
        limits: Filter,
        *,
        since: Moment | None = None,
        before: Moment | None = None,
        meant: Callable[[Sequence[str]], list[str]] | None = None,
    ) -> SharedSnapshot:
        """What all robots, or one by its name, remember now (wall time), as far as a query needs it."""
        from lastseen.memory.query.shared import fetch

        if self._address is None:
            raise InvalidValue(
                "robots", robots, "needs a shared index", remedy="open with index='milvus://host:port/collection'"
            )
        if self._asked is None:
            from lastseen.memory.store.milvus import MilvusIndex

            dim = None if self._store.main is None else self._store.main.dim
            self._asked = MilvusIndex(self._address, dim, encoder=self._store.image_encoder or "")
        vector = query.text_embedding if query.embedding is None else query.embedding
        return fetch(
            self._asked,
            self._store,
            limits,
            robots=robots,
            vector=vector,
            only_nearest=query.embedding is not None,
            k=query.k,
            now=self._wall_clock(),
            seen=(self._wall("since", since), self._wall("before", before)),
            stale_after=self._settings.lifecycle.stale_after,
            meant=meant,
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

    def _wall(self, name: str, moment: Moment | None) -> float | None:
        """A time as people give it, in seconds since 1970: robots share no other clock."""
        if moment is None:
            return None
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return moment.timestamp()
        wall = self._clock.wall(self._clock.time(moment, name=name))
        if wall is None:
            raise InvalidValue(name, moment, "has no date, and robots share no other clock", remedy="give a date")
        return wall.timestamp()

    def _connect(self) -> MilvusIndex:
        """The index that commits go to; a memory without embeddings has room for those of the built-in encoder."""
        from lastseen.memory.store.milvus import MilvusIndex

        assert self._address is not None
        dim, encoder = ColorShapeEncoder.dim, self._store.image_encoder or ColorShapeEncoder.name
        return MilvusIndex(self._address, dim if self._store.main is None else self._store.main.dim, encoder=encoder)


def _checked_robot(name: str) -> str:
    if not name.strip() or len(name.encode()) > 200 or name == "all":
        raise InvalidValue("store.robot", name, "cannot name a robot", remedy="1 to 200 letters, and not 'all'")
    return name
