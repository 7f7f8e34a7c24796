"""The index that several robots share: told through the outbox, asked on request.

What is fetched of it, rows of all robots or of one, becomes a snapshot that is searched like a memory's own objects.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.encoders.colors import color_vector
from lastseen.errors import InvalidValue
from lastseen.memory.object import Object
from lastseen.memory.objects.labels import normal
from lastseen.memory.query.filter import Filter
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.store.clock import Clock, Moment
from lastseen.memory.store.index import Match
from lastseen.memory.store.milvus import MilvusAddress, MilvusIndex, one_of, quoted
from lastseen.memory.store.records import SessionRecord, VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable

if TYPE_CHECKING:
    from lastseen.memory.query.finder import Query
    from lastseen.memory.store.outbox import Outbox

_CLOSING_WAIT = 2.0
"""Seconds that closing waits for the outbox: what is left then is sent by the next run."""
_ALL = "all"
_FETCH = 256
"""Rows fetched at first for a sphere, which Milvus can only filter as a box."""
_FEW = 5000
"""Rows up to which all are fetched and ranked here, as a memory's own are."""


@dataclass(frozen=True, slots=True)
class SharedSnapshot(Snapshot):
    """Objects of all robots, or of one; ids are robot/object, times are wall time."""

    matches: Mapping[str, float] | None = None
    """Products of the objects with the query's embedding, by id."""

    def nearest(
        self,
        vector: NDArray[np.float32],  # noqa: ARG002 - the rows were fetched for it
        limits: Filter,  # noqa: ARG002
        *,
        k: int,
        among: Sequence[str] | None = None,
    ) -> list[Match]:
        """The k nearest of the rows that were fetched, which are within the limits."""
        known = self.matches or {}
        ids = known if among is None else [object_id for object_id in among if object_id in known]
        found = [Match(object_id, known[object_id]) for object_id in ids]
        return sorted(found, key=lambda match: (-match.score, match.key))[:k]

    def object(self, row: int, score: float) -> Object:
        """A row as users see it; one of a session without a date is stale, for nobody knows how old it is."""
        found = Snapshot.object(self, row, score)
        dated = found.last_seen_memory_time >= 0.0
        return replace(
            found,
            first_seen=None,
            last_seen=found.last_seen if dated else None,
            # clocks of robots differ by a little
            age=max(found.age, 0.0),
            session=None,
        )


class SharedIndex:
    """The shared index of a memory, or none (``faiss``); where this process may write, it is sent every commit.

    ``wall_clock`` (s since 1970) says how old what is asked of it is.
    """

    def __init__(
        self,
        index: str,
        store: LongTermStore,
        clock: Clock,
        settings: Settings,
        *,
        wall_clock: Callable[[], float] | None = None,
    ) -> None:
        self._store, self._clock, self._settings = store, clock, settings
        self._address = None if index == "faiss" else str(MilvusAddress.parse(index))
        self._wall_clock = wall_clock or time.time
        self.outbox: Outbox | None = None
        """What carries commits to the index, if there is one."""
        self._asked: MilvusIndex | None = None
        if self._address is not None and store.journal.writable:
            from lastseen.memory.store.outbox import Outbox

            self.outbox = Outbox(
                store.journal,
                self._connect,
                robot=_checked_robot(settings.store.robot),
                target=f"{self._address} {settings.store.robot}",
                clock=clock,
            )
            self.outbox.start()

    @property
    def used(self) -> bool:
        """Whether commits are to be queued for a shared index."""
        return self.outbox is not None

    def wake(self) -> None:
        """Send what was queued."""
        if self.outbox is not None:
            self.outbox.wake()

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
        if self.outbox is None or self.outbox.settle(0.0 if self.outbox.last_error else _CLOSING_WAIT):
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
        """What all robots, or one by its name, remember now (wall time), as far as a query needs it.

        These are the nearest to the query's embedding and, unless it has nothing but one, all rows within the limits;
        of a large collection only rows with a label that is ``meant``.
        """
        index, now = self._index(robots), self._wall_clock()
        stale_after = self._settings.lifecycle.stale_after
        # robots share no clock but that of the wall
        seen = self._wall("since", since), self._wall("before", before)
        where = _where(
            limits, robots, seen=seen, fresh_after=None if limits.fresh_after is None else now - stale_after
        )
        vector = query.text_embedding if query.embedding is None else query.embedding
        matches: dict[str, float] = {}
        rows: list[Mapping[str, Any]] = []
        if vector is not None:
            rows = _nearest(index, vector, limits, where=where, k=query.k)
            # Milvus compares directions: a scaled query scales its scores
            length = float(np.linalg.norm(vector))
            matches = {str(row["key"]): float(row["score"]) * length for row in rows}
        if query.embedding is None:
            if meant is not None and index.count(where) > _FEW:
                where = f"{where} and {one_of('label', meant(index.distinct('label', where=where)))}"
            rows = [row for row in index.rows(where=where) if _inside(row, limits)]
        table = ObjectTable()
        table.upsert([str(row["key"]) for row in rows], [_record(row) for row in rows])
        clock = Clock([SessionRecord(1, robots, 0.0, 0.0, 0.0, now)])
        return SharedSnapshot(self._store, table, clock, now, stale_after, past=True, matches=matches)

    def close(self) -> None:
        """Send what can be sent at once and stop; may be called twice."""
        if self.outbox is not None:
            if self.outbox.last_error is None:
                self.outbox.settle(_CLOSING_WAIT)
            self.outbox.stop()
            self.outbox = None
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

    def _index(self, robots: str) -> MilvusIndex:
        """The index that is asked."""
        if self._address is None:
            raise InvalidValue(
                "robots", robots, "needs a shared index", remedy="open with index='milvus://host:port/collection'"
            )
        if self._asked is None:
            dim = None if self._store.main is None else self._store.main.dim
            self._asked = MilvusIndex(self._address, dim, encoder=self._store.image_encoder or "")
        return self._asked

    def _connect(self) -> MilvusIndex:
        """The index that commits go to; a memory without embeddings has room for those of the built-in encoder."""
        assert self._address is not None
        dim, encoder = ColorShapeEncoder.dim, self._store.image_encoder or ColorShapeEncoder.name
        return MilvusIndex(self._address, dim if self._store.main is None else self._store.main.dim, encoder=encoder)


def _checked_robot(name: str) -> str:
    if not name.strip() or len(name.encode()) > 200 or name == _ALL:
        raise InvalidValue("store.robot", name, "cannot name a robot", remedy="1 to 200 letters, and not 'all'")
    return name


def _nearest(
    index: MilvusIndex, vector: NDArray[np.float32], limits: Filter, *, where: str, k: int
) -> list[Mapping[str, Any]]:
    unit = vector / np.linalg.norm(vector)
    wanted = k + 1 if limits.radius is None else max(k, _FETCH)
    while True:
        rows = index.nearest(unit, k=wanted, where=where)
        inside: list[Mapping[str, Any]] = [row for row in rows if _inside(row, limits)]
        if len(inside) > k or len(rows) < wanted:
            return inside
        wanted *= 8


def _where(limits: Filter, robots: str, *, seen: tuple[float | None, float | None], fresh_after: float | None) -> str:
    parts = [f"state in [{', '.join(quoted(state) for state in limits.states)}]"]
    if robots != _ALL:
        parts.append(f"robot == {quoted(robots)}")
    if limits.label is not None:
        parts.append(f"label == {quoted(normal(limits.label))}")
    bounds = ((seen[0], ">="), (seen[1], "<"), (fresh_after, ">="))
    parts += [f"seen_at {sign} {bound!r}" for bound, sign in bounds if bound is not None]
    if seen[1] is not None:
        # what has no date was not seen before any
        parts.append("seen_at >= 0.0")
    if limits.radius is not None and limits.near is not None:
        low = tuple(value - limits.radius for value in limits.near)
        high = tuple(value + limits.radius for value in limits.near)
        parts += [f"{axis} >= {a!r} and {axis} <= {b!r}" for axis, a, b in zip("xyz", low, high, strict=True)]
    if limits.within is not None:
        parts += [f"{axis} >= {a!r} and {axis} <= {b!r}" for axis, a, b in zip("xyz", *limits.within, strict=True)]
    return " and ".join(parts)


def _inside(row: Mapping[str, Any], limits: Filter) -> bool:
    if limits.radius is None or limits.near is None:
        return True
    distance = sum((float(row[axis]) - value) ** 2 for axis, value in zip("xyz", limits.near, strict=True))
    return bool(distance <= limits.radius**2)


def _record(row: Mapping[str, Any]) -> VersionRecord:
    last = float(row["seen_at"])
    return VersionRecord(
        object_id=str(row["key"]),
        time=last,
        xyz=(float(row["x"]), float(row["y"]), float(row["z"])),
        label_scores={str(row["label"]): 1.0} if row["label"] else {},
        state=str(row["state"]),
        hits=1,
        first_seen=last,
        last_seen=last,
        colors=color_vector([str(row["color"])]) if row["color"] else None,
    )
