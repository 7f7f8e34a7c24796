"""Twenty robots write to one real Milvus while ten ask it: rows lost, rows a second, and the time of a hybrid query.

    python benchmarks/fleet.py [--quick]

Each robot has a memory file of its own and the product's outbox; rows count as acknowledged when they have left it.
In the full form the server is killed (SIGKILL) in the middle of a rewrite and started again. A hybrid query is
``Memory.find(embedding=..., near=..., radius=2, robots="all")``; beside it stands pymilvus's bare search with the
same filter, in turns. Embeddings have the length of the built-in encoder.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.memory.memory import Memory
from lastseen.memory.store.clock import Clock
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.milvus import MilvusIndex, quoted
from lastseen.memory.store.outbox import Outbox
from lastseen.memory.store.records import CONFIRMED, ObjectRecord, SessionRecord
from support.milvus import MilvusServer, running_server
from support.progress import say

WRITERS, READERS, K = 20, 10, 10
DIM = ColorShapeEncoder.dim
SIDE = 100.0
"""Metres of the square on which all robots' things stand."""
LABELS = ("mug", "chair", "sofa", "lamp", "book", "plant", "bottle", "bowl", "table", "bed")
WAIT = 1200.0


class Robot:
    """One memory file and its outbox; ``objects`` is what the index must hold of it."""

    def __init__(self, name: str, folder: Path, index: str) -> None:
        self.name = name
        self.objects: dict[str, ObjectRecord] = {}
        self.rng = np.random.default_rng([7, int(name.split("-")[1])])
        self.journal = Journal.open(folder / name)
        self.outbox = Outbox(
            self.journal,
            lambda: MilvusIndex(index, DIM, encoder=ColorShapeEncoder.name, timeout=60.0),
            robot=name,
            target=index,
            clock=Clock([SessionRecord(1, name, 0.0, 1.7e9, 0.0, 0.0)]),
        )
        self.outbox.start()

    def write(self, count: int) -> None:
        """See so many new things."""
        looks = self.rng.standard_normal((count, DIM), dtype=np.float32)
        xyz = self.rng.uniform([0, 0, 0.2], [SIDE, SIDE, 1.8], (count, 3)).tolist()
        first = len(self.objects) + 1
        for start in range(0, count, 1000):
            some = [
                ObjectRecord(
                    id=f"obj-{first + i}",
                    xyz=tuple(xyz[i]),
                    extent=(0.2, 0.2, 0.2),
                    label_scores={LABELS[i % len(LABELS)]: 0.8},
                    state=CONFIRMED,
                    hits=5,
                    stability=0.9,
                    first_seen=0.0,
                    last_seen=1.0,
                    embedding=looks[i] / np.linalg.norm(looks[i]),
                )
                for i in range(start, min(count, start + 1000))
            ]
            self._commit(some)

    def rewrite(self) -> None:
        """See everything again, a metre higher; the rows wait until the outbox is woken."""
        moved = [replace(one, xyz=(*one.xyz[:2], one.xyz[2] + 1.0), hits=6) for one in self.objects.values()]
        for start in range(0, len(moved), 1000):
            self._commit(moved[start : start + 1000], send=False)

    def _commit(self, records: Sequence[ObjectRecord], *, send: bool = True) -> None:
        self.journal.write(Batch(time=1.0, objects=records), settings=Settings(), outbox=True)
        self.objects.update({record.id: record for record in records})
        if send:
            self.outbox.wake()

    def lost(self, index: MilvusIndex) -> int:
        """How many of its things the index does not hold as they are."""
        held = {row["object"]: row["z"] for row in index.rows(where=f"robot == {quoted(self.name)}")}
        return sum(held.get(key) != record.xyz[2] for key, record in self.objects.items())

    def close(self) -> None:
        self.outbox.stop()
        self.journal.close()


def in_threads(work: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=one) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def settle(robots: Sequence[Robot]) -> None:
    """Wait until every outbox is empty."""
    end = time.monotonic() + WAIT
    while waiting := sum(robot.journal.count_queued() for robot in robots):
        say(f"{waiting:,} rows wait to be sent")
        if time.monotonic() > end:
            errors = {robot.outbox.last_error for robot in robots}
            raise SystemExit(f"{waiting} rows were not sent within {WAIT:.0f} s: {errors}")
        time.sleep(0.2)


class Readers:
    """Ask hybrid queries from several threads; ``ours`` and ``bare`` are milliseconds, taken in turns."""

    def __init__(self, index: str) -> None:
        self._index = index
        self.ours: list[float] = []
        self.bare: list[float] = []

    def run(self, queries: int, *, ended: threading.Event | None = None) -> None:
        """Let each reader ask so many, or until the event is set."""
        in_threads([partial(self._read, number, queries, ended) for number in range(READERS)])

    def _read(self, number: int, queries: int, ended: threading.Event | None) -> None:
        rng, bare = np.random.default_rng([11, number]), MilvusIndex(self._index, timeout=60.0)
        with Memory.open(index=self._index) as memory:
            for turn in range(queries):
                if ended is not None and ended.is_set():
                    break
                vector = rng.standard_normal(DIM, dtype=np.float32)
                vector /= np.linalg.norm(vector)
                x, y = rng.uniform(0, SIDE, 2).tolist()
                start = time.perf_counter()
                memory.find(embedding=vector, near=(x, y, 1.0), radius=2.0, robots="all", k=K)
                middle = time.perf_counter()
                box = f"x >= {x - 2} and x <= {x + 2} and y >= {y - 2} and y <= {y + 2} and z >= -1.0 and z <= 3.0"
                with bare._talking() as client:
                    client.search(
                        bare.address.collection,
                        data=[vector.tolist()],
                        limit=256,
                        filter=box,
                        output_fields=["key", "x", "y", "z", "label"],
                        consistency_level="Strong",
                    )
                if turn:
                    # the first of each connects
                    self.ours.append((middle - start) * 1e3)
                    self.bare.append((time.perf_counter() - middle) * 1e3)
        bare.close()


def show(name: str, readers: Readers) -> tuple[float, float, float]:
    """Print and return p50, p99 and the ratio of medians to the bare search."""
    p50, p99 = np.percentile(readers.ours, [50, 99]).tolist()
    bare = float(np.median(readers.bare))
    print(
        f"{name:28} p50 {p50:7.0f} ms   p99 {p99:7.0f} ms   bare search p50 {bare:7.0f} ms   ratio {p50 / bare:.2f}"
    )
    return p50, p99, p50 / bare


def crash(server: MilvusServer, robots: Sequence[Robot]) -> None:
    """Let all robots rewrite everything, kill the server when about half has been sent, and start it again."""
    rows = sum(len(robot.objects) for robot in robots)
    in_threads([robot.rewrite for robot in robots])
    for robot in robots:
        robot.outbox.wake()
    while (left := sum(robot.journal.count_queued() for robot in robots)) > rows // 2:
        time.sleep(0.02)
    server.kill()
    print(f"killed the server with {left:,} of {rows:,} rows still to be sent")
    server.start(limit=300.0)
    settle(robots)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10,000 rows only, no crash; within 3 minutes")
    options = parser.parse_args()
    result: dict[str, float | int | None] = dict.fromkeys(
        ["rows_lost", "rows_per_s", *(f"hybrid_{p}_ms_{n}" for n in ("10k", "200k") for p in ("p50", "p99"))]
    )
    with running_server() as server, tempfile.TemporaryDirectory() as folder:
        if server is None:
            print("RESULT " + json.dumps(result))
            return
        index = f"milvus://{server.address}/fleet"
        robots = [Robot(f"robot-{number}", Path(folder), index) for number in range(WRITERS)]
        cpu = time.process_time()
        try:
            for rows, name in ((10_000, "10k"), (200_000, "200k"))[: 1 if options.quick else 2]:
                more = rows // WRITERS - len(robots[0].objects)
                ended, busy, start = threading.Event(), Readers(index), time.perf_counter()
                in_threads([partial(robot.write, more) for robot in robots])
                while not robots[0].journal.count_queued() < more:
                    time.sleep(0.1)
                reading = threading.Thread(target=busy.run, args=(10_000,), kwargs={"ended": ended})
                reading.start()
                settle(robots)
                took = time.perf_counter() - start
                ended.set()
                reading.join()
                print(f"{more * WRITERS:,} rows by {WRITERS} writers beside {READERS} readers: {took:.0f} s")
                result["rows_per_s"] = round(more * WRITERS / took, 1)
                if busy.ours:
                    show(f"{name} rows, while writing", busy)
                if name == "10k" and not options.quick:
                    crash(server, robots)
                quiet = Readers(index)
                quiet.run(6 if options.quick else 12)
                p50, p99, ratio = show(f"{name} rows, {READERS} readers", quiet)
                result |= {f"hybrid_p50_ms_{name}": round(p50, 1), f"hybrid_p99_ms_{name}": round(p99, 1)}
                result[f"ratio_to_bare_search_{name}"] = round(ratio, 2)
            asked = MilvusIndex(index, timeout=120.0)
            result["rows_lost"] = sum(robot.lost(asked) for robot in robots)
            asked.close()
        finally:
            for robot in robots:
                robot.close()
        result["client_cpu_s"] = round(time.process_time() - cpu, 1)
    print(f"rows lost: {result['rows_lost']} (goal 0: {'met' if result['rows_lost'] == 0 else 'missed'})")
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
