"""What the hints tell: shares over planner calls, and an interval over episodes."""

from __future__ import annotations

from typing import Any

import pytest

from lastseen.evaluation.hints import NEXT_STEPS, hint_figures, hints_of
from tests.evaluation.records import record


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
