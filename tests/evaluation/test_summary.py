"""Summaries: intervals per arm, pairs over the same episodes, and what must be said first."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.evaluation.summary import summarize, write_summary
from tests.evaluation.records import record

KEYS = {"sr", "spl", "soft_spl", "steps", "steps_seen", "planner_calls", "ababa", "stuck", "no_progress"}
KEYS |= {"unique_place_ratio", "revisited_m2"}


def test_every_arm_has_every_figure_with_its_interval() -> None:
    summary = summarize([record("no_context", 0), record("no_context", 1, success=False)], {})
    figures = summary["arms"]["no_context"]
    assert set(figures) >= KEYS
    assert figures["sr"]["mean"] == 0.5
    assert set(figures["sr"]) == {"mean", "low", "high"}


def test_pairs_are_over_the_episodes_that_both_arms_ran() -> None:
    records = [record("context", 0, spl=0.9), record("context", 1, spl=0.1), record("no_context", 0, spl=0.4)]
    paired = summarize(records, {})["paired"]
    assert set(paired) == {"context_minus_no_context"}
    assert paired["context_minus_no_context"]["spl"]["mean"] == pytest.approx(0.5)


def test_steps_on_goals_seen_before_are_those_of_the_same_episodes_in_every_arm() -> None:
    records = [
        record("lifelong", 0, steps=40, goal_seen_before=True),
        record("lifelong", 1, steps=300, goal_seen_before=False),
        record("no_context", 0, steps=200),
        record("no_context", 1, steps=500),
    ]
    arms = summarize(records, {})["arms"]
    assert arms["lifelong"]["steps_seen"]["mean"] == 40
    assert arms["no_context"]["steps_seen"]["mean"] == 200


def test_a_placebo_that_gains_as_much_voids_the_result() -> None:
    records = [
        record("no_context", 0, spl=0.2),
        record("context", 0, spl=0.4),
        record("context_shuffled", 0, spl=0.5),
    ]
    assert any(line.startswith("VOID") for line in summarize(records, {})["verdict"])
    records[2] = record("context_shuffled", 0, spl=0.2)
    assert not any(line.startswith("VOID") for line in summarize(records, {})["verdict"])


def test_losing_to_the_frontier_is_said_first() -> None:
    records = [record("frontier", 0, spl=0.6), record("context", 0, spl=0.4), record("no_context", 0, spl=0.1)]
    first, second = summarize(records, {})["verdict"]
    assert first == "context loses to frontier: SPL -0.200 (-0.200 to -0.200)"
    assert second.startswith("context beats no_context: SPL +0.300")


def test_a_difference_within_its_interval_is_no_victory() -> None:
    records = [record("frontier", seed, spl=0.5) for seed in range(4)]
    records += [record("context", seed, spl=spl) for seed, spl in enumerate((0.1, 0.9, 0.2, 0.9))]
    assert summarize(records, {})["verdict"][0].startswith("context is not told apart from frontier: SPL +0.025")


def test_the_share_of_steps_to_goals_seen_before_is_said() -> None:
    records = [record("lifelong", 0, steps=40, goal_seen_before=True), record("no_context", 0, steps=200)]
    assert (
        summarize(records, {})["verdict"][-1] == "lifelong takes 0.20 of no_context's steps to goals seen before (1)"
    )


def test_causes_are_counted_by_arm() -> None:
    records = [record("context", 0, success=False), record("context", 1)]
    assert summarize(records, {})["causes"]["context"]["not_seen"] == 1


def test_the_file_is_the_same_for_the_same_records(tmp_path: Path) -> None:
    summary = summarize([record("context", 0), record("no_context", 0)], {"seed": 0})
    first = write_summary(tmp_path, summary).read_bytes()
    assert (
        write_summary(tmp_path, summarize([record("no_context", 0), record("context", 0)], {"seed": 0})).read_bytes()
        == first
    )
    assert json.loads(first)["config"] == {"seed": 0}


def test_pairs_compare_what_is_found_and_how_much_is_walked_in_circles() -> None:
    records = [record("context", 0, ababa=1), record("context_no_hint", 0, ababa=3, unique_place_ratio=0.1)]
    found = summarize(records, {})["paired"]["context_minus_context_no_hint"]
    assert found["ababa"]["mean"] == -2.0
    assert found["unique_place_ratio"]["mean"] == pytest.approx(0.1)


def test_the_summary_says_how_much_the_hints_tell() -> None:
    hints = [[True, True, False], [True, False, True]]
    assert summarize([record("context", 0, hints=hints)], {})["hints"]["context"]["no_progress"] == 0.5
