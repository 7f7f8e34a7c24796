from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.protocols import Environment
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.home import Home

START = Pose2D(2.5, 2.0, 0.0)
WALK = [Action.FORWARD, Action.TURN_LEFT, Action.FORWARD, Action.LOOK_DOWN, Action.FORWARD]


def test_it_is_an_environment(home: Home, small: Intrinsics) -> None:
    assert isinstance(SimEnvironment(home, start=START, intrinsics=small), Environment)


def test_frames_are_numbered_and_stamped_by_a_steady_clock(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=START, intrinsics=small, first_stamp=100.0)
    frames = [world.reset(), *(world.step(action).frame for action in WALK), world.reset()]
    assert [frame.id for frame in frames] == list(range(7))
    assert [frame.stamp for frame in frames] == [100.0 + 0.5 * k for k in range(7)]
    assert frames[0].T_world_camera == frames[-1].T_world_camera


def test_a_grid_made_before_is_shared_and_changes_nothing(home: Home, small: Intrinsics) -> None:
    first = SimEnvironment(home, start=START, intrinsics=small)
    second = SimEnvironment(home, start=START, intrinsics=small, grid=first.grid)
    assert second.renderer.scene is first.grid.scene
    assert np.array_equal(first.reset().rgb, second.reset().rgb)


def test_perfect_senses_tell_the_truth(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=START, intrinsics=small)
    frame = world.reset()
    view = world.view_of(frame)
    assert frame.T_world_camera == world.agent.T_world_camera
    assert np.array_equal(frame.depth, view.depth, equal_nan=True)
    assert np.array_equal(frame.rgb, view.rgb)


@pytest.mark.parametrize("level", ["perfect", "good", "typical", "bad"])
def test_the_same_seed_gives_the_same_bytes(home: Home, small: Intrinsics, level: str) -> None:
    def run(seed: int) -> list[tuple[bytes, bytes, bytes]]:
        world = SimEnvironment(home, start=START, seed=seed, senses=Senses.all(level), intrinsics=small)
        frames = [world.reset(), *(world.step(action).frame for action in WALK)]
        return [(f.rgb.tobytes(), f.depth.tobytes(), f.T_world_camera.matrix.tobytes()) for f in frames]

    assert run(3) == run(3)
    assert (run(3) == run(4)) == (level == "perfect")


def test_a_bump_is_reported(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=Pose2D(2.5, 3.7, math.pi / 2), intrinsics=small)
    world.reset()
    assert [world.step(Action.FORWARD).collided for _ in range(2)][-1]


def test_without_a_start_one_is_drawn_from_the_seed(home: Home, small: Intrinsics) -> None:
    starts = [SimEnvironment(home, seed=seed, intrinsics=small).start for seed in (1, 1, 2)]
    assert starts[0] == starts[1] != starts[2]


def test_the_world_can_change_under_the_robot(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=Pose2D(1.0, 2.9, -math.pi / 2), intrinsics=small)
    assert 1 in world.view_of(world.reset()).ids
    world.replace_home(home.without_thing(1).without_thing(2))
    assert 1 not in world.view_of(world.step(Action.LOOK_UP).frame).ids
    assert world.grid.is_free(1.2, 1.0)


def test_nothing_may_land_on_the_robot(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home.without_thing(1).without_thing(2), start=Pose2D(1.2, 1.0, 0.0), intrinsics=small)
    with pytest.raises(InvalidValue, match="where the robot stands"):
        world.replace_home(home)
    assert 1 not in world.home.things


def test_looking_moves_nothing_and_takes_another_frame(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=START, intrinsics=small)
    first, second = world.reset(), world.look()
    assert world.agent.pose == START
    assert second.id == first.id + 1
    assert second.T_world_camera == first.T_world_camera


def test_the_truth_of_an_unknown_frame_is_refused(home: Home, small: Intrinsics) -> None:
    world = SimEnvironment(home, start=START, intrinsics=small)
    frame = world.reset()
    with pytest.raises(InvalidValue, match="not a recent frame"):
        SimEnvironment(home, start=START, intrinsics=small).view_of(frame)
