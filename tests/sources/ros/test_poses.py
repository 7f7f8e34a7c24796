from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.geometry import Pose3D
from lastseen.sources import SourceOptions
from lastseen.sources.ros.poses import CameraPoses, Corrections
from lastseen.sources.ros.transforms import Link, TransformTree


def at(x: float, y: float = 0.0, *, yaw: float = 0.0) -> Pose3D:
    return Pose3D.from_quaternion([x, y, 0.0], [0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)])


def driving(*, jump: float = 0.4, **options: object) -> CameraPoses:
    """A robot at 1 m/s along x; every second its localizer speaks, at 3 s of an error of ``jump`` metres in y."""
    settled = SourceOptions.from_mapping(options)
    tree = TransformTree(odom_frame=settled.odom_frame)
    tree.add("base", "camera", 0.0, at(0.1), static=True)
    for tenth in range(51):
        tree.add("odom", "base", tenth / 10, at(tenth / 10))
    for second in range(5):
        tree.add("map", "odom", float(second), at(0.0, jump if second >= 3 else 0.0))
    return CameraPoses(tree, "camera", settled)


def test_a_chain_is_put_together_and_interpolated() -> None:
    pose = driving().at(1.55)
    assert pose is not None
    assert np.allclose(pose.translation, [1.65, 0.0, 0.0])


def test_the_world_is_the_top_of_the_tree_unless_it_is_named() -> None:
    assert driving().world == "map"
    named = driving(world_frame="odom").at(4.0)
    assert named is not None
    assert np.allclose(named.translation, [4.1, 0.0, 0.0])


def test_a_jump_of_the_localizer_is_a_step_and_not_smeared() -> None:
    poses = driving()
    before, after = poses.at(2.95), poses.at(3.0)
    assert before is not None
    assert after is not None
    assert before.translation[1] == 0.0
    assert after.translation[1] == pytest.approx(0.4)


def test_poses_across_a_gap_are_not_guessed() -> None:
    poses = driving()
    link = poses.tree.links["base"] = Link("odom", "base")
    for tenth in (*range(10), *range(15, 51)):
        link.add(tenth / 10, at(tenth / 10))
    assert poses.at(1.2) is None
    assert driving(max_pose_gap=1.0).at(1.2) is not None


def test_frames_that_are_not_connected_have_no_pose() -> None:
    assert driving(world_frame="elsewhere").at(1.0) is None


def test_a_loop_in_the_tree_ends() -> None:
    tree = TransformTree(odom_frame="odom")
    tree.add("a", "b", 0.0, at(0.0), static=True)
    tree.add("b", "a", 0.0, at(0.0), static=True)
    assert tree.chain("world", "a") is None


def test_a_late_pose_clock_is_taken_off() -> None:
    pose = driving(pose_delay=0.5).at(1.0)
    assert pose is not None
    assert pose.translation[0] == pytest.approx(1.6)


def revised_y(poses: CameraPoses) -> dict[float, float]:
    corrections = Corrections(poses)
    found: dict[float, float] = {}
    for tenth in range(0, 45, 5):
        for one in corrections.advance(tenth / 10):
            found[one.stamp] = round(float(one.translation[1]), 6)
    return found


def test_a_jump_corrects_the_poses_before_it_by_their_share_of_the_way() -> None:
    # nothing was measured between 0 and 3 s, so the drift built up over the whole way
    found = revised_y(driving())
    assert list(found) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    assert found[0.0] == 0.0
    assert found[2.5] == pytest.approx(0.4)
    assert found[1.5] == pytest.approx(0.24)


def test_a_correction_reaches_back_to_the_one_before_it() -> None:
    poses = driving()
    poses.tree.add("map", "odom", 2.0, at(0.0, 0.01))
    assert list(revised_y(poses)) == [2.0, 2.5]


def test_the_whole_past_may_move_alike_or_not_at_all() -> None:
    assert set(revised_y(driving(jump_correction="whole")).values()) == {0.4}
    assert revised_y(driving(jump_correction="none")) == {}


def test_small_steps_are_everyday_tracking() -> None:
    assert revised_y(driving(jump=0.04)) == {}


def test_a_robot_without_odometry_frame_has_nothing_to_correct() -> None:
    assert revised_y(driving(odom_frame="wheel_odom")) == {}


def test_poses_of_a_clock_that_begins_anew_may_come_before_its_images() -> None:
    tree = TransformTree(odom_frame="odom", restart_after=1.0)
    tree.add("base", "camera", 0.0, at(0.5), static=True)
    for stamp in (100.0, 100.1, 5.0, 100.2, 5.1):
        tree.add("map", "base", stamp, at(stamp))
    assert list(tree.links["base"].stamps) == [100.0, 100.1, 100.2]
    tree = tree.restarted()
    assert list(tree.links["base"].stamps) == [5.0, 5.1]
    assert tree.links["camera"].static
