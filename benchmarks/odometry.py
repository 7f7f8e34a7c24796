"""How far poses from the images are from true ones: real recordings, and generated 30 Hz loops through homes.

Goals: absolute trajectory error at most 2 % of the way on generated loops, 5 cm in the living room, 15 frames/s
on two cores. Errors are after the best rigid alignment, over every frame that was placed.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from lastseen.config import Settings
from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.sim.generate import generate_home
from lastseen.sim.level import Level
from lastseen.sim.walk import Walk, WalkPlan
from lastseen.sources import open_source
from lastseen.sources.base import RecordSource
from lastseen.sources.odometry import OdometrySource
from lastseen.sources.record import RawRecord

DATA = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
RECORDINGS = ("open3d_livingroom", "lens_clip", "tum_fr1_rpy_60", "tum_fr3_cabinet")
RATE = 30.0
SPEED, TURN = 0.5, 0.6
"""Metres and radians a second of a generated loop."""


class Loop(RecordSource):
    """A home walked along a simulated tour and back to its start, with typical depth, as a video of 30 Hz."""

    def __init__(self, seed: int, seconds: float) -> None:
        super().__init__(f"loop {seed}")
        settings = Settings()
        walk = Walk(generate_home(seed, rooms=4, settings=settings.homes), WalkPlan(0.5, seed=seed, level="typical"))
        stops = [frame.T_world_camera for frame in walk.frames()]
        self._walk, self._seconds = walk, seconds
        self.true = list(_video([*stops, *stops[::-1]], seconds))

    def records(self, wanted: object = None) -> Iterator[RawRecord]:
        raise NotImplementedError

    def frames(self) -> Iterator[Frame]:
        from lastseen.sim.render import Renderer, intrinsics_of
        from lastseen.sim.senses import DepthNoise

        camera = intrinsics_of(Settings().camera)
        renderer = Renderer(self._walk.world.home)
        noise = DepthNoise(Level.TYPICAL, seed=1)
        for number, pose in enumerate(self.true):
            view = renderer.render(pose, camera)
            depth = noise.apply(view.depth, camera, number)
            yield Frame(number, number / RATE, view.rgb, depth, Pose3D.identity(), camera)


def _video(stops: list[Pose3D], seconds: float) -> Iterator[Pose3D]:
    """Poses at the frame rate along some stops, at most at ``SPEED`` and ``TURN``."""
    count = 0
    for first, second in pairwise(stops):
        lasting = max(first.distance_to(second) / SPEED, first.angle_to(second) / TURN, 1 / RATE)
        for share in np.arange(0.0, 1.0, 1.0 / (lasting * RATE)):
            if count >= seconds * RATE:
                return
            count += 1
            yield first.interpolate(second, float(share))


def trajectory_error(found: list[Pose3D], true: list[Pose3D]) -> float:
    """Root mean square distance in metres after the best rigid alignment."""
    first, second = (np.array([pose.translation for pose in poses]) for poses in (found, true))
    a, b = first.mean(axis=0), second.mean(axis=0)
    left, _, right = np.linalg.svd((second - b).T @ (first - a))
    turn = left @ np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))]) @ right
    return float(np.sqrt((((first - a) @ turn.T + b - second) ** 2).sum(axis=1).mean()))


def measure(name: str, source: OdometrySource, true: dict[float, Pose3D], table: Table) -> dict[str, object]:
    found: dict[float, Pose3D] = {}
    stamps: dict[int, float] = {}
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        for frame in source.frames():
            for number, pose in source.updates().poses.items():
                found[stamps[number]] = pose
            found[frame.stamp], stamps[frame.id] = frame.T_world_camera, frame.stamp
    except SourceError as refusal:
        table.add_row(name, "refused", str(refusal)[:60], "", "", "")
        return {"refused": str(refusal)}
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    known = [stamp for stamp in found if stamp in true]
    way = sum(true[first].distance_to(true[second]) for first, second in pairwise(known))
    error = trajectory_error([found[stamp] for stamp in known], [true[stamp] for stamp in known])
    loops = 0 if source.tracker is None else source.tracker.loops
    table.add_row(
        name,
        f"{len(found)} of {len(true)}",
        f"{100 * error:.1f} cm of {way:.1f} m ({100 * error / max(way, 1e-6):.1f} %)",
        str(loops),
        f"{len(found) / wall:.1f}",
        f"{1000 * cpu / max(len(found), 1):.0f}",
    )
    return {"error_cm": round(100 * error, 2), "way_m": round(way, 2), "placed": len(found), "frames": len(true)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3, help="generated homes")
    parser.add_argument("--seconds", type=float, default=60.0, help="length of a generated loop")
    parser.add_argument("--only", help="this recording only")
    arguments = parser.parse_args()
    table = Table("recording", "placed", "error after alignment", "loops", "frames/s", "cpu-ms a frame")
    results: dict[str, object] = {}
    for name in [arguments.only] if arguments.only else RECORDINGS:
        with open_source(DATA / name) as recording:
            true = {frame.stamp: frame.T_world_camera for frame in recording.frames()}
        source = open_source(DATA / name, changes=["poses=odometry"])
        assert isinstance(source, OdometrySource)
        results[name] = measure(name, source, true, table)
    for seed in range(1, 1 + (0 if arguments.only else arguments.seeds)):
        loop = Loop(seed, arguments.seconds)
        true = {number / RATE: pose for number, pose in enumerate(loop.true)}
        results[loop.address] = measure(loop.address, OdometrySource(loop), true, table)
    Console(width=160).print(table)
    print("RESULT " + json.dumps(results))


if __name__ == "__main__":
    main()
