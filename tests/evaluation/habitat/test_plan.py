"""Evaluations through a worker process: records, resume, and every way in which a worker is lost."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lastseen.action import Action
from lastseen.cli.main import app
from lastseen.errors import InvalidValue, LastseenError
from lastseen.evaluation.habitat.dataset import Dataset
from lastseen.evaluation.habitat.environment import HabitatEnvironment
from lastseen.evaluation.habitat.plan import close_worker
from lastseen.evaluation.runner import EPISODES_FILE, _with_context, run
from lastseen.protocols import StepResult
from tests.evaluation.habitat.worker_runs import DETECTOR, PLUGIN, SETTINGS, plan


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    _with_context.cache_clear()
    yield
    close_worker()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    run(plan(out).opened(), out)
    close_worker()
    return out


def killed_after(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker is killed in the middle of an episode, when so many actions were done in all."""
    done = 0
    original = HabitatEnvironment.step

    def step(self: HabitatEnvironment, action: Action) -> StepResult:
        nonlocal done
        done += 1
        if done == steps:
            os.kill(self.process.pid, signal.SIGKILL)
        return original(self, action)

    monkeypatch.setattr(HabitatEnvironment, "step", step)


def test_a_record_has_every_figure_of_the_report(whole: Path) -> None:
    records = [json.loads(line) for line in (whole / EPISODES_FILE).read_text(encoding="utf-8").splitlines()]
    assert [(each["seed"], each["arm"]) for each in records] == [(0, "no_context"), (0, "context")]
    first = records[0]
    wanted = {"success", "spl", "soft_spl", "steps", "planner_calls", "ababa", "stuck", "no_progress"}
    assert wanted | {"unique_place_ratio", "revisited_m2", "hints", "cause", "home", "geodesic"} <= set(first)
    assert first["steps"] == SETTINGS.search.max_steps
    assert (first["home"], first["goal"], first["geodesic"]) == ("0.glb", "bed", 2.0)


def test_a_worker_killed_in_mid_episode_is_one_line_and_the_run_resumes_to_the_same_bytes(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        killed_after(SETTINGS.search.max_steps + 9, patched)
        with pytest.raises(LastseenError, match=r"ended \(signal 9\) in episode 0 at step 8") as lost:
            run(plan(tmp_path).opened(), tmp_path)
    assert "\n" not in str(lost.value)
    assert "run the same command again" in str(lost.value)
    kept = (tmp_path / EPISODES_FILE).read_text(encoding="utf-8").splitlines()
    assert len(kept) == 1
    run(plan(tmp_path).opened(), tmp_path)
    assert (tmp_path / EPISODES_FILE).read_bytes() == (whole / EPISODES_FILE).read_bytes()


@pytest.mark.integration
def test_two_workers_give_the_same_bytes(whole: Path, tmp_path: Path) -> None:
    opened = plan(tmp_path, episodes=3).opened()
    close_worker()
    run(opened, tmp_path, jobs=2)
    lines = (tmp_path / EPISODES_FILE).read_bytes().splitlines(keepends=True)
    assert len(lines) == 6
    assert b"".join(lines[:2]) == (whole / EPISODES_FILE).read_bytes()


def test_what_habitat_raises_is_one_line_with_its_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN_FAILS", "3")
    with pytest.raises(InvalidValue, match="step failed: RuntimeError: the scene is damaged; see") as refused:
        run(plan(tmp_path).opened(), tmp_path)
    assert "\n" not in str(refused.value)
    assert "and more lines" in (tmp_path / "habitat.log").read_text(encoding="utf-8")


def test_an_environment_without_habitat_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="open failed: ModuleNotFoundError: No module named 'habitat'"):
        plan(tmp_path, dataset=Dataset()).opened()


@pytest.mark.parametrize(
    ("python", "problem"), [("/no/such/python", "cannot be started"), ("/bin/true", "ended before it began")]
)
def test_a_python_that_is_none_is_told(tmp_path: Path, python: str, problem: str) -> None:
    with pytest.raises(LastseenError, match=problem):
        plan(tmp_path, python=python).opened()


def test_more_episodes_than_the_split_has_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="more than the 3 of this split"):
        plan(tmp_path, episodes=4).opened()


@pytest.mark.parametrize("arm", ["lifelong", "oracle"])
def test_arms_that_need_our_simulator_are_refused(tmp_path: Path, arm: str) -> None:
    with pytest.raises(InvalidValue, match="needs our simulator"):
        plan(tmp_path, arms=(arm,))


def test_results_of_other_episodes_are_not_mixed(whole: Path) -> None:
    other = plan(whole, dataset=Dataset(plugins=(PLUGIN,), split="train")).opened()
    with pytest.raises(InvalidValue, match="holds results of other"):
        run(other, whole)


def test_the_command_runs_arms_and_writes_the_same_report(tmp_path: Path) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text("[search]\nmax_steps = 14\n", encoding="utf-8")

    words: list[Any] = ["--settings", settings, "eval", "habitat", "--python", sys.executable, "--plugin", PLUGIN]
    words += ["--detector", DETECTOR, "--arms", "context,context_shuffled", "--episodes", "2"]
    words += ["--poses", "actions", "--out", tmp_path / "out", "--report"]
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert set(summary["arms"]) == {"context", "context_shuffled"}
    assert summary["paired"]["context_minus_context_shuffled"]["spl"]["mean"] == 0.0
    assert summary["config"]["dataset_digest"]
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "habitat hm3d_v2 val" in page
    assert "The detector is simulated" not in page
