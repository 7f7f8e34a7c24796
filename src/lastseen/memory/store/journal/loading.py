"""Every object of a file in one pass, block by block: what opening a memory needs and nothing more.

A block is small enough to stay in the processor's cache until its bytes are where they belong, so a file is never
held in RAM a second time.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import JournalDamaged
from lastseen.memory.store.journal.rows import OBJECT_COLUMNS, checksum, row_checksum

SELECT_OBJECT = (
    "SELECT "
    + ", ".join(f"o.{name}" for name in OBJECT_COLUMNS.split(", "))
    + ", e.mean, e.gallery, e.checksum FROM objects o LEFT JOIN embeddings e USING (num)"
)
_BLOCK = 128
"""Objects per block: about 1 MB with vectors of 512 numbers."""


@dataclass(slots=True)
class Block:
    """Some objects in the order they were first written; one without a look has None for mean and gallery."""

    ids: list[str]
    states: list[bytes]
    means: list[bytes | None]
    galleries: list[bytes | None]
    colors: dict[str, NDArray[np.float32]] = field(default_factory=dict)


def load_objects(db: sqlite3.Connection, path: object) -> Iterator[Block]:
    """Read all objects; one whose values do not add up raises."""
    cursor = db.execute(f"{SELECT_OBJECT} ORDER BY o.num")
    while rows := cursor.fetchmany(_BLOCK):
        for row in rows:
            try:
                whole = row[18] is None or checksum(row[18], row[19]) == row[20]
                whole = whole and row_checksum(row, row[20]) == row[17]
            except (TypeError, ValueError, AttributeError) as error:
                raise JournalDamaged(path, f"the row of {row[0]} cannot be read: {error}") from error
            if not whole:
                raise JournalDamaged(path, f"the row of {row[0]} does not match its checksum")
        yield Block(
            ids=[row[0] for row in rows],
            states=[row[16] for row in rows],
            means=[row[18] for row in rows],
            galleries=[row[19] for row in rows],
            colors={row[0]: np.frombuffer(row[15], dtype=np.float32) for row in rows if row[15] is not None},
        )
