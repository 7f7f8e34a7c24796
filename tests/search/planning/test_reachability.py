from __future__ import annotations

import pytest

from lastseen.memory.nodes import seed_demo_store
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.search.planning.reachability import check_way

GRAPH = NodeGraph.from_store(seed_demo_store())


def test_an_open_way_is_given_back() -> None:
    verdict = check_way(GRAPH, start=2, goal=4)
    assert verdict.reachable
    assert verdict.reason is None
    assert verdict.path is not None
    assert verdict.path.nodes == (2, 1, 4)


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        ("avoid: corridor", "every way breaks a constraint"),
        ("avoid_node: 1", "every way breaks a constraint"),
        ("avoid: bedroom", "every way breaks a constraint"),
        ("max_path: 2", "beyond max_path 2"),
    ],
)
def test_a_broken_constraint_is_the_reason(constraint: str, reason: str) -> None:
    for active, proposed in ([[constraint], []], [[], [constraint]]):
        verdict = check_way(GRAPH, start=2, goal=4, active_constraints=active, proposed_constraints=proposed)
        assert not verdict.reachable
        assert verdict.path is None
        assert reason in str(verdict.reason)


def test_kept_constraints_let_the_way_pass() -> None:
    assert check_way(GRAPH, start=2, goal=4, active_constraints=["avoid: sofa", "max_path: 20"]).reachable


def test_a_robot_may_leave_what_it_should_avoid() -> None:
    assert check_way(GRAPH, start=2, goal=1, active_constraints=["avoid: kitchen"]).reachable


def test_the_longer_way_round_is_measured_against_the_limit() -> None:
    direct = check_way(GRAPH, start=1, goal=3, active_constraints=["max_path: 3.6"])
    assert direct.reachable
    around = check_way(GRAPH, start=2, goal=1, active_constraints=["max_path: 3"])
    assert not around.reachable


@pytest.mark.parametrize(("start", "goal", "reason"), [(None, 1, "not known"), (2, 77, "no way"), (77, 2, "no way")])
def test_without_start_or_goal_there_is_no_way(start: int | None, goal: int, reason: str) -> None:
    assert reason in str(check_way(GRAPH, start=start, goal=goal).reason)


def test_texts_that_no_rule_can_judge_are_told_and_stop_nothing() -> None:
    verdict = check_way(GRAPH, start=2, goal=1, proposed_constraints=["walk softly"])
    assert verdict.reachable
    assert verdict.unchecked == ("walk softly",)
