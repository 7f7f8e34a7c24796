"""The same seed and the same cassette give the same log, to the byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lastseen.search.log import RunLog, read_log
from lastseen.search.search import Search
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend
from lastseen.vlm.recorded import RecordingBackend
from tests.vlm.faulty import FaultyBackend

pytest.importorskip("embreex")

from tests.search.tiny_search import SETTINGS, TinyRobot


def walk(path: Path, backend: Backend) -> None:
    """Look for something that is not there, so that the planner is called again and again."""
    settings = replace(SETTINGS, search=replace(SETTINGS.search, max_steps=60))
    with RunLog(path) as log:
        Search(
            "zeppelin", TinyRobot(seed=5), settings=settings, planner=backend, log=log, seed=5, with_images=True
        ).run()


def test_the_same_seed_and_cassette_reproduce_the_log_byte_for_byte(tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    faulty = FaultyBackend(open_backend("offline", seed=5), faults=("garbage", "half_json", "down"), seed=5)
    walk(tmp_path / "recorded.jsonl", RecordingBackend(faulty, tape))
    walk(tmp_path / "again.jsonl", open_backend(f"recorded:{tape}"))
    first, again = (read_log(tmp_path / name) for name in ("recorded.jsonl", "again.jsonl"))
    assert sum(step["planner_called"] for step in first.steps) >= 2
    # the name of the model that was asked is another one, and nothing else is
    for step in (*first.steps, *again.steps):
        step["meta"].pop("backend")
    assert (first.steps, first.events) == (again.steps, again.events)
    walk(tmp_path / "third.jsonl", open_backend(f"recorded:{tape}"))
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "third.jsonl").read_bytes()
