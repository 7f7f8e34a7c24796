"""Searching what several robots remember, in the index they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders.colors import color_vector
from lastseen.errors import InvalidValue
from lastseen.memory.answer import Answer
from lastseen.memory.query.region import Region
from lastseen.memory.query.search import Search
from lastseen.memory.query.wording import Wording
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.index import Match
from lastseen.memory.store.index.milvus import MilvusIndex, quoted
from lastseen.memory.store.records import VersionRecord
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable

ALL = "all"
_FETCH = 256
"""Rows fetched at first for a sphere, which Milvus can only filter as a box."""


class SharedSearch:
    """Answers from the rows of all robots, or of one; ids are robot/session/object."""

    def __init__(
        self, index: MilvusIndex, store: LongTermStore, settings: Settings, *, robots: str, now: float
    ) -> None:
        self._index = index
        self._store = store
        self._settings = settings
        self._robots = robots
        self._now = now

    def by_vector(
        self,
        query: NDArray[np.float32],
        region: Region,
        *,
        asked: str,
        accept: float,
        k: int,
        margin: float | None = None,
    ) -> Answer:
        """Answer a vector of the looks' own space."""
        wanted = k + 1 if region.radius is None else max(k, _FETCH)
        while True:
            rows = self._index.nearest(query, k=wanted, where=self._where(region))
            inside = [row for row in rows if _inside(row, region)]
            if len(inside) > k or len(rows) < wanted:
                break
            wanted *= 8
        matches = [Match(str(row["key"]), float(row["score"])) for row in inside]
        return self._search(inside).by_matches(matches, region, asked=asked, accept=accept, k=k, margin=margin)

    def by_words(self, wording: Wording, text: str, region: Region, *, accept: float, k: int) -> Answer:
        """Answer a phrase by labels and colours."""
        rows = [row for row in self._index.rows(where=self._where(region)) if _inside(row, region)]
        return self._search(rows).by_words(wording, text, region, accept=accept, k=k)

    def _search(self, rows: Sequence[Mapping[str, Any]]) -> Search:
        table = ObjectTable()
        table.upsert([str(row["key"]) for row in rows], [_record(row) for row in rows])
        return Search(self._store, table, Clock(), self._settings, self._now, past=True)

    def _where(self, region: Region) -> str:
        if region.since is not None or region.before is not None:
            raise InvalidValue("since", region.since, "has no meaning across robots", remedy="ask one robot's memory")
        parts = [f"status in [{', '.join(quoted(state) for state in region.states)}]"]
        if self._robots != ALL:
            parts.append(f"robot == {quoted(self._robots)}")
        if region.label is not None:
            parts.append(f"label == {quoted(region.label)}")
        if region.fresh_after is not None:
            parts.append("stale == false")
        box = region.within
        if region.radius is not None and region.near is not None:
            low = tuple(value - region.radius for value in region.near)
            high = tuple(value + region.radius for value in region.near)
            parts += [f"{axis} >= {a!r} and {axis} <= {b!r}" for axis, a, b in zip("xyz", low, high, strict=True)]
        if box is not None:
            parts += [f"{axis} >= {a!r} and {axis} <= {b!r}" for axis, a, b in zip("xyz", *box, strict=True)]
        return " and ".join(parts)


def _inside(row: Mapping[str, Any], region: Region) -> bool:
    if region.radius is None or region.near is None:
        return True
    distance = sum((float(row[axis]) - value) ** 2 for axis, value in zip("xyz", region.near, strict=True))
    return bool(distance <= region.radius**2)


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
