"""The words of the command line: how wrong ones are answered, and that what is printed fits a narrow terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from typer.main import get_command

from lastseen.cli import main as command_line
from lastseen.cli.eval import print_hints, print_summary
from lastseen.cli.main import app, main
from lastseen.cli.text import counted, evidence_text, print_table, time_text


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    captured = capsys.readouterr()
    return int(str(ended.value.code)), captured.out, captured.err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["runn", "x"], "error: no such command 'runn'. Did you mean 'run'?; see: lastseen --help\n"),
        (["log", "show"], "error: missing argument 'file'; see: lastseen log show --help\n"),
        (["find", "mug", "--qqqqq"], "error: no such option: --qqqqq; see: lastseen find --help\n"),
    ],
)
def test_wrong_usage_is_one_line_with_the_way_to_the_right_one(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = told(capsys, *words)
    assert (code, out) == (2, "")
    assert err.lower() == line.lower()


def test_a_value_out_of_range_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "serve", "--port", "99999")
    assert code == 2
    assert err.count("\n") == 1
    assert "--port" in err


def test_no_words_show_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = told(capsys)
    assert code == 2
    assert "self-check" in out + err


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "lastseen", "version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def commands(group: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, command in getattr(group, "commands", {}).items():
        yield (*path, name), command.help or ""
        yield from commands(command, (*path, name))


def test_every_command_and_group_has_an_example() -> None:
    assert [path for path, text in commands(get_command(app)) if "Example" not in text] == []


def test_an_unknown_engine_leaves_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "results"
    code, _, err = told(capsys, "eval", "objectnav", "--out", str(out), "--engine", "nope", "--episodes", "1")
    assert code == 1
    assert "engine = 'nope'" in err
    assert not out.exists()


@pytest.mark.parametrize("name", ["run.jpg", "run", "nowhere/run.png"])
def test_a_map_has_a_png_name_in_a_folder(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = told(capsys, "log", "map", str(tmp_path / "run.jsonl"), str(tmp_path / name))
    assert code == 1
    assert err.startswith("error: out = ")


def test_the_self_check_speaks_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = told(capsys, "self-check", "--json")
    assert code == 0
    assert {"name", "sentence", "problem"} == set(json.loads(out)[0])


def test_a_declined_question_is_no_crash(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def decline(*_: object, **__: object) -> None:
        raise typer.Abort

    monkeypatch.setattr(command_line, "app", decline)
    assert told(capsys, "forget", "obj-1") == (1, "", "nothing was done\n")


def test_tables_are_whole_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    figure = {"mean": 0.98765, "low": 0.91234, "high": 1.0}
    keys = ("sr", "spl", "soft_spl", "planner_calls", "ababa", "stuck", "no_progress", "revisited_m2")
    arms = {name: {**dict.fromkeys(keys, figure), "steps": {"mean": 480.0}} for name in ("frontier", "no_context")}
    pair = {key: {**figure, "low": -0.91234} for key in ("spl", "ababa", "no_progress", "unique_place_ratio")}
    print_summary({"arms": arms, "paired": {"context_minus_context_no_places": pair}})
    shares = ("stuck", "no_progress", "no_new_place_with_no_progress", "no_new_place_without")
    print_hints({"context_no_places": {"calls": 12345, "difference": figure, **dict.fromkeys(shares, 0.5)}})
    print_table(["id", "what"], [["obj-1", "w" * 200], ["[bold]", "a label may look like markup"]], whole=["id"])
    out = capsys.readouterr().out
    assert "…" not in out
    assert max(len(line) for line in out.splitlines()) <= 80
    assert out.count("0.91-1.00") == 4
    assert out.count("w") >= 200
    assert "[bold]" in out
    assert "no_context" in out


def test_a_moment_is_a_date_where_there_is_one_and_else_a_stamp() -> None:
    assert time_text(None, 12.34) == "12.3 s"
    assert time_text(datetime.fromtimestamp(1_700_000_000.0, tz=UTC), 12.34) == "2023-11-14 22:13:20"


def test_counts_have_the_right_plural() -> None:
    assert [counted(number, "place") for number in (0, 1, 2)] == ["0 places", "1 place", "2 places"]
    assert counted(1000, "frame") == "1,000 frames"


def test_evidence_is_words_and_no_raw_lists() -> None:
    assert evidence_text("confirmed", {"hits": 2, "view_bins": 1, "stability": 0.97}) == "2 hits from 1 side"
    assert evidence_text("moved", {"before": [1.0, 2.0, 0.5], "after": [3.0, 2.0, 0.5]}) == "from 1.00 2.00 0.50"
    assert evidence_text("corrected", {"how": "poses", "shift": [0.1, 0, 0]}) == "how poses, shift 0.10 0.00 0.00"


def test_what_is_cut_stays_in_its_row(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    print_table(["id", "what"], [["obj-1", "w" * 200]], whole=["id"], cut=["what"])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert len(lines[-1]) == 80
    assert lines[-1].endswith("…")
