"""Every object of a file in one pass, as lists of columns: what opening a memory needs and nothing more."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import JournalDamaged
from lastseen.memory.longterm.journal.rows import OBJECT_COLUMNS, checksum, row_checksum

SELECT_OBJECT = (
    "SELECT "
    + ", ".join(f"o.{name}" for name in OBJECT_COLUMNS.split(", "))
    + ", e.mean, e.gallery, e.checksum FROM objects o LEFT JOIN embeddings e USING (num)"
)


@dataclass(slots=True)
class Loaded:
    """Objects in the order they were first written; an object without a look has None for mean and gallery."""

    ids: list[str] = field(default_factory=list)
    states: list[bytes] = field(default_factory=list)
    means: list[bytes | None] = field(default_factory=list)
    galleries: list[bytes | None] = field(default_factory=list)
    colors: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    places: dict[str, str] = field(default_factory=dict)


def load_objects(db: sqlite3.Connection, path: object) -> Loaded:
    """Read all objects; one whose values do not add up raises."""
    loaded = Loaded()
    for row in db.execute(f"{SELECT_OBJECT} ORDER BY o.num"):
        object_id, mean, gallery = row[0], row[19], row[20]
        try:
            whole = row_checksum(row) == row[18] and (mean is None or checksum(mean, gallery) == row[21])
        except (TypeError, ValueError, AttributeError) as error:
            raise JournalDamaged(path, f"the row of {object_id} cannot be read: {error}") from error
        if not whole:
            raise JournalDamaged(path, f"the row of {object_id} does not match its checksum")
        loaded.ids.append(object_id)
        loaded.states.append(row[17])
        loaded.means.append(mean)
        loaded.galleries.append(gallery)
        if row[16] is not None:
            loaded.colors[object_id] = np.frombuffer(row[16], dtype=np.float32)
        if row[15] is not None:
            loaded.places[object_id] = row[15]
    return loaded
