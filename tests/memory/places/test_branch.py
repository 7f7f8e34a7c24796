from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.geometry import Intrinsics
from lastseen.memory.places.branch import is_branch, openings

CAMERA = Intrinsics.from_fov(160, 120, horizontal_deg=79)


def wall(distance: float = 2.0) -> NDArray[np.float32]:
    return np.full((120, 160), distance, dtype=np.float32)


def with_door(left: int, right: int, *, behind: float = 5.0) -> NDArray[np.float32]:
    depth = wall()
    depth[:, left:right] = behind
    return depth


def test_a_plain_wall_is_no_branch() -> None:
    assert not is_branch(wall(), CAMERA)


def test_a_door_is_found_with_its_width_and_bearing() -> None:
    (door,) = openings(with_door(60, 100), CAMERA)
    assert door.width == pytest.approx(41 / CAMERA.fx * 2.0, abs=0.01)
    assert door.bearing == pytest.approx(0.0, abs=0.02)
    assert door.distance == pytest.approx(2.0, abs=0.02)


def test_a_door_on_the_left_has_a_positive_bearing() -> None:
    assert openings(with_door(10, 50), CAMERA)[0].bearing > 0.3


def test_two_doors_come_from_left_to_right() -> None:
    depth = np.maximum(with_door(10, 50), with_door(110, 150))
    first, second = openings(depth, CAMERA)
    assert first.bearing > 0 > second.bearing


@pytest.mark.parametrize(
    "depth",
    [with_door(75, 80), with_door(60, 100, behind=2.5), with_door(60, 160), np.full((120, 160), np.nan, "f4")],
    ids=["a slit", "a niche", "open to one side", "nothing seen"],
)
def test_what_is_no_passage(depth: NDArray[np.float32]) -> None:
    assert not is_branch(depth, CAMERA)


def test_a_far_door_is_no_branch_yet() -> None:
    depth = wall(4.0)
    depth[:, 70:90] = 8.0
    assert not is_branch(depth, CAMERA)


def test_missing_columns_break_no_door() -> None:
    depth = with_door(60, 100)
    depth[:, 75:78] = np.nan
    assert is_branch(depth, CAMERA)
