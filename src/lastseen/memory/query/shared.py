"""What several robots remember, in the index they share: rows of all robots, or of one, as a snapshot to search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.colors import color_vector
from lastseen.errors import InvalidValue
from lastseen.memory.query.filter import Filter
from lastseen.memory.query.snapshot import Snapshot
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.index import Match
from lastseen.memory.store.index.milvus import MilvusIndex, quoted
from lastseen.memory.store.records import VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable

ALL = "all"
_FETCH = 256
"""Rows fetched at first for a sphere, which Milvus can only filter as a box."""


@dataclass(frozen=True, slots=True)
class SharedSnapshot(Snapshot):
    """Objects of all robots, or of one; ids are robot/session/object."""

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
    stale_after: float,
) -> SharedSnapshot:
    """Fetch what a query needs: the nearest to ``vector``, and all rows within the limits unless ``only_nearest``."""
    where = _where(limits, robots)
    matches: dict[str, float] = {}
    rows: list[Mapping[str, Any]] = []
    if vector is not None:
        rows = _nearest(index, vector, limits, where=where, k=k)
        # Milvus compares directions: a scaled query scales its scores
        length = float(np.linalg.norm(vector))
        matches = {str(row["key"]): float(row["score"]) * length for row in rows}
    if not only_nearest:
        rows = [row for row in index.rows(where=where) if _inside(row, limits)]
    table = ObjectTable()
    table.upsert([str(row["key"]) for row in rows], [_record(row) for row in rows])
    return SharedSnapshot(store, table, Clock(), now, stale_after, past=True, matches=matches)


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


def _where(limits: Filter, robots: str) -> str:
    if limits.since is not None or limits.before is not None:
        raise InvalidValue("since", limits.since, "has no meaning across robots", remedy="ask one robot's memory")
    parts = [f"status in [{', '.join(quoted(state) for state in limits.states)}]"]
    if robots != ALL:
        parts.append(f"robot == {quoted(robots)}")
    if limits.label is not None:
        parts.append(f"label == {quoted(limits.label)}")
    if limits.fresh_after is not None:
        parts.append("stale == false")
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
    last = float(row["last_seen"])
    return VersionRecord(
        object_id=str(row["key"]),
        time=last,
        xyz=(float(row["x"]), float(row["y"]), float(row["z"])),
        label_scores={str(row["label"]): 1.0} if row["label"] else {},
        status=str(row["status"]),
        hits=1,
        first_seen=last,
        last_seen=last,
        colors=color_vector([str(row["color"])]) if row["color"] else None,
    )
