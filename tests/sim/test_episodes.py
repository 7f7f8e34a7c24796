from __future__ import annotations

import math

import pytest

from lastseen.action import Action
from lastseen.errors import InvalidValue
from lastseen.sim.agent import Agent, next_action
from lastseen.sim.episodes import NEAREST_START, Episode, make_episodes
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid, Point
from lastseen.sim.viewpoint import viewpoints


def geodesic_to_class(grid: NavigationGrid, label: str, start: Point) -> float:
    """Metres from a point to the nearest viewpoint of any thing of a class; inf where none can be reached."""
    spots = [(one.x, one.y) for thing in grid.scene.home.things_of(label) for one in viewpoints(grid, thing)]
    path = grid.path(start, spots) if spots else None
    return math.inf if path is None else path.length


def check_solvable(home: Home, episodes: list[Episode]) -> None:
    grid = NavigationGrid(home)
    for episode in episodes:
        start = episode.start.x, episode.start.y
        spots = [(pose.x, pose.y) for pose in episode.viewpoints]
        path = grid.path(start, spots)
        assert path is not None
        # fewer goals may lead along another way of almost the same length
        assert path.length == pytest.approx(episode.geodesic_distance, rel=0.01)
        assert episode.geodesic_distance >= episode.euclidean_distance - 1e-3
        assert episode.geodesic_distance >= NEAREST_START
        assert {home.thing(key).label for key in episode.goal_ids} == {episode.goal}


def test_every_episode_has_a_way_to_a_viewpoint(home: Home) -> None:
    check_solvable(home, make_episodes(home, 12, seed=3))


def test_a_robot_can_walk_it(home: Home) -> None:
    grid = NavigationGrid(home)
    for episode in make_episodes(home, 6, seed=1):
        agent = Agent(grid, episode.start)
        field = grid.distances([(pose.x, pose.y) for pose in episode.viewpoints])
        steps = 0
        while (action := next_action(agent, field, within=0.3)) is not Action.STOP:
            agent.act(action)
            steps += 1
        assert steps < 150
        assert field[grid.cell_of(agent.pose.x, agent.pose.y)] <= 0.3


@pytest.mark.parametrize("seed", [2, 9])
def test_generated_homes_have_episodes(seed: int) -> None:
    home = generate_home(seed, rooms=5)
    check_solvable(home, make_episodes(home, 8, seed=seed))


@pytest.mark.slow
def test_a_house_nobody_of_ours_made_has_episodes(aws_home: Home) -> None:
    check_solvable(aws_home, make_episodes(aws_home, 10, seed=1, goals=["chair", "tv", "bed", "vase"]))


def test_the_same_seed_gives_the_same_episodes(home: Home) -> None:
    assert make_episodes(home, 5, seed=3) == make_episodes(home, 5, seed=3)


def test_goals_can_be_named_and_distances_bounded(home: Home) -> None:
    episodes = make_episodes(home, 6, seed=3, goals=["mug", "bed"], farthest=4.0)
    assert {episode.goal for episode in episodes} == {"mug", "bed"}
    assert all(episode.geodesic_distance <= 4.0 for episode in episodes)


def test_the_distance_to_a_class_is_to_its_nearest_thing(home: Home, grid: NavigationGrid) -> None:
    assert geodesic_to_class(grid, "mug", (2.5, 1.0)) < geodesic_to_class(grid, "bed", (2.5, 1.0))
    assert geodesic_to_class(grid, "tv", (2.5, 1.0)) == float("inf")


def test_unknown_goals_and_counts_are_refused(home: Home) -> None:
    with pytest.raises(InvalidValue, match="'tv'"):
        make_episodes(home, 3, seed=0, goals=["tv"])
    with pytest.raises(InvalidValue, match="at least 1"):
        make_episodes(home, 0, seed=0)
    with pytest.raises(InvalidValue, match="leaves no start"):
        make_episodes(home, 3, seed=0, goals=["mug"], farthest=0.5)
