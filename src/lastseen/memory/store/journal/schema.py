"""The journal's tables and how an older file becomes a newer one.

The version stands in SQLite's ``user_version`` and the mark "this is a lastseen file" in ``application_id``, both
in the file's first page, so that a foreign file is told apart before anything is read from it.

To add a table or a column: write ``VERSION_N`` (statements) or ``to_version_N`` (a function, where rows change) at
the end of this file, add it to ``STEPS``, and run ``python -m tests.memory.store.journal.make_golden``, which writes
the golden file of the new version for ``test_versions.py``. Steps of the past are never edited: they stand for files
that people have. Each table has a column ``checksum``, which is ``row_sum`` of all others in their order, so that a
changed value is noticed; a table of bodies by key needs no more than an entry in ``BODIES``: whoever writes it stages
its bodies, and whoever reads it calls ``JournalReader.bodies(table)``. An empty body deletes its row.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import cache
from typing import Any

BODIES: dict[str, tuple[str, ...]] = {
    "places": ("id",),
    "anchors": ("id",),
    "viewpoints": ("num",),
    "floor": ("storey", "i", "j"),
    "walls": ("storey", "i", "j"),
    "surface": ("i", "j", "k"),
    "path": ("id",),
    "facts": ("id",),
    "keyframes": ("id",),
    "frames": ("id",),
    "views": ("slot",),
}
"""Tables that keep one body by key, with the columns of the key."""

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

VERSION_2 = """
DROP TABLE places;
DROP TABLE nodes;
CREATE TABLE places (id INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE anchors (id INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE viewpoints (
  num INTEGER PRIMARY KEY REFERENCES objects(num) ON DELETE CASCADE, body BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE floor (
  i INTEGER NOT NULL, j INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (i, j)
) WITHOUT ROWID;
ALTER TABLE objects RENAME COLUMN state TO working;
ALTER TABLE objects RENAME COLUMN status TO state;
ALTER TABLE versions RENAME COLUMN status TO state;
ALTER TABLE objects DROP COLUMN place;
ALTER TABLE versions DROP COLUMN place;
UPDATE meta SET key = 'image_encoder' WHERE key = 'look';
UPDATE objects SET state = 'tentative' WHERE state = 'proto';
"""


def to_version_2(connection: sqlite3.Connection) -> None:
    """Give places, anchors, viewpoints and floor tables of their own; the whole spatial memory was one text before.

    Columns and checksums are written out here as they were: what later versions do with them changes nothing about
    the files of these two.
    """
    # a checksum that is made anew must not hide that the old one did not fit
    rows = connection.execute(
        "SELECT num, id, label, label_scores, x, y, z, width, depth, height, status, hits, stability, view_bins, "
        "first_seen, last_seen, place, colors, state, o.checksum, e.checksum "
        "FROM objects o LEFT JOIN embeddings e USING (num)"
    ).fetchall()
    sums = []
    for num, *values, place, colors, working, expected, vectors in rows:
        if _checksum(values, f"\x1f{place}", colors, working) != expected:
            raise sqlite3.DatabaseError(f"the row of {values[0]} does not match its checksum")
        values[9] = "tentative" if values[9] == "proto" else values[9]
        sums.append((_checksum(values, f"\x1f{vectors}", colors, working), num))
    execute_all(connection, VERSION_2)
    connection.executemany("UPDATE objects SET checksum = ? WHERE num = ?", sums)
    found = connection.execute("SELECT value FROM meta WHERE key = 'places.state'").fetchone()
    if found is None:
        return
    try:
        state = json.loads(found[0])
        graph = state.pop("graph")
        bodies = {
            table: [(int(body[name]), json.dumps(body)) for body in graph[table]]
            for table, name in (("places", "place_id"), ("anchors", "anchor_id"))
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise sqlite3.DatabaseError(f"its places cannot be read: {error}") from error
    for table, found in bodies.items():
        connection.executemany(
            f"INSERT INTO {table} VALUES (?, ?, ?)",
            [(number, body, zlib.crc32(body.encode())) for number, body in found],
        )
    connection.execute("UPDATE meta SET value = ? WHERE key = 'places.state'", (json.dumps(state),))


def _checksum(values: Sequence[Any], last: str, colors: bytes | None, working: bytes) -> int:
    """What versions 1 and 2 kept of a row: its numbers, its texts with one more at their end, and its two blobs."""
    try:
        numbers = struct.pack("<10d", *values[3:9], values[10], values[11], values[13], values[14])
        text = "\x1f".join(str(values[at]) for at in (0, 1, 2, 9, 12)) + last
        return zlib.crc32(working, zlib.crc32(b"".join((numbers, text.encode(), colors or b""))))
    except (struct.error, TypeError, UnicodeEncodeError) as error:
        raise sqlite3.DatabaseError(f"the row of {values[0]} cannot be read: {error}") from error


def row_sum(*values: Any) -> int:
    """The checksum of a row: what its values add up to, bodies last. SQLite notices a broken page, not a value."""
    # SQLite gives a negative zero back as zero
    *keys, body = (value + 0.0 if isinstance(value, float) else value for value in values)
    last = body if isinstance(body, bytes) else repr(body).encode("utf-8", "backslashreplace")
    return zlib.crc32(last, zlib.crc32(repr(keys).encode("utf-8", "backslashreplace")))


VERSION_3 = """
ALTER TABLE meta ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE versions ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE crops ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
"""


def to_version_3(connection: sqlite3.Connection) -> None:
    """Give every row a checksum that covers all of it; bodies had one of themselves alone, without their key."""
    for table in ("places", "anchors", "viewpoints", "floor", "views"):
        for *key, body, expected in connection.execute(f"SELECT * FROM {table}"):
            found = zlib.crc32(body.encode() if isinstance(body, str) else body)
            if found != expected:
                name = ", ".join(map(str, key))
                raise sqlite3.DatabaseError(f"the row of {table} {name} does not match its checksum")
    execute_all(connection, VERSION_3)
    connection.create_function("row_sum", -1, row_sum, deterministic=True)
    for table, columns in (
        ("meta", "key, value"),
        ("sessions", "id, robot, clock_offset, wall_offset, first, last"),
        ("events", "id, time, object_id, kind, evidence"),
        ("versions", "num, time, x, y, z, label_scores, state, hits, first_seen, last_seen, colors"),
        ("crops", "num, time, quality, jpeg"),
        ("outbox", "seq, object_id, op"),
        ("places", "id, body"),
        ("anchors", "id, body"),
        ("viewpoints", "num, body"),
        ("floor", "i, j, body"),
        ("views", "slot, body"),
    ):
        connection.execute(f"UPDATE {table} SET checksum = row_sum({columns})")


VERSION_4 = """
CREATE TABLE tiles (
  storey INTEGER NOT NULL, i INTEGER NOT NULL, j INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (storey, i, j)
) WITHOUT ROWID;
INSERT INTO tiles SELECT 0, i, j, body, row_sum(0, i, j, body) FROM floor;
DROP TABLE floor;
ALTER TABLE tiles RENAME TO floor;
CREATE TABLE walls (
  storey INTEGER NOT NULL, i INTEGER NOT NULL, j INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (storey, i, j)
) WITHOUT ROWID;
"""


def to_version_4(connection: sqlite3.Connection) -> None:
    """Keep floor by storey, and walls beside it, which rooms are cut from."""
    for i, j, body, expected in connection.execute("SELECT i, j, body, checksum FROM floor"):
        # a checksum that is made anew must not hide that the old one did not fit
        if row_sum(i, j, body) != expected:
            raise sqlite3.DatabaseError(f"the row of floor {i}, {j} does not match its checksum")
    connection.create_function("row_sum", -1, row_sum, deterministic=True)
    execute_all(connection, VERSION_4)


VERSION_5 = """
CREATE TABLE surface (
  i INTEGER NOT NULL, j INTEGER NOT NULL, k INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
  PRIMARY KEY (i, j, k)
) WITHOUT ROWID;
CREATE TABLE path (id INTEGER PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL);
"""
"""What the home looks like, and where the robot went."""

VERSION_6 = """
CREATE TABLE facts (id INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
"""
"""What was told rather than seen."""

VERSION_7 = """
CREATE TABLE keyframes (id INTEGER PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL);
"""
"""Pictures of what the robot saw."""

VERSION_8 = """
CREATE TABLE frames (id INTEGER PRIMARY KEY, body TEXT NOT NULL, checksum INTEGER NOT NULL);
"""
"""In which map each session is, and how that is known."""

VERSION_9 = """
ALTER TABLE objects ADD COLUMN yaw REAL NOT NULL DEFAULT 0;
"""
"""By how much the box of each object is turned about the vertical: those of older files lie along the axes."""

RENAMED_IN_10 = {"newness": "free_space", "rivals": "neighbours", "rival_hits": "neighbour_hits"}
"""Columns of working memory, by the name that files before version 10 have for them."""


def to_version_10(connection: sqlite3.Connection) -> None:
    """Name columns of working memory by the field's words, in the layout that stands in the file once."""
    found = connection.execute("SELECT value, checksum FROM meta WHERE key = 'working.layout'").fetchone()
    if found is None:
        return
    text, expected = found
    # a checksum that is made anew must not hide that the old one did not fit
    if row_sum("working.layout", text) != expected:
        raise sqlite3.DatabaseError("the row of meta working.layout does not match its checksum")
    try:
        layout = json.dumps([(RENAMED_IN_10.get(name, name), *kind) for name, *kind in json.loads(text)])
    except (ValueError, TypeError, RecursionError) as error:
        raise sqlite3.DatabaseError(f"the layout of its objects cannot be read: {error}") from error
    connection.execute(
        "UPDATE meta SET value = ?, checksum = ? WHERE key = 'working.layout'",
        (layout, row_sum("working.layout", layout)),
    )


Step = str | Callable[[sqlite3.Connection], None]
STEPS: dict[int, Step] = {
    1: VERSION_1,
    2: to_version_2,
    3: to_version_3,
    4: to_version_4,
    5: VERSION_5,
    6: VERSION_6,
    7: VERSION_7,
    8: VERSION_8,
    9: VERSION_9,
    10: to_version_10,
}
"""How a file of each version is made from one of the version before it: statements, or a function."""


def newest(steps: Mapping[int, Step] = STEPS) -> int:
    """The version this program writes."""
    return max(steps)


def migrate(connection: sqlite3.Connection, *, steps: Mapping[int, Step] = STEPS) -> None:
    """Bring a file to the newest version, all steps in one transaction: a crash leaves the old file whole."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == newest(steps):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(version + 1, newest(steps) + 1):
            step = steps[number]
            if callable(step):
                step(connection)
            else:
                execute_all(connection, step)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {newest(steps)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def in_newest_version(connection: sqlite3.Connection) -> sqlite3.Connection:
    """A connection to the same contents in the newest version; an older file is read from a copy in RAM.

    The file itself is not touched. What another process writes to it later does not reach the copy.
    """
    if int(connection.execute("PRAGMA user_version").fetchone()[0]) == newest():
        return connection
    copy = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        connection.backup(copy)
        connection.close()
        migrate(copy)
    except BaseException:
        copy.close()
        raise
    return copy


@cache
def expected_schema(version: int) -> frozenset[tuple[str, str, str, str]]:
    """What ``sqlite_master`` holds in a file of a version: kind, name, table and statement of each entry."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, steps={number: step for number, step in STEPS.items() if number <= version})
        return frozenset(schema_of(connection))


def schema_of(connection: sqlite3.Connection, *, limit: int = -1) -> list[tuple[str, str, str, str]]:
    """Kind, name, table and statement, in single spaces, of at most ``limit`` entries of a file's schema."""
    rows = connection.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master LIMIT ?", (limit,))
    return [(str(kind), str(name), str(table), " ".join(str(sql).split())) for kind, name, table, sql in rows]


def execute_all(connection: sqlite3.Connection, statements: str) -> None:
    """Run statements one by one: ``executescript`` would commit before it begins."""
    for statement in statements.split(";"):
        if statement.strip():
            connection.execute(statement)
