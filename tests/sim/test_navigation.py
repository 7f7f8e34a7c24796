from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.config.programs import Robot
from lastseen.errors import InvalidValue
from lastseen.sim.home import Home
from lastseen.sim.navigation import CELL, NavigationGrid
from tests.sim.tiny import tiny_home

GRID = NavigationGrid(tiny_home())
FREE = GRID.centers(GRID.reachable())
spots = st.integers(0, len(FREE) - 1).map(lambda k: (float(FREE[k, 0]), float(FREE[k, 1])))


@given(spots, spots)
def test_the_way_is_never_shorter_than_the_straight_line(
    start: tuple[float, float], end: tuple[float, float]
) -> None:
    path = GRID.path(start, [end])
    assert path is not None
    assert path.length >= math.dist(start, end) - 1e-9
    assert path.points[0] == start
    assert path.points[-1] == end


@given(spots, spots)
def test_a_path_can_be_walked(start: tuple[float, float], end: tuple[float, float]) -> None:
    path = GRID.path(start, [end])
    assert path is not None
    assert all(GRID.is_straight(a, b) for a, b in zip(path.points, path.points[1:], strict=False))


@given(spots, spots)
def test_the_field_agrees_with_the_path(start: tuple[float, float], end: tuple[float, float]) -> None:
    path = GRID.path(start, [end])
    assert path is not None
    field = float(GRID.distances([end])[GRID.cell_of(*start)])
    assert path.length <= field + 1e-6
    assert field <= 1.06 * path.length + 0.1


def test_in_the_open_the_way_is_the_straight_line() -> None:
    start, end = (2.2, 2.6), (3.6, 3.7)
    path = GRID.path(start, [end])
    assert path is not None
    assert path.length == pytest.approx(math.dist(start, end))


def test_the_way_between_rooms_goes_through_the_doorway() -> None:
    path = GRID.path((3.5, 0.5), [(4.5, 0.5)])
    assert path is not None
    assert path.length > 2.0
    assert any(abs(x - 4.0) < 0.3 and 1.5 < y < 2.5 for x, y in path.points)


def test_the_nearest_of_several_goals_is_taken() -> None:
    path = GRID.path((2.5, 2.0), [(7.0, 1.0), (2.5, 2.5)])
    assert path is not None
    assert path.points[-1] == (2.5, 2.5)


def test_a_robot_too_wide_for_the_doorway_cannot_pass(home: Home) -> None:
    wide = NavigationGrid(home, robot=Robot(radius=0.55))
    start, end = wide.nearest_free(3.0, 3.0), wide.nearest_free(5.5, 1.0, island=2)
    assert wide.path(start, [end]) is None
    assert wide.island_at(*start) != wide.island_at(*end)


def test_walls_furniture_and_the_outside_are_not_free() -> None:
    for spot in ((4.0, 0.5), (7.0, 3.0), (1.2, 1.0), (9.5, 2.0), (-100.0, 0.0), (0.1, 2.0)):
        assert not GRID.is_free(*spot)
    assert GRID.is_free(4.0, 2.0)


def test_the_free_area_is_the_floor_less_walls_and_furniture() -> None:
    assert 12.0 < GRID.area() < 26.0


def test_the_nearest_free_spot_is_free_and_near() -> None:
    x, y = GRID.nearest_free(7.0, 3.0)
    assert GRID.is_free(x, y)
    assert math.dist((x, y), (7.0, 3.0)) < 1.5
    assert GRID.nearest_free(2.5, 2.0) == (2.5, 2.0)


def test_reachable_refuses_a_blocked_start() -> None:
    with pytest.raises(InvalidValue, match="not free floor"):
        GRID.reachable((7.0, 3.0))


def test_carpets_can_be_driven_over_and_low_boxes_cannot(home: Home) -> None:
    from lastseen.geometry import Pose3D
    from lastseen.sim.home import Thing
    from tests.sim.tiny import box_mesh

    for height, free in ((0.02, True), (0.08, False)):
        mesh = box_mesh((-0.5, -0.5, 0.0), (0.5, 0.5, height), (90, 60, 60))
        pose = Pose3D(np.array([2.8, 2.8, 0.0]), np.array([0.0, 0.0, 0.0, 1.0]))
        grid = NavigationGrid(home.with_thing(Thing(99, "carpet", "red", mesh, pose)))
        assert grid.is_free(2.8, 2.8) is free


def test_the_house_nobody_of_ours_made_is_one_connected_area(aws_home: Home) -> None:
    grid = NavigationGrid(aws_home)
    assert 100.0 < grid.area() < 150.0
    assert grid.area() > 0.99 * grid.free.sum() * CELL**2
