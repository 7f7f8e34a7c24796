"""The grid against a search of everything: no cell that is kept joined may outlive a thing's move."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lastseen.memory.objects.grid import HashGrid

REACHES, SLACK = (0.4, 1.5), 0.2
places = st.tuples(*[st.floats(-3.0, 3.0, allow_nan=False)] * 3)
reaches = st.sampled_from([0.3, 0.4, 1.0, 1.5])
moves = st.lists(st.tuples(st.integers(0, 5), places, reaches), min_size=1, max_size=12)


class Things:
    """A grid, and beside it where everything stands."""

    def __init__(self) -> None:
        self.grid = HashGrid(REACHES, slack=SLACK)
        self.at: dict[int, tuple[NDArray[np.float64], float, int]] = {}

    def put(self, row: int, place: tuple[float, ...], reach: float) -> None:
        """Set a thing down, here for the first time or from where it was."""
        xyz = np.array(place)
        key = int(self.grid.keys_of(xyz[np.newaxis], np.array([reach]))[0])
        self.grid.move(row, self.at[row][2] if row in self.at else 0, key)
        self.at[row] = (xyz, reach, key)


@given(moves, places, st.sampled_from([0.0, 0.9]))
def test_a_thing_is_found_within_its_reach_however_it_was_moved(
    history: list[tuple[int, tuple[float, ...], float]], point: tuple[float, ...], widen: float
) -> None:
    things = Things()
    for row, place, reach in history:
        things.put(row, place, reach)
        _, found = things.grid.near(np.array([point]), widen=widen)
        within = {
            row
            for row, (xyz, reach, _) in things.at.items()
            if np.linalg.norm(xyz - point) < reach + SLACK + widen - 1e-9
        }
        assert within <= set(found.tolist())
        assert len(found) == len(set(found.tolist()))


@given(moves, places, places)
def test_a_box_holds_every_thing_whose_centre_lies_in_it(
    history: list[tuple[int, tuple[float, ...], float]], one: tuple[float, ...], other: tuple[float, ...]
) -> None:
    things = Things()
    low, high = np.minimum(one, other), np.maximum(one, other)
    for row, place, reach in history:
        things.put(row, place, reach)
        held = {row for row, (xyz, _, _) in things.at.items() if ((low <= xyz) & (xyz <= high)).all()}
        assert held <= set(things.grid.inside(low, high).tolist())


def test_points_on_several_levels_are_told_apart() -> None:
    things = Things()
    things.put(0, (0.0, 0.0, 0.0), 0.3)
    things.put(1, (2.0, 0.0, 0.0), 1.5)
    point, row = things.grid.near(np.array([[0.1, 0.0, 0.0], [2.1, 0.0, 0.0]]))
    assert {(0, 0), (1, 1)} <= set(zip(point.tolist(), row.tolist(), strict=True))
