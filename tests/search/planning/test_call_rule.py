from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastseen.config.seeking import Planner
from lastseen.search.planning.call_rule import CallRule


def started(settings: Planner | None = None) -> CallRule:
    rule = CallRule(settings)
    assert rule.due(stopped=False, goal_flag=False) == "start"
    return rule


def test_section_6_one_call_at_the_start_of_an_episode() -> None:
    rule = CallRule()
    assert [rule.due(stopped=False, goal_flag=False) for _ in range(3)] == ["start", None, None]


def test_section_6_not_at_every_step() -> None:
    rule = started()
    assert not any(rule.due(stopped=False, goal_flag=flag) for flag in (True, False) * 50)
    assert rule.calls == 1


def test_section_6_a_stop_without_the_goal_calls_again() -> None:
    assert started().due(stopped=True, goal_flag=False) == "stopped"


def test_section_6_a_stop_at_the_goal_does_not() -> None:
    assert started().due(stopped=True, goal_flag=True) is None


def test_section_6_patterns_call_again_only_where_switched_on() -> None:
    assert started().due(stopped=False, goal_flag=False, pattern=True) is None
    switched = started(Planner(recall_on_pattern=True))
    assert switched.due(stopped=False, goal_flag=False, pattern=True) == "pattern"


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=80), st.integers(1, 10))
def test_calls_are_bounded(steps: list[tuple[bool, bool, bool]], most: int) -> None:
    rule = CallRule(Planner(max_calls=most, recall_on_pattern=True))
    made = [rule.due(stopped=a, goal_flag=b, pattern=c) for a, b, c in steps]
    assert len([reason for reason in made if reason]) == rule.calls <= most


def test_section_15_calls_are_start_and_stop_without_the_goal_by_default() -> None:
    assert not Planner().recall_on_pattern
