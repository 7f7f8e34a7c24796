"""A day of a robot's life, accelerated, with watchers: benchmarks/long_life.py [--quick | --hours H --every S].

A real ``lastseen serve`` in a process of its own is sent what a robot sees of a home, one frame a minute of
robot time, as fast as it takes them, while ten watchers follow everything. Things are moved every hour. After each
hour of robot time the server's resident memory, file descriptors, threads and file are looked at. It runs twice: with
all history kept, and with a retention of a few hours. What is flat is told from the second quarter on: before, the
server warms up and meets the home for the first time.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import io
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
from PIL import Image

from support.load import start_server, watch
from support.objects import LABELS
from support.progress import say

WATCHERS = 10
THINGS, IN_VIEW = 300, 8
MOVED_AN_HOUR = 30
DIM = 64
KEPT_HOURS = 4.0
PATIENCE = 600.0
"""Seconds that a frame may take: the first one waits for the compiler, on a busy machine for minutes."""
LONGEST = 3600.0
"""Seconds after which watchers end by themselves, should a run be stopped."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two hours, a frame every two minutes")
    parser.add_argument("--hours", type=int, default=24, help="hours of robot time (default 24)")
    parser.add_argument("--every", type=float, default=60.0, help="seconds of robot time between frames (default 60)")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.hours, chosen.every = 2, 120.0
    result: dict[str, Any] = {"hours": chosen.hours, "every_s": chosen.every, "watchers": WATCHERS}
    for name, kept in (("all_kept", 0.0), ("retention", KEPT_HOURS)):
        with tempfile.TemporaryDirectory() as folder:
            result[name] = live(Path(folder) / "home.lastseen", hours=chosen.hours, every=chosen.every, kept=kept)
        show(name, result[name])
    print("RESULT " + json.dumps(result))


def live(path: Path, *, hours: int, every: float, kept: float) -> dict[str, Any]:
    """Let a server live for some hours of robot time; ``kept`` is hours of history, 0 for all."""
    environment = {**os.environ, "LASTSEEN__RETENTION__DAYS": str(kept / 24.0), "LASTSEEN__RETENTION__BYTES": "0"}
    process, port = start_server(path, environment)
    results: Any = multiprocessing.get_context("spawn").Queue()
    watchers = multiprocessing.get_context("spawn").Process(
        target=watch,
        args=(port,),
        kwargs={"clients": WATCHERS, "deaf": 0, "seconds": LONGEST, "results": results},
        daemon=True,
    )
    watchers.start()
    robot, samples, begun = Robot(port, every), [], time.monotonic()
    try:
        for hour in range(hours):
            errors = robot.live_an_hour()
            samples.append({**facts_of(process.pid, path), "errors": errors})
            done = " ".join(f"{key} {value}" for key, value in samples[-1].items())
            say(f"{hour + 1} of {hours} hours, {time.monotonic() - begun:.0f} s: {done}")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        watchers.join(30)
    return {
        "frames": robot.number,
        "seconds": round(time.monotonic() - begun, 1),
        "errors": sum(int(sample["errors"]) for sample in samples),
        "watcher_messages_least": min(results.get(timeout=10)[1]),
        "closed_file_mb": round(path.stat().st_size / 1e6, 2),
        **{key: [sample[key] for sample in samples] for key in ("rss_mb", "descriptors", "threads", "file_mb")},
    }


class Robot:
    """Walks through a home of seeded things and tells a server what it sees."""

    def __init__(self, port: int, every: float) -> None:
        self._rng = np.random.default_rng(0)
        self._every = every
        self._places = np.column_stack([self._rng.uniform(0, 20, (THINGS, 2)), self._rng.uniform(0.2, 1.5, THINGS)])
        self._embeddings = self._rng.standard_normal((THINGS, DIM)).astype(np.float32)
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.number = 0

    def live_an_hour(self) -> int:
        """Send the frames of an hour after some things were moved; returns how many were refused."""
        for thing in self._rng.choice(THINGS, MOVED_AN_HOUR, replace=False).tolist():
            self._places[thing, :2] = self._rng.uniform(0, 20, 2)
        return sum(not self._send() for _ in range(int(3600.0 / self._every)))

    def _send(self) -> bool:
        at = self.number * self._every
        eye = np.array([10 + 8 * np.cos(at / 97.0), 10 + 8 * np.sin(at / 61.0), 1.2])
        near = np.argsort(np.linalg.norm(self._places[:, :2] - eye[:2], axis=1))[:IN_VIEW]
        seen = [self._seen(int(thing)) for thing in near]
        if self.number % 10 == 0:
            seen[0]["crop_b64"] = self._picture()
        body = {
            "stamp": 1000.0 + at,
            "frame_id": self.number,
            "pose": {"xyz": eye.tolist(), "quaternion_xyzw": [0, 0, 0, 1]},
            "observations": seen,
        }
        self.number += 1
        self._link.request("POST", "/ingest/observations", json.dumps(body), {"Content-Type": "application/json"})
        answer = self._link.getresponse()
        answer.read()
        return answer.status == 200

    def _seen(self, thing: int) -> dict[str, Any]:
        embedding = self._embeddings[thing] + self._rng.normal(0, 0.05, DIM)
        return {
            "xyz_world": (self._places[thing] + self._rng.normal(0, 0.01, 3)).tolist(),
            "extent": [0.2, 0.2, 0.2],
            "labels": {LABELS[thing % len(LABELS)]: 0.9},
            "embedding": embedding.round(4).tolist(),
        }

    def _picture(self) -> str:
        out = io.BytesIO()
        Image.fromarray(self._rng.integers(0, 255, (96, 96, 3)).astype(np.uint8)).save(out, format="JPEG", quality=80)
        return base64.b64encode(out.getvalue()).decode()


def facts_of(pid: int, path: Path) -> dict[str, float]:
    """Resident memory, file descriptors and threads of a process, and the bytes of its file with the WAL."""
    status = Path(f"/proc/{pid}/status").read_text()
    size = sum(each.stat().st_size for each in path.parent.iterdir() if not each.name.endswith("-shm"))
    return {
        "rss_mb": round(int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024.0, 1),  # type: ignore[index]
        "descriptors": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": int(re.search(r"Threads:\s+(\d+)", status)[1]),  # type: ignore[index]
        "file_mb": round(size / 1e6, 2),
    }


def show(name: str, facts: dict[str, Any]) -> None:
    print(f"{name}: {facts['frames']:,} frames in {facts['seconds']:g} s, {facts['errors']} refused".ljust(78))
    for key in ("rss_mb", "descriptors", "threads", "file_mb"):
        values = facts[key]
        first = len(values) // 4
        growth = (values[-1] - values[first]) / max(1, len(values) - 1 - first)
        print(f"  {key:12} after a quarter {values[first]:g}, at the end {values[-1]:g}, an hour {growth:+.2f}")
    messages = facts["watcher_messages_least"]
    print(f"  closed file  {facts['closed_file_mb']:g} MB; fewest messages of a watcher {messages:,}")


if __name__ == "__main__":
    main()
