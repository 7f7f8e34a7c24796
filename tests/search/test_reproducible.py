"""The same seed and the same cassette give the same log, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest
from lastseen.search.environment_world import EnvironmentWorld

from lastseen.belief import new_belief
from lastseen.config import Settings
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import RunLog, read_log, replay
from lastseen.search.planning.decision import Situation
from lastseen.search.planning.panorama_planner import PanoramaPlanner
from lastseen.search.planning.scene import SceneAnalyzer
from lastseen.search.policy.geometric import GeometricPixelPolicy
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend
from lastseen.vlm.recorded import RecordingBackend
from tests.vlm.faulty import FaultyBackend

pytest.importorskip("embreex")

from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import SimEnvironment
from tests.sim.tiny import tiny_home

STEPS = 70
GOAL = "zeppelin"


def walk(path: Path, backend: Backend) -> SpatialMemory:
    """Look for something that is not there, so that the planner is called again and again."""
    settings = Settings()
    spatial = SpatialMemory(settings)
    planner = PanoramaPlanner(backend, spatial)
    environment = SimEnvironment(tiny_home(), seed=5)
    with RunLog(path) as log:
        log.header(goal=GOAL, seed=5, settings=settings)
        world = EnvironmentWorld(
            environment,
            SimulatedDetector(environment, level="typical", seed=5),
            GeometricPixelPolicy(settings.policy, stop=settings.stop, motion=settings.dead_reckoning),
            target=GOAL,
            planner=planner,
            analyzer=SceneAnalyzer(backend, settings),
            log=log,
            with_images=True,
        )
        decision = None
        while spatial.step_id < STEPS:
            sight = world.look(GOAL)
            if not sight.ready:
                world.confirm()
                continue
            if sight.idle or decision is None:
                situation = Situation(
                    step=spatial.step_id, belief=new_belief(GOAL), images=sight.images, context=sight.context
                )
                decision, _ = planner.decide(situation)
            world.follow(decision)
        world.finish()
    return spatial


@pytest.mark.slow
def test_the_same_seed_and_cassette_reproduce_the_log_byte_for_byte(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    faulty = FaultyBackend(open_backend("offline", seed=5), faults=("garbage", "half_json", "down"), seed=5)
    walk(tmp_path / "recorded.jsonl", RecordingBackend(faulty, tape))
    for name in ("a.jsonl", "b.jsonl"):
        walk(tmp_path / name, open_backend(f"recorded:{tape}"))
    first = (tmp_path / "recorded.jsonl").read_bytes()
    assert first == (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_replaying_the_log_of_a_walk_reproduces_its_graph(tmp_path: Path) -> None:
    spatial = walk(tmp_path / "run.jsonl", open_backend("offline", seed=5))
    run = read_log(tmp_path / "run.jsonl")
    assert replay(run).to_dict() == spatial.to_dict()
    assert sum(step["planner_called"] for step in run.steps) >= 2
    assert len(spatial.graph.anchors) > 3
