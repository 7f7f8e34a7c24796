from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.evaluation.metrics import bootstrap, paired_difference, soft_spl, spl, unique_ratio

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
