from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lastseen import compiled
from lastseen.perception import warm_up
from lastseen.perception.warm_up import compile_beside, from_behind


class Started:
    """Stands for processes; none is started."""

    def __init__(self) -> None:
        self.commands: list[list[str]] = []

    def __call__(self, command: list[str], **_: Any) -> Started:
        self.commands.append(command)
        return self

    def kill(self) -> None:
        """End nothing."""

    def wait(self) -> None:
        """Wait for nothing."""


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Started:
    """What would be started on a machine with two processors that has compiled nothing."""
    processes = Started()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(warm_up, "_beside", [])
    monkeypatch.setattr(subprocess, "Popen", processes)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    return processes


def test_where_nothing_is_compiled_one_process_compiles_beside(started: Started) -> None:
    compile_beside()
    compile_beside()
    assert len(started.commands) == 1
    assert "from_behind()" in started.commands[0][-1]


def test_where_all_is_compiled_none_is_started(started: Started) -> None:
    compiled.note_complete()
    compile_beside()
    assert started.commands == []


def test_a_single_processor_compiles_in_one_process(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    compile_beside()
    assert started.commands == []


def test_where_no_code_can_be_kept_none_is_started(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    compile_beside()
    assert started.commands == []


def test_the_process_beside_calls_every_function_that_a_frame_needs() -> None:
    # under the code that is kept for all tests, so that nothing is compiled here
    from_behind()
    called = {one.py_func.__name__ for one in compiled.Compiled._all if one.machine_code is not None}
    assert {"_arrange", "_take_in", "_judge", "_associate", "_lie_in_each_other", "outlines", "_gather"} <= called
    assert compiled.is_complete()
