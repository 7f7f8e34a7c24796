from __future__ import annotations

import itertools

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.sim.agent import Agent, next_action
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer


def walked(grid: NavigationGrid, start: Pose2D) -> tuple[Agent, list[Pose2D]]:
    agent, poses = Agent(grid, start), []
    for action in itertools.islice(tour(agent, coverage_stops(grid, (start.x, start.y))), 5000):
        agent.act(action)
        poses.append(agent.pose)
    return agent, poses


def test_a_tour_sees_every_thing_and_enters_every_room(home: Home, grid: NavigationGrid, renderer: Renderer) -> None:
    agent, poses = Agent(grid, Pose2D(2.5, 2.0, 0.0)), []
    camera = Intrinsics.from_fov(64, 64, horizontal_deg=79.0)
    seen: set[int] = set()
    for action in tour(agent, coverage_stops(grid, (2.5, 2.0))):
        agent.act(action)
        poses.append(agent.pose)
        seen |= set(np.unique(renderer.render(agent.T_world_camera, camera).ids).tolist())
    assert set(home.things) <= seen
    assert {room.id for pose in poses if (room := home.room_at(pose.x, pose.y))} == {1, 2}


def test_the_same_home_gives_the_same_tour(grid: NavigationGrid) -> None:
    start = Pose2D(2.5, 2.0, 0.0)
    assert walked(grid, start)[1] == walked(grid, start)[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 7])
def test_a_tour_of_a_generated_house_enters_every_room(seed: int) -> None:
    home = generate_home(seed)
    grid = NavigationGrid(home)
    x, y = grid.nearest_free(*home.rooms[0].center)
    _, poses = walked(grid, Pose2D(x, y, 0.0))
    entered = {room.id for pose in poses if (room := home.room_at(pose.x, pose.y))}
    assert len(poses) < 3000
    # a small room may be seen in full from its doorway
    assert len(entered) >= len(home.rooms) - 1


@pytest.mark.parametrize("goal", [(7.6, 1.0), (0.4, 3.7), (4.0, 2.0), (5.0, 0.4)])
def test_the_follower_gets_there(grid: NavigationGrid, goal: tuple[float, float]) -> None:
    agent = Agent(grid, Pose2D(2.3, 0.5, 1.0))
    field = grid.distances([goal])
    steps = 0
    while (action := next_action(agent, field, within=0.3)) is not Action.STOP:
        agent.act(action)
        steps += 1
        assert steps < 120
    assert field[grid.cell_of(agent.pose.x, agent.pose.y)] <= 0.3


def test_the_follower_stops_where_there_is_no_way(grid: NavigationGrid) -> None:
    agent = Agent(grid, Pose2D(2.3, 0.5, 1.0))
    assert next_action(agent, grid.distances([(100.0, 0.0)]), within=0.3) is Action.STOP
