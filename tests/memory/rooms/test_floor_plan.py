"""The floor plan as straight pieces: the walls that were drawn into the grid, and the door between its rooms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.memory.rooms.floor_plan import FloorPlan, floor_plan
from lastseen.memory.rooms.regions import cut
from lastseen.memory.rooms.room_map import Cut
from tests.memory.rooms.plans import outer, plan

LINES = [*outer(8, 4), (4, 0, 4, 1.5), (4, 2.3, 4, 4)]


def drawn(*, turned: float = 0.0) -> FloorPlan:
    seen = plan(LINES, 8, 4, turned=turned)
    return floor_plan(Cut(seen, cut(seen), [-1, 7, 9]), 0)


@pytest.mark.parametrize("turned", [0.0, 0.4])
def test_the_door_lies_where_the_wall_is_open(turned: float) -> None:
    (door,) = drawn(turned=turned).doors
    assert math.dist(door.start, door.end) == pytest.approx(0.8, abs=0.15)
    assert set(door.rooms) == {7, 9}


def test_the_pieces_of_wall_cover_the_walls_and_nothing_else() -> None:
    seen = plan(LINES, 8, 4)
    covered = np.zeros_like(seen.wall)
    for wall in drawn().walls:
        length = math.dist(wall.start, wall.end)
        along = np.linspace(0, 1, max(2, int(length / 0.01)))[1:-1, None]
        middle = np.array(wall.start) + along * (np.array(wall.end) - np.array(wall.start))
        across = np.array([wall.end[1] - wall.start[1], wall.start[0] - wall.end[0]]) / length
        for off in np.arange(-wall.thickness / 2 + 0.01, wall.thickness / 2 - 0.005, 0.02):
            i, j = seen.cells(middle + off * across).T
            covered[i, j] = True
    assert not (covered & ~seen.wall).any()
    assert (covered & seen.wall).sum() >= 0.97 * seen.wall.sum()


def test_the_same_home_gives_the_same_plan() -> None:
    assert drawn() == drawn()
