"""The loop as a command: ``python -m lastseen.runtime.loop``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lastseen.runtime.loop import main, search_nodes
from lastseen.search.log import read_log
from tests.search.searches import store_at


def test_a_nodes_file_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    store_at((0.0, "hall"), (3.0, "study with a globe")).save_json(path)
    assert search_nodes("globe", memory=path, steps=20).status == "found"


def test_the_command_tells_every_step_and_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "steps.jsonl"
    assert main(["red mug", "--seed", "1", "--steps", "30", "--log", str(log)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("found after")
    assert len(said) - 1 == len(read_log(log).steps)


def test_the_command_names_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mug", "--memory", "none.json"]) == 1
    assert main(["mug", "--backend", "oracle"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" = ")[0] for line in said] == ["error: nodes file", "error: backend"]


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "lastseen.runtime.loop", "red mug", "--steps", "20"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "found after" in done.stdout
