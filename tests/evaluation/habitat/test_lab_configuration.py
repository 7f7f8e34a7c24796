"""PixelNav's settings, as habitat-lab reads them."""

from __future__ import annotations

import habitat
import pytest

from lastseen.evaluation.habitat import objectnav_config
from lastseen.evaluation.habitat.configuration import CONFIGS


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
