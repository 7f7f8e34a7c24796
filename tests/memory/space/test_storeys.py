"""Storeys: found by the camera's height and the floor below it, never by a lifted camera or a stair."""

from __future__ import annotations

import numpy as np
import pytest

from lastseen.config.search import Policy
from lastseen.memory.space.floor import FloorGrid
from lastseen.memory.space.storeys import Storeys

CAMERA = 1.2


def storeys() -> Storeys:
    return Storeys(lambda _: (FloorGrid(Policy()), FloorGrid(Policy())))


def floor_at(height: float) -> np.ndarray:
    """Body points of a level floor, heights in the world frame."""
    points = np.zeros((20, 30, 3), dtype=np.float32)
    points[..., 0] = 2.0
    points[..., 2] = height
    return points


def look(building: Storeys, height: float, *, floor: float | None = None, times: int = 1) -> list[int | None]:
    """Numbers of the storeys of looks from a camera over a floor; ``floor`` is where depth shows one."""
    points = floor_at(height if floor is None else floor)
    found = [building.enter(height + CAMERA, points) for _ in range(times)]
    return [None if one is None else one.number for one in found]


def test_a_floor_that_is_walked_on_is_a_storey_and_the_height_decides_from_then_on() -> None:
    building = storeys()
    assert look(building, 0.0, times=5) == [0] * 5
    assert look(building, 2.9, times=6) == [None] * 5 + [1]
    assert [storey.height for storey in building] == [0.0, pytest.approx(2.9, abs=0.01)]
    assert look(building, 0.05) == [0]
    assert look(building, 2.85) == [1]
    assert building.numbers([0.0, 1.4, 2.4, 2.7, 4.0, -0.4]).tolist() == [0, 0, 0, 1, 1, 0]


def test_neither_a_stair_nor_a_camera_that_is_lifted_makes_one() -> None:
    building = storeys()
    look(building, 0.0, times=3)
    for step in range(30):
        look(building, 0.1 * step)
    look(building, 2.5, floor=0.0, times=20)
    assert len(building) == 1


@pytest.mark.parametrize(
    ("on", "name", "meant"),
    [
        (0, "upstairs", {1, 2}),
        (1, "upstairs", {2}),
        (2, "upstairs", {2}),
        (1, "downstairs", {0}),
        (0, "downstairs", {0}),
        (1, "this floor", {1}),
        (0, "top floor", {2}),
        (2, "ground floor", {0}),
    ],
)
def test_words_are_seen_from_where_the_robot_is(on: int, name: str, meant: set[int]) -> None:
    building = storeys()
    for number in range(3):
        look(building, 3.0 * number, times=6)
    look(building, 3.0 * on)
    assert building.named(name) == meant


def test_what_is_kept_goes_on_as_if_it_had_never_stopped() -> None:
    one = storeys()
    look(one, 0.0, times=3)
    look(one, 3.0, times=4)
    other = storeys()
    other.restore(one.to_dict())
    assert look(other, 3.0, times=2) == look(one, 3.0, times=2) == [None, 1]
