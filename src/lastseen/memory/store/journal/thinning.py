"""Thinning history: the oldest events, versions and pictures go, so that a file stops growing; objects never go.

It is done within the transaction of a commit, in steps, so a crash leaves it whole and a commit stays short. An
object keeps its best picture and the version that was true when the kept history begins; the newest event stays too,
as events are numbered from it.
"""

from __future__ import annotations

import math
import sqlite3

import numpy as np

from lastseen.config.memory import Retention
from lastseen.memory.store.journal.rows import put_meta

HISTORY_FROM = "history.from"
"""Stands in the file's facts once history was thinned: the memory time it is whole from."""
_PERIOD = 3600.0
"""Seconds of memory time between looks at what is too old or too much: it changes slowly, and a look reads it all."""
_STEP = 2000
"""Rows of a kind that one commit deletes: a tenth of a second at most."""
_DAY = 86_400.0
_SPARE = 0.9
"""Where there are too many bytes, history is cut to this share of them: it is not due again with the next commit."""

_OLD_EVENTS = "FROM events WHERE time < ?1 AND id < (SELECT max(id) FROM events)"
_OLD_VERSIONS = (
    "FROM versions v WHERE v.time < ?1 AND v.time < (SELECT max(time) FROM versions WHERE num = v.num AND time <= ?1)"
)
_BETTER = (
    "EXISTS (SELECT 1 FROM crops b WHERE b.num = c.num AND "
    "(b.quality > c.quality OR (b.quality = c.quality AND b.rowid < c.rowid)))"
)
_OLD_CROPS = f"FROM crops c WHERE c.time < ?1 AND {_BETTER}"
_DELETE = (
    f"DELETE FROM events WHERE id IN (SELECT id {_OLD_EVENTS} ORDER BY time, id LIMIT ?2)",
    f"DELETE FROM versions WHERE (num, time) IN (SELECT v.num, v.time {_OLD_VERSIONS} LIMIT ?2)",
    f"DELETE FROM crops WHERE rowid IN (SELECT c.rowid {_OLD_CROPS} LIMIT ?2)",
)
_SIZES = (
    "SELECT time, length(evidence) + length(object_id) + 120 AS size FROM events",
    "SELECT time, length(label_scores) + coalesce(length(colors), 0) + 120 AS size FROM versions",
    f"SELECT c.time, length(c.jpeg) + 40 AS size FROM crops c WHERE {_BETTER}",
)
"""Bytes of each row of history with what SQLite adds, its indexes included: within a tenth of what the file takes."""


class Thinning:
    """What is to be deleted of the history of one file, commit by commit."""

    def __init__(self, start: float) -> None:
        self.start = start
        """Memory time that the history to keep begins at."""
        self._looked_at: float | None = None
        self._unfinished = False

    def step(self, db: sqlite3.Connection, now: float, settings: Retention) -> int:
        """Within a transaction, delete up to ``_STEP`` rows of each kind that are too old or too many.

        ``now`` is the memory time of the commit in seconds. Returns the rows deleted; 0 when there is nothing to do,
        which is looked at once an hour of memory time.
        """
        is_due = self._looked_at is None or not 0.0 <= now - self._looked_at < _PERIOD
        if not is_due and not self._unfinished:
            return 0
        if is_due:
            self._looked_at = now
            self.start = max(self.start, _wanted_start(db, now, settings))
        if self.start == -math.inf:
            return 0
        counts = [db.execute(statement, (self.start, _STEP)).rowcount for statement in _DELETE]
        self._unfinished = max(counts) == _STEP
        if sum(counts):
            put_meta(db, HISTORY_FROM, repr(self.start))
        return sum(counts)


def _wanted_start(db: sqlite3.Connection, now: float, settings: Retention) -> float:
    """The memory time that history is to begin at; minus infinity where all of it may stay."""
    start = now - _DAY * settings.days if settings.days else -math.inf
    if not settings.bytes:
        return start
    totals = [db.execute(f"SELECT coalesce(sum(size), 0) FROM ({each})").fetchone()[0] for each in _SIZES]
    if sum(totals) <= settings.bytes:
        return start
    rows = [row for each in _SIZES for row in db.execute(each)]
    times, sizes = np.array(rows, dtype=np.float64).T
    newest_first = np.argsort(-times, kind="stable")
    kept = int(np.searchsorted(np.cumsum(sizes[newest_first]), _SPARE * settings.bytes, side="right"))
    # what has the time of the first row that goes must go with it
    return max(start, min(now, math.nextafter(float(times[newest_first[kept]]), math.inf)))
