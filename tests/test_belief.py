from __future__ import annotations

import json
from typing import Any

import pytest

from lastseen.belief import new_belief, validate_belief, validate_hypothesis
from lastseen.errors import InvalidValue

EXPLORE = {"target_status": "searching", "action": "explore", "confidence": 0.4, "rationale": "nothing seen yet"}


def test_a_new_belief_is_valid_and_survives_json() -> None:
    belief = new_belief("red mug")
    validate_belief(belief)
    assert json.loads(json.dumps(belief)) == belief


def test_a_belief_holds_its_last_hypothesis_by_reference() -> None:
    belief: dict[str, Any] = dict(new_belief("red mug"))
    validate_belief({**belief, "last_hypothesis": EXPLORE})
    with pytest.raises(InvalidValue, match=r"belief_state\.last_hypothesis"):
        validate_belief({**belief, "last_hypothesis": {"action": "dance"}})


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"target_status": "found"}, r"belief_state\.target_status"),
        ({"candidate_nodes": [{"node_id": 1, "score": 1.5}]}, r"belief_state\.candidate_nodes\.0\.score = 1\.5"),
        ({"candidate_nodes": [{"node_id": 1, "score": 0.5, "pose": 1}]}, r"belief_state\.candidate_nodes\.0"),
        ({"next_action": "dance"}, r"belief_state\.next_action"),
        ({"visible_streak": -1}, r"belief_state\.visible_streak"),
        ({"mood": "good"}, r"belief_state = "),
    ],
)
def test_a_broken_belief_is_named_by_its_path(change: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidValue, match=path):
        validate_belief({**new_belief("mug"), **change})


@pytest.mark.parametrize(
    "hypothesis",
    [
        EXPLORE,
        {**EXPLORE, "action": "goto_node", "navigation_goal": {"node_id": 3}},
        {**EXPLORE, "action": "ask_clarification", "clarification_question": "Which mug?"},
        {**EXPLORE, "action": "approach", "target_status": "visible"},
    ],
)
def test_complete_hypotheses_pass(hypothesis: dict[str, Any]) -> None:
    validate_hypothesis(hypothesis)


@pytest.mark.parametrize(
    "hypothesis",
    [
        {**EXPLORE, "confidence": 1.2},
        {**EXPLORE, "action": "goto_node"},
        {**EXPLORE, "action": "goto_node", "navigation_goal": {"heading_deg": 10}},
        {**EXPLORE, "action": "ask_clarification"},
        {**EXPLORE, "action": "ask_clarification", "clarification_question": ""},
        {**EXPLORE, "action": "approach"},
        {**EXPLORE, "extra": 1},
        {key: value for key, value in EXPLORE.items() if key != "rationale"},
        "explore",
        None,
    ],
)
def test_incomplete_hypotheses_are_refused(hypothesis: object) -> None:
    with pytest.raises(InvalidValue, match="breaks the schema"):
        validate_hypothesis(hypothesis)
