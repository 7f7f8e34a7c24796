from __future__ import annotations

import math
from typing import Any

import pytest

from lastseen.errors import InvalidValue
from lastseen.search.planning.decision import Decision


@pytest.mark.parametrize(
    "decision",
    [
        Decision(heading=math.pi, why="w", source="panorama"),
        Decision(node_id=0, why="w", source="hypothesis", goal_flag=True),
        Decision(stop=True, why="w", source="fallback"),
    ],
)
def test_a_decision_names_one_thing_to_do(decision: Decision) -> None:
    assert [decision.heading is not None, decision.node_id is not None, decision.stop].count(True) == 1


@pytest.mark.parametrize("fields", [{}, {"heading": 0.0, "node_id": 1}, {"node_id": 1, "stop": True}])
def test_none_or_two_things_to_do_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="exactly one of"):
        Decision(goal_flag=False, why="w", source="hypothesis", **fields)


@pytest.mark.parametrize("heading", [math.nan, math.inf, 3.2, -3.2])
def test_a_heading_outside_a_turn_is_refused(heading: float) -> None:
    with pytest.raises(InvalidValue, match=r"decision\.heading"):
        Decision(heading=heading, why="w", source="panorama")
