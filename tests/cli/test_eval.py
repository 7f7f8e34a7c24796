"""``lastseen eval objectnav`` from end to end, on searches of a few steps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app
from tests.evaluation.records import record

RUNNER = CliRunner()


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("eval")
    settings = folder / "settings.toml"
    settings.write_text("[search]\nmax_steps = 13\n", encoding="utf-8")
    result = RUNNER.invoke(
        app,
        [
            *("--settings", str(settings), "eval", "objectnav", "--episodes", "1", "--seed", "3"),
            *("--arms", "frontier,context,oracle", "--out", str(folder / "out"), "--report"),
        ],
        catch_exceptions=False,
    )
    assert result.exit_code == 0
    assert "frontier" in result.output
    return folder / "out"


def test_the_summary_has_the_config_and_every_arm(out: Path) -> None:
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert list(summary["arms"]) == sorted(summary["arms"])
    assert set(summary["arms"]) == {"frontier", "context", "oracle"}
    assert summary["config"]["settings"]["search.max_steps"] == 13
    assert "context_minus_frontier" in summary["paired"]


def test_the_report_is_written_on_request(out: Path) -> None:
    assert (out / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_an_unknown_arm_is_one_clear_error(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["eval", "objectnav", "--arms", "telepathy", "--out", str(tmp_path)])
    assert result.exit_code != 0
    assert "is not an arm" in str(result.exception)


def test_hints_are_told_from_a_runs_records(tmp_path: Path) -> None:
    hints = [[True, True, False], [True, False, True]]
    lines = [json.dumps(record("context", 0, hints=hints)), json.dumps(record("no_context", 0))]
    (tmp_path / "episodes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    result = RUNNER.invoke(app, ["eval", "hints", str(tmp_path), "--json"], catch_exceptions=False)
    assert json.loads(result.output)["context"]["difference"]["mean"] == 1.0
    told = RUNNER.invoke(app, ["eval", "hints", str(tmp_path)], catch_exceptions=False).output
    assert "+1.00 (+1.00 to +1.00)" in told
    assert "no_context" not in told


def test_hints_of_a_folder_without_a_run_are_one_clear_error(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["eval", "hints", str(tmp_path)])
    assert "has no episodes.jsonl" in str(result.exception)
