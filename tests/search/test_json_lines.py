from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.errors import InvalidValue
from lastseen.search.json_lines import JsonLines


def test_a_record_is_one_line_with_sorted_keys(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    with JsonLines(path) as log:
        log.append({"b": 1, "a": "\ud800 é"})
        assert path.read_text() == '{"a": "\\ud800 \\u00e9", "b": 1}\n'
    assert json.loads(path.read_text())["b"] == 1


def test_numbers_that_are_no_json_are_never_written(tmp_path: Path) -> None:
    with JsonLines(tmp_path / "steps.jsonl") as log, pytest.raises(ValueError, match="JSON compliant"):
        log.append({"a": float("nan")})


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"log file.*cannot be written"):
        JsonLines(tmp_path / "none" / "steps.jsonl")


def test_closing_twice_does_no_harm(tmp_path: Path) -> None:
    log = JsonLines(tmp_path / "steps.jsonl")
    log.close()
    log.close()


def test_without_a_path_nothing_is_written() -> None:
    with JsonLines() as log:
        log.append({"a": 1})


def test_a_file_is_begun_anew_unless_it_is_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    for append in (False, True, False):
        with JsonLines(path, append=append) as log:
            log.append({"a": 1})
        assert len(path.read_text().splitlines()) == (2 if append else 1)
