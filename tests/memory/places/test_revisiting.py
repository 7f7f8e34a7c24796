"""A map that is walked again under other names: every place has anchors of its own."""

from __future__ import annotations

from collections.abc import Sequence

from lastseen.action import Action
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.planning.context import build_context
from lastseen.search.planning.history import DiscoveredContextQueue


def walk(memory: SpatialMemory, scenes: Sequence[str]) -> None:
    """One straight line from the origin; each name lasts long enough to be believed."""
    memory.begin_walk(ORIGIN)
    memory.scene_analyzed(scenes[0], world_pose=ORIGIN)
    x = 0.0
    for scene in scenes:
        for _ in range(2 * memory.settings.places.update_period):
            x += 0.02
            pose = Pose2D(x, 0.0, 0.0)
            memory.step(Action.FORWARD, world_pose=pose, pose=pose)
            if memory.needs_scene_analysis:
                memory.scene_analyzed(scene, world_pose=pose)


def walked_twice() -> SpatialMemory:
    memory = SpatialMemory()
    walk(memory, ["kitchen"] * 4)
    walk(memory, ["living room", "bedroom", "living room", "bedroom"])
    return memory


def test_a_place_named_anew_on_a_second_walk_has_anchors_and_can_be_entered_again() -> None:
    memory = walked_twice()
    assert len(memory.graph.places) == 3
    assert all(place.anchors for place in memory.graph.places.values())
    assert memory.current_anchor is not None
    assert memory.current_anchor.place_id == memory.current_place_id


def test_a_third_walk_under_the_same_names_adds_no_anchors() -> None:
    memory = walked_twice()
    known = len(memory.graph.anchors)
    walk(memory, ["living room", "bedroom", "living room", "bedroom"])
    assert len(memory.graph.anchors) == known


def test_a_file_with_a_place_without_anchors_can_be_walked_and_told() -> None:
    memory = walked_twice()
    empty = memory.graph.add_place("living room", episode=memory.episode)
    memory.recent_places.insert(0, empty.place_id)
    for _ in range(3):
        memory.step(Action.FORWARD)
        memory.scene_analyzed("living room")
    assert memory.current_place is not None
    assert memory.current_place.place_type == "living room"
    assert memory.current_place is not empty
    told = build_context(memory, DiscoveredContextQueue())
    assert empty.place_id not in [place["place_id"] for place in told["places"]]
