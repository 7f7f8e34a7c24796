"""What the file costs: opening it beside reading it, and writing it beside bare SQLite with the same bytes."""

from __future__ import annotations

import gc
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.objects import ObjectMemory, Rows
from lastseen.memory.store.journal import Batch
from lastseen.memory.store.records import SessionRecord
from lastseen.memory.store.working import counters_of, records_of, views_of
from lastseen.observation import Observation
from support.objects import DIM, PER_M2, records, timed, timed_cpu, unit_rows
from support.progress import say


def working_rows(count: int) -> Rows:
    """A full export of working memory with this many objects: one real object's row, repeated and varied."""
    camera = Intrinsics.from_fov(80, 60, horizontal_deg=79.0)
    memory, rng = ObjectMemory(), np.random.default_rng(5)
    look = unit_rows(rng, 1)[0]
    for number in range(6):
        frame = Frame(
            number,
            float(number),
            np.zeros((60, 80, 3), np.uint8),
            np.full((60, 80), np.nan, np.float32),
            Pose3D.identity(),
            camera,
        )
        direction = np.array([np.cos(number), np.sin(number), 0.3])
        seen = Observation(np.ones(3), np.full(3, 0.2), direction, float(number), labels={"mug": 0.9}, embedding=look)
        memory.observe(frame, [seen])
    rows = memory.export_rows()
    columns = {name: np.repeat(column[:1], count, axis=0) for name, column in rows.columns.items()}
    side = (count / PER_M2) ** 0.5
    columns["seq"] = np.arange(1, count + 1)
    columns["xyz"] = rng.uniform([0, 0, 0.2], [side, side, 1.8], (count, 3))
    columns["emb_mean"] = unit_rows(rng, count)
    views = rows.views
    labels, now = rows.labels, rows.now
    return Rows(columns, labels, DIM, count + 1, now, rows.frame_id, rows.version, (), views)


def opening(count: int) -> dict[str, float]:
    """Write a file, beside bare SQLite with the same bytes; then open it, beside reading it."""
    settings = Settings()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.lastseen"
        rows = working_rows(count)
        say(f"preparing a file of {count:,} objects")
        made = records_of(rows, colors={}, reads_colors=False)
        memory = Memory.open(path)
        start = time.perf_counter()
        for first in range(0, count, 1000):
            say(f"writing {first:,} of {count:,}")
            memory.store.journal.write(Batch(time=5.0, objects=made[first : first + 1000]), settings=settings)
        upserts = count / (time.perf_counter() - start)
        session = SessionRecord(1, "robot", 0.0, None, 0.0, 5.0)
        meta = {**counters_of(rows), "image_encoder": f"unnamed-{DIM}"}
        memory.store.journal.write(
            Batch(time=5.0, session=session, meta=meta, bodies={"views": views_of(rows)}), settings=settings
        )
        memory.store.close()
        blobs = [
            record.working + (record.embedding.tobytes() if record.embedding is not None else b"") for record in made
        ]
        del made, rows
        gc.collect()
        times, cpu, reading = [], [], []
        for turn in range(3):
            say(f"opening {count:,} objects, turn {turn + 1} of 3")
            reading.append(timed(lambda: _read_all(path)) / 1e3)
            opened: list[Memory] = []
            wall, used = timed_cpu(lambda to=opened: to.append(Memory.open(path)))  # type: ignore[misc]
            times.append(wall / 1e3)
            cpu.append(used / 1e3)
            assert len(opened[0].store.table) == count
            opened.pop().store.close()
            gc.collect()
        bare = _bare_rate(Path(folder) / "bare.db", blobs[: min(count, 20_000)])
        size = path.stat().st_size
    return {
        "open_s": float(np.median(times)),
        "open_cpu_s": float(np.median(cpu)),
        "read_s": float(np.median(reading)),
        "upserts_per_s": upserts,
        "bare_per_s": bare,
        "file_mb": size / 1e6,
    }


def flush_rates(rounds: int) -> tuple[float, float]:
    """Milliseconds of a commit of 20 objects, and of bare SQLite FULL with the same bytes, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory.open(Path(folder) / "flush.lastseen")
        bare = _bare(Path(folder) / "bare.db")
        rng, ours, theirs = np.random.default_rng(6), [], []
        for turn in range(rounds):
            say(f"commits of 20 objects: {turn} of {rounds}")
            fresh = records(rng, 20 * turn, 20, 50.0)
            memory.store.stage(objects=fresh)
            ours.append(timed(lambda t=turn: memory.store.commit(float(t), session=None)))  # type: ignore[misc]
            vectors = [record.embedding.tobytes() for record in fresh if record.embedding is not None]
            theirs.append(timed(lambda v=vectors: _insert(bare, v)))  # type: ignore[misc]
        memory.store.close()
        bare.close()
    return float(np.median(ours)), float(np.median(theirs))


def _bare(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB)")
    return db


def _insert(db: sqlite3.Connection, blobs: list[bytes]) -> None:
    db.execute("BEGIN")
    db.executemany("INSERT INTO t (b) VALUES (?)", [(blob,) for blob in blobs])
    db.execute("COMMIT")


def _bare_rate(path: Path, blobs: list[bytes]) -> float:
    db = _bare(path)
    start = time.perf_counter()
    for first in range(0, len(blobs), 1000):
        _insert(db, blobs[first : first + 1000])
    rate = len(blobs) / (time.perf_counter() - start)
    db.close()
    return rate


def _read_all(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 22):
            pass
