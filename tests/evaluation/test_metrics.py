from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.evaluation.metrics import (
    NEXT_STEPS,
    bootstrap,
    hint_figures,
    hints_of,
    paired_difference,
    path_length,
    revisited_area,
    soft_spl,
    spl,
    unique_ratio,
)
from lastseen.pose2d import Pose2D
from tests.evaluation.records import record

lengths = st.floats(0, 100)


@pytest.mark.parametrize(
    ("success", "shortest", "travelled", "expected"),
    [
        (True, 5.0, 5.0, 1.0),
        (True, 5.0, 10.0, 0.5),
        (False, 5.0, 5.0, 0.0),
        (True, 5.0, 4.0, 1.0),
        (True, 0, 0, 1.0),
    ],
)
def test_spl_by_hand(success: bool, shortest: float, travelled: float, expected: float) -> None:
    assert spl(success=success, shortest=shortest, travelled=travelled) == expected


@pytest.mark.parametrize(
    ("start", "end", "travelled", "expected"),
    [(10.0, 0.0, 10.0, 1.0), (10.0, 5.0, 10.0, 0.5), (10.0, 5.0, 20.0, 0.25), (10.0, 15.0, 5.0, 0.0), (0, 0, 0, 1)],
)
def test_soft_spl_by_hand(start: float, end: float, travelled: float, expected: float) -> None:
    assert soft_spl(start_distance=start, end_distance=end, travelled=travelled) == pytest.approx(expected)


@given(st.booleans(), lengths, lengths)
def test_spl_lies_between_0_and_1_and_never_rewards_a_detour(success: bool, shortest: float, path: float) -> None:
    value = spl(success=success, shortest=shortest, travelled=path)
    assert 0.0 <= value <= 1.0
    assert spl(success=success, shortest=shortest, travelled=path + 1.0) <= value


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf])
def test_lengths_must_be_lengths(bad: float) -> None:
    with pytest.raises(InvalidValue, match="must be a length"):
        spl(success=True, shortest=bad, travelled=1.0)


def test_unique_ratio_looks_at_the_last_window() -> None:
    assert unique_ratio([], 10) == 1.0
    assert unique_ratio(["a", "a"], 10) == pytest.approx((1 + 0.5) / 2)
    assert unique_ratio(["a", "b", "c"], 2) == 1.0


def test_an_interval_holds_its_mean_and_is_reproducible() -> None:
    values = [0.0, 1.0, 1.0, 0.0, 1.0, 0.5]
    interval = bootstrap(values)
    assert interval.low <= interval.mean <= interval.high
    assert interval == bootstrap(values)
    assert interval.as_dict()["mean"] == pytest.approx(sum(values) / 6, abs=1e-6)


def test_equal_values_have_no_spread() -> None:
    assert bootstrap([0.7] * 9).as_dict() == {"mean": 0.7, "low": 0.7, "high": 0.7}


def test_pairs_are_tighter_than_arms_when_episodes_differ_in_difficulty() -> None:
    easy_and_hard = [0.9, 0.1] * 20
    better = [value + 0.05 for value in easy_and_hard]
    difference = paired_difference(better, easy_and_hard)
    assert difference.low > 0.0
    assert bootstrap(better).low < bootstrap(easy_and_hard).high


def test_pairs_need_the_same_episodes() -> None:
    with pytest.raises(InvalidValue, match="compare arms on the same episodes"):
        paired_difference([1.0], [1.0, 2.0])


@pytest.mark.parametrize("values", [[], [math.nan]])
def test_no_values_are_no_mean(values: list[float]) -> None:
    with pytest.raises(InvalidValue, match="run an episode first"):
        bootstrap(values)


def poses(*points: tuple[float, float]) -> list[Pose2D]:
    return [Pose2D(x, y, 0.0) for x, y in points]


def test_the_length_is_that_of_the_poses() -> None:
    assert path_length(poses((0, 0), (3, 4), (3, 4))) == pytest.approx(5.0)
    assert path_length([]) == 0.0


def test_a_way_there_and_back_enters_its_cells_again() -> None:
    there = poses((0.1, 0.1), (0.6, 0.1), (1.1, 0.1))
    assert revisited_area(there, cell=0.5) == 0.0
    assert revisited_area(there + there[1::-1], cell=0.5) == pytest.approx(2 * 0.25)


def test_standing_still_is_no_revisit() -> None:
    assert revisited_area(poses((0.1, 0.1)) * 5, cell=0.5) == 0.0


def call(step: int, *, hint: str | None = None, no_progress: bool = False) -> dict[str, Any]:
    return {"localization": {"step": step}, "avoid_hint": hint, "progress": {"no_progress": no_progress}}


def steps(places: list[int]) -> list[dict[str, Any]]:
    return [{"step_id": number, "current_place_id": place} for number, place in enumerate(places)]


def test_a_place_is_new_when_the_search_was_not_in_it_before_the_call() -> None:
    walk = steps([0] * 5 + [1] * 5 + [0] * 40)
    calls = [call(0), call(8, hint="pattern:STUCK"), call(12, no_progress=True)]
    assert hints_of(calls, walk) == [[False, False, True], [True, False, False], [False, True, False]]


def test_a_call_with_too_few_steps_after_it_tells_nothing() -> None:
    assert hints_of([call(1)], steps([0] * (NEXT_STEPS + 1))) == []


def test_shares_are_over_calls_and_the_difference_is_with_minus_without() -> None:
    hints = [[True, True, False], [True, False, True], [True, False, False], [False, False, True]]
    figures = hint_figures([record("context", 0, hints=hints)])
    difference = figures.pop("difference")
    assert figures == {
        "calls": 4,
        "calls_with_no_progress": 1,
        "stuck": 0.75,
        "no_progress": 0.25,
        "no_new_place_with_no_progress": 1.0,
        "no_new_place_without": pytest.approx(1 / 3, abs=1e-6),
    }
    assert difference["mean"] == difference["low"] == difference["high"] == pytest.approx(2 / 3, abs=1e-6)


def test_the_interval_is_over_episodes() -> None:
    clear = [record("context", seed, hints=[[True, True, False], [True, False, True]]) for seed in range(10)]
    mixed = [record("context", 10 + seed, hints=[[True, True, True], [True, False, False]]) for seed in range(10)]
    assert hint_figures(clear)["difference"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    found = hint_figures(clear + mixed)["difference"]
    assert found["low"] < 0.0 == found["mean"] < found["high"]


def test_without_a_call_of_each_kind_there_is_no_difference() -> None:
    assert hint_figures([record("context", 0, hints=[[True, False, True]])])["difference"] is None
    assert hint_figures([record("no_context", 0)])["calls"] == 0
