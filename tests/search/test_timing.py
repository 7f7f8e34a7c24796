from __future__ import annotations

import json
from pathlib import Path

import pytest

from lastseen.config.search import Planner
from lastseen.errors import BackendError
from lastseen.search.planning.model_call import Attempt
from lastseen.search.timing import MeteredBackend, TimingLog
from lastseen.vlm.mock import ScriptedBackend
from lastseen.vlm.protocol import Usage


def test_calls_latency_tokens_and_cost_add_up(tmp_path: Path) -> None:
    timing = TimingLog(tmp_path / "timing.jsonl", settings=Planner(input_price=1.0, output_price=2.0))
    timing.call(0, "planner", Attempt(0.5, Usage(1000, 100)))
    timing.call(0, "planner", Attempt(0.25, Usage(1000, 0)))
    timing.call(20, "scene", Attempt(0.25, None))
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
        "longest_seconds": 0.5,
        "prompt_tokens": 2000,
        "output_tokens": 100,
        "cost_usd": 0.0022,
    }


def test_a_metered_model_answers_as_before_and_every_call_is_counted() -> None:
    ticks = iter([0.0, 2.0, 10.0, 13.0])
    timing = TimingLog()
    down = BackendError("server", "is down", remedy="wait")
    metered = MeteredBackend(
        ScriptedBackend(["hello", down]), timing, kind="scene", step_id=lambda: 20, clock=lambda: next(ticks)
    )
    assert (metered.name, metered.complete("a"), metered.last_usage) == ("scripted", "hello", None)
    with pytest.raises(BackendError):
        metered.complete("a")
    assert (timing.calls["scene"], timing.seconds) == (2, 5.0)
