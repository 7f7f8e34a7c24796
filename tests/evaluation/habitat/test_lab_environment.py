"""A real ``habitat.Env`` behind our seam: what it shows and what it does, against our own simulator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lastseen.action import Action, apply
from lastseen.errors import InvalidValue
from lastseen.evaluation.habitat import HabitatEnvironment
from lastseen.protocols import Environment
from tests.evaluation.habitat.our_simulator import open_env


@pytest.fixture(scope="module")
def env() -> Iterator[Any]:
    with open_env("bed", "chair") as opened:
        yield opened


@pytest.fixture
def world(env: Any) -> HabitatEnvironment:
    env.current_episode = env.episodes[0]
    bridge = HabitatEnvironment(env)
    bridge.next_episode()
    return bridge


def test_it_fits_the_protocol(world: HabitatEnvironment) -> None:
    assert isinstance(world, Environment)


def test_the_pose_is_that_of_our_simulator_above_the_floor(world: HabitatEnvironment) -> None:
    for action in (Action.TURN_LEFT, Action.FORWARD, Action.LOOK_DOWN, Action.TURN_RIGHT):
        frame = world.step(action).frame
        truth = world.env.sim.world.agent.T_world_camera
        np.testing.assert_allclose(frame.T_world_camera.matrix, truth.matrix, atol=1e-6)
    assert frame.T_world_camera.translation[2] == pytest.approx(0.88)


def test_a_turn_left_is_a_turn_left_and_a_forward_goes_ahead(world: HabitatEnvironment) -> None:
    before = world.reset().floor_pose
    turned = world.step(Action.TURN_LEFT).frame.floor_pose
    assert math.degrees(turned.yaw - before.yaw) % 360.0 == pytest.approx(30.0)
    moved = world.step(Action.FORWARD)
    if not moved.collided:
        assert moved.frame.floor_pose.distance_to(apply(turned, Action.FORWARD)) == pytest.approx(0.0, abs=1e-6)


def test_the_picture_and_the_camera_are_those_of_the_sensors(world: HabitatEnvironment) -> None:
    frame = world.reset()
    assert frame.intrinsics.width == 160
    assert frame.intrinsics == world.env.sim.world.intrinsics
    np.testing.assert_array_equal(frame.rgb, world.env.sim.frame.rgb)


@pytest.mark.parametrize("normalized", [True, False])
def test_depth_is_metres_between_the_limits_and_unknown_beyond(normalized: bool) -> None:
    sensor = "habitat.simulator.agents.main_agent.sim_sensors.depth_sensor"
    limits = [f"{sensor}.min_depth=0.5", f"{sensor}.max_depth=3.0", f"{sensor}.normalize_depth={normalized}"]
    with open_env("bed", overrides=limits) as env:
        world = HabitatEnvironment(env)
        world.next_episode()
        seen = [(world.step(Action.TURN_LEFT).frame.depth, env.sim.frame.depth) for _ in range(6)]
    depth, truth = (np.stack(each) for each in zip(*seen, strict=True))
    known = (truth > 0.5) & (truth < 3.0)
    np.testing.assert_allclose(depth[known], truth[known], atol=1e-5)
    assert np.isnan(depth[~known]).all()
    assert known.any()
    assert not known.all()


def test_a_blocked_forward_is_a_collision(world: HabitatEnvironment) -> None:
    bumped = [world.step(Action.FORWARD).collided for _ in range(40)]
    assert any(bumped)
    assert world.collisions == sum(bumped)
    assert not world.step(Action.TURN_LEFT).collided


def test_reset_stays_in_the_episode_and_next_episode_goes_on(env: Any) -> None:
    env.current_episode = env.episodes[0]
    world = HabitatEnvironment(env)
    start = world.next_episode()
    first = world.goal
    assert world.reset() is start
    world.step(Action.TURN_LEFT)
    again = world.reset()
    assert world.goal == first
    assert again.id > start.id
    np.testing.assert_allclose(again.T_world_camera.matrix, start.T_world_camera.matrix)
    world.next_episode()
    world.next_episode()
    assert {first, world.goal} <= {"bed", "chair"}


def test_nothing_is_done_before_the_start_or_after_the_end(env: Any) -> None:
    fresh = HabitatEnvironment(env)
    with pytest.raises(InvalidValue, match="comes before reset"):
        fresh.step(Action.FORWARD)
    fresh.next_episode()
    fresh.step(Action.STOP)
    assert fresh.over
    with pytest.raises(InvalidValue, match="after the end of the episode"):
        fresh.step(Action.FORWARD)


def test_a_sensor_that_is_not_there_is_named_with_those_that_are(env: Any) -> None:
    with pytest.raises(InvalidValue, match="choose of depth, rgb"):
        HabitatEnvironment(env, rgb="head_rgb")


def test_cameras_in_two_spots_are_refused() -> None:
    apart = "habitat.simulator.agents.main_agent.sim_sensors.depth_sensor.position=[0,1.2,0]"
    with open_env("bed", overrides=[apart]) as env, pytest.raises(InvalidValue, match="put both cameras in one spot"):
        HabitatEnvironment(env)
