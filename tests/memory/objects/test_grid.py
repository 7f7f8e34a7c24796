"""The grid against a search of everything, however things were moved about in it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lastseen.memory.objects.grid import HashGrid, key_of, move

REACHES, SLACK = (0.4, 1.5), 0.2
places = st.tuples(*[st.floats(-3.0, 3.0, allow_nan=False)] * 3)
reaches = st.sampled_from([0.3, 0.4, 1.0, 1.5])
moves = st.lists(st.tuples(st.integers(0, 5), places, reaches), min_size=1, max_size=12)


class Things:
    """A grid, and beside it where everything stands."""

    def __init__(self) -> None:
        self.grid = HashGrid(REACHES, slack=SLACK)
        self.at: dict[int, tuple[NDArray[np.float64], float]] = {}

    def put(self, row: int, place: tuple[float, ...], reach: float) -> None:
        """Set a thing down, here for the first time or from where it was."""
        x, y, z = place
        columns = self.grid.columns
        move(row, key_of(x, y, z, reach, *columns[:2]), *columns[2:])
        self.at[row] = (np.array(place), reach)

    def near(self, *points: tuple[float, ...], widen: float = 0.0) -> set[tuple[int, int]]:
        """Pairs of a point and a row, each once."""
        point, row = self.grid.near(np.array(points), np.full(len(points), widen))
        found = list(zip(point.tolist(), row.tolist(), strict=True))
        assert len(found) == len(set(found))
        return set(found)


@given(moves, places, st.sampled_from([0.0, 0.9]))
def test_a_thing_is_found_within_its_reach_however_it_was_moved(
    history: list[tuple[int, tuple[float, ...], float]], point: tuple[float, ...], widen: float
) -> None:
    things = Things()
    for row, place, reach in history:
        things.put(row, place, reach)
        within = {
            (0, row)
            for row, (xyz, reach) in things.at.items()
            if np.linalg.norm(xyz - point) < reach + SLACK + widen - 1e-9
        }
        assert within <= things.near(point, widen=widen)


@given(moves, places, places)
def test_a_box_holds_every_thing_whose_centre_lies_in_it(
    history: list[tuple[int, tuple[float, ...], float]], one: tuple[float, ...], other: tuple[float, ...]
) -> None:
    things = Things()
    low, high = np.minimum(one, other), np.maximum(one, other)
    for row, place, reach in history:
        things.put(row, place, reach)
        held = {row for row, (xyz, _) in things.at.items() if ((low <= xyz) & (xyz <= high)).all()}
        assert held <= set(things.grid.inside(low, high).tolist())


def test_points_on_several_levels_are_told_apart() -> None:
    things = Things()
    things.put(0, (0.0, 0.0, 0.0), 0.3)
    things.put(1, (2.0, 0.0, 0.0), 1.5)
    assert {(0, 0), (1, 1)} <= things.near((0.1, 0.0, 0.0), (2.1, 0.0, 0.0))


@given(st.lists(st.tuples(places, reaches), max_size=40))
def test_a_grid_filled_at_once_answers_like_one_filled_one_by_one(
    all_things: list[tuple[tuple[float, ...], float]],
) -> None:
    things, at_once = Things(), HashGrid(REACHES, slack=SLACK)
    for row, (place, reach) in enumerate(all_things):
        things.put(row, place, reach)
    xyz = np.array([place for place, _ in all_things]).reshape(-1, 3)
    at_once.fill(np.arange(len(all_things)), xyz, np.array([reach for _, reach in all_things]))
    low, high = np.full(3, -4.0), np.full(3, 4.0)
    assert set(at_once.inside(low, high).tolist()) == set(range(len(all_things)))
    assert (at_once.cell == things.grid.cell).all()


def test_an_answer_longer_than_expected_is_whole() -> None:
    things = Things()
    things.grid.grow(3000)
    for row in range(3000):
        things.put(row, (0.0, 0.0, 0.001 * row), 0.3)
    assert len(things.grid.inside(np.full(3, -1.0), np.full(3, 4.0))) == 3000
    assert len(things.near((0.0, 0.0, 0.0), widen=9.0)) == 3000
