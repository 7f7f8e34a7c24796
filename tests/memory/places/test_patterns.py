from __future__ import annotations

import inspect
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.memory.places.progress import is_ababa, is_stuck, no_progress, without_repeats
from lastseen.pose2d import Pose2D

walks = st.lists(st.integers(0, 3), max_size=30)


def along_x(*metres: float) -> list[Pose2D]:
    return [Pose2D(x, 0.0, 0.0) for x in metres]


def test_stuck_is_one_place_in_ten_steps() -> None:
    assert is_stuck([7] * 10)
    assert is_stuck([1, 2] + [7] * 10)
    assert not is_stuck([7] * 9 + [8])
    assert not is_stuck([8] + [7] * 9)


def test_stuck_needs_a_full_window() -> None:
    assert not is_stuck([])
    assert not is_stuck([7] * 9)


def test_stuck_window_is_ten() -> None:
    assert inspect.signature(is_stuck).parameters["window"].default == 10
    assert is_stuck([7] * 3, window=3)


def test_ababa_is_the_last_four_visits() -> None:
    assert is_ababa([1, 2, 1, 2])
    assert is_ababa([9, 1, 2, 1, 2])
    assert not is_ababa([1, 2, 1])
    assert not is_ababa([1, 2, 3, 2])
    assert not is_ababa([1, 2, 1, 3])
    assert not is_ababa([1, 2, 1, 2, 3])


def test_ababa_needs_two_different_places() -> None:
    assert not is_ababa([1, 1, 1, 1])


def test_ababa_ignores_how_long_each_visit_was() -> None:
    assert is_ababa([1, 1, 2, 1, 1, 1, 2, 2])


def test_ababa_compares_types_as_well_as_ids() -> None:
    assert is_ababa(["kitchen", "corridor", "kitchen", "corridor"])


@given(walks, st.integers(1, 12))
def test_stuck_is_exactly_one_value_in_the_window(walk: list[int], window: int) -> None:
    expected = len(walk) >= window and all(place == walk[-1] for place in walk[-window:])
    assert is_stuck(walk, window) == expected


@given(walks, st.integers(1, 3))
def test_lingering_never_changes_ababa(walk: list[int], times: int) -> None:
    assert is_ababa([place for place in walk for _ in range(times)]) == is_ababa(walk)


@given(walks)
def test_without_repeats_has_no_equal_neighbours(walk: list[int]) -> None:
    visits = without_repeats(walk)
    assert all(a != b for a, b in itertools.pairwise(visits))
    assert set(visits) == set(walk)


def test_no_progress_is_displacement_below_half_a_metre_over_twenty_policy_steps() -> None:
    assert no_progress(along_x(*[0.0] * 21))
    assert not no_progress(along_x(*[0.0] * 20))
    assert not no_progress(along_x(*[0.0] * 20, 0.5))
    assert no_progress(along_x(*[0.0] * 20, 0.49))


def test_no_progress_looks_at_the_window_only() -> None:
    assert no_progress(along_x(5.0, *[0.0] * 21))
    assert not no_progress(along_x(1.0, 0.0), window=1)


def test_going_out_and_back_is_no_progress() -> None:
    assert no_progress(along_x(*[0.25 * min(step, 20 - step) for step in range(21)]))


@pytest.mark.parametrize(("name", "value"), [("window", 20), ("distance", 0.5)])
def test_no_progress_defaults(name: str, value: float) -> None:
    assert inspect.signature(no_progress).parameters[name].default == value
