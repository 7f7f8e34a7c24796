"""The discovered-context queue: what was planned before, and why."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.search.planning.history import DiscoveredContextQueue


def pushed(*types: str, maxlen: int = 5) -> DiscoveredContextQueue:
    queue = DiscoveredContextQueue(maxlen)
    for scene in types:
        queue.push(goal_flag=False, goal_scene_type=scene, why="because")
    return queue


def test_a_record_has_the_least_fields() -> None:
    assert pushed("kitchen").to_list() == [
        {"idx": 1, "goal_flag": False, "goal_scene_type": "kitchen", "why": "because"}
    ]


def test_the_avoid_hint_is_optional() -> None:
    queue = DiscoveredContextQueue()
    queue.push(goal_flag=False, goal_scene_type="kitchen", why="a mug", avoid_hint="pattern:STUCK")
    assert queue.to_list()[0]["avoid_hint"] == "pattern:STUCK"


def test_the_oldest_goes_first() -> None:
    assert [record["goal_scene_type"] for record in pushed(*"abcdefg").to_list()] == list("cdefg")


def test_idx_is_given_anew_from_1() -> None:
    assert [record["idx"] for record in pushed(*"abcdefg").to_list()] == [1, 2, 3, 4, 5]
    assert [record["idx"] for record in pushed(*"ab").to_list()] == [1, 2]


def test_the_queue_holds_five() -> None:
    assert Settings().discovered_context.max_records == 5
    assert len(pushed(*"abcdefg")) == 5


@given(st.lists(st.text(max_size=3), max_size=20), st.integers(1, 8))
def test_the_queue_is_the_tail_of_what_was_pushed(types: list[str], maxlen: int) -> None:
    queue = pushed(*types, maxlen=maxlen)
    assert [record["goal_scene_type"] for record in queue.to_list()] == types[-maxlen:]
    assert [record["idx"] for record in queue.to_list()] == list(range(1, len(queue) + 1))


def test_a_queue_without_room_is_refused() -> None:
    with pytest.raises(InvalidValue, match="maxlen = 0"):
        DiscoveredContextQueue(0)
