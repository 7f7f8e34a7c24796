"""Storeys of real homes: what stands upstairs is never taken for what stands below it."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.alignment import FrameTransform, align
from lastseen.memory.alignment.landmarks import Landmarks

STOREY = 2.0
"""Metres between heights of things that cannot be of one storey, with nothing between."""
NOISE = 0.1


def things_of(folder: Path, name: str) -> tuple[list[str], NDArray[np.float64]]:
    """Classes and positions of a home's things, z up."""
    goals = json.loads(gzip.decompress((folder / f"{name}.goat.json.gz").read_bytes()))["goals"]
    things = {goal["object_id"]: goal for group in goals.values() for goal in group}
    spots = np.array([things[key]["position"] for key in sorted(things)], dtype=np.float64)
    upright = np.stack([spots[:, 0], -spots[:, 2], spots[:, 1]], axis=1)
    return [things[key]["object_category"] for key in sorted(things)], upright


def storeys_of(folder: Path, name: str) -> list[float]:
    """The heights of a home's floors: where the camera walked, 1.5 m above them."""
    poses = np.loadtxt(str(folder / f"{name}.walk.txt.gz")).reshape(-1, 4, 4)
    heights = np.sort(poses[:, 1, 3])
    bins, counts = np.unique(np.round(heights / 0.5), return_counts=True)
    walked = bins[counts > 0.1 * len(heights)] * 0.5 - 1.5
    floors: list[float] = []
    for height in walked.tolist():
        if not floors or height - floors[-1] > STOREY:
            floors.append(height)
    return floors


def noisy(labels: list[str], spots: NDArray[np.float64], rng: np.random.Generator) -> Landmarks:
    """These things as a memory without sizes or pictures would hold them."""
    seen = spots + rng.normal(0.0, NOISE, spots.shape)
    ids = [f"obj-{number}" for number in range(len(labels))]
    return Landmarks(ids, seen, np.full(spots.shape, 0.4), [{label: 0.8} for label in labels])


def test_storeys_are_never_laid_on_each_other(shared_data: Path) -> None:
    folder, tried = shared_data / "real_homes", 0
    for path in sorted(folder.glob("*.walk.txt.gz")):
        name = path.name.split(".")[0]
        labels, spots = things_of(folder, name)
        floors = storeys_of(folder, name)
        storey = np.array([sum(z > floor - 0.5 for floor in floors[1:]) for z in spots[:, 2]])
        for below in range(len(floors) - 1):
            low, high = (np.flatnonzero(storey == number) for number in (below, below + 1))
            for draw in range(10):
                rng = np.random.default_rng(draw)
                x, y, z = rng.uniform([-5.0, -5.0, -1.0], [5.0, 5.0, 1.0]).tolist()
                frame = FrameTransform(rng.uniform(-math.pi, math.pi), x, y, z)
                upstairs = noisy([labels[row] for row in high], spots[high], rng).moved(frame)
                found = align(upstairs, noisy([labels[row] for row in low], spots[low], rng))
                assert found.status != "aligned", (name, draw)
                tried += 1
    assert tried > 0
