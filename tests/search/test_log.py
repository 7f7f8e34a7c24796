"""The log of a search: written line by line, checked when read, and enough to build the places again."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from lastseen import schemas
from lastseen.action import Action
from lastseen.config import Settings
from lastseen.config.memory import Places
from lastseen.errors import InvalidValue
from lastseen.memory.places import SpatialMemory
from lastseen.search.log import JsonLines, RunLog, read_log
from lastseen.search.planning.plan import FALLBACK_PLAN
from tests.memory.places.walks import Step, steps
from tests.search.logged import line, replay, run_of, settings_of


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


def logged(
    walk: list[Step], path: Path | None = None, settings: Settings | None = None
) -> tuple[SpatialMemory, RunLog]:
    """A walk written down as the loop writes it."""
    settings = settings or Settings()
    memory, log = SpatialMemory(settings), RunLog(path)
    log.header(goal="red mug", seed=3, settings=settings, backend="offline")
    for action, collided, branch, scene in [(None, False, False, "kitchen"), *walk]:
        events = [] if action is None else memory.step(action, collided=collided, branch=branch)
        due = memory.needs_scene_analysis
        told = None if scene is None else {"scene_type": scene, "objects": ["thing"], "description": "Seen."}
        if due:
            events += memory.scene_analyzed(scene, ["thing"], "Seen.") if told else memory.scene_analyzed(None)
        log.step(
            line(
                memory,
                action,
                collided=collided,
                branch=branch,
                scene_analyzed=due,
                scene=told if due else None,
            )
        )
        log.events(events)
    log.close()
    return memory, log


def test_a_step_holds_what_the_document_lists() -> None:
    _, log = logged([(Action.FORWARD, False, False, None)])
    step: dict[str, Any] = run_of(log).steps[-1]
    assert (step["step_id"], step["action"], step["pose"]) == (1, "forward", [0.25, 0.0, 0.0])
    assert (step["current_place_id"], step["current_anchor_id"]) == (0, 0)
    assert (step["planner_called"], step["planner_output"], step["dc_queue"]) == (False, None, [])


def test_a_planner_call_and_the_queue_are_in_the_step() -> None:
    log, memory = RunLog(), SpatialMemory()
    queue = [{"idx": 1, "goal_flag": False, "goal_scene_type": "corridor", "why": "fallback"}]
    log.step(line(memory, None, planner_called=True, planner_output=asdict(FALLBACK_PLAN), dc_queue=queue))
    assert log.records[0]["planner_output"]["discovered_context"]["why"] == "fallback"
    assert log.records[0]["dc_queue"] == queue
    schemas.validate("run_log", log.records[0])


def test_places_anchors_and_patterns_are_events() -> None:
    _, log = logged([(Action.TURN_LEFT, False, False, "kitchen")] * 10 + [(Action.FORWARD, False, False, None)])
    names = [event["event"] for event in run_of(log).events]
    assert names == ["place_created", "anchor_created", "stuck", "anchor_created"]


def test_a_scene_that_could_not_be_told_is_an_event() -> None:
    log, memory = RunLog(), SpatialMemory()
    memory.scene_analyzed(None)
    log.step(line(memory, None, scene_analyzed=True, scene=None))
    assert [record.get("event") for record in log.records] == [None, "scene_unknown"]


@given(steps)
def test_every_line_fits_the_schema(walk: list[Step]) -> None:
    for record in logged(walk)[1].records:
        schemas.validate("run_log", json.loads(json.dumps(record)))


@given(steps)
def test_replaying_a_log_reproduces_the_graph(walk: list[Step]) -> None:
    memory, log = logged(walk)
    assert replay(run_of(log)).to_dict() == memory.to_dict()


def test_the_settings_of_a_run_come_back_from_its_header(tmp_path: Path) -> None:
    settings = Settings(places=Places(dwell=1, reenter=False))
    memory, _ = logged([(Action.TURN_LEFT, False, False, "bedroom")] * 20, tmp_path / "run.jsonl", settings)
    run = read_log(tmp_path / "run.jsonl")
    run.header["settings"]["branches.reach"] = 3.0  # a setting of 0.1
    assert settings_of(run) == settings
    assert replay(run).to_dict() == memory.to_dict()
    assert len(memory.graph.places) == 2


def test_equal_walks_give_equal_bytes(tmp_path: Path) -> None:
    walk: list[Step] = [(Action.FORWARD, False, False, "kitchen"), (Action.TURN_LEFT, True, True, None)] * 30
    logged(walk, tmp_path / "a.jsonl")
    logged(walk, tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_torn_last_line_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    logged([(Action.FORWARD, False, False, None)] * 5, path)
    path.write_bytes(path.read_bytes()[:-20])
    run = read_log(path)
    assert run.torn
    assert len(run.steps) in (5, 6)


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", "does not start with a header"),
        ("{\n", r"run\.jsonl:1.*is not JSON"),
        ('{"type": "dance"}\n', r"breaks the schema of run logs"),
    ],
)
def test_what_is_no_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, problem: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.jsonl").write_text(lines)
    with pytest.raises(InvalidValue, match=problem):
        read_log("run.jsonl")


def test_a_missing_log_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        read_log(tmp_path / "none.jsonl")
