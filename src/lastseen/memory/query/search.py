"""Answering a query from long-term memory: choose the rows, score them, judge the best.

A region is applied first and exact products are taken over what is left, which is faster than any index; without
one the whole index is scanned. Both are exact, so an answer never depends on how it was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders.words import parse
from lastseen.memory.answer import Answer, id_order
from lastseen.memory.object import Object
from lastseen.memory.query.judge import Thresholds, judge
from lastseen.memory.query.region import Region, select
from lastseen.memory.query.wording import Wording, main_color
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.index import Match
from lastseen.memory.store.records import CONFIRMED, STATUSES
from lastseen.memory.store.store import LongTermStore
from lastseen.memory.store.table import ObjectTable

STALE = "stale"
_JUDGED = 200
"""Scored rows that reach the judge: far more than an answer lists, few enough to sort at once."""


@dataclass(frozen=True, slots=True)
class Search:
    """One question put to one state of memory; ``now`` is the memory time it is asked for."""

    store: LongTermStore
    table: ObjectTable
    clock: Clock
    settings: Settings
    now: float
    past: bool = False

    def by_words(self, wording: Wording, text: str, region: Region, *, accept: float, k: int) -> Answer:
        """Answer a phrase by labels and colours."""
        parsed = parse(text)
        asked = repr(text.strip())
        if not parsed.words and not parsed.colors and not parsed.plain:
            return Answer("not_found", f"{asked} names nothing to look for")
        rows = select(self.table, region)
        scores = wording.scores(self.table, rows, text)

        def why_not() -> str:
            return self._why_not(wording, text, region, accept)

        return judge(self._hits(rows, scores), asked=asked, rules=self._rules(accept), k=k, why_not=why_not)

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
        matches = self._nearest(query, region, k=k + 1)
        return self.by_matches(matches, region, asked=asked, accept=accept, k=k, margin=margin)

    def by_matches(
        self,
        matches: Sequence[Match],
        region: Region,
        *,
        asked: str,
        accept: float,
        k: int,
        margin: float | None = None,
    ) -> Answer:
        """Judge rows that an index found."""
        known = [match for match in matches if match.key in self.table.row_of]
        # what cannot be listed needs no name, place and colour; the best is named in the reason
        fitting = [match for match in known if match.score >= accept] or known[:1]
        hits = [self._hit(self.table.row_of[key], score) for key, score in fitting]

        def why_not() -> str:
            if not len(self.table):
                return "memory is empty"
            if not hits:
                return f"nothing with a look is remembered {region.in_words()}"
            return (
                f"nothing remembered looks like {asked}: "
                f"the nearest has {hits[0].score or 0.0:.2f} of {accept:.2f} needed"
            )

        return judge(hits, asked=asked, rules=self._rules(accept, margin), k=k, why_not=why_not)

    def by_region(self, region: Region, *, k: int) -> Answer:
        """List what a place, a time or a label holds: nearest first where a place is given."""
        rows = select(self.table, region)
        if not len(rows):
            return Answer("not_found", f"nothing is remembered {region.in_words()}")
        hits = [self._hit(row, 1.0) for row in rows.tolist()]
        near = region.near
        if near is None:
            hits.sort(key=lambda hit: id_order(hit.id))
        else:
            hits.sort(key=lambda hit: (_squared(hit.position, near), id_order(hit.id)))
        return Answer("found", f"{len(hits)} remembered {region.in_words()}", tuple(hits[:k]))

    def _nearest(self, query: NDArray[np.float32], region: Region, *, k: int) -> list[Match]:
        main, aside = self.store.main, self.store.aside
        if main is None or aside is None:
            return []
        if region.limits_more_than_state or self.past:
            ids = [self.table.ids[row] for row in select(self.table, region).tolist()]
            found = [match for index in (main, aside) if len(index) for match in index.search(query, k=k, among=ids)]
        else:
            found = main.search(query, k=k)
            if region.states != (CONFIRMED,):
                status = self.table.columns.status[: len(self.table)]
                others = [STATUSES.index(state) for state in region.states if state != CONFIRMED]
                rows = np.flatnonzero(np.isin(status, others)).tolist()
                found = found + aside.search(query, k=k, among=[self.table.ids[row] for row in rows])
        found.sort(key=lambda match: (-match.score, id_order(match.key)))
        return found[:k]

    def _rules(self, accept: float, margin: float | None = None) -> Thresholds:
        find = self.settings.find
        return Thresholds(accept, find.margin if margin is None else margin, find.same_spot)

    def _hits(self, rows: NDArray[np.int64], scores: NDArray[np.float32]) -> list[Object]:
        if len(rows) > _JUDGED:
            best = np.argpartition(-scores, _JUDGED)
            cut = scores[best[_JUDGED]]
            # all ties at the border stay, or the choice among them would depend on storage order
            keep = np.flatnonzero(scores > cut) if float(cut) > 0 else np.flatnonzero(scores > 0)
            if len(keep) < _JUDGED:
                tied = np.flatnonzero(scores == cut)
                order = sorted(tied.tolist(), key=lambda i: id_order(self.table.ids[int(rows[i])]))
                keep = np.concatenate([keep, np.array(order[: _JUDGED - len(keep)], dtype=np.int64)])
            rows, scores = rows[keep], scores[keep]
        return [self._hit(row, score) for row, score in zip(rows.tolist(), scores.tolist(), strict=True) if score > 0]

    def _hit(self, row: int, score: float) -> Object:
        columns, table = self.table.columns, self.table
        first, last = float(columns.first_seen[row]), float(columns.last_seen[row])
        session = self.clock.session_at(last)
        state = STATUSES[int(columns.status[row])]
        if state == CONFIRMED and self.now - last > self.settings.lifecycle.stale_after:
            state = STALE
        return Object(
            id=table.ids[row],
            label=table.label(row),
            position=table.xyz(row),
            extent=None,
            state=state,
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

    def _why_not(self, wording: Wording, text: str, region: Region, accept: float) -> str:
        """Say what stood in the way: another colour, another place, not confirmed, gone, or nothing like it."""
        if not len(self.table):
            return "memory is empty"
        everything = Region(include_tentative=True, include_removed=True)
        rows = select(self.table, everything)
        scores = wording.scores(self.table, rows, text)
        fits = scores >= accept
        if fits.any():
            best = self._hit(int(rows[int(np.argmax(scores))]), float(scores.max()))
            reachable = np.isin(rows[fits], select(self.table, _without_limits(region))).any()
            if reachable:
                return f"{best.label or 'it'} is remembered, but not {region.in_words()}"
            if best.state in ("missing", "removed"):
                return f"{best.label or 'it'} was remembered as {best.id}, but its place was seen empty"
            return f"{best.label or 'it'} was seen but is not confirmed; ask with include_tentative"
        parsed = parse(text)
        meaning = wording.meaning(self.table, rows, parsed)
        nearest = self._hit(int(rows[int(np.argmax(meaning))]), float(meaning.max()))
        if parsed.colors and (nearest.score or 0.0) >= accept:
            seen = nearest.color or "of another colour"
            return f"{nearest.label or 'it'} is remembered, but {seen}, not {' and '.join(parsed.colors)}"
        if nearest.label is None:
            return "nothing remembered has a name"
        return (
            f"nothing remembered is like {text.strip()!r}: the nearest is {nearest.label!r} "
            f"with {nearest.score or 0.0:.2f}, {accept:.2f} is needed"
        )


def _without_limits(region: Region) -> Region:
    return replace(region, near=None, radius=None, within=None, label=None, since=None, before=None, fresh_after=None)


def _squared(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    return float(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))
