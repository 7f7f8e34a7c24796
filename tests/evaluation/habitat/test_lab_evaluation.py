"""The worker in a real habitat-lab, on its own Python: three processes, one evaluation."""

from __future__ import annotations

import json
import math
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from lastseen.action import Action, apply
from lastseen.cli.main import app
from lastseen.config import Settings, settings_from_mapping
from lastseen.errors import InvalidValue, LastseenError
from lastseen.evaluation.habitat.environment import HabitatEnvironment
from lastseen.evaluation.habitat.plan import HabitatPlan, close_worker
from lastseen.evaluation.habitat.process import WorkerProcess
from lastseen.evaluation.metrics import spl
from lastseen.evaluation.runner import EPISODES_FILE, _with_context, run
from lastseen.protocols import Environment, StepResult
from tests.evaluation.habitat import lab

# habitat-lab alone takes seconds to be imported, in every worker
pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module", autouse=True)
def port() -> Iterator[int]:
    with pytest.MonkeyPatch.context() as patched, lab.simulator() as number:
        patched.setenv(lab.PORT, str(number))
        yield number


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    _with_context.cache_clear()
    yield
    close_worker()


@pytest.fixture(scope="module")
def data_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    return lab.write_dataset(tmp_path_factory.mktemp("episodes"), "bed", "chair")


def opened(folder: Path, data_path: str, *overrides: str, **given: Any) -> tuple[WorkerProcess, dict[str, Any]]:
    process = WorkerProcess(lab.PYTHON, log=folder / "habitat.log")
    facts, _ = process.ask("open", **lab.dataset(data_path, *overrides, **given).request(Settings()))
    return process, facts


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory, port: int, data_path: str) -> Iterator[Any]:
    process, facts = opened(tmp_path_factory.mktemp("worker"), data_path)
    with process:
        yield process, facts


@pytest.fixture
def world(worker: Any) -> HabitatEnvironment:
    process, facts = worker
    return HabitatEnvironment(process, facts, number=0)


def test_habitat_reads_the_split_and_takes_every_override(worker: Any) -> None:
    process, facts = worker
    assert process.version.startswith(("3.8", "3.9"))
    assert facts["episodes"] == 2
    assert (facts["forward_step"], facts["turn_angle"]) == (0.25, 30.0)
    assert facts["sensors"]["rgb"]["position"] == [0.0, 0.88, 0.0]
    assert facts["scene_dataset"] == "scans/hm3d_v0.2/hm3d_annotated_basis.scene_dataset_config.json"


def test_the_pose_is_that_of_our_simulator_above_the_floor(world: HabitatEnvironment) -> None:
    assert isinstance(world, Environment)
    before = world.reset().floor_pose
    turned = world.step(Action.TURN_LEFT).frame.floor_pose
    assert math.degrees(turned.yaw - before.yaw) % 360.0 == pytest.approx(30.0)
    moved = world.step(Action.FORWARD)
    if not moved.collided:
        assert moved.frame.floor_pose.distance_to(apply(turned, Action.FORWARD)) == pytest.approx(0.0, abs=1e-6)
    down = world.step(Action.LOOK_DOWN).frame.T_world_camera
    assert down.translation[2] == pytest.approx(0.88)
    assert down.matrix[2, 2] == pytest.approx(-0.5)


def test_a_blocked_forward_is_a_collision(world: HabitatEnvironment) -> None:
    world.reset()
    bumped = [world.step(Action.FORWARD).collided for _ in range(40)]
    assert any(bumped)
    assert world.collisions == sum(bumped)


@pytest.mark.parametrize("normalized", [True, False])
def test_depth_is_metres_between_the_limits_and_unknown_beyond(
    tmp_path: Path, data_path: str, normalized: bool
) -> None:
    sensor = "habitat.simulator.agents.main_agent.sim_sensors.depth_sensor"
    limits = (f"{sensor}.min_depth=0.5", f"{sensor}.max_depth=3.0", f"{sensor}.normalize_depth={normalized}")
    process, facts = opened(tmp_path, data_path, *limits)
    wide, _ = opened(tmp_path, data_path, f"{sensor}.min_depth=0.01", f"{sensor}.max_depth=50.0")
    with process, wide:
        near = HabitatEnvironment(process, facts, number=0).reset().depth
        facts["sensors"]["depth"] |= {"min_depth": 0.01, "max_depth": 50.0, "normalized": True}
        truth = HabitatEnvironment(wide, facts, number=0).reset().depth
    known = (truth > 0.5) & (truth < 3.0)
    np.testing.assert_allclose(near[known], truth[known], atol=1e-3)
    assert np.isnan(near[~known]).all()
    assert known.any()
    assert not known.all()


def test_nothing_is_done_before_the_start_or_after_the_end(world: HabitatEnvironment) -> None:
    with pytest.raises(InvalidValue, match="comes before reset"):
        world.step(Action.FORWARD)
    world.reset()
    world.step(Action.STOP)
    assert world.over
    with pytest.raises(InvalidValue, match="after the end of the episode"):
        world.step(Action.FORWARD)


def plan(out: Path, data_path: str, **changes: Any) -> HabitatPlan:
    given: dict[str, Any] = {
        "python": lab.PYTHON,
        "dataset": lab.dataset(data_path),
        "detector": lab.DETECTOR,
        "settings": Settings(),
        "episodes": 2,
        "arms": ("no_context", "context"),
        "log": out / "habitat.log",
    }
    return HabitatPlan(**{**given, **changes})


def test_an_episode_is_searched_to_success_and_habitat_says_so(tmp_path: Path, data_path: str) -> None:
    (record,) = run(plan(tmp_path, data_path, episodes=1, arms=("context",)).opened(), tmp_path)
    assert record["success"]
    assert record["distance_to_goal"] < 1.0
    ours = spl(success=True, shortest=record["geodesic"], travelled=record["travelled"])
    assert record["spl"] == pytest.approx(ours, abs=1e-4)
    assert 0.0 < record["soft_spl"] <= 1.0


def test_a_search_ends_when_habitats_steps_are_spent(tmp_path: Path, data_path: str) -> None:
    few = settings_from_mapping({"search": {"max_steps": 9}})
    (record,) = run(plan(tmp_path, data_path, episodes=1, arms=("context",), settings=few).opened(), tmp_path)
    assert record["steps"] == 9
    assert not record["success"]
    assert record["spl"] == 0.0


def test_a_worker_killed_in_mid_episode_resumes_to_the_same_bytes(
    tmp_path: Path, data_path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    run(plan(whole, data_path).opened(), whole)
    close_worker()
    _with_context.cache_clear()
    original = HabitatEnvironment.step

    def step(self: HabitatEnvironment, action: Action) -> StepResult:
        if self.number == 1 and self.steps == 5:
            os.kill(self.process.pid, signal.SIGKILL)
        return original(self, action)

    with monkeypatch.context() as patched:
        patched.setattr(HabitatEnvironment, "step", step)
        with pytest.raises(LastseenError, match=r"ended \(signal 9\) in episode 1 at step 5"):
            run(plan(broken, data_path).opened(), broken)
    assert len((broken / EPISODES_FILE).read_text(encoding="utf-8").splitlines()) == 2
    run(plan(broken, data_path).opened(), broken)
    assert (broken / EPISODES_FILE).read_bytes() == (whole / EPISODES_FILE).read_bytes()


def test_the_command_of_the_docs_writes_the_report(tmp_path: Path, data_path: str) -> None:
    words: list[object] = ["eval", "habitat", "--python", lab.PYTHON, "--dataset", "hm3d_v2", "--split", "val"]
    words += ["--data-path", data_path, "--plugin", lab.PLUGIN, "--detector", lab.DETECTOR, "--episodes", 1]
    words += ["--arms", "frontier,context", "--width", 160, "--height", 120, "--report", "--out", tmp_path]
    for override in lab.OVERRIDES:
        words += ["--set", override]
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["arms"]["context"]["sr"]["mean"] == 1.0
    assert "unique_place_ratio" in summary["paired"]["context_minus_frontier"]
    assert (tmp_path / "report.html").exists()


def test_a_wrong_path_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="open failed: FileNotFoundError") as refused:
        plan(tmp_path, "nowhere/{split}.json.gz").opened()
    assert "\n" not in str(refused.value)
