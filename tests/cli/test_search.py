"""``lastseen search`` and its log: the plan without a robot, the walk with one, and the rules they keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.memory.nodes import retrieval
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import RunLog
from tests.cli.commands import call
from tests.memory.homes import walk
from tests.search.logged import line

SMALL = "[camera]\nwidth = 64\nheight = 48\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    from lastseen.memory.memory import Memory

    path = tmp_path / "home.lastseen"
    walk(Memory.open(path)).close()
    return path


def test_without_a_robot_the_plan_is_told_in_one_voice(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "chair", "--memory", str(file)) == 0
    said = capsys.readouterr().out
    assert said.startswith("looking for 'chair'")
    assert "1. " in said
    assert ": chair (obj-" in said
    assert "not_found" not in said
    assert "likely_in_memory" not in said


def test_what_memory_does_not_know_would_be_explored_for(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "piano", "--memory", str(file)) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("memory does not know it: nothing remembered is like 'piano'")
    assert said[1] == "the search would explore from where it is"


def test_the_plan_as_json(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "chair", "--memory", str(file), "--json") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["status"] == "found"
    assert plan["stops"][0]["label"] == "chair"


def test_a_planner_without_a_usable_answer_is_told_with_its_reason(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("embreex", reason="needs the extra sim")
    settings = tmp_path / "s.toml"
    settings.write_text(SMALL)
    words = ["--settings", str(settings), "search", "piano", "--robot", "sim://7?rooms=4", "--steps", "16"]
    assert call(*words, "--no-memory", "--planner", "mock:garbage") == 1
    assert "the planner gave no usable answer: " in capfd.readouterr().err


def test_a_search_walks_and_remembers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("embreex", reason="needs the extra sim")
    settings, memory, log = tmp_path / "s.toml", tmp_path / "home.lastseen", tmp_path / "run.jsonl"
    settings.write_text(SMALL)
    words = [
        "search",
        "piano",
        "--robot",
        "sim://7?rooms=4",
        "--steps",
        "30",
        "--memory",
        str(memory),
        "--log",
        str(log),
    ]
    assert call("--settings", str(settings), *words, "--json") == 1
    outcome = json.loads(capsys.readouterr().out)
    assert (outcome["status"], outcome["steps"]) == ("not_found", 30)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines[0]["type"] == "header"
    assert all("retrieval_ran" in line["meta"] for line in lines if line["type"] == "step")
    assert call("objects", "--memory", str(memory), "--tentative", "--json") == 0
    assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--robot", "sim://x"], "error: robot = 'sim://x': names no home"),
        (["--robot", "nothing"], "error: robot = 'nothing': is no address of a robot"),
        (["--robot", "no.such.module:make"], "error: robot = 'no.such.module:make': cannot be imported"),
        (["--memory", "none.lastseen"], "error: none.lastseen: does not exist"),
    ],
)
def test_what_is_wrong_is_one_line(words: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", "mug", *words) == 1
    said = capsys.readouterr().err
    assert said.startswith(problem)
    assert said.count("\n") == 1


ROBOTS = """
from lastseen.search.robot import open_robot

def broken():
    raise RuntimeError("no camera")

def stops_answering():
    robot = open_robot("sim://7?rooms=4")
    go, done = robot.step, []

    def step(action):
        done.append(action)
        if len(done) > 3:
            raise ConnectionError("the base does not answer")
        return go(action)

    robot.step = step
    return robot
"""


@pytest.mark.parametrize(
    ("robot", "problem"),
    [
        ("robots_of_mine:broken", "cannot be made (RuntimeError: no camera); fix the function"),
        (
            "robots_of_mine:stops_answering",
            (
                "failed at step 3 (ConnectionError: the base does not answer); "
                "what was seen is remembered; fix the robot and search again"
            ),
        ),
    ],
)
def test_a_robot_that_fails_is_one_line_and_what_was_seen_is_kept(
    robot: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("embreex", reason="needs the extra sim")
    (tmp_path / "robots_of_mine.py").write_text(ROBOTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "home.lastseen"
    assert call("search", "piano", "--robot", robot, "--memory", str(file)) == 1
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1] == f"error: robot = '{robot}': {problem}"
    if robot.endswith("answering"):
        assert call("objects", "--memory", str(file), "--tentative", "--json") == 0
        assert json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("goal", ["", "!!!", "  "])
def test_a_goal_without_words_is_refused(goal: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("search", goal) == 1
    assert "has no words" in capsys.readouterr().err


def test_the_self_check_passes_and_fails(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("self-check") == 0
    monkeypatch.setattr(retrieval, "cosine_to_score", lambda cosine: cosine)
    assert call("self-check") == 1
    assert "FAIL  score_mapping" in capsys.readouterr().out


@pytest.fixture
def log(tmp_path: Path) -> Path:
    memory, path = SpatialMemory(), tmp_path / "run.jsonl"
    with RunLog(path) as run:
        run.header(goal="red mug", seed=0, settings=Settings())
        run.events(memory.scene_analyzed("kitchen"))
        run.step(line(memory, None, scene_analyzed=True))
        for _ in range(5):
            events = memory.step(Action.FORWARD)
            run.step(line(memory, Action.FORWARD))
            run.events(events)
    return path


def test_show_prints_a_timeline(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("log", "show", log) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "looking for 'red mug', seed 0, planner none, scene analyzer none, 6 steps"
    assert said[-1].endswith("forward x5; at (1.25, 0.00) facing 0 deg, place 0, anchor 2")


def test_map_writes_a_picture(log: Path, tmp_path: Path) -> None:
    assert call("log", "map", log, tmp_path / "run.png") == 0
    with Image.open(tmp_path / "run.png") as image:
        assert image.format == "PNG"


def test_what_is_no_log_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("hello\n")
    assert call("log", "show", tmp_path / "x") == 1
    assert capsys.readouterr().err.startswith("error: log file = ")
