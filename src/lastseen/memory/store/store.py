"""Long-term memory as a whole: the journal on disk, and what is searched of it in RAM.

What is staged can be searched at once; what is committed is on disk. Confirmed objects stand in the main index,
which a search scans whole; the few that are tentative or gone stand aside and are scanned when asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.encoders.colors import COLORS
from lastseen.errors import IndexMismatch, JournalDamaged, LastseenError, shorten
from lastseen.memory.objects import ObjectMemory, Rows, State
from lastseen.memory.store.index import FaissIndex
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.journal.schema import BODIES
from lastseen.memory.store.records import (
    CONFIRMED,
    Bodies,
    CropRecord,
    EventRecord,
    ObjectRecord,
    SessionRecord,
)
from lastseen.memory.store.table import ObjectTable
from lastseen.memory.store.working import Restoring, Room

_CHECKED_BYTES = 256_000_000
"""Files up to this size are checked for broken structure whenever they are opened: a tenth of a second at most."""
_STEP = 256
"""Vectors that are brought to unit length at once."""


class LongTermStore:
    """The journal with its table and indexes; writes and searches may come from different threads."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self.journal = journal
        self.settings = settings
        self.table = ObjectTable()
        self.guard = threading.RLock()
        # held through a commit, so that two never write the same events; searches do not wait for it
        self._committing = threading.Lock()
        self.main: FaissIndex | None = None
        self.aside: FaissIndex | None = None
        self.image_encoder: str | None = None
        self.warning = ""
        """What a person should know before trusting this memory, with the remedy; empty where nothing is wrong."""
        self.colors: dict[str, NDArray[np.float32]] = {}
        self.rows_written = 0
        self._objects: dict[str, ObjectRecord] = {}
        self._gone: dict[str, None] = {}
        self._forgotten: dict[str, None] = {}
        self._unnamed: set[str] = set()
        self._events: list[EventRecord] = []
        self._crops: list[CropRecord] = []
        self._meta: dict[str, str] = {}
        self._bodies: dict[str, dict[Any, str | bytes]] = {table: {} for table in BODIES}

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        settings: Settings,
        *,
        read_only: bool = False,
        image_encoder: str | None = None,
        room: Room | None = None,
        journal: Journal | None = None,
    ) -> tuple[Self, Rows | None]:
        """Open a file and fill table and indexes from it; returns what restores working memory, if it is held.

        ``room`` may give the columns to fill, so that restoring from them needs no copy. An open ``journal`` is read
        anew.
        """
        opened = Journal.open(path, read_only=read_only) if journal is None else journal
        store = cls(opened, settings)
        try:
            meta = store.journal.meta()
            store.image_encoder, store.warning = meta.get("image_encoder"), meta.get("warning", "")
            if image_encoder is not None and store.image_encoder is not None and image_encoder != store.image_encoder:
                raise IndexMismatch(
                    "image_encoder",
                    image_encoder,
                    f"is not the encoder of this memory ({store.image_encoder})",
                    remedy="open it with that encoder, or run `lastseen reindex`",
                )
            store.image_encoder = store.image_encoder or image_encoder
            rows = store._load(room)
        except BaseException:
            store.journal.close()
            raise
        return store, rows

    def _load(self, room: Room | None) -> Rows | None:
        with self.journal.snapshot(), _decoding(self.journal.path):
            self.journal.check_structure(most=_CHECKED_BYTES)
            meta = self.journal.meta()
            if "working.counters" not in meta:
                self._show(list(self.journal.objects()))
                return None
            size, path = self.settings.lifecycle.gallery_size, self.journal.path
            restoring = Restoring(meta, self.journal.count(), gallery_size=size, path=path, room=room)
            for block in self.journal.load():
                restoring.take(block)
            rows = restoring.rows(self.journal.bodies("views"))
        self.colors = restoring.colors
        shares = np.zeros((len(restoring.ids), len(COLORS)), dtype=np.float32)
        for row, object_id in enumerate(restoring.ids):
            if object_id in restoring.colors:
                shares[row] = restoring.colors[object_id]
        self.table.load(restoring.ids, rows.columns, rows.labels, colors=shares)
        if rows.dim is not None:
            main, aside = self._indexes(rows.dim)
            seen = rows.columns["emb_hits"] > 0
            here = rows.columns["state"] == State.CONFIRMED
            for index, chosen in ((main, np.flatnonzero(seen & here)), (aside, np.flatnonzero(seen & ~here))):
                if len(chosen):
                    ids = [restoring.ids[row] for row in chosen.tolist()]
                    index.upsert(ids, _unit_rows(rows.columns["emb_mean"], chosen))
        return rows

    def stage(
        self,
        *,
        objects: Sequence[ObjectRecord] = (),
        gone: Sequence[str] = (),
        events: Sequence[EventRecord] = (),
        crops: Sequence[CropRecord] = (),
        bodies: Bodies | None = None,
        meta: Mapping[str, str] | None = None,
    ) -> None:
        """Take changes in: they can be searched from now on and wait for the next commit."""
        with self.guard:
            self._hide(gone)
            self._show(objects)
            for object_id in gone:
                self._objects.pop(object_id, None)
                self._gone[object_id] = None
            for record in objects:
                self._gone.pop(record.id, None)
                self._objects[record.id] = record
            self._events.extend(events)
            if self.settings.store.store_crops:
                self._crops.extend(crops)
            for table, rows in (bodies or {}).items():
                self._bodies[table].update(rows)
            self._meta.update(meta or {})

    def warn(self, text: str) -> None:
        """Keep what a person should know of this memory; an empty text takes it back."""
        if text != self.warning:
            self.warning = text
            self.stage(meta={"warning": text})

    def crops(self, object_id: str) -> list[CropRecord]:
        """The pictures of one object, best first, also those that wait for the next commit."""
        with self.guard:
            staged = [crop for crop in self._crops if crop.object_id == object_id]
            # a commit may come between: what it wrote is then told twice and kept once
            found = {(crop.time, crop.quality, crop.jpeg): crop for crop in (*self.journal.crops(object_id), *staged)}
        best = sorted(found.values(), key=lambda crop: (-crop.quality, crop.time))
        return best[: self.settings.store.keep_crops]

    @property
    def waiting(self) -> int:
        """How many staged changes are not on disk yet."""
        staged: list[Sized] = [self._objects, self._gone, self._forgotten, self._events, self._crops, self._meta]
        return sum(map(len, [*staged, *self._bodies.values()]))

    def commit(self, time: float, *, session: SessionRecord | None, outbox: bool = False) -> int:
        """Put everything staged on disk in one transaction; on an error it stays staged for the next try."""
        with self._committing:
            with self.guard:
                batch = Batch(
                    time=time,
                    objects=list(self._objects.values()),
                    removed=list(self._gone),
                    forgotten=list(self._forgotten),
                    unnamed=frozenset(self._unnamed),
                    events=list(self._events),
                    crops=list(self._crops),
                    session=session,
                    turned={event.object_id: event.time for event in self._events if event.kind != "appeared"},
                    meta={**self._meta, **({"image_encoder": self.image_encoder} if self.image_encoder else {})},
                    bodies={table: dict(rows) for table, rows in self._bodies.items()},
                )
            rows = self.journal.write(batch, settings=self.settings, outbox=outbox)
            self.rows_written += rows
            with self.guard:
                for record in batch.objects:
                    if self._objects.get(record.id) is record:
                        del self._objects[record.id]
                for object_id in batch.removed:
                    self._gone.pop(object_id, None)
                for object_id in batch.forgotten:
                    self._forgotten.pop(object_id, None)
                self._unnamed.difference_update(batch.unnamed)
                del self._events[: len(batch.events)]
                del self._crops[: len(batch.crops)]
                # what was staged again meanwhile waits for the next commit
                self._meta = {key: text for key, text in self._meta.items() if batch.meta.get(key) is not text}
                for table, written in batch.bodies.items():
                    staged = self._bodies[table]
                    self._bodies[table] = {key: body for key, body in staged.items() if written.get(key) is not body}
            return rows

    def forget(self, ids: Sequence[str], *, labels: Collection[str] = ()) -> None:
        """Drop objects and labels from RAM at once; the next commit deletes the objects for good."""
        # a commit under way counts the events it took
        with self._committing, self.guard:
            self._hide(ids)
            self.table.forget_labels(labels)
            forgotten = set(ids)
            for object_id in ids:
                for known in (self._objects, self._gone, self.colors):
                    known.pop(object_id, None)
                self._forgotten[object_id] = None
            self._unnamed.update(labels)
            self._events = [event for event in self._events if event.object_id not in forgotten]
            self._crops = [crop for crop in self._crops if crop.object_id not in forgotten]

    def close(self) -> None:
        """Close the journal; what is staged and not committed is lost."""
        self.journal.close()

    def _show(self, records: Sequence[ObjectRecord]) -> None:
        self.table.upsert([record.id for record in records], records)
        seen = [record for record in records if record.embedding is not None]
        if not seen:
            return
        first = seen[0].embedding
        assert first is not None
        main, aside = self._indexes(len(first))
        here = [record for record in seen if record.state == CONFIRMED]
        elsewhere = [record for record in seen if record.state != CONFIRMED]
        for index, other, group in ((main, aside, here), (aside, main, elsewhere)):
            ids = [record.id for record in group]
            if ids:
                other.remove(ids)
                vectors = np.stack([record.embedding for record in group if record.embedding is not None])
                index.upsert(ids, _unit_rows(vectors, np.arange(len(ids))))

    def _hide(self, ids: Sequence[str]) -> None:
        self.table.remove(ids)
        for index in (self.main, self.aside):
            if index is not None:
                index.remove(ids)

    def _indexes(self, dim: int) -> tuple[FaissIndex, FaissIndex]:
        if self.main is None or self.aside is None:
            self.main, self.aside = FaissIndex(dim), FaissIndex(dim)
        return self.main, self.aside


@contextmanager
def _decoding(path: object) -> Iterator[None]:
    """Turn what bytes that are no memory do to the code that reads them into an error that names the file."""
    try:
        yield
    except LastseenError:
        raise
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        problem = f"what it says of its own layout cannot be read: {type(error).__name__} {shorten(str(error))}"
        raise JournalDamaged(path, problem) from error


def _unit_rows(vectors: NDArray[np.float32], rows: NDArray[np.int64]) -> NDArray[np.float32]:
    unit = np.empty((len(rows), vectors.shape[1]), dtype=np.float32)
    # in small steps, so that what lies between stays in the cache
    for start in range(0, len(rows), _STEP):
        some = vectors[rows[start : start + _STEP]]
        length = np.linalg.norm(some, axis=1, keepdims=True)
        np.divide(some, np.where(length > 0, length, np.float32(1.0)), out=unit[start : start + _STEP])
    return unit


def measure(store: LongTermStore, working: ObjectMemory) -> dict[str, dict[str, int]]:
    """Bytes on disk and bytes in RAM, each by kind."""
    vectors = sum(4 * len(index) * index.dim for index in (store.main, store.aside) if index is not None)
    columns = working.store
    return {
        "disk": store.journal.sizes(),
        "ram": {
            "table": store.table.bytes(),
            "vectors": vectors,
            "working": sum(int(columns.column(name).nbytes) for name in columns.names),
        },
    }
