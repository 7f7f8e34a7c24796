"""The journal's tables and how an older file becomes a newer one.

The version stands in SQLite's ``user_version`` and the mark "this is a lastseen file" in ``application_id``, both
in the file's first page, so that a foreign file is told apart before anything is read from it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

APPLICATION_ID = 0x4C534E31
"""The letters LSN1."""

VERSION_1 = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE sessions (
  id INTEGER PRIMARY KEY, robot TEXT NOT NULL, clock_offset REAL NOT NULL, wall_offset REAL,
  first REAL NOT NULL, last REAL NOT NULL
);
CREATE TABLE objects (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, label TEXT, label_scores TEXT NOT NULL,
  x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL,
  width REAL NOT NULL, depth REAL NOT NULL, height REAL NOT NULL,
  status TEXT NOT NULL, hits INTEGER NOT NULL, stability REAL NOT NULL, view_bins TEXT NOT NULL,
  first_seen REAL NOT NULL, last_seen REAL NOT NULL, place TEXT, colors BLOB, state BLOB NOT NULL,
  checksum INTEGER NOT NULL
);
CREATE TABLE embeddings (
  num INTEGER PRIMARY KEY REFERENCES objects(num) ON DELETE CASCADE,
  mean BLOB NOT NULL, gallery BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE crops (
  num INTEGER NOT NULL REFERENCES objects(num) ON DELETE CASCADE,
  time REAL NOT NULL, quality REAL NOT NULL, jpeg BLOB NOT NULL
);
CREATE INDEX crops_of ON crops(num, quality);
CREATE TABLE versions (
  num INTEGER NOT NULL REFERENCES objects(num) ON DELETE CASCADE, time REAL NOT NULL,
  x REAL NOT NULL, y REAL NOT NULL, z REAL NOT NULL, label_scores TEXT NOT NULL, status TEXT NOT NULL,
  hits INTEGER NOT NULL, first_seen REAL NOT NULL, last_seen REAL NOT NULL, place TEXT, colors BLOB,
  PRIMARY KEY (num, time)
) WITHOUT ROWID;
CREATE TABLE events (
  id INTEGER PRIMARY KEY, time REAL NOT NULL, object_id TEXT NOT NULL, kind TEXT NOT NULL, evidence TEXT NOT NULL
);
CREATE INDEX events_of ON events(object_id, time);
CREATE INDEX events_at ON events(time);
CREATE TABLE places (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE nodes (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE views (slot INTEGER PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, object_id TEXT NOT NULL, op TEXT NOT NULL);
"""

STEPS: dict[int, str] = {1: VERSION_1}
"""Each version's statements, applied to a file of the version before it."""


def newest(steps: Mapping[int, str] = STEPS) -> int:
    """The version this program writes."""
    return max(steps)


def migrate(connection: sqlite3.Connection, *, steps: Mapping[int, str] = STEPS) -> None:
    """Bring a file to the newest version, all steps in one transaction: a crash leaves the old file whole."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == newest(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(version + 1, newest(steps) + 1):
            for statement in steps[step].split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
