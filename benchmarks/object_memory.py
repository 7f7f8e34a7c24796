"""Time per frame of the object memory beside rtsm 0.3.1, on one stream, in one run, frame by frame in turn.

A camera walks through a hall in which things stand in groups of five, 2.5 per square metre of floor: a thing has
four others within half a metre, as in furnished apartments. 1k, 10k or 100k of them are remembered; every frame has
20 observations with 512-d looks. Three memories take each frame in turn:
lastseen without absence (association and update, what rtsm does), lastseen whole, and rtsm through its own
Associator, WorkingMemory and ProximityIndex with its shipped configuration. rtsm asks for many packages of which
these three need PyYAML alone: pip install --no-deps rtsm==0.3.1 && pip install pyyaml
"""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import dataclasses
import functools
import gc
import importlib.util
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.config.memory import Absence
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects import ObjectMemory
from lastseen.observation import Observation
from support.rtsm import Rtsm

DIM = 512
SEEN = 20
PER_M2 = 2.5
GROUP = 5
SIZE = 0.12
CAMERA = Intrinsics.from_fov(160, 120, horizontal_deg=79.0)
REACH = 3.9


class Hall:
    """Things on a floor, a camera that walks over it, and what it sees."""

    def __init__(self, count: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.side = math.sqrt(count / PER_M2)
        low, high = [0.0, 0.0, 0.4], [self.side, self.side, 1.6]
        groups = self.rng.uniform(low, high, (count // GROUP, 3))
        self.xyz = np.repeat(groups, GROUP, axis=0) + self.rng.normal(0.0, [0.25, 0.25, 0.1], (count, 3))
        self.looks = self.rng.standard_normal((count, DIM), dtype=np.float32)
        self.looks /= np.linalg.norm(self.looks, axis=1, keepdims=True)
        self.labels = [f"class {number}" for number in self.rng.integers(0, 80, count).tolist()]
        self.ball = self.rng.normal(size=(32, 3))
        self.ball *= 0.5 * SIZE / np.linalg.norm(self.ball, axis=1, keepdims=True)

    def observation(self, thing: int, eye: np.ndarray, stamp: float) -> Observation:
        """One thing as seen from a place, with noise."""
        noise = self.rng.standard_normal(DIM, dtype=np.float32) * np.float32(0.25 / math.sqrt(DIM))
        toward = eye - self.xyz[thing]
        facing = self.ball @ toward > 0
        return Observation(
            position=self.xyz[thing] + self.rng.normal(0.0, 0.01, 3),
            extent=np.full(3, SIZE) + self.rng.normal(0.0, 0.005, 3),
            view_direction=toward,
            stamp=stamp,
            labels={self.labels[thing]: 0.8},
            embedding=self.looks[thing] + noise,
            points=(self.xyz[thing] + self.ball[facing]).astype(np.float32),
        )

    def first_sights(self) -> Any:
        """Every thing twice, from two sides, twenty a frame: enough to be confirmed."""
        number = 0
        blank = np.full((CAMERA.height, CAMERA.width), np.nan, dtype=np.float32)
        for start in range(0, len(self.xyz), SEEN):
            things = range(start, min(start + SEEN, len(self.xyz)))
            for side in (-2.0, 2.0):
                eye = self.xyz[start] + [side, 0.0, 0.5]
                frame = self.frame(number, 0.001 * number, eye, 0.0, blank)
                yield frame, [self.observation(thing, self.xyz[thing] + [side, 0.1, 0.3], 0.0) for thing in things]
                number += 1

    def walk(self, count: int, *, first: int, start: float) -> Any:
        """Frames along a line through the hall with the depth that the camera measures."""
        eye, heading = np.array([self.side / 2, self.side / 2, 1.3]), 0.3
        for step in range(count):
            heading += float(self.rng.normal(0.0, 0.15))
            forward = np.array([math.cos(heading), math.sin(heading), 0.0])
            ahead = eye + 0.2 * forward
            if not (4.0 < ahead[0] < self.side - 4.0 and 4.0 < ahead[1] < self.side - 4.0):
                heading = math.atan2(self.side / 2 - eye[1], self.side / 2 - eye[0])
                continue
            eye = ahead
            stamp = start + 0.1 * step
            frame = self.frame(first + step, stamp, eye, heading, None)
            local = (self.xyz - eye) @ frame.T_world_camera.rotation
            pixels = CAMERA.project(local)
            drawn = np.flatnonzero((local[:, 2] > 0.3) & (local[:, 2] < 5.5) & (np.abs(pixels) < 400).all(axis=1))
            visible = drawn[CAMERA.contains(pixels[drawn]) & (np.linalg.norm(local[drawn], axis=1) < REACH)]
            depth = np.full((CAMERA.height, CAMERA.width), 6.0, dtype=np.float32)
            for thing in drawn[np.argsort(-local[drawn, 2])].tolist():
                u, v = pixels[thing]
                half = max(1, round(0.5 * SIZE * CAMERA.fx / local[thing, 2]))
                top, left = max(0, round(v) - half), max(0, round(u) - half)
                bottom, right = max(0, round(v) + half + 1), max(0, round(u) + half + 1)
                depth[top:bottom, left:right] = local[thing, 2] - 0.25 * SIZE
            if len(visible) < SEEN:
                continue
            chosen = self.rng.choice(visible, SEEN, replace=False).tolist()
            yield (
                dataclasses.replace(frame, depth=depth),
                [self.observation(thing, eye, stamp) for thing in chosen],
            )

    @staticmethod
    def frame(number: int, stamp: float, eye: np.ndarray, heading: float, depth: np.ndarray | None) -> Frame:
        """A level camera at a place with a heading."""
        cos, sin = math.cos(heading), math.sin(heading)
        matrix = np.eye(4)
        matrix[:3, :3] = np.column_stack([[sin, -cos, 0.0], [0.0, 0.0, -1.0], [cos, sin, 0.0]])
        matrix[:3, 3] = eye
        rgb = np.zeros((CAMERA.height, CAMERA.width, 3), dtype=np.uint8)
        values = np.full((CAMERA.height, CAMERA.width), np.nan, dtype=np.float32) if depth is None else depth
        return Frame(number, stamp, rgb, values, Pose3D.from_matrix(matrix), CAMERA)


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def filled(hall: Hall, *, absence: bool) -> tuple[ObjectMemory, float]:
    """A memory that knows every thing, and the bytes it took per object."""
    gc.collect()
    before = resident_bytes()
    memory = ObjectMemory(Settings(absence=Absence(enabled=absence)))
    for frame, observations in hall.first_sights():
        memory.observe(frame, observations)
    gc.collect()
    return memory, (resident_bytes() - before) / len(hall.xyz)


def run(count: int, frames: int, *, with_rtsm: bool, seed: int = 5) -> dict[str, Any]:
    hall = Hall(count, seed)
    print(f"{count:>7} things: filling", flush=True)
    lean, _ = filled(hall, absence=False)
    whole, per_object = filled(hall, absence=True)
    remembered = len(whole.states())
    rtsm = Rtsm() if with_rtsm else None
    if rtsm is not None:
        rtsm.fill(hall.xyz, hall.looks, hall.labels)
    times: dict[str, list[float]] = {"lean": [], "whole": [], "rtsm": []}
    cpu: dict[str, list[float]] = {who: [] for who in times}
    start = whole.now + 1.0
    for number, (frame, observations) in enumerate(hall.walk(frames, first=10**6, start=start)):
        prepared = Rtsm.prepare(frame, observations) if rtsm else None
        turns: list[tuple[str, Callable[[], object]]] = [
            ("lean", functools.partial(lean.observe, frame, observations)),
            ("whole", functools.partial(whole.observe, frame, observations)),
        ]
        if rtsm is not None and prepared is not None:
            turns.append(("rtsm", functools.partial(rtsm.observe, frame, *prepared)))
        # whoever goes first finds the caches cold: take turns at that too
        for shift in range(len(turns)):
            who, act = turns[(shift + number) % len(turns)]
            wall, process = time.perf_counter(), time.process_time()
            act()
            spent, burnt = time.perf_counter() - wall, time.process_time() - process
            if number >= 20:
                times[who].append(1e3 * spent)
                cpu[who].append(1e3 * burnt)
    rows = {
        who: {
            "p50": float(np.median(values)),
            "p99": float(np.quantile(values, 0.99)),
            "cpu": float(np.mean(cpu[who])),
            "cpu_p50": float(np.median(cpu[who])),
            "cpu_p99": float(np.quantile(cpu[who], 0.99)),
        }
        for who, values in times.items()
        if values
    }
    for who, row in rows.items():
        by_clock, of_cpu = (f"p50 {row[kind + 'p50']:7.3f} p99 {row[kind + 'p99']:7.3f}" for kind in ("", "cpu_"))
        print(f"{count:>7} {who:>6}: {by_clock} ms, cpu {of_cpu} mean {row['cpu']:7.3f} ms", flush=True)
    absent = sum(one.state != "confirmed" for one in whole.states(include_absent=True))
    print(
        f"{count:>7} remembered {remembered} of {count}, after the walk {len(whole.states())}, "
        f"falsely absent {absent}, {per_object:.0f} bytes per object",
        flush=True,
    )
    return {**rows, "bytes": per_object}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1k and 10k things only, fewer frames")
    quick = parser.parse_args().quick
    frames = 220 if quick else 620
    installed = importlib.util.find_spec("rtsm") is not None
    if not installed:
        print("rtsm is not installed: ratios to it are left out (pip install --no-deps rtsm==0.3.1 pyyaml)")
    small = run(1_000, frames, with_rtsm=installed)
    middle = run(10_000, frames, with_rtsm=installed)
    large = None if quick else run(100_000, frames, with_rtsm=installed)
    result = {
        "p50_ms_1k": small["whole"]["p50"],
        "p50_ms_10k": middle["whole"]["p50"],
        "p50_ms_100k": large and large["whole"]["p50"],
        "p99_ms_10k": middle["whole"]["p99"],
        "speedup_vs_rtsm_10k": middle["rtsm"]["p50"] / middle["lean"]["p50"] if installed else None,
        "observe_speedup_vs_rtsm_10k": middle["rtsm"]["p50"] / middle["whole"]["p50"] if installed else None,
        "growth_1k_to_100k": large and large["whole"]["p50"] / small["whole"]["p50"],
        "bytes_per_object": (large or middle)["bytes"],
        "association_p50_ms": {
            "1k": small["lean"]["p50"],
            "10k": middle["lean"]["p50"],
            "100k": large and large["lean"]["p50"],
        },
        "rtsm_p50_ms": installed
        and {
            "1k": small["rtsm"]["p50"],
            "10k": middle["rtsm"]["p50"],
            "100k": large and large["rtsm"]["p50"],
        },
        "p99_over_p50_10k": middle["whole"]["p99"] / middle["whole"]["p50"],
        "p99_over_p50_cpu_10k": middle["whole"]["cpu_p99"] / middle["whole"]["cpu_p50"],
        "growth_1k_to_100k_cpu": large and large["whole"]["cpu_p50"] / small["whole"]["cpu_p50"],
        "speedup_vs_rtsm_cpu_10k": middle["rtsm"]["cpu"] / middle["lean"]["cpu"] if installed else None,
        "observe_speedup_vs_rtsm_cpu_10k": middle["rtsm"]["cpu"] / middle["whole"]["cpu"] if installed else None,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
