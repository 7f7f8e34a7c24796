"""A server under load: clients, a robot and watchers at once: python benchmarks/server.py [--quick].

A real ``lastseen serve`` in a process of its own holds a file of objects. The robot first sends frames alone, then
with everybody else: the difference is what others cost it. Clients, robot and watchers run in processes of their own
and share the machine's cores with the server.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from support.load import ask, fill, send_frames, start_server, watch
from support.progress import say

RATE = 10.0
CLIENTS, WATCHERS, DEAF = 32, 50, 5
GOALS = {"errors": 0.0, "ingest_slowdown": 0.10}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 objects and 15 s instead of 10,000 and 60 s")
    chosen = parser.parse_args()
    count, seconds = (2_000, 15.0) if chosen.quick else (10_000, 60.0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "big.lastseen"
        fill(str(path), count)
        result = measure(path, count=count, seconds=seconds)
    show(result, count=count, seconds=seconds)
    print("RESULT " + json.dumps(result))


def measure(path: Path, *, count: int, seconds: float) -> dict[str, Any]:
    process, port = start_server(path)
    results: Any = multiprocessing.get_context("spawn").Queue()
    try:
        say("the robot alone")
        spawn(send_frames, port, seconds=3.0, first=0, rate=RATE, count=count, results=results).join()
        (_, _, _, number, _) = results.get()
        alone = spawn(send_frames, port, seconds=seconds / 3, first=number, rate=RATE, count=count, results=results)
        alone.join()
        (_, quiet_ms, quiet_errors, number, quiet_rate) = results.get()
        say("everybody")
        cpu_before, wall_before = cpu_seconds(process.pid), time.monotonic()
        half = CLIENTS // 2
        workers = [
            spawn(ask, port, clients=half, seconds=seconds, count=count, seed=1, results=results),
            spawn(ask, port, clients=CLIENTS - half, seconds=seconds, count=count, seed=2, results=results),
            spawn(send_frames, port, seconds=seconds, first=number, rate=RATE, count=count, results=results),
            spawn(watch, port, clients=WATCHERS, deaf=DEAF, seconds=seconds, results=results),
        ]
        sizes: list[float] = []
        while any(worker.is_alive() for worker in workers) and len(sizes) < seconds * 4:
            time.sleep(1.0)
            sizes.append(resident_mb(process.pid))
            say(f"everybody, {len(sizes)} s, {sizes[-1]:.0f} MB")
            if results.qsize() == len(workers):
                break
        told: dict[str, list[Any]] = {}
        for _ in workers:
            kind, *facts = results.get()
            told.setdefault(kind, []).append(facts)
        for worker in workers:
            worker.join()
        cores = (cpu_seconds(process.pid) - cpu_before) / (time.monotonic() - wall_before)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    asked = np.array([value for facts in told["ask"] for value in facts[0]])
    busy_ms, busy_errors, _, busy_rate = told["send"][0]
    seen = told["watch"][0][0]
    # the first third is warm-up: caches, socket buffers and threads come into being
    warm = sizes[max(1, len(sizes) // 3) : -2] or sizes
    return {
        "requests_per_s": round(len(asked) / seconds, 1),
        "p50_ms": round(float(np.median(asked)), 2),
        "p99_ms": round(float(np.percentile(asked, 99)), 2),
        "errors": int(sum(facts[1] for facts in told["ask"]) + busy_errors + quiet_errors),
        "ingest_rate_alone": round(quiet_rate, 3),
        "ingest_rate_busy": round(busy_rate, 3),
        "ingest_slowdown": round(max(0.0, 1.0 - busy_rate / quiet_rate), 4),
        "ingest_p50_ms_alone": round(float(np.median(quiet_ms)), 2),
        "ingest_p50_ms_busy": round(float(np.median(busy_ms)), 2),
        "ingest_p99_ms_busy": round(float(np.percentile(busy_ms, 99)), 2),
        "rss_mb": round(warm[-1], 1),
        "rss_mb_by_tenths": [round(float(part[-1]), 1) for part in np.array_split(np.array(sizes), 10) if len(part)],
        "rss_growth_mb": round(warm[-1] - warm[0], 1),
        "watcher_messages_least": int(min(seen)),
        "watchers_cut_off": int(sum(count < seconds / 2 for count in seen)),
        "server_cores": round(cores, 2),
    }


def spawn(work: Any, port: int, **options: Any) -> Any:
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(port,), kwargs=options)
    worker.start()
    return worker


def resident_mb(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024.0  # type: ignore[index]


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show(result: dict[str, Any], *, count: int, seconds: float) -> None:
    print(f"{count:,} objects, {CLIENTS} clients, {WATCHERS} watchers ({DEAF} never read), {seconds:g} s".ljust(78))
    for name, value in result.items():
        goal = GOALS.get(name)
        verdict = "" if goal is None else ("  ok" if value <= goal else f"  MISSED (goal {goal:g})")
        print(f"  {name:24} {value!s:>10}{verdict}")


if __name__ == "__main__":
    main()
