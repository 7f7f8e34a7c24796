"""What a rendered frame costs beyond the bare ray cast that any picture needs.

Both are timed on the same poses, one after the other, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.generate import generate_home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer, camera_pose, camera_rays
from support.progress import say

GOAL_MS, GOAL_RATIO = 15.0, 1.6
Times = NDArray[np.float64]
SIZES = ((256, 192), (640, 480))


def poses(grid: NavigationGrid, count: int, *, height: float) -> list[Pose3D]:
    rng = np.random.default_rng(0)
    cells = grid.reachable()
    chosen = grid.centers(cells[rng.integers(len(cells), size=count)])
    return [camera_pose(Pose2D(x, y, float(rng.uniform(-3.14, 3.14))), height=height) for x, y in chosen.tolist()]


def cpu_ms(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e3


def measure(renderer: Renderer, cameras: list[Pose3D], intrinsics: Intrinsics) -> tuple[Times, Times]:
    """Cpu-milliseconds of rendering and of the bare ray cast, per pose, in turns."""
    rays, _ = camera_rays(intrinsics)
    rendered, cast = [], []
    for pose in cameras:
        directions = np.ascontiguousarray(rays @ pose.rotation.T.astype(np.float32))
        origins = np.tile(pose.translation.astype(np.float32), (len(directions), 1))
        cast.append(cpu_ms(partial(renderer.scene.first_faces, origins, directions)))
        rendered.append(cpu_ms(partial(renderer.render, pose, intrinsics)))
    return np.array(rendered), np.array(cast)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer houses and poses")
    quick = parser.parse_args().quick
    seeds = range(2) if quick else range(8)
    count = 40 if quick else 60
    result: dict[str, float] = {}
    print(f"{'size':>9} {'render p50':>11} {'p99':>7} {'bare p50':>9} {'ratio':>6}   cpu-ms, {len(seeds)} houses")
    for width, height in SIZES:
        intrinsics = Intrinsics.from_fov(width, height, horizontal_deg=79.0)
        rendered: list[Times] = []
        cast: list[Times] = []
        for seed in seeds:
            home = generate_home(seed)
            renderer = Renderer(home)
            grid = NavigationGrid(home, scene=renderer.scene)
            cameras = poses(grid, count, height=grid.robot.camera_height)
            measure(renderer, cameras[:3], intrinsics)  # warm caches
            for times, kept in zip(measure(renderer, cameras, intrinsics), (rendered, cast), strict=True):
                kept.append(times)
            say(f"{width}x{height}: house {seed} of {len(seeds)}")
        drawn, bare = np.concatenate(rendered), np.concatenate(cast)
        ratio = float(np.median(drawn) / np.median(bare))
        print(
            f"{width}x{height:<5} {np.median(drawn):>11.2f} {np.percentile(drawn, 99):>7.2f}"
            f" {np.median(bare):>9.2f} {ratio:>6.2f}"
        )
        result[f"cpu_ms_{width}x{height}"] = round(float(np.median(drawn)), 3)
        result["ratio_to_raycast" if width == 256 else f"ratio_to_raycast_{width}x{height}"] = round(ratio, 3)
    cpu, ratio = result["cpu_ms_256x192"], result["ratio_to_raycast"]
    print(f"goal: at most {GOAL_MS} cpu-ms at 256x192: {'met' if cpu <= GOAL_MS else 'MISSED'}")
    print(f"goal: at most {GOAL_RATIO} times the bare ray cast: {'met' if ratio <= GOAL_RATIO else 'MISSED'}")
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
