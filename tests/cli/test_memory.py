from __future__ import annotations

import csv
import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app, main
from lastseen.memory.memory import Memory
from tests.memory.homes import ROOM, Item, walk


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "home.lastseen"
    walk(Memory.open(path), looks="random").close()
    return path


def run(*words: object, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.output


def read(*words: object, code: int = 0) -> Any:
    return json.loads(run(*words, "--json", code=code))


def test_find_prints_a_verdict_and_a_table(file: Path) -> None:
    output = run("find", "red mug", "--memory", file)
    assert output.startswith("found: mug fits 'red mug'")
    assert "obj-" in output


def test_find_as_json_is_the_same_answer(file: Path) -> None:
    answer = read("find", "red mug", "--memory", file)
    assert answer["status"] == "found"
    assert answer["results"][0]["color"] == "red"


def test_find_takes_a_place(file: Path) -> None:
    assert read("find", "mug", "--near", "1,0,0.8", "--radius", "0.5", "-m", file)["results"][0]["color"] == "blue"
    assert read("find", "mug", "--near", "50,0,0", "-m", file, code=1)["status"] == "not_found"


def test_a_refusal_gives_its_reason(file: Path) -> None:
    assert run("find", "piano", "-m", file, code=1) == "not found: nothing remembered is like 'piano'\n"
    refused = run("find", "green mug", "-m", file, code=1)
    assert "closest, but not it:" in refused
    assert "place" in refused
    assert "age" in refused


def test_an_age_counts_to_the_moment_of_asking(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    walk(Memory.open(path, wall_clock=lambda: time.time() - 5 * 86400), looks="random").close()
    assert run("find", "red mug", "-m", path).rstrip().endswith("5 d")


def test_objects_lists_them(file: Path) -> None:
    assert len(read("objects", "-m", file)) == len(ROOM)
    assert [entry["label"] for entry in read("objects", "--label", "bowl", "-m", file)] == ["bowl"]
    assert "sofa" in run("objects", "-m", file)


def test_history_and_changes(file: Path) -> None:
    mug = read("find", "red mug", "-m", file)["results"][0]["id"]
    assert [entry["kind"] for entry in read("history", mug, "-m", file)][:2] == ["appeared", "confirmed"]
    assert "confirmed" in run("history", mug, "-m", file)
    assert len(read("changes", "-m", file)) == 2 * len(ROOM)
    assert read("changes", "--since", "1:3.5", "-m", file) == []
    assert "appeared" in run("changes", "--since", "0", "-m", file)


def test_export_writes_json_csv_and_ply(file: Path, tmp_path: Path) -> None:
    for name in ("o.json", "o.csv", "o.ply"):
        run("export", tmp_path / name, "-m", file)
    assert len(json.loads((tmp_path / "o.json").read_text())["objects"]) == len(ROOM)
    with (tmp_path / "o.csv").open() as lines:
        assert {row["label"] for row in csv.DictReader(lines)} == {item.label for item in ROOM}
    ply = (tmp_path / "o.ply").read_text().splitlines()
    assert f"element vertex {8 * len(ROOM)}" in ply
    assert len(ply) == ply.index("end_header") + 1 + 20 * len(ROOM)


def test_export_takes_the_memory_before_the_file_too(file: Path, tmp_path: Path) -> None:
    run("export", file, tmp_path / "o.json")
    assert len(json.loads((tmp_path / "o.json").read_text())["objects"]) == len(ROOM)


def test_a_label_never_becomes_a_formula(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    walk(Memory.open(path), items=[Item("=1+1", "red", (0.0, 0.0, 0.8))]).close()
    run("export", tmp_path / "o.csv", "-m", path)
    assert "'=1+1" in (tmp_path / "o.csv").read_text()


def test_forget_deletes_for_good(file: Path) -> None:
    mug = read("find", "red mug", "-m", file)["results"][0]["id"]
    assert read("forget", mug, "--yes", "-m", file) == {"forgotten": [mug]}
    assert read("find", "red mug", "-m", file, code=1)["status"] == "not_found"


def test_forget_says_what_is_not_yet_wiped(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM objects").fetchall()
        assert "not yet wiped: another process is reading the file; it completes by itself" in run(
            "forget", "obj-1", "--yes", "-m", file
        )
        told = read("forget", "obj-2", "--yes", "-m", file)
    assert told == {"forgotten": ["obj-2"], "not_yet_wiped": ["another process is reading the file"]}


def test_reindex_changes_the_encoder(file: Path) -> None:
    assert read("stats", "-m", file)["image_encoder"] == "unnamed-16"
    assert read("reindex", "--encoder", "color-shape", "-m", file)["encoded"] == len(ROOM)
    assert read("stats", "-m", file)["image_encoder"] == "look-v1"
    assert read("find", "red mug", "-m", file)["status"] == "found"
    with Memory.open(file) as memory:
        walk(memory, 3, start=10)
        assert len(memory.objects()) == len(ROOM)


def test_stats_tell_counts_disk_and_ram(file: Path) -> None:
    facts = read("stats", "-m", file)
    assert facts["counts"]["confirmed"] == len(ROOM)
    assert facts["disk"]["crops"] > 0
    assert facts["ram"]["vectors"] > 0
    assert "confirmed" in run("stats", "-m", file)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["find", "mug", "-m", "nothing.lastseen"], "nothing.lastseen: does not exist"),
        (["find", "mug", "--near", "here"], "is no place"),
        (["find", "mug", "--since", "noon"], "is no time"),
        (["export", "o.xls"], "is of no kind that can be written"),
        (["export", "a", "b", "c.json"], "are too many"),
        (["history", "obj-999"], "is not remembered"),
        (["objects", "-m", "/dev/null"], "does not exist"),
    ],
)
def test_mistakes_are_one_clear_line(
    file: Path, words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words if "-m" in words else [*words, "-m", str(file)]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 1
    error = capsys.readouterr().err
    assert line in error
    assert error.count("\n") == 1


def test_a_command_never_makes_a_memory(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["forget", "obj-1", "--yes", "-m", str(tmp_path / "new.lastseen")])
    assert list(tmp_path.iterdir()) == []
