from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lastseen.cli.main import app

pytest.importorskip("embreex", reason="needs the extra sim")


@pytest.mark.slow
def test_a_search_in_a_simulated_home_leaves_a_log_and_a_timing(tmp_path: Path) -> None:
    log, timing = tmp_path / "run.jsonl", tmp_path / "timing.jsonl"
    words = ["sim", "search", "bed", "--seed", "3", "--log", str(log), "--timing", str(timing), "--json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert record["goal"] == "bed"
    first, *_, last = log.read_text().splitlines()
    assert json.loads(first)["type"] == "header"
    assert json.loads(last)["type"] in {"step", "event"}
    assert json.loads(timing.read_text().splitlines()[-1])["kind"] == "episode"
