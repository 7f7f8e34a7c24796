"""Objects with random looks and places, and a memory full of them: what the search benchmarks ask."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from lastseen.memory.memory import Memory
from lastseen.memory.store.records import CONFIRMED, ObjectRecord
from support.progress import say

DIM = 512
K = 10
PER_M2 = 5.0
LABELS = ("mug", "chair", "sofa", "lamp", "book", "plant", "bottle", "bowl", "table", "bed")


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
            state=CONFIRMED,
            hits=5,
            stability=0.9,
            first_seen=0.0,
            last_seen=1.0,
            embedding=looks[i],
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


def timed_cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds by the clock, and of this process on all cores."""
    start, cpu = time.perf_counter(), time.process_time()
    work()
    return (time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3
