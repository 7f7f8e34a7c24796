"""Searching memory beside raw FAISS, numpy, Milvus and the memory bus: python benchmarks/search.py [--quick].

Every query goes to each in turn, on the same vectors and with another one first each time, so that a busy machine
slows all alike. Raw FAISS searches the very index that memory searches: the ratio is what names, filters, times and
the verdict cost on top of it. The bus reads the same vectors once, with one thread per core.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.encoders import open_encoder
from lastseen.memory.memory import Memory
from lastseen.memory.store.index import FaissIndex
from support.durable import flush_rates, opening
from support.milvus import filled_milvus, running_milvus
from support.objects import DIM, LABELS, PER_M2, K, filled, records, timed, timed_cpu, unit_rows
from support.progress import say

NAMES = {1_000: "1k", 10_000: "10k", 100_000: "100k", 1_000_000: "1m"}
AT_MOST = {
    "semantic_extra_ms_10k": 0.3,
    "semantic_ratio_to_faiss_100k": 1.15,
    "semantic_ratio_to_faiss_1m": 1.15,
    "hybrid_ms_100k": 0.5,
    "busy_p99_ratio": 2.0,
    "open_s_100k": 3.0,
}
AT_LEAST = {"bandwidth_fraction_1m": 0.8}
MILVUS_ROUNDS = 40
MILLION_BYTES = 8e9
"""RAM that must be free for a million objects: 2 GB of vectors, twice while they grow, and what goes with them."""


def read_once(parts: list[np.ndarray]) -> None:
    threads = [threading.Thread(target=part.max) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def semantic(memory: Memory, rounds: int, milvus: str | None = None) -> dict[str, float]:
    index = memory.store.main
    assert isinstance(index, FaissIndex)
    count, rng = len(index), np.random.default_rng(1)
    matrix = index._matrix()
    parts = np.array_split(matrix.reshape(-1), os.cpu_count() or 1)

    def by_numpy(query: np.ndarray) -> None:
        scores = matrix @ query
        np.argpartition(-scores, min(K, count - 1))

    contestants: dict[str, Callable[[np.ndarray], object]] = {
        "memory": lambda query: memory.find(embedding=query, k=K),
        "faiss": lambda query: index._index().search(query[None], K),
        "numpy": by_numpy,
        "bus": lambda _: read_once(parts),
    }
    if milvus is not None:
        # a running server takes its share of every core, so it meets memory alone
        server = filled_milvus(milvus, matrix)
        contestants = {"memory": contestants["memory"], "milvus": lambda query: server.search(query, k=K)}
    names = list(contestants)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    warm_up = len(names)
    for i in range(rounds + warm_up):
        say(f"{count:,} objects: query {i} of {rounds}")
        query = matrix[int(rng.integers(count))] + 0.02 * rng.standard_normal(DIM, dtype=np.float32)
        query /= np.linalg.norm(query)
        for name in names[i % len(names) :] + names[: i % len(names)]:
            once = timed_cpu(lambda n=name, q=query: contestants[n](q))  # type: ignore[misc]
            if i >= warm_up:
                times[name].append(once)
    result: dict[str, float] = {}
    for name, values in times.items():
        wall, cpu = np.array(values).T
        result |= {f"{name}_p50": float(np.median(wall)), f"{name}_p99": float(np.percentile(wall, 99))}
        result[f"{name}_cpu"] = float(np.median(cpu))
    of_memory, of_rival = (
        np.array(times[name])[:, 0] for name in ("memory", "faiss" if milvus is None else "milvus")
    )
    result["ratio"] = float(np.median(of_memory / of_rival))
    result["extra"] = float(np.median(of_memory - of_rival))
    return result


def hybrid(memory: Memory, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of top-10 within 2 m (p50, p99), and of words within 2 m (p50); what is asked for is there."""
    index, table = memory.store.main, memory.store.table
    assert isinstance(index, FaissIndex)
    rng, by_look, by_words = np.random.default_rng(2), [], []
    for i in range(rounds):
        say(f"within 2 m: query {i} of {rounds}")
        row = int(rng.integers(len(table)))
        x, y, z = table.xyz(row)
        near = (x + rng.uniform(-1, 1), y + rng.uniform(-1, 1), z)
        known = index.vector(table.ids[row])
        assert known is not None
        query = known + 0.02 * rng.standard_normal(DIM, dtype=np.float32)
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


def all_sizes(quick: bool, result: dict[str, Any]) -> None:
    """The table of searches by look, and the hybrid row, which asks the same 100,000 objects."""
    sizes = [(1_000, 400), (10_000, 300), (100_000, 60 if quick else 200)]
    if not quick:
        sizes.append((1_000_000, 30))
    print(f"semantic top-{K} by embedding, {DIM}-d, milliseconds (cpu: of all threads)")
    heads = ("objects", "memory", "p99", "cpu", "faiss", "p99", "cpu", "numpy", "milvus", "bus", "ratio")
    print(" ".join(head.rjust(9) for head in heads))
    for count, rounds in sizes:
        if count == 1_000_000 and free_bytes() < MILLION_BYTES:
            print(f"a million objects are left out: they need {MILLION_BYTES / 1e9:.0f} GB of free RAM")
            continue
        memory, _ = filled(count)
        beside = count == 10_000 or (count == 100_000 and not quick)
        row = semantic(memory, rounds)
        with running_milvus() if beside else nullcontext() as milvus:
            if milvus is not None:
                shared = semantic(memory, MILVUS_ROUNDS, milvus)
                row["milvus_p50"], row["milvus_ratio"] = shared["milvus_p50"], shared["ratio"]
        told = [row[key] for key in ("memory_p50", "memory_p99", "memory_cpu", "faiss_p50", "faiss_p99", "faiss_cpu")]
        told += [row["numpy_p50"], row.get("milvus_p50", float("nan")), row["bus_p50"], row["ratio"]]
        print(f"{count:>9,} " + " ".join(f"{value:>9.3f}" for value in told))
        name = NAMES[count]
        result[f"semantic_ratio_to_faiss_{name}"] = round(row["ratio"], 3)
        result[f"semantic_extra_ms_{name}"] = round(row["extra"], 3)
        if "milvus_p50" in row:
            result[f"milvus_flat_ms_{name}"] = round(row["milvus_p50"], 3)
            result[f"semantic_ratio_to_milvus_{name}"] = round(row["milvus_ratio"], 3)
        if count == 1_000_000:
            result["bandwidth_fraction_1m"] = round(row["bus_p50"] / row["memory_p50"], 3)
        if count == 100_000:
            look, look_p99, words = hybrid(memory, 200 if quick else 1000)
            result |= {"hybrid_ms_100k": round(look, 3), "hybrid_p99_ms_100k": round(look_p99, 3)}
            print(f"top-{K} within 2 m of 100,000: {look:.3f} ms (p99 {look_p99:.3f}); by words {words:.3f} ms")
        memory.close()
        del memory
        gc.collect()


def free_bytes() -> float:
    """RAM that can be had without swapping; as much as is needed where the system does not tell."""
    told = Path("/proc/meminfo")
    lines = told.read_text(encoding="ascii").splitlines() if told.exists() else []
    return next((float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), MILLION_BYTES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="leaves out a million objects, fewer rounds")
    quick = parser.parse_args().quick
    result: dict[str, Any] = {f"semantic_ratio_to_faiss_{name}": None for name in NAMES.values()}
    result["bandwidth_fraction_1m"] = None
    all_sizes(quick, result)
    quiet, loaded = busy(100_000, 12.0 if quick else 40.0)
    result["busy_p99_ratio"] = round(loaded / quiet, 3)
    print(f"queries at 100,000: p99 {quiet:.1f} ms alone, {loaded:.1f} ms while 20 objects/s are upserted")
    ours, bare = flush_rates(40 if quick else 200)
    result |= {"commit_20_ms": round(ours, 2), "bare_sqlite_commit_20_ms": round(bare, 2)}
    print(f"commit of 20 objects: {ours:.2f} ms; bare SQLite FULL {bare:.2f} ms")
    big = opening(100_000)
    result |= {"open_s_100k": round(big["open_s"], 2), "open_cpu_s_100k": round(big["open_cpu_s"], 2)}
    result["upserts_per_s"] = round(big["upserts_per_s"])
    print(
        f"100,000 objects ({big['file_mb']:.0f} MB): open {big['open_s']:.2f} s, {big['open_cpu_s']:.2f} s of cpu"
        f" (reading it {big['read_s']:.2f} s), upserts {big['upserts_per_s']:.0f}/s"
        f" (bare SQLite {big['bare_per_s']:.0f}/s)"
    )
    encoding = text_encoding()
    result |= {f"encode_ms_{name}": round(value, 3) for name, value in encoding.items()}
    print("text encoding: " + ", ".join(f"{name} {value:.3f} ms" for name, value in encoding.items()))
    for name, goal in (AT_MOST | AT_LEAST).items():
        value = result.get(name)
        if value is not None:
            met = value >= goal if name in AT_LEAST else value <= goal
            print(f"{name}: {value} (goal {'>=' if name in AT_LEAST else '<='} {goal}: {'met' if met else 'missed'})")
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
