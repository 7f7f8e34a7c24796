"""What perception does to the belief: two sightings make visible, close and approaching makes done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.belief import BeliefState, new_belief, validate_belief
from lastseen.config.search import Search as SearchSettings
from lastseen.perception.detectors import open_detector
from lastseen.search.belief_update import perceive, unconfirmed
from lastseen.search.search import Search
from lastseen.search.world import Sight
from tests.perception.tiny_onnx import logits_of, raw_detector
from tests.search.test_robot_world import MUG, BoxEnvironment, Scripted

SETTINGS = SearchSettings()


def look(belief: BeliefState, *, visible: bool, distance: float | None = 0.5, step: int = 0) -> BeliefState:
    perceive(
        belief,
        Sight(stamp=10.0 + step, visible=visible, distance=distance, node_id=4),
        step=step,
        settings=SETTINGS,
    )
    return belief


def test_one_sighting_is_not_visible_and_asks_for_another_look() -> None:
    belief = look(new_belief("mug"), visible=True)
    assert belief["target_status"] == "searching"
    assert unconfirmed(belief, SETTINGS)


def test_two_sightings_in_a_row_are() -> None:
    belief = look(look(new_belief("mug"), visible=True), visible=True, step=1)
    assert belief["target_status"] == "visible"
    assert not unconfirmed(belief, SETTINGS)
    assert (belief["last_seen_step"], belief["last_seen_stamp"], belief["last_seen_node_id"]) == (1, 11.0, 4)


def test_a_miss_between_starts_the_count_again() -> None:
    belief = new_belief("mug")
    for visible in (True, False, True):
        look(belief, visible=visible)
    assert belief["target_status"] == "searching"


def test_one_miss_on_the_way_is_forgiven_and_two_are_not() -> None:
    belief = look(look(new_belief("mug"), visible=True), visible=True)
    assert look(belief, visible=False)["target_status"] == "visible"
    assert look(belief, visible=False)["target_status"] == "likely_in_memory"


@pytest.mark.parametrize(
    ("action", "distance", "status"),
    [
        ("approach", 1.0, "done"),
        ("approach", 1.01, "visible"),
        ("approach", None, "visible"),
        ("explore", 0.1, "visible"),
        (None, 0.1, "visible"),
    ],
)
def test_done_needs_approach_sight_and_nearness(action: Any, distance: float | None, status: str) -> None:
    belief = look(new_belief("mug"), visible=True)
    belief["next_action"] = action
    assert look(belief, visible=True, distance=distance)["target_status"] == status


def test_a_single_sighting_after_a_miss_is_not_enough_for_done() -> None:
    belief = look(look(new_belief("mug"), visible=True), visible=True)
    look(belief, visible=False)
    belief["next_action"] = "approach"
    assert look(belief, visible=True)["target_status"] == "visible"
    assert look(belief, visible=True)["target_status"] == "done"


@pytest.mark.parametrize("status", ["done", "unreachable"])
def test_a_search_that_is_over_stays_over(status: Any) -> None:
    belief = new_belief("mug")
    belief["target_status"] = status
    for visible in (True, True, False, False):
        look(belief, visible=visible)
    assert belief["target_status"] == status


@given(
    st.lists(st.tuples(st.booleans(), st.none() | st.floats(0, 5), st.sampled_from([None, "approach", "explore"])))
)
def test_visible_and_done_always_rest_on_enough_sightings(looks: list[Any]) -> None:
    belief, seen = new_belief("mug"), []
    for step, (visible, distance, action) in enumerate(looks):
        belief["next_action"] = action
        look(belief, visible=visible, distance=distance, step=step)
        seen.append(visible)
        validate_belief(belief)
        if belief["target_status"] in {"visible", "done"}:
            assert any(seen[i : i + 2] == [True, True] for i in range(len(seen)))


def test_a_detector_from_a_file_makes_its_target_visible(tmp_path: Path) -> None:
    """The whole path: model file, detections, the world's sighting, the belief."""
    model = raw_detector(
        tmp_path / "m.onnx",
        logits=logits_of([{41: 0.95}]),
        boxes=np.array([[0.5, 0.6, 0.3, 0.4]], dtype=np.float32),
    )
    environment = BoxEnvironment([MUG])
    search = Search("cup", environment, detector=open_detector(model), planner=Scripted(0.0))
    belief = new_belief("cup")
    for step in range(2):
        perceive(belief, search.world.look("cup"), step=step, settings=SETTINGS)
        search.world.confirm()
    assert belief["target_status"] == "visible"
