from __future__ import annotations

import json
from pathlib import Path

import pytest
from lastseen.search.step_log import StepLog

from lastseen.errors import InvalidValue


def test_a_record_is_one_line_with_sorted_keys(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    with StepLog(path) as log:
        log.write({"b": 1, "a": "\ud800 é"})
        assert path.read_text() == '{"a": "\\ud800 \\u00e9", "b": 1}\n'
    assert json.loads(path.read_text())["b"] == 1


def test_numbers_that_are_no_json_are_never_written(tmp_path: Path) -> None:
    with StepLog(tmp_path / "steps.jsonl") as log, pytest.raises(ValueError, match="JSON compliant"):
        log.write({"a": float("nan")})


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"log file.*cannot be written"):
        StepLog(tmp_path / "none" / "steps.jsonl")


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    log = StepLog(tmp_path / "steps.jsonl")
    log.close()
    log.close()


def test_without_a_path_the_last_record_is_kept() -> None:
    log = StepLog()
    log.write({"a": 1})
    assert log.last == {"a": 1}
