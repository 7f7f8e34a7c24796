from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from lastseen.action import Action
from lastseen.cli.main import main
from lastseen.config import Settings
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import RunLog
from tests.search.logged import line


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


def call(*words: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


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
