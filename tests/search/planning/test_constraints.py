"""Constraints on paths, and the check of a proposed one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.memory.nodes import MemoryNode, Pose2D, seed_demo_store
from lastseen.search.planning.constraints import check_path, judgeable, parse_constraint
from lastseen.search.planning.node_graph import NodeGraph

KITCHEN = MemoryNode(3, Pose2D(0, 0, 0), None, ["red mug"], "Kitchen counter")


@pytest.mark.parametrize("text", ["avoid: kitchen", "avoid:KITCHEN!", "avoid: red kitchen", "avoid_node: 3"])
def test_a_node_it_names_is_forbidden(text: str) -> None:
    assert parse_constraint(text).forbids(KITCHEN)


@pytest.mark.parametrize("text", ["avoid: bedroom", "avoid: kitchen stairs", "avoid_node: 4", "max_path: 0"])
def test_any_other_node_is_not(text: str) -> None:
    assert not parse_constraint(text).forbids(KITCHEN)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "avoid",
        "avoid:",
        "avoid: !!!",
        "avoid_node: x",
        "avoid_node: -1",
        "max_path: nan",
        "max_path: -1",
        "be nice",
    ],
)
def test_what_no_rule_can_judge_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="cannot be judged"):
        parse_constraint(text)


def test_texts_are_sorted_into_constraints_and_others() -> None:
    read, unread = judgeable(["avoid: stairs", "keep warm", "max_path: 3"])
    assert [constraint.kind for constraint in read] == ["avoid", "max_path"]
    assert unread == ["keep warm"]


@given(st.lists(st.text()))
def test_no_text_breaks_the_reader(texts: list[str]) -> None:
    read, unread = judgeable(texts)
    assert sorted([constraint.text for constraint in read] + unread) == sorted(texts)


GRAPH = NodeGraph.from_store(seed_demo_store())


def test_an_open_way_is_given_back() -> None:
    verdict = check_path(GRAPH, start=2, goal=4)
    assert verdict.reachable
    assert verdict.reason is None
    assert verdict.path is not None
    assert verdict.path.nodes == (2, 1, 4)


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        ("avoid: corridor", "every path breaks a constraint"),
        ("avoid_node: 1", "every path breaks a constraint"),
        ("avoid: bedroom", "every path breaks a constraint"),
        ("max_path: 2", "beyond max_path 2"),
    ],
)
def test_a_broken_constraint_is_the_reason(constraint: str, reason: str) -> None:
    for active, proposed in ([[constraint], []], [[], [constraint]]):
        verdict = check_path(GRAPH, start=2, goal=4, active_constraints=active, proposed_constraints=proposed)
        assert not verdict.reachable
        assert verdict.path is None
        assert reason in str(verdict.reason)


def test_kept_constraints_let_the_way_pass() -> None:
    assert check_path(GRAPH, start=2, goal=4, active_constraints=["avoid: sofa", "max_path: 20"]).reachable


def test_a_robot_may_leave_what_it_should_avoid() -> None:
    assert check_path(GRAPH, start=2, goal=1, active_constraints=["avoid: kitchen"]).reachable


def test_the_longer_way_round_is_measured_against_the_limit() -> None:
    direct = check_path(GRAPH, start=1, goal=3, active_constraints=["max_path: 3.6"])
    assert direct.reachable
    around = check_path(GRAPH, start=2, goal=1, active_constraints=["max_path: 3"])
    assert not around.reachable


@pytest.mark.parametrize(
    ("start", "goal", "reason"), [(None, 1, "not known"), (2, 77, "no path"), (77, 2, "no path")]
)
def test_without_start_or_goal_there_is_no_path(start: int | None, goal: int, reason: str) -> None:
    assert reason in str(check_path(GRAPH, start=start, goal=goal).reason)


def test_texts_that_no_rule_can_judge_are_told_and_stop_nothing() -> None:
    verdict = check_path(GRAPH, start=2, goal=1, proposed_constraints=["walk softly"])
    assert verdict.reachable
    assert verdict.unchecked == ("walk softly",)
