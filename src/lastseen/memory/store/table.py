"""Everything a search filters and scores by, as columns in RAM: one row per object, vectors apart in the index.

Rows are overwritten in place and deleted by moving the last one into the gap, as in the vector index, so that
nothing here grows with the number of writes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.encoders.colors import COLORS
from lastseen.memory.objects.labels import MOST_UNUSED
from lastseen.memory.store.records import STATES, ObjectRecord, VersionRecord

LABEL_SLOTS = 3
"""Labels per object that a search looks at; a fourth guess has never been the right one."""
_START = 64


@dataclass(slots=True)
class _Columns:
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    first_seen: NDArray[np.float64]
    last_seen: NDArray[np.float64]
    state: NDArray[np.int8]
    labels: NDArray[np.int32]
    weights: NDArray[np.float32]
    colors: NDArray[np.float32]


class ObjectTable:
    """Columns by object; ``count`` rows of each are in use."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.row_of: dict[str, int] = {}
        self.label_names: list[str] = []
        self._label_numbers: dict[str, int] = {}
        self._most_labels = MOST_UNUSED
        self._room = _START
        self.columns = _empty(_START)
        """The columns; rows from ``len(table)`` on are not in use."""

    def __len__(self) -> int:
        return len(self.ids)

    def upsert(self, ids: Sequence[str], records: Sequence[ObjectRecord | VersionRecord]) -> None:
        """Put records in; an id already held has its row overwritten."""
        if len(self.label_names) > self._most_labels:
            used = np.unique(self.columns.labels[: len(self.ids)])
            self.forget_labels(set(self.label_names) - {self.label_names[number] for number in used[used >= 0]})
            self._most_labels = max(MOST_UNUSED, 2 * len(self.label_names))
        for object_id, record in zip(ids, records, strict=True):
            row = self.row_of.get(object_id)
            if row is None:
                row = len(self.ids)
                if row == self._room:
                    self._grow()
                self.row_of[object_id] = row
                self.ids.append(object_id)
            self._put(row, record)

    def load(
        self,
        ids: Sequence[str],
        columns: Mapping[str, NDArray[Any]],
        labels: Sequence[str],
        *,
        colors: NDArray[np.float32],
    ) -> None:
        """Fill an empty table from working memory's columns at once; label number n is ``labels[n - 1]``."""
        assert not self.ids
        count = len(ids)
        while self._room < count:
            self._room *= 2
        self.columns = _empty(self._room)
        self.ids = list(ids)
        self.row_of = {object_id: row for row, object_id in enumerate(ids)}
        self.label_names = list(labels)
        self._label_numbers = {label: number for number, label in enumerate(labels)}
        own = self.columns
        own.x[:count], own.y[:count], own.z[:count] = columns["xyz"].T
        own.first_seen[:count], own.last_seen[:count] = columns["first_seen"], columns["last_seen"]
        own.state[:count] = columns["state"].astype(np.int8) - 1
        own.colors[:count] = colors
        numbers, scores = columns["label_ids"], columns["label_scores"]
        scores = np.where(numbers > 0, scores, 0.0)
        alphabetic = np.argsort(np.argsort(np.array(["", *labels])))
        best = np.lexsort((alphabetic[numbers], -scores), axis=-1)[:, :LABEL_SLOTS]
        numbers, scores = np.take_along_axis(numbers, best, 1), np.take_along_axis(scores, best, 1)
        held = scores > 0
        top = np.where(scores[:, :1] > 0, scores[:, :1], 1.0)
        own.labels[:count] = np.where(held, numbers - 1, -1)
        own.weights[:count] = np.where(held, scores / top, 0.0)
        # forgotten ones left blanks
        self.forget_labels([""])

    def remove(self, ids: Sequence[str]) -> None:
        """Take ids out; an id not held is no error."""
        columns = self.columns
        for object_id in ids:
            row = self.row_of.pop(object_id, None)
            if row is None:
                continue
            last = len(self.ids) - 1
            if row != last:
                for name in _Columns.__slots__:
                    column = getattr(columns, name)
                    column[row] = column[last]
                self.ids[row] = self.ids[last]
                self.row_of[self.ids[row]] = row
            self.ids.pop()

    def forget_labels(self, labels: Collection[str]) -> None:
        """Drop names that no row has any more; the others are numbered anew."""
        kept = [name for name in self.label_names if name not in labels]
        if len(kept) == len(self.label_names):
            return
        numbers = {name: number for number, name in enumerate(kept)}
        # the last place stands for no label, whose number is -1
        anew = np.array([*(numbers.get(name, -1) for name in self.label_names), -1], dtype=np.int32)
        self.columns.labels[:] = anew[self.columns.labels]
        self.label_names, self._label_numbers = kept, numbers

    def label(self, row: int) -> str | None:
        """The likeliest label of a row."""
        number = int(self.columns.labels[row, 0])
        return None if number < 0 else self.label_names[number]

    def xyz(self, row: int) -> tuple[float, float, float]:
        """The position of a row."""
        columns = self.columns
        return float(columns.x[row]), float(columns.y[row]), float(columns.z[row])

    def not_seen_since(self, time: float) -> list[str]:
        """The ids of the objects last seen before a memory time, sorted."""
        last = self.columns.last_seen
        return [object_id for object_id, row in sorted(self.row_of.items()) if last[row] < time]

    def bytes(self) -> int:
        """RAM taken by the columns."""
        return sum(int(getattr(self.columns, name).nbytes) for name in _Columns.__slots__)

    def _put(self, row: int, record: ObjectRecord | VersionRecord) -> None:
        columns = self.columns
        columns.x[row], columns.y[row], columns.z[row] = record.xyz
        columns.first_seen[row], columns.last_seen[row] = record.first_seen, record.last_seen
        columns.state[row] = STATES.index(record.state)
        scores = record.label_scores
        best = sorted(scores, key=lambda label: (-scores[label], label))[:LABEL_SLOTS]
        columns.labels[row] = -1
        columns.weights[row] = 0.0
        if best:
            top = scores[best[0]] or 1.0
            columns.labels[row, : len(best)] = [self._number(label) for label in best]
            columns.weights[row, : len(best)] = [scores[label] / top for label in best]
        columns.colors[row] = 0.0 if record.colors is None else record.colors

    def _number(self, label: str) -> int:
        number = self._label_numbers.get(label)
        if number is None:
            number = self._label_numbers[label] = len(self.label_names)
            self.label_names.append(label)
        return number

    def _grow(self) -> None:
        old, used = self.columns, self._room
        self._room *= 2
        self.columns = _empty(self._room)
        for name in _Columns.__slots__:
            getattr(self.columns, name)[:used] = getattr(old, name)


def _empty(rows: int) -> _Columns:
    return _Columns(
        x=np.zeros(rows),
        y=np.zeros(rows),
        z=np.zeros(rows),
        first_seen=np.zeros(rows),
        last_seen=np.zeros(rows),
        state=np.zeros(rows, dtype=np.int8),
        labels=np.full((rows, LABEL_SLOTS), -1, dtype=np.int32),
        weights=np.zeros((rows, LABEL_SLOTS), dtype=np.float32),
        colors=np.zeros((rows, len(COLORS)), dtype=np.float32),
    )
