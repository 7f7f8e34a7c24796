from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.action import Action, apply
from lastseen.config.programs import Robot
from lastseen.errors import InvalidValue
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.sim.agent import Agent
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.senses import ActuationNoise, Level
from tests.sim.tiny import tiny_home

GRID = NavigationGrid(tiny_home())
MOVES = [Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT, Action.LOOK_UP, Action.LOOK_DOWN]


def agent_at(x: float, y: float, degrees: float) -> Agent:
    return Agent(GRID, Pose2D(x, y, math.radians(degrees)))


@given(st.lists(st.sampled_from([*MOVES, Action.FORWARD, Action.FORWARD]), max_size=120), st.integers(0, 11))
def test_no_sequence_of_actions_leads_into_an_obstacle(actions: list[Action], heading: int) -> None:
    agent = agent_at(2.8, 2.0, 30.0 * heading - 150.0)
    for action in actions:
        agent.act(action)
        assert GRID.is_free(agent.pose.x, agent.pose.y)
        assert 0.0 < agent.pose.x < 8.0
        assert 0.0 < agent.pose.y < 4.0


@given(st.lists(st.sampled_from(MOVES), max_size=60))
def test_without_collisions_truth_and_dead_reckoning_agree(actions: list[Action]) -> None:
    agent = agent_at(2.8, 2.0, 30.0)
    start = agent.pose
    for action in actions:
        if agent.act(action):
            return
        reckoned = start.compose(agent.reckoned)
        assert math.dist((reckoned.x, reckoned.y), (agent.pose.x, agent.pose.y)) < 1e-9


def test_forward_goes_a_quarter_of_a_metre() -> None:
    agent = agent_at(2.5, 2.0, 0.0)
    assert agent.act(Action.FORWARD) is False
    assert agent.pose.x == pytest.approx(2.75)


def test_a_wall_stops_a_head_on_forward_and_flags_it() -> None:
    agent = agent_at(2.5, 3.5, 90.0)
    collided = [agent.act(Action.FORWARD) for _ in range(4)]
    assert collided[-1] is True
    assert agent.pose.x == pytest.approx(2.5, abs=0.02)
    assert agent.pose.y <= 4.0 - GRID.robot.radius


def test_a_slanted_forward_slides_along_the_wall() -> None:
    agent = agent_at(1.5, 3.7, 30.0)
    for _ in range(4):
        agent.act(Action.FORWARD)
    assert agent.pose.x > 1.5 + 4 * 0.25 * math.cos(math.radians(30.0)) * 0.8
    assert agent.pose.y <= 4.0 - GRID.robot.radius


def test_without_sliding_a_slanted_forward_stops() -> None:
    grid = NavigationGrid(tiny_home(), robot=Robot(slide=False))
    agent = Agent(grid, Pose2D(1.5, 3.7, math.radians(30.0)))
    results = [agent.act(Action.FORWARD) for _ in range(4)]
    assert results[-1]
    assert agent.pose.x < 1.9


def test_dead_reckoning_knows_only_the_actions() -> None:
    agent = agent_at(2.5, 3.7, 90.0)
    expected = ORIGIN
    for action in (Action.FORWARD, Action.FORWARD, Action.TURN_LEFT, Action.FORWARD):
        agent.act(action)
        expected = apply(expected, action)
    assert agent.reckoned == expected
    assert agent.pose.distance_to(Pose2D(2.5, 3.7, 0.0)) < 0.4


def test_looking_moves_the_camera_and_stops_at_the_limits() -> None:
    agent = agent_at(2.5, 2.0, 0.0)
    pitches = []
    for action in [Action.LOOK_UP] * 3 + [Action.LOOK_DOWN] * 5:
        agent.act(action)
        pitches.append(agent.pitch)
    assert pitches == [30.0, 60.0, 60.0, 30.0, 0.0, -30.0, -60.0, -60.0]
    assert agent.T_world_camera.rotation[2, 2] == pytest.approx(math.sin(math.radians(-60.0)))


def test_nothing_moves_after_stop() -> None:
    agent = agent_at(2.5, 2.0, 0.0)
    agent.act(Action.STOP)
    with pytest.raises(InvalidValue, match="after stop"):
        agent.act(Action.FORWARD)


def test_it_cannot_start_in_furniture() -> None:
    with pytest.raises(InvalidValue, match="not free floor"):
        agent_at(7.0, 3.0, 0.0)


def test_a_word_that_is_no_action_is_refused() -> None:
    with pytest.raises(InvalidValue, match="is not an action"):
        agent_at(2.5, 2.0, 0.0).act("jump")  # type: ignore[arg-type]


def test_actuation_noise_is_seeded_and_leaves_dead_reckoning_alone() -> None:
    runs = []
    for seed in (1, 1, 2):
        agent = Agent(GRID, Pose2D(2.5, 2.0, 0.0), noise=ActuationNoise(Level.TYPICAL, seed=seed))
        for action in (Action.FORWARD, Action.TURN_LEFT, Action.FORWARD):
            agent.act(action)
        runs.append((agent.pose, agent.reckoned))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
    assert runs[0][1] == runs[2][1]
