"""What perception costs: processor time by stage, frames per second of a source, latency at 30 frames per second."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lastseen.config import Settings
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.perception.segment import GeometricSegmenter
from lastseen.perception.warm_up import warm_up
from lastseen.sources import SourceOptions, open_source
from source_rates import rates

DATA = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
OPTIONS = {
    "tum_fr1_rpy_60": SourceOptions(),
    "tum_fr3_cabinet": SourceOptions(),
    "lens_clip": SourceOptions(world_up="y", image_rotation="90"),
}
PERIOD = 1.0 / 30.0
"""Seconds between frames of the live stream that latency is measured on."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--sources", action="store_true", help="only the frames per second of each kind of source")
    arguments = parser.parse_args()
    if arguments.sources:
        print("RESULT " + json.dumps({"frames_per_second": rates(DATA / "tum_fr3_cabinet", Console(width=120))}))
        return
    repeats = 1 if arguments.quick else 4
    warm_up()
    console = Console(width=120)
    segment: list[float] = []
    whole: list[float] = []
    waited: list[float] = []
    waited_cpu: list[float] = []
    table = Table(
        "recording", "read frames/s", "segment cpu-ms", "select", "find", "filter", "encode", "lift", "memory"
    )
    for name, options in OPTIONS.items():
        started = time.process_time()
        frames = list(open_source(DATA / name, options).frames())
        rate = len(frames) / (time.process_time() - started)
        alone = [segment_ms(frame) for _ in range(repeats) for frame in frames[::3]]
        if name != "lens_clip":
            segment += alone
        with tempfile.TemporaryDirectory() as folder:
            stages, costs, latencies, of_cpu = replay(frames, Path(folder) / "home.lastseen")
        whole += costs
        waited += latencies
        waited_cpu += of_cpu
        cells = [
            f"{stages.get(stage, 0.0):.1f}" for stage in ("select", "find", "filter", "encode", "lift", "memory")
        ]
        table.add_row(name, f"{rate:.0f}", f"{np.median(alone):.1f}", *cells)
        console.print(f"{name}: done")
    console.print(table)
    result: dict[str, object] = {
        "frames_per_second": rates(DATA / "tum_fr3_cabinet", console),
        "segment_cpu_ms_640x480": round(float(np.median(segment)), 1),
        "frame_cpu_ms": round(float(np.median(whole)), 1),
        "latency_p50_ms": round(float(np.percentile(waited, 50)), 1),
        "latency_p99_ms": round(float(np.percentile(waited, 99)), 1),
        "latency_p99_cpu_ms": round(float(np.percentile(waited_cpu, 99)), 1),
    }
    print("RESULT " + json.dumps(result))


def segment_ms(frame: Frame) -> float:
    segmenter = GeometricSegmenter()
    started = time.process_time()
    segmenter.segment(frame)
    return 1000.0 * (time.process_time() - started)


def replay(frames: list[Frame], path: Path) -> tuple[dict[str, float], list[float], list[float], list[float]]:
    """Feed frames at their pace into a file; one that waits for the one before it is late by that, as when live.

    Returns processor time by stage and by frame, and latencies twice: by the clock, and as they would be if a frame
    took no longer than its thread's processor time, which other work on the machine hardly changes.
    """
    settings = Settings()
    perception = Perception(settings)
    costs: list[float] = []
    latencies: list[float] = []
    of_cpu: list[float] = []
    free_at = free_at_cpu = remembered = 0.0
    with Memory.open(path, settings=settings, image_encoder=perception.encoder.name, wall_clock=None) as memory:
        for index, frame in enumerate(frames):
            arrives = index * PERIOD
            wall, cpu, thread = time.perf_counter(), time.process_time(), time.thread_time()
            perceived = perception.perceive(frame)
            before = time.process_time()
            if perceived.refusal is None:
                memory.observe(frame, perceived.observations)
            remembered += 1000.0 * (time.process_time() - before)
            if perceived.refusal is None:
                costs.append(1000.0 * (time.process_time() - cpu))
            free_at = max(arrives, free_at) + time.perf_counter() - wall
            free_at_cpu = max(arrives, free_at_cpu) + time.thread_time() - thread
            latencies.append(1000.0 * (free_at - arrives))
            of_cpu.append(1000.0 * (free_at_cpu - arrives))
    looked = max(perception.keyframes.passed, 1)
    stages = {name: total / looked for name, total in perception.cpu_ms.items()}
    return {**stages, "memory": remembered / looked}, costs, latencies, of_cpu


if __name__ == "__main__":
    main()
