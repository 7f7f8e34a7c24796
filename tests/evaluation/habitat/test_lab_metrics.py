"""Our SPL and SoftSPL against habitat-lab's own measures, on walks made by hand."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from habitat.core.embodied_task import Measurements
from habitat.core.simulator import AgentState
from habitat.tasks.nav.nav import SPL, DistanceToGoal, SoftSPL, Success

from lastseen.evaluation.metrics import soft_spl, spl

GOAL = (4.0, 0.0, 0.0)
REACH = 1.0
WALKS = {
    "straight there": [(0.0, 0.0), (2.0, 0.0), (4.0, 0.0)],
    "a detour": [(0.0, 0.0), (0.0, 3.0), (4.0, 3.0), (4.0, 0.0)],
    "within reach": [(0.0, 0.0), (3.5, 0.0)],
    "just out of reach": [(0.0, 0.0), (3.0, 0.0)],
    "away from it": [(0.0, 0.0), (-3.0, 0.0)],
    "without a step": [(0.0, 0.0)],
}


class OpenField:
    """A simulator of nothing but floor: every path is straight."""

    def __init__(self) -> None:
        self.at = (0.0, 0.0, 0.0)

    def get_agent_state(self) -> Any:
        return AgentState(position=np.array(self.at))

    def geodesic_distance(self, start: Any, ends: Any, episode: Any = None) -> float:
        return min(math.dist(start, end) for end in ends)


def judged(walk: list[tuple[float, float]], *, stop: bool) -> dict[str, float]:
    """What habitat-lab says of a walk."""
    sim: Any = OpenField()
    config = SimpleNamespace(distance_to="POINT", success_distance=REACH)
    measures = Measurements([kind(sim=sim, config=config) for kind in (DistanceToGoal, Success, SPL, SoftSPL)])
    task = SimpleNamespace(measurements=measures, is_stop_called=False, add_perf_timing=lambda *_: None)
    episode = SimpleNamespace(goals=[SimpleNamespace(position=GOAL)])
    sim.at = (walk[0][0], 0.0, walk[0][1])
    measures.reset_measures(episode=episode, task=task)
    for x, z in walk[1:]:
        sim.at = (x, 0.0, z)
        measures.update_measures(episode=episode, action={}, task=task)
    task.is_stop_called = stop
    measures.update_measures(episode=episode, action={}, task=task)
    return dict(measures.get_metrics())


@pytest.mark.parametrize("stop", [True, False])
@pytest.mark.parametrize("walk", WALKS.values(), ids=WALKS.keys())
def test_ours_are_theirs(walk: list[tuple[float, float]], stop: bool) -> None:
    theirs = judged(walk, stop=stop)
    travelled = sum(math.dist(a, b) for a, b in itertools.pairwise(walk))
    start, end = (math.dist(point, (GOAL[0], GOAL[2])) for point in (walk[0], walk[-1]))
    ours = spl(success=stop and end < REACH, shortest=start, travelled=travelled)
    assert ours == pytest.approx(theirs["spl"], abs=1e-12)
    soft = soft_spl(start_distance=start, end_distance=end, travelled=travelled)
    assert soft == pytest.approx(theirs["soft_spl"], abs=1e-12)
