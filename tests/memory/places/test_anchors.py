from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.config.memory import DeadReckoning
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D

F, L, R = Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT


def started(settings: Settings | None = None) -> SpatialMemory:
    memory = SpatialMemory(settings)
    memory.scene_analyzed("kitchen")
    return memory


def made_at(memory: SpatialMemory, *actions: Action) -> list[tuple[int, list[str]]]:
    """The steps at which anchors were made, with the reasons."""
    return [
        (event["step_id"], event["reasons"])
        for action in actions
        for event in memory.step(action)
        if event["event"] == "anchor_created"
    ]


def test_anchor_after_two_forward_steps() -> None:
    assert made_at(started(), F, F, F, F) == [(2, ["distance"]), (4, ["distance"])]


def test_anchor_distance_is_two_steps() -> None:
    assert Settings().places.anchor_forward_steps == 2


def test_anchor_after_a_rotation_followed_by_a_forward() -> None:
    assert made_at(started(), L, L, F) == [(3, ["turn"])]


def test_a_rotation_alone_makes_no_anchor() -> None:
    assert made_at(started(), *[L] * 12) == []


def test_a_rotation_that_was_undone_still_happened() -> None:
    assert made_at(started(), L, R, F) == [(3, ["turn"])]


def test_counters_start_anew_at_each_anchor() -> None:
    assert made_at(started(), F, L, F, F, F) == [(3, ["distance", "turn"]), (5, ["distance"])]


def test_a_branch_makes_an_anchor_when_it_appears() -> None:
    memory = started()
    flags = [True, True, False, True]
    made = [event["reasons"] for flag in flags for event in memory.step(Action.LOOK_UP, branch=flag)]
    assert made == [["branch"], ["branch"]]


def test_the_first_anchor_of_a_place_is_always_made() -> None:
    memory = started()
    assert [(anchor.pose, anchor.place_id) for anchor in memory.graph.anchors.values()] == [(Pose2D(0, 0, 0), 0)]


def test_neighbours_are_linked_both_ways_along_the_path() -> None:
    memory = started()
    made_at(memory, F, F, F, F)
    assert [anchor.neighbors for anchor in memory.graph.anchors.values()] == [[1], [0, 2], [1]]


def test_an_anchor_keeps_the_pose_place_and_world_pose_of_its_making() -> None:
    memory = started()
    memory.step(F)
    memory.step(F, world_pose=Pose2D(9.0, 8.0, 0.5))
    memory.step(F)
    anchor = memory.current_anchor
    assert anchor is not None
    assert (anchor.pose, anchor.place_id, anchor.step) == (Pose2D(0.5, 0, 0), 0, 2)
    assert anchor.world_pose == Pose2D(9.0, 8.0, 0.5)


def test_things_attach_to_the_anchor_that_was_current_when_they_were_seen() -> None:
    memory = started()
    memory.saw(["stove"])
    made_at(memory, F, F)
    memory.saw(["sofa"])
    assert [anchor.labels for anchor in memory.graph.anchors.values()] == [{"stove"}, {"sofa"}]


def test_a_trusted_bump_is_no_forward_step() -> None:
    memory = started(Settings(dead_reckoning=DeadReckoning(trust_collisions=True)))
    assert [memory.step(F, collided=True) for _ in range(4)] == [[], [], [], []]


@given(st.lists(st.tuples(st.sampled_from(list(Action)), st.booleans(), st.sampled_from("abcd")), max_size=80))
def test_the_graph_is_symmetric_connected_and_a_path(walk: list[tuple[Action, bool, str]]) -> None:
    memory = SpatialMemory()
    for action, branch, scene in walk:
        if memory.needs_scene_analysis:
            memory.scene_analyzed(scene)
        memory.step(action, branch=branch)
    anchors = memory.graph.anchors
    for anchor in anchors.values():
        assert all(anchor.anchor_id in anchors[other].neighbors for other in anchor.neighbors)
        assert anchor.anchor_id in memory.graph.place(anchor.place_id).anchors
    reached = {0} if anchors else set()
    frontier = list(reached)
    while frontier:
        fresh = set(anchors[frontier.pop()].neighbors) - reached
        reached |= fresh
        frontier += fresh
    assert reached == set(anchors)
    assert sum(len(anchor.neighbors) for anchor in anchors.values()) == 2 * max(0, len(anchors) - 1)
