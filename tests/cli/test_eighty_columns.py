"""What commands print to people fits a terminal of 80 columns, and one object is one row."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app

COLUMNS = 80

COMMANDS = [
    "objects",
    "objects --tentative --removed",
    "find 'somewhere to sit'",
    "find violin",
    "ask 'what is in the bedroom?'",
    "ask 'how many pictures are there?'",
    "ask 'where is the violin?'",
    "tell 'the keys are in the fridge'",
    "facts",
    "history obj-1",
    "changes",
    "stats",
    "sessions",
    "check {memory}",
    "backup {memory} {folder}/copy.lastseen",
    "salvage {memory} {folder}/saved.lastseen",
    "align {memory} {folder}/saved.lastseen",
    "map {folder}/map.png",
    "export {folder}/objects.csv",
    "search sofa",
    "search fridge",
    "search fridge --robot sim://7 --log {folder}/run.jsonl",
    "log show {folder}/run.jsonl",
    "doctor {folder}/walk",
    "run {folder}/walk --no-memory --frames 5",
    "run {folder}/walk --memory {folder}/a_name_that_is_rather_long.lastseen --frames 5",
    "self-check",
    "models list",
    "vlm check",
]
"""What people type; each is run on a memory of a short walk, in this order."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("walk")
    for command in (
        f"sim record --seed 7 --minutes 0.2 {made}/walk",
        f"run {made}/walk --memory {made}/home.lastseen --min-view-bins 1",
    ):
        done = CliRunner().invoke(app, command.split())
        assert done.exit_code == 0, done.output
    return made


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_wider_than_the_terminal(folder: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LASTSEEN_MEMORY", "home.lastseen")
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    # a path of a test's own is as long as the machine makes it
    words = shell_words(command.format(folder=".", memory="home.lastseen"))
    done = CliRunner().invoke(app, words, env={"COLUMNS": str(COLUMNS)})
    print(done.output)
    assert done.exit_code in (0, 1), done.output
    assert "Traceback" not in done.output
    assert [line for line in done.output.splitlines() if len(line) > COLUMNS] == []
    assert [line for line in done.output.splitlines() if is_dict(line)] == []


def shell_words(command: str) -> list[str]:
    """A command as a shell would split it."""
    return shlex.split(command)


def is_dict(line: str) -> bool:
    """Whether a line shows a dictionary of Python, which nobody reads."""
    start = line.find("{")
    if start < 0 or "}" not in line:
        return False
    try:
        return isinstance(ast.literal_eval(line[start : line.rfind("}") + 1]), dict)
    except (SyntaxError, ValueError):
        return False
