"""Searches in a real habitat.Env over our simulator, configured as PixelNav's."""

from __future__ import annotations

import json
from typing import Any

import habitat
import pytest

from lastseen.config import settings_from_mapping
from lastseen.errors import InvalidValue
from lastseen.evaluation.habitat import HabitatEnvironment, objectnav_config, search_episode, search_episodes
from lastseen.evaluation.habitat.searching import CONFIGS
from lastseen.evaluation.metrics import spl
from lastseen.sim.detector import SimulatedDetector
from tests.evaluation.habitat.our_simulator import LastView, open_env


@pytest.mark.parametrize("scenes", sorted(CONFIGS))
def test_habitat_takes_every_override(scenes: str) -> None:
    config = habitat.get_config(CONFIGS[scenes], overrides=objectnav_config(data_path="d", scenes_dir="s")).habitat
    agent = config.simulator.agents.main_agent
    assert (config.simulator.forward_step_size, config.simulator.turn_angle) == (0.25, 30)
    assert config.simulator.habitat_sim_v0.allow_sliding
    assert config.task.measurements.success.success_distance == 1.0
    assert (config.dataset.split, config.dataset.data_path, config.dataset.scenes_dir) == ("val", "d", "s")
    for sensor in (agent.sim_sensors.rgb_sensor, agent.sim_sensors.depth_sensor):
        assert (sensor.width, sensor.height, sensor.hfov, list(sensor.position)) == (640, 480, 79, [0, 0.88, 0])


def search(env: Any, **options: Any) -> dict[str, Any]:
    detector = SimulatedDetector(LastView(env.sim), level="perfect")
    return search_episode(HabitatEnvironment(env), detector, **options)


def test_a_real_episode_is_searched_to_success_and_habitat_says_so() -> None:
    with open_env("bed") as env:
        record = search(env)
        shortest = env.sim.geodesic_distance(
            env.current_episode.start_position,
            [view.agent_state.position for goal in env.current_episode.goals for view in goal.view_points],
        )
    assert record["success"] == 1.0
    assert record["status"] == "found"
    assert record["distance_to_goal"] < 1.0
    ours = spl(success=True, shortest=shortest, travelled=record["travelled"])
    assert record["spl"] == pytest.approx(ours, abs=1e-4)
    assert 0.0 < record["soft_spl"] <= 1.0
    assert json.loads(json.dumps(record)) == record


def test_the_same_search_gives_the_same_record() -> None:
    records = []
    for _ in range(2):
        with open_env("chair") as env:
            records.append(search(env, seed=5))
    assert records[0] == records[1]


def test_a_search_ends_when_habitats_steps_are_spent() -> None:
    with open_env("bed", settings=settings_from_mapping({"search": {"max_steps": 9}})) as env:
        record = search(env)
    assert record["steps"] == 9
    assert record["success"] == record["spl"] == 0.0
    assert record["status"] == "not_found"


def test_episodes_come_one_after_the_other() -> None:
    with open_env("bed", "chair", settings=settings_from_mapping({"search": {"max_steps": 3}})) as env:
        detector = SimulatedDetector(LastView(env.sim), level="perfect")
        records = list(search_episodes(HabitatEnvironment(env), detector, episodes=2))
        order = [(episode.episode_id, episode.object_category) for episode in env.episodes]
    assert [(record["episode"], record["goal"]) for record in records] == order


def test_turns_that_make_no_panorama_are_refused() -> None:
    other = ["habitat.simulator.turn_angle=25"]
    with open_env("bed", overrides=other) as env, pytest.raises(InvalidValue, match="is no full turn"):
        search(env)
