"""Searching memory beside raw FAISS, numpy and the memory bus: python benchmarks/search.py [--quick].

Every query goes to each in turn, on the same vectors, so that a busy machine slows all alike. Raw FAISS searches the
very index that memory searches: the ratio is what names, filters, times and the verdict cost on top of it.
"""

from __future__ import annotations

import argparse
import gc
import json
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.facade import Memory
from lastseen.memory.longterm.index import FaissIndex
from lastseen.memory.longterm.journal import Batch
from lastseen.memory.longterm.records import CONFIRMED, ObjectRecord, SessionRecord
from lastseen.memory.longterm.working import counters_of, records_of, views_of
from lastseen.memory.objects import ObjectMemory, Rows
from lastseen.observation import Observation

DIM = 512
K = 10
PER_M2 = 5.0
LABELS = ("mug", "chair", "sofa", "lamp", "book", "plant", "bottle", "bowl", "table", "bed")
GOALS = {
    "semantic_ratio_to_faiss_100k": 1.15,
    "semantic_ratio_to_faiss_1m": 1.15,
    "hybrid_ms_100k": 0.5,
    "busy_p99_ratio": 2.0,
    "open_s_100k": 3.0,
}


def say(text: str) -> None:
    print(f"  {text}".ljust(78), end="\r", file=sys.stderr, flush=True)


def unit_rows(rng: np.random.Generator, count: int) -> np.ndarray:
    rows = rng.standard_normal((count, DIM), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def records(rng: np.random.Generator, first: int, count: int, side: float) -> list[ObjectRecord]:
    looks = unit_rows(rng, count)
    xyz = rng.uniform([0, 0, 0.2], [side, side, 1.8], (count, 3)).tolist()
    return [
        ObjectRecord(
            id=f"obj-{first + i}",
            xyz=tuple(xyz[i]),
            extent=(0.2, 0.2, 0.2),
            label_scores={LABELS[(first + i) % len(LABELS)]: 0.8},
            status=CONFIRMED,
            hits=5,
            stability=0.9,
            first_seen=0.0,
            last_seen=1.0,
            look=looks[i],
        )
        for i in range(count)
    ]


def filled(count: int, *, seed: int = 0) -> tuple[Memory, float]:
    """A memory in RAM that can be searched among this many objects."""
    memory, rng, side = Memory.open(), np.random.default_rng(seed), (count / PER_M2) ** 0.5
    for first in range(0, count, 20_000):
        say(f"filling {first:,} of {count:,}")
        memory.store._show(records(rng, first, min(20_000, count - first), side))
    return memory, side


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1e3


def bus_ms(count: int, rounds: int) -> float:
    """The time to read as many bytes once, with one thread per core: no exact search can be faster."""
    data = np.ones(min(count, 1_000_000) * DIM, dtype=np.float32)
    parts = np.array_split(data, 2)
    times = []
    for _ in range(rounds):
        threads = [threading.Thread(target=part.max) for part in parts]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.append((time.perf_counter() - start) * 1e3)
    return float(np.median(times)) * count / min(count, 1_000_000)


def semantic(count: int, rounds: int) -> dict[str, float]:
    memory, _ = filled(count)
    index = memory.store.main
    assert isinstance(index, FaissIndex)
    rng = np.random.default_rng(1)
    matrix = index._matrix()
    times: dict[str, list[float]] = {"memory": [], "faiss": [], "numpy": []}
    for i in range(rounds + 3):
        say(f"{count:,} objects: query {i} of {rounds}")
        query = matrix[int(rng.integers(count))] + 0.02 * rng.standard_normal(DIM, dtype=np.float32)
        query /= np.linalg.norm(query)

        def by_numpy(q: np.ndarray = query) -> None:
            scores = matrix @ q
            np.argpartition(-scores, min(K, count - 1))

        once = {
            "faiss": timed(lambda q=query: index._index.search(q[None], K)),  # type: ignore[misc]
            "memory": timed(lambda q=query: memory.find(embedding=q, k=K)),  # type: ignore[misc]
            "numpy": timed(by_numpy),
        }
        if i >= 3:
            for name, value in once.items():
                times[name].append(value)
    result = {f"{name}_p50": float(np.median(values)) for name, values in times.items()}
    result |= {f"{name}_p99": float(np.percentile(values, 99)) for name, values in times.items()}
    result["ratio"] = float(np.median(np.array(times["memory"]) / np.array(times["faiss"])))
    result["bus"] = bus_ms(count, 9)
    return result


def hybrid(count: int, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of top-10 within 2 m (p50, p99), and of words within 2 m (p50)."""
    memory, side = filled(count)
    rng, by_look, by_words = np.random.default_rng(2), [], []
    for i in range(rounds):
        say(f"within 2 m: query {i} of {rounds}")
        near = (*rng.uniform(0, side, 2).tolist(), 1.0)
        query = unit_rows(rng, 1)[0]
        by_look.append(timed(lambda q=query, n=near: memory.find(embedding=q, near=n, radius=2.0, k=K)))  # type: ignore[misc]
        by_words.append(timed(lambda n=near: memory.find("red mug", near=n, radius=2.0, k=K)))  # type: ignore[misc]
    return float(np.median(by_look)), float(np.percentile(by_look, 99)), float(np.median(by_words))


def busy(count: int, seconds: float) -> tuple[float, float]:
    """The p99 of queries alone, and while 20 objects a second are upserted and committed; in turns."""
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory.open(Path(folder) / "busy.lastseen")
        rng, side = np.random.default_rng(3), (count / PER_M2) ** 0.5
        for first in range(0, count, 20_000):
            memory.store._show(records(rng, first, min(20_000, count - first), side))
        quiet: list[float] = []
        loaded: list[float] = []
        upserting, ended = threading.Event(), threading.Event()

        def upsert() -> None:
            writer, number = np.random.default_rng(4), 0
            while not ended.is_set():
                if upserting.wait(0.05):
                    memory.store.stage(objects=records(writer, int(writer.integers(0, count - 20)), 20, side))
                    memory.store.commit(float(number), session=None)
                    number += 1
                    ended.wait(1.0)

        thread = threading.Thread(target=upsert)
        thread.start()
        slices = 6
        for turn in range(2 * slices):
            (upserting.set if turn % 2 else upserting.clear)()
            times = loaded if turn % 2 else quiet
            end = time.perf_counter() + seconds / slices / 2
            while time.perf_counter() < end:
                say(f"queries {'during upserts' if turn % 2 else 'alone'}: {len(times)}")
                query = unit_rows(rng, 1)[0]
                times.append(timed(lambda q=query: memory.find(embedding=q, k=K)))  # type: ignore[misc]
        ended.set()
        thread.join()
        memory.store.close()
        return float(np.percentile(quiet, 99)), float(np.percentile(loaded, 99))


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
        made = records_of(rows, colors={}, places={}, reads_colors=False)
        memory = Memory.open(path)
        start = time.perf_counter()
        for first in range(0, count, 1000):
            say(f"writing {first:,} of {count:,}")
            memory.store.journal.write(Batch(time=5.0, objects=made[first : first + 1000]), settings=settings)
        upserts = count / (time.perf_counter() - start)
        session = SessionRecord(1, "robot", 0.0, None, 0.0, 5.0)
        meta = {**counters_of(rows), "look": f"unnamed-{DIM}"}
        memory.store.journal.write(
            Batch(time=5.0, session=session, meta=meta, views=views_of(rows)), settings=settings
        )
        memory.store.close()
        blobs = [record.state + (record.look.tobytes() if record.look is not None else b"") for record in made]
        del made, rows
        gc.collect()
        times, reading = [], []
        for turn in range(3):
            say(f"opening {count:,} objects, turn {turn + 1} of 3")
            reading.append(timed(lambda: _read_all(path)) / 1e3)
            start = time.perf_counter()
            opened = Memory.open(path)
            times.append(time.perf_counter() - start)
            assert len(opened.objects()) == count if turn == 0 else True
            opened.store.close()
        bare = _bare_rate(Path(folder) / "bare.db", blobs[: min(count, 20_000)])
        size = path.stat().st_size
    return {
        "open_s": float(np.median(times)),
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
            theirs.append(timed(lambda f=fresh: _insert(bare, [r.look.tobytes() for r in f if r.look is not None])))  # type: ignore[misc]
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


def text_encoding() -> dict[str, float]:
    queries = [f"the {color} {label}" for color in ("red", "blue", "green") for label in LABELS]
    result = {}
    for name in ("lexicon", "wordllama"):
        try:
            encoder = open_encoder(name)
        except ImportError as error:
            print(f"{name}: {error}")
            continue
        encoder.encode_text(queries[:1])
        result[name] = float(np.median([timed(lambda q=q, e=encoder: e.encode_text([q])) for q in queries]))  # type: ignore[misc]
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leaves out a million objects, fewer rounds")
    quick = parser.parse_args().quick
    sizes = [(1_000, 400), (10_000, 300), (100_000, 60 if quick else 200)]
    if not quick:
        sizes.append((1_000_000, 30))
    result: dict[str, Any] = {f"semantic_ratio_to_faiss_{name}": None for name in ("1k", "10k", "100k", "1m")}
    result["bandwidth_fraction_1m"] = None
    print(f"semantic top-{K} by embedding, {DIM}-d, milliseconds")
    print(f"{'objects':>10} {'memory':>8} {'p99':>8} {'faiss':>8} {'p99':>8} {'numpy':>8} {'bus':>8} {'ratio':>7}")
    for count, rounds in sizes:
        row = semantic(count, rounds)
        gc.collect()
        print(
            f"{count:>10,} {row['memory_p50']:>8.3f} {row['memory_p99']:>8.3f} {row['faiss_p50']:>8.3f}"
            f" {row['faiss_p99']:>8.3f} {row['numpy_p50']:>8.3f} {row['bus']:>8.3f} {row['ratio']:>7.2f}"
        )
        name = {1_000: "1k", 10_000: "10k", 100_000: "100k", 1_000_000: "1m"}[count]
        result[f"semantic_ratio_to_faiss_{name}"] = round(row["ratio"], 3)
        result[f"semantic_extra_ms_{name}"] = round(row["memory_p50"] - row["faiss_p50"], 3)
        if count == 1_000_000:
            result["bandwidth_fraction_1m"] = round(row["bus"] / row["memory_p50"], 3)
    look, look_p99, words = hybrid(100_000, 200 if quick else 1000)
    result |= {"hybrid_ms_100k": round(look, 3), "hybrid_p99_ms_100k": round(look_p99, 3)}
    print(f"top-{K} within 2 m of 100,000: {look:.3f} ms (p99 {look_p99:.3f}); by words {words:.3f} ms")
    quiet, loaded = busy(100_000, 12.0 if quick else 40.0)
    result["busy_p99_ratio"] = round(loaded / quiet, 3)
    print(f"queries at 100,000: p99 {quiet:.1f} ms alone, {loaded:.1f} ms while 20 objects/s are upserted")
    ours, bare = flush_rates(40 if quick else 200)
    result |= {"commit_20_ms": round(ours, 2), "bare_sqlite_commit_20_ms": round(bare, 2)}
    print(f"commit of 20 objects: {ours:.2f} ms; bare SQLite FULL {bare:.2f} ms")
    big = opening(100_000)
    result |= {"open_s_100k": round(big["open_s"], 2), "upserts_per_s": round(big["upserts_per_s"])}
    print(
        f"100,000 objects ({big['file_mb']:.0f} MB): open {big['open_s']:.2f} s (reading it {big['read_s']:.2f} s),"
        f" upserts {big['upserts_per_s']:.0f}/s (bare SQLite {big['bare_per_s']:.0f}/s)"
    )
    encoding = text_encoding()
    result |= {f"encode_ms_{name}": round(value, 3) for name, value in encoding.items()}
    print("text encoding: " + ", ".join(f"{name} {value:.3f} ms" for name, value in encoding.items()))
    for name, goal in GOALS.items():
        if result.get(name) is not None:
            print(f"{name}: {result[name]} (goal <= {goal}: {'met' if result[name] <= goal else 'missed'})")
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
