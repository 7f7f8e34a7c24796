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


def test_a_memory_moves_anchors_and_objects_together() -> None:
    memory = Memory.open()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.8], labels={"stove": 0.9}, embedding=unit(1))])
    new = look((30.0, 5.0, 1.0), (32.0, 5.0, 1.0))
    memory.correct_poses({0: new})
    assert memory.spatial.graph.anchor(0).world_pose == floor_pose(new)
    memory.new_session()
    assert memory.spatial.correct_poses({0: Pose2D(0.0, 0.0, 0.0)}) == []
