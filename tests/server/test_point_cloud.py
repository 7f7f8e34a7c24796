from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.memory.space.surface import Surface
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


def test_a_message_says_what_is_in_its_slots() -> None:
    surface = Surface()
    surface.add(frame(0, 2.0))
    points = read(PointCloud(surface).whole())
    assert len(points) == len(surface) > 500
    assert all(place[0] == pytest.approx(2.0, abs=1e-3) for place, _ in points.values())


def test_who_follows_the_changes_sees_what_is_emptied() -> None:
    surface = Surface()
    cloud = PointCloud(surface)
    near = np.full((60, 80), 3.0, dtype=np.float32)
    near[20:40, 30:50] = 1.5
    surface.add(frame(0, near))
    seen = read(cloud.whole())
    told = cloud.newest
    for number in range(1, 5):
        surface.add(frame(number, 3.0))
    chunk = cloud.chunk(told)
    assert chunk is not None
    seen.update(read(chunk.body))
    assert not any(place[0] < 1.6 and alpha for place, alpha in seen.values())
    assert cloud.chunk(cloud.newest) is None


def test_parts_of_a_message_add_up_to_the_whole() -> None:
    surface = Surface()
    cloud = PointCloud(surface, points_per_message=100)
    surface.add(frame(0, 2.0))
    since, parts, more = 0, {}, True
    while more:
        chunk = cloud.chunk(since, reset=since == 0)
        assert chunk is not None
        assert HEADER.unpack_from(chunk.body)[3] <= 100
        parts.update(read(chunk.body))
        since, more = chunk.upto, chunk.more
    assert set(parts) == set(read(cloud.whole()))
    assert cloud.chunk(since) is None


def test_another_state_of_the_home_starts_from_nothing() -> None:
    first, second = Surface(), Surface()
    first.add(frame(0, 2.0))
    second.add(frame(0, 3.0))
    cloud = PointCloud(first)
    told = cloud.newest
    cloud.replace(second)
    chunk = cloud.chunk(told)
    assert chunk is not None
    assert HEADER.unpack_from(chunk.body)[2] & 1
    assert all(place[0] == pytest.approx(3.0, abs=1e-3) for place, _ in read(chunk.body).values())
    assert cloud.chunk(chunk.upto) is None
