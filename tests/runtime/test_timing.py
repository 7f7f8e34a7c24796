from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.config.seeking import Planner
from lastseen.planning.asking import Attempt
from lastseen.runtime.timing import TimingLog
from lastseen.vlm.usage import Usage


def test_calls_latency_tokens_and_cost_add_up(tmp_path: Path) -> None:
    timing = TimingLog(tmp_path / "timing.jsonl", settings=Planner(input_price=1.0, output_price=2.0))
    timing.call(0, "planner", [Attempt(0.5, Usage(1000, 100)), Attempt(0.25, Usage(1000, 0))])
    timing.call(20, "scene", [Attempt(0.25, None)])
    timing.close()
    timing.close()
    lines = [json.loads(line) for line in (tmp_path / "timing.jsonl").read_text().splitlines()]
    assert [(line["step_id"], line["kind"]) for line in lines[:-1]] == [
        (0, "planner"),
        (0, "planner"),
        (20, "scene"),
    ]
    assert lines[0]["cost_usd"] == pytest.approx(0.0012)
    assert lines[-1] == {
        "kind": "episode",
        "calls": {"planner": 2, "scene": 1},
        "seconds": 1.0,
        "prompt_tokens": 2000,
        "output_tokens": 100,
        "cost_usd": 0.0022,
    }
