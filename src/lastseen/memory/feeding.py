"""The way from working memory to long-term memory: what changed is brought to where it can be searched and kept.

Working memory knows nothing of files; long-term memory knows nothing of frames. This stands between them and adds
what neither knows alone: the colours of objects, read from their looks or their pictures.
"""

from __future__ import annotations

from collections.abc import Sequence

from lastseen.encoders.look import LookEncoder
from lastseen.memory.coloring import Coloring
from lastseen.memory.longterm.records import CropRecord, EventRecord
from lastseen.memory.longterm.store import LongTermStore
from lastseen.memory.longterm.working import counters_of, look_name, records_of, views_of
from lastseen.memory.objects import Crop, Event, ObjectMemory, Rows
from lastseen.memory.objects.store import id_text


class Feeding:
    """Carries the changes of one working memory into one store; not safe for several threads by itself."""

    def __init__(self, objects: ObjectMemory, store: LongTermStore) -> None:
        self._objects = objects
        self._store = store
        self._version = 0
        self._coloring = Coloring(store.colors)
        self._places = dict(store.places)

    def restore(self, rows: Rows) -> None:
        """Fill working memory with what the store's file held of it."""
        self._objects.restore(rows)
        # a file has one layout for all its objects: one written with other columns is written anew, whole
        same = set(rows.columns) == set(self._objects.store.fields)
        self._version = rows.version if same else 0

    def pull(self) -> None:
        """Bring what changed in working memory to where it can be searched; the journal gets it later."""
        if self._objects.store.version == self._version:
            return
        rows = self._objects.export_rows(self._version)
        if rows.dim is not None and self._store.look is None:
            self._store.look = look_name(None, rows.dim)
        records = records_of(
            rows,
            colors=self._coloring.shares,
            places=self._places,
            reads_colors=self._store.look == LookEncoder.name,
        )
        gone = [id_text(number) for number in rows.gone]
        self._store.stage(objects=records, gone=gone, views=views_of(rows), meta=counters_of(rows))
        self._version = rows.version
        for key in gone:
            self._coloring.forget(key)

    def tell(self, events: Sequence[Event]) -> None:
        """Pass on what happened to objects."""
        told = [EventRecord(event.stamp, event.object_id, str(event.kind), dict(event.evidence)) for event in events]
        self._store.stage(events=told)

    def take_crop(self, crop: Crop) -> None:
        """Pass on a picture, and learn the object's colour from it where its look does not tell."""
        if self._store.look != LookEncoder.name:
            self._coloring.see(crop.object_id, crop.jpeg)
        record = CropRecord(crop.object_id, crop.stamp, crop.quality, crop.jpeg)
        self._store.stage(crops=[record])

    def forget(self, object_ids: Sequence[str]) -> frozenset[str]:
        """Drop objects for good, with those that went on as them; returns the labels that no object has any more.

        Everything is staged: the next commit deletes it from the file.
        """
        absorbed = self._store.journal.absorbed_by(object_ids)
        labels = self._objects.forget(object_ids, absorbed=absorbed)
        for key in object_ids:
            self._places.pop(key, None)
            self._coloring.forget(key)
        self.pull()
        self._store.forget([*object_ids, *absorbed], labels=labels)
        return labels
