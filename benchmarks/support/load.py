"""A server and load on it: clients that ask, a robot that sends frames, and watchers of which some never read."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from support.objects import LABELS
from support.progress import say

DIM = 64
COLORS = ("red", "blue", "green", "white", "")
CAMERA = Intrinsics.from_fov(8, 8, horizontal_deg=79.0)
TOPICS = ("events", "objects", "robot", "stats", "point_cloud")


def fill(path: str, count: int) -> None:
    """A memory file with this many confirmed objects, each seen three times from three sides."""
    rng = np.random.default_rng(0)
    columns = int(np.ceil(np.sqrt(count)))
    embeddings = rng.standard_normal((count, DIM)).astype(np.float32)
    per_frame, number = 500, 0
    with Memory.open(path) as memory:
        for first in range(0, count, per_frame):
            say(f"filling {first:,} of {count:,}")
            for turn in range(3):
                some = range(first, min(first + per_frame, count))
                stamp = number * 0.05
                memory.observe(
                    blank(number, stamp), [thing(i, columns, embeddings[i], turn=turn, stamp=stamp) for i in some]
                )
                number += 1


def thing(i: int, columns: int, look: np.ndarray, *, turn: int, stamp: float) -> Observation:
    side = np.array([np.cos(2.1 * turn), np.sin(2.1 * turn), 0.3])
    place = np.array([i % columns, i // columns, 0.8])
    return Observation(place, np.full(3, 0.2), side, stamp, labels={LABELS[i % len(LABELS)]: 0.9}, embedding=look)


def blank(number: int, stamp: float) -> Frame:
    rgb, depth = np.zeros((8, 8, 3), np.uint8), np.full((8, 8), np.nan, np.float32)
    return Frame(number, stamp, rgb, depth, Pose3D.identity(), CAMERA)


def paths(rng: random.Random, count: int) -> str:
    """One of the questions that people, pages and agents mix."""
    side = int(count**0.5)
    choice = rng.random()
    if choice < 0.35:
        words = f"{rng.choice(COLORS)} {rng.choice(LABELS)}".strip()
        x, y = rng.randrange(side), rng.randrange(side)
        return f"/search/semantic?query={quote(words)}&near={x},{y},1&radius=3"
    if choice < 0.5:
        return f"/search/semantic?query={rng.choice(LABELS)}&top_k=5"
    if choice < 0.65:
        return f"/search/spatial?x={rng.randrange(side)}&y={rng.randrange(side)}&z=1&radius=2"
    if choice < 0.8:
        return f"/objects/obj-{rng.randrange(1, count)}"
    if choice < 0.9:
        return f"/objects?limit=50&offset={rng.randrange(count)}"
    return "/stats"


def ask(port: int, *, clients: int, seconds: float, count: int, seed: int, results: Any) -> None:
    """Clients that each ask one question after the other; runs in a process of its own."""
    found: list[list[float]] = [[] for _ in range(clients)]
    errors = [0] * clients
    deadline = time.monotonic() + seconds

    def client(number: int) -> None:
        rng = random.Random(seed * 1000 + number)
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while time.monotonic() < deadline:
            started = time.perf_counter()
            try:
                link.request("GET", paths(rng, count))
                answer = link.getresponse()
                answer.read()
                errors[number] += answer.status != 200
            except OSError:
                errors[number] += 1
                link.close()
            found[number].append((time.perf_counter() - started) * 1e3)
        link.close()

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(("ask", [value for one in found for value in one], sum(errors)))


def send_frames(port: int, *, seconds: float, first: int, rate: float, count: int, results: Any) -> None:
    """A robot that sends what it sees at a steady rate; a frame that is late delays the next, as on a robot."""
    rng = np.random.default_rng(first)
    columns = int(np.ceil(np.sqrt(count)))
    embeddings = np.random.default_rng(0).standard_normal((count, DIM)).astype(np.float32)
    link = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    took: list[float] = []
    errors, number, begun = 0, first, time.monotonic()
    while time.monotonic() < begun + seconds:
        due = begun + (number - first) / rate
        time.sleep(max(0.0, due - time.monotonic()))
        corner = int(rng.integers(0, count - 10))
        body = {
            "stamp": 1000.0 + number * 0.1,
            "frame_id": 100_000 + number,
            "pose": {"xyz": [corner % columns, corner // columns, 1.0], "quaternion_xyzw": [0, 0, 0, 1]},
            "observations": [
                {
                    "xyz_world": [i % columns, i // columns, 0.8],
                    "extent": [0.2, 0.2, 0.2],
                    "labels": {LABELS[i % len(LABELS)]: 0.9},
                    "embedding": embeddings[i].tolist(),
                }
                for i in range(corner, corner + 10)
            ],
        }
        text = json.dumps(body)
        started = time.perf_counter()
        try:
            link.request("POST", "/ingest/observations", text, {"Content-Type": "application/json"})
            answer = link.getresponse()
            answer.read()
            errors += answer.status != 200
        except OSError:
            errors += 1
            link.close()
        took.append((time.perf_counter() - started) * 1e3)
        number += 1
    results.put(("send", took, errors, number, (number - first) / (time.monotonic() - begun)))


def watch(port: int, *, clients: int, deaf: int, seconds: float, results: Any) -> None:
    """Watchers of everything; the last ``deaf`` of them subscribe and never read again."""
    import websockets

    async def one(number: int) -> int:
        seen = 0
        with contextlib.suppress(OSError, TimeoutError, websockets.ConnectionClosed):
            async with websockets.connect(f"ws://127.0.0.1:{port}/ws", max_size=2**23, close_timeout=1) as link:
                await link.send(json.dumps({"type": "subscribe", "topics": list(TOPICS)}))
                if number >= clients - deaf:
                    link.transport.pause_reading()
                    await asyncio.sleep(seconds)
                    return 0
                async with asyncio.timeout(seconds):
                    async for _ in link:
                        seen += 1
        return seen

    async def run() -> list[int]:
        return await asyncio.gather(*(one(number) for number in range(clients)))

    counts = asyncio.run(run())
    results.put(("watch", counts[: clients - deaf]))


def start_server(path: Path, environment: dict[str, str] | None = None) -> tuple[subprocess.Popen[str], int]:
    """A process that serves a memory file, and its port; ``environment`` is this process's where none is given."""
    command = [sys.executable, "-m", "lastseen.cli.main", "serve", str(path), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    for line in process.stdout:
        found = re.match(r"page: http://[^:]+:(\d+)", line)
        if found:
            return process, int(found[1])
    raise RuntimeError("the server did not start")
