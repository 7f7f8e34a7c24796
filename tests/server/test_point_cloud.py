from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.config.serving import Live
from lastseen.frame import Frame
from lastseen.server.point_cloud import HEADER, PointCloud
from tests.memory.objects.scenes import frame_at

WALL = {"eye": (0.0, 0.0, 1.0), "target": (2.0, 0.0, 1.0)}


def frame(number: int, depth: float | NDArray[np.float32], *, gray: int = 120, **where: Any) -> Frame:
    made = frame_at(number, depth=depth, **{**WALL, **where})
    return replace(made, rgb=np.full(made.rgb.shape, gray, dtype=np.uint8))


def read(body: bytes) -> dict[int, tuple[NDArray[np.float32], int]]:
    """Slots with their place and alpha."""
    count = HEADER.unpack_from(body)[3]
    slots = np.frombuffer(body, "<u4", count, 32)
    xyz = np.frombuffer(body, "<f4", 3 * count, 32 + 4 * count).reshape(-1, 3)
    alpha = np.frombuffer(body, np.uint8, 4 * count, 32 + 16 * count).reshape(-1, 4)[:, 3]
    return {int(slot): (place, int(a)) for slot, place, a in zip(slots, xyz, alpha, strict=True)}


def test_a_wall_becomes_points_on_it() -> None:
    cloud = PointCloud(Live())
    cloud.add(frame(0, 2.0), time=1.0)
    points = read(cloud.whole())
    assert len(points) == len(cloud) > 500
    assert all(place[0] == pytest.approx(2.0, abs=1e-3) for place, _ in points.values())


def test_seeing_the_same_again_is_nothing_new() -> None:
    cloud = PointCloud(Live())
    cloud.add(frame(0, 2.0), time=1.0)
    told = cloud.newest
    cloud.add(frame(1, 2.0), time=2.0)
    assert cloud.chunk(told) is None
    cloud.add(frame(2, 2.0, gray=250), time=3.0)
    assert cloud.chunk(told) is not None


def test_what_the_camera_looks_through_is_emptied() -> None:
    cloud = PointCloud(Live())
    near = np.full((60, 80), 3.0, dtype=np.float32)
    near[20:40, 30:50] = 1.5
    cloud.add(frame(0, near), time=1.0)
    before = sum(place[0] < 1.6 for place, _ in read(cloud.whole()).values())
    told = cloud.newest
    cloud.add(frame(1, 3.0), time=2.0)
    after = sum(place[0] < 1.6 for place, _ in read(cloud.whole()).values())
    assert before > 50
    assert after == 0
    # a client that follows the changes sees the same
    chunk = cloud.chunk(told)
    assert chunk is not None
    assert not any(place[0] < 1.6 and alpha for place, alpha in read(chunk.body).values())


def test_slots_never_run_out_and_the_longest_unseen_go_first() -> None:
    cloud = PointCloud(Live(point_slots=1000))
    for number in range(6):
        eye = (5.0 * number, 0.0, 1.0)
        cloud.add(frame(number, 2.0, eye=eye, target=(eye[0] + 2.0, 0.0, 1.0)), time=float(number))
        assert len(cloud) <= 1000
    points = read(cloud.whole())
    assert max(points) < 1000
    assert max(place[0] for place, _ in points.values()) == pytest.approx(27.0, abs=0.01)
    assert min(place[0] for place, _ in points.values()) > 10.0


def test_parts_of_a_message_add_up_to_the_whole() -> None:
    cloud = PointCloud(Live(), points_per_message=100)
    cloud.add(frame(0, 2.0), time=1.0)
    since, parts, more = 0, {}, True
    while more:
        chunk = cloud.chunk(since, reset=since == 0)
        assert chunk is not None
        assert HEADER.unpack_from(chunk.body)[3] <= 100
        parts.update(read(chunk.body))
        since, more = chunk.upto, chunk.more
    assert set(parts) == set(read(cloud.whole()))
    assert cloud.chunk(since) is None


def test_nothing_measured_adds_nothing() -> None:
    cloud = PointCloud(Live())
    cloud.add(frame(0, np.nan), time=1.0)
    assert len(cloud) == 0
