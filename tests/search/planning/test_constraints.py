from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.memory.nodes import MemoryNode, Pose2D
from lastseen.search.planning.constraints import judgeable, parse_constraint

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
