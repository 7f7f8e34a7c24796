"""A loop closure moves the anchors that were made at the frames it corrects, and no others."""

from __future__ import annotations

import math

import pytest

from lastseen.action import Action
from lastseen.frame import floor_pose
from lastseen.memory.memory import Memory
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import Pose2D
from tests.memory.objects.scenes import frame_at, look, seen, unit


def walked() -> SpatialMemory:
    """Two anchors: the first at frame 0, the second half a metre beyond where frame 7 was taken."""
    memory = SpatialMemory()
    memory.at_frame(0, Pose2D(1.0, 0.0, 0.0))
    memory.scene_analyzed("kitchen", world_pose=Pose2D(1.0, 0.0, 0.0))
    memory.at_frame(7, Pose2D(2.0, 0.0, 0.0))
    for _ in range(2):
        memory.step(Action.FORWARD, world_pose=Pose2D(2.5, 0.0, 0.0))
    return memory


def test_an_anchor_keeps_its_place_beside_the_frame_that_was_turned() -> None:
    memory = walked()
    assert memory.correct_poses({7: Pose2D(2.0, 1.0, math.pi / 2)}) == [1]
    assert memory.graph.anchor(0).world_pose == Pose2D(1.0, 0.0, 0.0)
    moved = memory.graph.anchor(1).world_pose
    assert moved is not None
    assert (moved.x, moved.y, moved.yaw) == pytest.approx((2.0, 1.5, math.pi / 2))


def test_a_restored_memory_is_corrected_like_the_one_it_was_written_from() -> None:
    memory = SpatialMemory.from_dict(walked().to_dict())
    assert memory.correct_poses({0: Pose2D(0.0, 0.0, 0.0)}) == [0]


def test_ids_that_start_again_name_frames_of_another_session() -> None:
    memory = walked()
    memory.at_frame(7, Pose2D(0.0, 0.0, 0.0))
    assert memory.correct_poses({0: Pose2D(9.0, 9.0, 0.0), 7: Pose2D(9.0, 9.0, 0.0)}) == []


def test_a_memory_moves_anchors_and_objects_together_and_knows_the_place_of_a_thing() -> None:
    memory = Memory.open()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.8], labels={"stove": 0.9}, embedding=unit(1))])
    place = memory.place_of("obj-1")
    assert place is not None
    assert place.place_type == "kitchen"
    new = look((30.0, 5.0, 1.0), (32.0, 5.0, 1.0))
    memory.correct_poses({0: new})
    assert memory.spatial.graph.anchor(0).world_pose == floor_pose(new)
    assert memory.place_of("obj-1") is place
    memory.new_session()
    assert memory.spatial.correct_poses({0: Pose2D(0.0, 0.0, 0.0)}) == []


def test_a_thing_far_from_every_anchor_is_in_no_place() -> None:
    memory = Memory.open()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.8]), seen([9.0, 0.0, 0.8])])
    assert memory.place_of("obj-1") is not None
    assert memory.place_of("obj-2") is None


def test_places_of_many_points_are_those_of_their_nearest_anchors() -> None:
    memory = Memory.open()
    memory.spatial.scene_analyzed("kitchen", world_pose=Pose2D(0.0, 0.0, 0.0))
    memory.spatial.begin_episode()
    memory.spatial.scene_analyzed("bedroom", world_pose=Pose2D(3.0, 0.0, 0.0))
    assert memory.places_at([[2.0, 0.0, 0.8], [1.0, 0.0, 0.8], [99.0, 0.0, 0.8]]) == [1, 0, None]
    assert memory.places_at([]) == []
