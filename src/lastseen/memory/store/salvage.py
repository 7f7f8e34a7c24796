"""What `lastseen salvage` does beyond copying rows: facts about working memory that were lost are made anew.

The rows of objects hold all that is needed: the length of embeddings, the labels by name, the times.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.errors import JournalDamaged
from lastseen.memory.objects import ObjectMemory
from lastseen.memory.objects.labels import LabelTable
from lastseen.memory.store.journal.rows import OBJECT_COLUMNS, row_checksum, scores_of
from lastseen.memory.store.journal.salvage import Report, Row, facts_json
from lastseen.memory.store.journal.salvage import salvage as salvage_rows
from lastseen.memory.store.working import counters_of, encoder_name, layout_dtype

_AT = {name: 1 + number for number, name in enumerate(OBJECT_COLUMNS.split(", "))}
"""Where the columns of an object stand in its row, whose first value is its number in the file."""


def salvage(path: Path, out: Path, settings: Settings) -> Report:
    """Write what is whole of a damaged or incomplete memory file to a new one; says what was lost."""
    return salvage_rows(path, out, finish=lambda facts, rows: _finish(path, facts, rows, settings))


def _finish(path: Path, facts: dict[str, str], rows: list[Row], settings: Settings) -> list[Row]:
    dim = next((len(row[-3]) // 4 for row in rows if row[-3] is not None), None)
    made = _facts_of_empty(dim, settings)
    layout = facts_json(facts, "working.layout") or json.loads(made["working.layout"])
    dtype = layout_dtype(layout)
    if any(len(row[_AT["working"]]) != dtype.itemsize for row in rows):
        raise JournalDamaged(path, "the layout of its objects is lost, and another program than this one wrote it")
    labels = facts_json(facts, "working.labels")
    table = LabelTable() if labels is None else None
    finished = [_object(row, dtype, table) for row in rows]
    counters = facts_json(facts, "working.counters")
    if counters is None:
        last = max((float(row[_AT["last_seen"]]) for row in rows), default=0.0)
        newest = max((int(str(row[_AT["id"]]).removeprefix("obj-")) for row in rows), default=0)
        counters = {**json.loads(made["working.counters"]), "now": last, "next_seq": newest + 1}
    counters["dim"] = dim
    facts["working.layout"] = json.dumps(layout)
    facts["working.counters"] = json.dumps(counters)
    facts.setdefault("working.views", made["working.views"])
    if table is not None:
        facts["working.labels"] = json.dumps(table.names[1:], ensure_ascii=False)
    if dim is not None:
        facts.setdefault("image_encoder", encoder_name(None, dim))
    return finished


def _facts_of_empty(dim: int | None, settings: Settings) -> dict[str, str]:
    """The facts that this program would write of a memory without objects."""
    memory = ObjectMemory(settings)
    if dim is not None:
        memory.store.use_embeddings(dim)
    return counters_of(memory.export_rows())


def _object(row: Row, dtype: np.dtype[Any], table: LabelTable | None) -> Row:
    """The row with labels of a new table, where the old one is lost, and without an embedding that is."""
    values = list(row)
    working = np.frombuffer(row[_AT["working"]], dtype=dtype).copy()
    if row[-3] is None:
        working["emb_hits"] = 0
    if table is not None:
        scores = scores_of(row[_AT["label_scores"]])
        working["label_ids"], working["label_scores"] = 0, 0.0
        for slot, label in enumerate(sorted(scores, key=lambda label: (-scores[label], label))):
            working["label_ids"][0, slot] = table.id_of(label)
            working["label_scores"][0, slot] = scores[label]
    values[_AT["working"]] = working.tobytes()
    values[_AT["checksum"]] = row_checksum(tuple(values[1:]), row[-1])
    return tuple(values)
