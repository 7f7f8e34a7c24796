"""What a query is answered from: the objects known at one time, and the index of their embeddings.

A filter is applied first and exact products are taken over what is left, which is faster than any index; without
one the whole index is scanned. Both are exact, so an answer never depends on how it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.object import Object, id_order
from lastseen.memory.query.filter import Filter, select
from lastseen.memory.query.ranker import main_color
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.index import Match
from lastseen.memory.store.records import CONFIRMED, STATES
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects as they were known at ``now`` (memory time); ``past`` says that the index may hold later ones too."""

    store: LongTermStore
    table: ObjectTable
    clock: Clock
    now: float
    stale_after: float
    past: bool = False

    def nearest(
        self, vector: NDArray[np.float32], limits: Filter, *, k: int, among: Sequence[str] | None = None
    ) -> list[Match]:
        """The k objects within the limits whose embeddings are nearest to a unit vector, with their cosines.

        ``among`` names the objects to compare, which then are known to be within the limits.
        """
        main, aside = self.store.main, self.store.aside
        if main is None or aside is None:
            return []
        if among is None and (limits.limits_more_than_state or self.past):
            among = [self.table.ids[row] for row in select(self.table, limits).tolist()]
        if among is not None:
            indexes = [index for index in (main, aside) if len(index)]
            found = [match for index in indexes for match in index.search(vector, k=k, among=among)]
        else:
            found = main.search(vector, k=k)
            if limits.states != (CONFIRMED,):
                states = self.table.columns.state[: len(self.table)]
                others = [STATES.index(state) for state in limits.states if state != CONFIRMED]
                rows = np.flatnonzero(np.isin(states, others)).tolist()
                found = found + aside.search(vector, k=k, among=[self.table.ids[row] for row in rows])
        found.sort(key=lambda match: (-match.score, id_order(match.key)))
        return found[:k]

    def object(self, row: int, score: float) -> Object:
        """A row of the table as users see it; place and extent are added where it is listed."""
        columns, table = self.table.columns, self.table
        first, last = float(columns.first_seen[row]), float(columns.last_seen[row])
        session = self.clock.session_at(last)
        state = STATES[int(columns.state[row])]
        return Object(
            id=table.ids[row],
            label=table.label(row),
            position=table.xyz(row),
            extent=None,
            state="stale" if state == CONFIRMED and self.now - last > self.stale_after else state,
            place=None,
            place_id=None,
            color=main_color(columns.colors[row]),
            first_seen=self.clock.wall(first),
            last_seen=self.clock.wall(last),
            age=self.now - last,
            last_seen_memory_time=last,
            session=None if session is None else session.id,
            score=float(score),
        )
