"""A savepoint that outlives transactions: temporary triggers keep each row as it was before its first change.

A session may turn out to be of another map than the memory it was written into. The log lives in RAM with the
connection, costs what was changed and nothing else, and ends with the process: what a crash leaves is what was
committed.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class _Logged:
    """A table, its columns, and what tells its rows apart."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def log(self) -> str:
        """The temporary table of its rows as they were."""
        return f"before_{self.name}"


class Savepoint:
    """The rows of a file as they were when this was made; ``restore`` or ``release`` once."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._tables = _tables(db)
        db.execute("PRAGMA temp_store = MEMORY")
        # INSERT OR REPLACE deletes a row without its trigger otherwise
        db.execute("PRAGMA recursive_triggers = ON")
        for table in self._tables:
            _begin(db, table)

    def release(self) -> None:
        """Keep what was written since."""
        for table in self._tables:
            for when in ("insert", "update", "delete"):
                self._db.execute(f"DROP TRIGGER IF EXISTS temp.{table.log}_{when}")
            self._db.execute(f"DROP TABLE IF EXISTS temp.{table.log}")
        self._tables = ()

    def changed_objects(self) -> tuple[list[str], list[str]]:
        """The ids of the objects that were there and were changed since, and of those that were made since."""
        there = [
            str(row[0]) for row in self._db.execute("SELECT id FROM temp.before_objects WHERE is_there ORDER BY k0")
        ]
        query = (
            "SELECT id FROM objects WHERE num IN (SELECT k0 FROM temp.before_objects WHERE NOT is_there) ORDER BY num"
        )
        return there, [str(row[0]) for row in self._db.execute(query)]

    def restore(self, db: sqlite3.Connection) -> None:
        """Put every row back, within a transaction that the caller began with foreign keys off."""
        for table in self._tables:
            for when in ("insert", "update", "delete"):
                db.execute(f"DROP TRIGGER temp.{table.log}_{when}")
        for table in self._tables:
            same = " AND ".join(f"main.{table.name}.{key} IS b.k{n}" for n, key in enumerate(table.keys))
            db.execute(f"DELETE FROM main.{table.name} WHERE EXISTS (SELECT 1 FROM temp.{table.log} b WHERE {same})")
            names = ", ".join(table.columns)
            rowid, k0 = ("rowid, ", "k0, ") if table.keys == ("rowid",) else ("", "")
            was = f"SELECT {k0}{names} FROM temp.{table.log} WHERE is_there"
            db.execute(f"INSERT INTO main.{table.name} ({rowid}{names}) {was}")


def _tables(db: sqlite3.Connection) -> tuple[_Logged, ...]:
    found = []
    names = [
        (str(name), bool(without_rowid))
        for schema, name, kind, _, without_rowid, *_ in db.execute("PRAGMA table_list")
        if schema == "main" and kind == "table" and not str(name).startswith("sqlite_")
    ]
    for name, without_rowid in sorted(names):
        columns = [
            (str(column), int(key)) for _, column, _, _, _, key, *_ in db.execute(f"PRAGMA table_info({name})")
        ]
        keys = tuple(column for column, key in sorted(columns, key=lambda each: each[1]) if key)
        whole = any(
            key and kind == "INTEGER" for _, _, kind, _, _, key, *_ in db.execute(f"PRAGMA table_info({name})")
        )
        by = keys if without_rowid or (whole and len(keys) == 1) else ("rowid",)
        found.append(_Logged(name, tuple(column for column, _ in columns), by))
    return tuple(found)


def _begin(db: sqlite3.Connection, table: _Logged) -> None:
    log, keys = table.log, range(len(table.keys))
    numbered = ", ".join(f"k{n}" for n in keys)
    names = ", ".join(table.columns)
    db.execute(f"CREATE TABLE temp.{log} ({numbered}, is_there, {names}, PRIMARY KEY ({numbered}))")
    for when, row in (("insert", "NEW"), ("update", "OLD"), ("delete", "OLD")):
        known = " AND ".join(f"k{n} IS {row}.{key}" for n, key in zip(keys, table.keys, strict=True))
        values = ", ".join(f"{row}.{key}" for key in table.keys)
        if row == "NEW":
            kept, into = f"{values}, 0", f"{numbered}, is_there"
        else:
            kept = f"{values}, 1, " + ", ".join(f"OLD.{column}" for column in table.columns)
            into = f"{numbered}, is_there, {names}"
        # not OR IGNORE: within a trigger the policy of the statement that fired it holds
        db.execute(
            f"CREATE TEMP TRIGGER {log}_{when} {'AFTER' if row == 'NEW' else 'BEFORE'} {when.upper()} "
            f"ON main.{table.name} BEGIN INSERT INTO {log} ({into}) "
            f"SELECT {kept} WHERE NOT EXISTS (SELECT 1 FROM {log} WHERE {known}); END"
        )
