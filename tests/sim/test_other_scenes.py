"""Scenes that we did not invent: agent, detector, recording, truth and episodes work in them unchanged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.config import Settings
from lastseen.config.programs import Camera
from lastseen.sim.episodes import make_episodes
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.recording import record
from lastseen.sim.walk import WalkPlan

SMALL = Settings(camera=Camera(width=96, height=72))


@pytest.fixture(scope="module", params=["aws", "graph"])
def scene(request: pytest.FixtureRequest, shared_data: Path) -> Home:
    if request.param == "aws":
        return Home.from_npz(shared_data / "aws_small_house" / "small_house.npz")
    return Home.from_graph(shared_data / "virtualhome_graphs" / "TestScene4.json.gz")


@pytest.mark.slow
def test_a_walk_is_recorded_with_detections_changes_and_truth(scene: Home, tmp_path: Path) -> None:
    out = record(scene, WalkPlan(0.25, seed=2, level="perfect", changes=2), tmp_path / "out", settings=SMALL)
    detections = [json.loads(line) for line in (out / "detections.jsonl").read_text().splitlines()]
    truth = json.loads((out / "truth.json").read_text())
    assert {label for one in detections for label in one["labels"]} <= set(scene.labels())
    assert len({label for one in detections for label in one["labels"]}) > 5
    assert [change["kind"] for change in truth["changes"]] == ["move", "remove"]
    assert len(truth["objects"]) == len(scene.things)


@pytest.mark.slow
def test_episodes_can_be_solved(scene: Home) -> None:
    grid = NavigationGrid(scene)
    for episode in make_episodes(scene, 5, seed=1, grid=grid):
        path = grid.path((episode.start.x, episode.start.y), [(pose.x, pose.y) for pose in episode.viewpoints])
        assert path is not None
        assert path.length == pytest.approx(episode.geodesic_distance, rel=0.01)
