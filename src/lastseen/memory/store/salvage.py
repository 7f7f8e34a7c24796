"""Copies of a memory file: one of a file in use, one of what is whole of a damaged one, and the check that tells.

Rows are read by ranges of their key. A range that cannot be read is halved until only the broken part is left, so
that one broken page costs its own rows and no others. Facts about working memory that were lost are made anew: the
rows of objects hold all that is needed, the length of embeddings, the labels by name, the times.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.errors import InvalidValue, JournalDamaged
from lastseen.memory.objects import ObjectMemory
from lastseen.memory.objects.labels import LabelTable
from lastseen.memory.store.journal.forgetting import MARK
from lastseen.memory.store.journal.opening import OPEN_MARK, clear_errors, connect_reader, connect_salvage
from lastseen.memory.store.journal.reading import SELECT_OBJECT
from lastseen.memory.store.journal.rows import OBJECT_COLUMNS, checksum, row_checksum, scores_of
from lastseen.memory.store.journal.schema import BODIES, STEPS, expected_schema, migrate, newest, row_sum, schema_of
from lastseen.memory.store.working import counters_of, encoder_name, layout_dtype

_KEYS = {
    "sessions": "id",
    "versions": "num",
    "events": "id",
    "crops": "rowid",
    "outbox": "seq",
    **{table: key[-1] for table, key in BODIES.items()},
}
"""The tables beside objects, embeddings and meta, with the number by which their rows are read."""
_FAR = 2**40
"""Keys lie between minus and plus this."""
_MOST_TRIES = 20_000
"""Ranges that are read at most: a file that is broken everywhere ends too."""
TURNED_FROM = 9
"""The version from which rows of objects have a yaw."""
_AT = {name: 1 + number for number, name in enumerate(OBJECT_COLUMNS.split(", "))}
"""Where the columns of an object stand in its row, whose first value is its number in the file."""

Row = tuple[Any, ...]


@dataclass(slots=True)
class Report:
    """What was found in a file: whole rows and lost ones by table, and what is wrong, a line each."""

    path: Path
    whole: dict[str, int] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def count(self, table: str, whole: int, lost: int) -> None:
        """Note how many rows of a table are whole, and how many are not."""
        self.whole[table] = self.whole.get(table, 0) + whole
        if lost:
            self.lost[table] = self.lost.get(table, 0) + lost
            self.problems = [each for each in self.problems if not each.startswith(f"{table}: ")]
            self.problems.append(f"{table}: {self.lost[table]} rows or ranges of rows cannot be read as written")


def backup(path: Path, out: Path) -> int:
    """Copy a memory file, also while another process writes it; returns the bytes of the copy.

    The copy is of one time, whole in itself (no WAL), and holds nothing that was forgotten; it appears under its name
    when it is complete and on disk.
    """
    with closing(connect_reader(path)) as source, new_file(out) as part, clear_errors(part):
        source.execute("VACUUM INTO ?", (str(part),))
        with closing(sqlite3.connect(part, isolation_level=None)) as copy:
            copy.execute("DELETE FROM meta WHERE key IN (?, ?)", (OPEN_MARK, MARK))
    return out.stat().st_size


def check(path: Path) -> Report:
    """Read everything in a file and compare it with its checksums; raises where it is no memory file at all."""
    report = Report(path)
    with closing(connect_reader(path)) as source:
        version = int(source.execute("PRAGMA user_version").fetchone()[0])
        with clear_errors(path):
            for (line,) in source.execute("PRAGMA integrity_check(20)"):
                if line != "ok":
                    report.problems.append(" ".join(str(line).split()))
        for _ in _whole_rows(source, version, report):
            pass
    return report


def salvage(path: Path, out: Path, settings: Settings) -> Report:
    """Write what is whole of a damaged or incomplete file to a new one and say what was lost.

    Raises where nothing can be read.
    """
    report = Report(path)
    with connect_salvage(path) as source, new_file(out) as part:
        try:
            version = _version(source)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise JournalDamaged(path, f"nothing can be read of it: {error}") from error
        with closing(sqlite3.connect(part, isolation_level=None)) as target:
            migrate(target, steps={number: step for number, step in STEPS.items() if number <= version})
            target.execute("BEGIN")
            held: set[int] = set()
            facts: dict[str, str] = {}
            objects = []
            for table, row in _whole_rows(source, version, report):
                if table == "meta":
                    facts[row[0]] = row[1]
                elif table == "objects":
                    objects.append(row)
                    held.add(row[0])
                elif table not in ("versions", "crops", "viewpoints") or row[0] in held:
                    _insert(target, table, row)
            facts = {key: value for key, value in facts.items() if key not in (OPEN_MARK, MARK)}
            if {"places", "anchors"} & set(report.lost):
                # places and anchors name each other: a part of them is none; a robot lays them anew
                for table in ("places", "anchors"):
                    target.execute(f"DELETE FROM {table}")
                facts = {key: value for key, value in facts.items() if not key.startswith(("places.", "space."))}
                report.problems.append("places: all are left out, as some are lost and they name each other")
            for row in _finished(path, facts, objects, settings):
                *values, mean, gallery, expected = row
                columns = OBJECT_COLUMNS
                if version < TURNED_FROM:
                    columns = columns.replace("yaw, ", "")
                    del values[_AT["yaw"]]
                _insert(target, f"objects (num, {columns})", tuple(values))
                if mean is not None:
                    _insert(target, "embeddings", (row[0], mean, gallery, expected))
            for key, value in facts.items():
                sums = (row_sum(key, value),) if version > 2 else ()
                _insert(target, "meta", (key, value, *sums))
            target.execute("COMMIT")
            migrate(target)
    return report


def _insert(target: sqlite3.Connection, table: str, row: Row) -> None:
    target.execute(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)


def _version(source: sqlite3.Connection) -> int:
    """The version a file says it is of, or else the newest whose tables it has."""
    version = int(source.execute("PRAGMA user_version").fetchone()[0])
    names = {entry[1] for entry in schema_of(source, limit=200)}
    fits = [number for number in range(newest(), 0, -1) if {entry[1] for entry in expected_schema(number)} <= names]
    if not fits:
        raise sqlite3.DatabaseError("its tables are not those of a memory")
    return version if version in fits else fits[0]


def _whole_rows(source: sqlite3.Connection, version: int, report: Report) -> Iterator[tuple[str, Row]]:
    """Every row that is as it was written, objects first, each with the name of its table; the others are counted."""
    source.text_factory = lambda text: text.decode("utf-8", "replace")
    for row in _objects(source, version, report):
        *values, mean, gallery, expected = row
        whole = mean is not None and checksum(mean, gallery) == expected
        if mean is not None:
            report.count("embeddings", int(whole), int(not whole))
        yield "objects", row if whole else (*values, None, None, None)
    held = {entry[1] for entry in expected_schema(version)}
    for table in ("meta", *(name for name in _KEYS if name in held)):
        whole_rows = lost = 0
        for row in _facts(source, report) if table == "meta" else _halving(source, table, report):
            if _adds_up(table, row, version):
                whole_rows += 1
                yield table, row
            else:
                lost += 1
        report.count(table, whole_rows, lost)


def _objects(source: sqlite3.Connection, version: int, report: Report) -> Iterator[Row]:
    """Objects whose rows add up, as num, ``OBJECT_COLUMNS``, mean, gallery and the embedding's checksum."""
    if version == 1:
        raise InvalidValue("salvage", version, "is a format it cannot read", remedy="restore the file from a copy")
    query = SELECT_OBJECT.replace("SELECT ", "SELECT o.num, ", 1)
    if version < TURNED_FROM:
        query = query.replace("o.yaw", "0.0")
    whole = lost = 0
    for row in _halving(source, "objects", report, query=query, key="o.num"):
        try:
            fits = row_checksum(row[1:], row[-1]) == row[_AT["checksum"]]
        except (TypeError, ValueError, AttributeError):
            fits = False
        if fits:
            whole += 1
            yield row
        else:
            lost += 1
    report.count("objects", whole, lost)


def _adds_up(table: str, row: Row, version: int) -> bool:
    try:
        if version > 2:
            return bool(row_sum(*row[:-1]) == row[-1])
        if table in BODIES:
            return bool(zlib.crc32(row[-2].encode() if isinstance(row[-2], str) else row[-2]) == row[-1])
    except (TypeError, AttributeError):
        return False
    return True


def _facts(source: sqlite3.Connection, report: Report) -> list[Row]:
    """The facts about the whole file: their keys are words, so that they are read from both ends."""
    found: dict[str, Row] = {}
    for order in ("", "DESC"):
        rows = source.execute(f"SELECT * FROM meta ORDER BY key {order}")
        try:
            for row in rows:
                found[str(row[0])] = row
        except (sqlite3.DatabaseError, OverflowError):
            report.count("meta", 0, 1)
        else:
            break
    return list(found.values())


def _halving(
    source: sqlite3.Connection, table: str, report: Report, *, query: str | None = None, key: str | None = None
) -> Iterator[Row]:
    query, key = query or f"SELECT * FROM {table}", key or _KEYS[table]
    ranges, tries = [(-_FAR, _FAR)], 0
    while ranges:
        low, high = ranges.pop()
        tries += 1
        try:
            rows = source.execute(f"{query} WHERE {key} > ? AND {key} <= ? ORDER BY {key}", (low, high)).fetchall()
        except (sqlite3.DatabaseError, OverflowError):
            middle = (low + high) // 2
            if high - low > 1 and tries < _MOST_TRIES:
                ranges += [(middle, high), (low, middle)]
            else:
                report.count(table, 0, 1)
            continue
        yield from rows


@contextmanager
def new_file(out: Path) -> Iterator[Path]:
    """A name to write to; the file gets its own name when it is complete and on disk, and goes on an error."""
    if out.exists():
        raise InvalidValue("out", str(out), "exists already", remedy="name a new file")
    if not out.parent.is_dir():
        raise InvalidValue("out", str(out), "lies in a folder that does not exist", remedy="make the folder first")
    part = out.with_name(f".{out.name}.{os.getpid()}.part")
    try:
        yield part
        for each in (part, out.parent):
            number = os.open(each, os.O_RDONLY)
            try:
                os.fsync(number)
            finally:
                os.close(number)
        os.link(part, out)
    except FileExistsError:
        raise InvalidValue("out", str(out), "exists already", remedy="name a new file") from None
    finally:
        for each in (part, part.with_name(part.name + "-journal"), part.with_name(part.name + "-wal")):
            each.unlink(missing_ok=True)


def _json(facts: dict[str, str], key: str) -> Any:
    """A fact of a file as data; None where it was lost or is no JSON."""
    try:
        return json.loads(facts[key])
    except (KeyError, ValueError, RecursionError):
        return None


def _finished(path: Path, facts: dict[str, str], rows: list[Row], settings: Settings) -> list[Row]:
    """Complete the facts of a file where they were lost; returns the rows of its objects as they are to be written.

    A row is its number, ``OBJECT_COLUMNS``, mean, gallery and their checksum.
    """
    dim = next((len(row[-3]) // 4 for row in rows if row[-3] is not None), None)
    made = _facts_of_empty(dim, settings)
    layout = _json(facts, "working.layout") or json.loads(made["working.layout"])
    dtype = layout_dtype(layout)
    if any(len(row[_AT["working"]]) != dtype.itemsize for row in rows):
        raise JournalDamaged(path, "the layout of its objects is lost, and another program than this one wrote it")
    labels = _json(facts, "working.labels")
    table = LabelTable() if labels is None else None
    finished = [_finished_object(row, dtype, table) for row in rows]
    counters = _json(facts, "working.counters")
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


def _finished_object(row: Row, dtype: np.dtype[Any], table: LabelTable | None) -> Row:
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
