"""Runs in the Habitat environment: what habitat-lab's own measures say of walks, from JSON to JSON."""

from __future__ import annotations

import json
import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import placeholders

placeholders.stand_in()

from habitat.core.embodied_task import Measurements  # noqa: E402
from habitat.core.simulator import AgentState  # noqa: E402
from habitat.tasks.nav.nav import SPL, DistanceToGoal, SoftSPL, Success  # noqa: E402


class OpenField:
    """A simulator of nothing but floor: every path is straight."""

    at: Any = (0.0, 0.0, 0.0)

    def get_agent_state(self) -> Any:
        return AgentState(position=np.array(self.at))

    def geodesic_distance(self, start: Any, ends: Any, episode: Any = None) -> float:
        return min(math.dist(start, end) for end in ends)


def judged(walk: Any, goal: Any, reach: float, stop: bool) -> Any:
    sim: Any = OpenField()
    config = SimpleNamespace(distance_to="POINT", success_distance=reach)
    measures = Measurements([kind(sim=sim, config=config) for kind in (DistanceToGoal, Success, SPL, SoftSPL)])
    task = SimpleNamespace(measurements=measures, is_stop_called=False, add_perf_timing=lambda *_: None)
    episode = SimpleNamespace(goals=[SimpleNamespace(position=goal)])
    sim.at = (walk[0][0], 0.0, walk[0][1])
    measures.reset_measures(episode=episode, task=task)
    for x, z in walk[1:]:
        sim.at = (x, 0.0, z)
        measures.update_measures(episode=episode, action={}, task=task)
    task.is_stop_called = stop
    measures.update_measures(episode=episode, action={}, task=task)
    return {name: float(value) for name, value in measures.get_metrics().items()}


print(json.dumps([judged(**each) for each in json.load(sys.stdin)]))
