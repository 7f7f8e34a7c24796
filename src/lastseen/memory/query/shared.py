"""What several robots remember, in the index they share: rows of all robots, or of one, as a snapshot to search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.colors import color_vector
from lastseen.memory.object import Object
from lastseen.memory.objects.labels import normal
from lastseen.memory.query.filter import Filter
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.index import Match
from lastseen.memory.store.milvus import MilvusIndex, one_of, quoted
from lastseen.memory.store.records import SessionRecord, VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable

ALL = "all"
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


def fetch(
    index: MilvusIndex,
    store: LongTermStore,
    limits: Filter,
    *,
    robots: str,
    vector: NDArray[np.float32] | None,
    only_nearest: bool,
    k: int,
    now: float,
    seen: tuple[float | None, float | None],
    stale_after: float,
    meant: Callable[[Sequence[str]], list[str]] | None = None,
) -> SharedSnapshot:
    """Fetch what a query needs: the nearest to ``vector``, and all rows within the limits unless ``only_nearest``.

    Of a large collection only rows with a label that is ``meant`` are fetched. ``now`` and the bounds of ``seen``
    (since, before) are seconds since 1970, the clock that robots share.
    """
    fresh_after = None if limits.fresh_after is None else now - stale_after
    where = _where(limits, robots, seen=seen, fresh_after=fresh_after)
    matches: dict[str, float] = {}
    rows: list[Mapping[str, Any]] = []
    if vector is not None:
        rows = _nearest(index, vector, limits, where=where, k=k)
        # Milvus compares directions: a scaled query scales its scores
        length = float(np.linalg.norm(vector))
        matches = {str(row["key"]): float(row["score"]) * length for row in rows}
    if not only_nearest:
        if meant is not None and index.count(where) > _FEW:
            where = f"{where} and {one_of('label', meant(index.distinct('label', where=where)))}"
        rows = [row for row in index.rows(where=where) if _inside(row, limits)]
    table = ObjectTable()
    table.upsert([str(row["key"]) for row in rows], [_record(row) for row in rows])
    session = SessionRecord(1, robots, 0.0, 0.0, 0.0, now)
    return SharedSnapshot(store, table, Clock([session]), now, stale_after, past=True, matches=matches)


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
    if robots != ALL:
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
