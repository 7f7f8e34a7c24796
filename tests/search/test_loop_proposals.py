"""What the loop makes of proposals: it refuses, replaces, binds and caps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.config import settings_from_mapping
from lastseen.errors import BackendError, InvalidValue
from lastseen.memory.nodes import Pose2D
from lastseen.runtime.loop import search_nodes
from lastseen.search.log import RunLog, read_log
from lastseen.vlm import open_backend
from lastseen.vlm.mock import ScriptedBackend
from tests.search.searches import goto, records, say, search, store_at


def test_a_model_cannot_make_anything_visible_or_done() -> None:
    lies = [say(target_status="done", action="stop"), say(target_status="visible", action="approach")] * 20
    for record in records(search("piano", ScriptedBackend(lies)), limit=12):
        assert record["belief"]["target_status"] not in {"visible", "done"}


def test_a_stop_before_its_time_is_refused() -> None:
    running = search("red mug", ScriptedBackend([say(action="stop")]), start=4)
    record = running.step()
    assert record["meta"]["rejected"].startswith("stop: node")
    assert record["decision"]["node_id"] is not None
    assert running.result is None


def test_a_stop_while_the_goal_is_in_view_becomes_an_approach() -> None:
    running = search("red mug", ScriptedBackend([say(action="stop")] * 20), start=2)
    assert running.run(20).status == "found"


def test_a_stop_with_nothing_left_to_try_is_taken() -> None:
    running = search("piano", ScriptedBackend([say(action="stop")]), store=store_at((0.0, "hall")))
    assert running.run(5).status == "not_found"
    assert running.steps == 1


def test_a_question_ends_the_search_and_is_handed_on() -> None:
    backend = ScriptedBackend([say(action="ask_clarification", clarification_question="Which mug?")])
    result = search("mug", backend, start=4).run(5)
    assert (result.status, result.question) == ("asked", "Which mug?")


def test_a_node_without_a_way_gives_way_to_the_next_candidate() -> None:
    store = store_at((0.0, "hall"), (3.0, "study"), (90.0, "piano"))
    record = search("piano", ScriptedBackend([goto(3)]), store=store).step()
    assert record["belief"]["rejection_reason"] == "node 3: no path from node 1"
    assert record["decision"]["node_id"] == 2
    assert record["belief"]["next_action"] == "goto_node"


def test_a_node_that_does_not_exist_is_refused() -> None:
    record = search("red mug", ScriptedBackend([goto(999)])).step()
    assert "node 999" in record["meta"]["rejected"]


def test_a_tried_node_is_not_visited_again() -> None:
    running = search("piano", ScriptedBackend([goto(2), goto(2)]), start=1)
    running.step()
    assert running.step()["meta"]["rejected"] == "node 2: tried already"


def test_no_way_to_any_candidate_is_unreachable_and_stops_safely() -> None:
    store = store_at((0.0, "hall"), (90.0, "piano"), (200.0, "other piano"))
    result = search("piano", store=store).run(50)
    assert (result.status, result.belief["target_status"]) == ("not_found", "likely_in_memory")
    settings = settings_from_mapping({"retrieval": {"k": 2}})
    result = search("piano", store=store, settings=settings).run(50)
    assert (result.belief["target_status"], result.belief["next_action"]) == ("unreachable", "stop")


def test_the_users_constraints_bind_every_step(tmp_path: Path) -> None:
    log = tmp_path / "steps.jsonl"
    result = search_nodes("book", seed=1, constraints=["avoid: corridor"], log=log, steps=40)
    assert result.status == "not_found"
    made = read_log(log).steps
    assert {record["belief"]["current_node_id"] for record in made} == {2, 3}


def test_a_way_round_what_is_to_be_avoided_is_walked() -> None:
    store = store_at((0.0, "hall"), (3.0, "stairs"), (6.0, "study with a globe"))
    store.add_node(Pose2D(3.0, 2.0, 0.0), None, [], "gallery")
    running = search("globe", store=store, constraints=["avoid: stairs"])
    made = records(running)
    assert running.result is not None
    assert running.result.status == "found"
    assert {record["belief"]["current_node_id"] for record in made} == {1, 4, 3}


def test_a_hypothesis_binds_itself_but_not_what_comes_after() -> None:
    backend = ScriptedBackend([goto(4, constraints=["max_path: 1", "walk softly"])])
    running = search("book", backend, start=1)
    record = running.step()
    assert "beyond max_path 1" in record["meta"]["rejected"]
    assert record["meta"]["constraints_unchecked"] == ["walk softly"]
    assert record["belief"]["active_constraints"] == []
    assert record["decision"]["node_id"] is not None


def test_a_constraint_that_cannot_be_judged_is_refused_at_the_door() -> None:
    with pytest.raises(InvalidValue, match="cannot be judged"):
        search(constraints=["be careful"])


def test_models_that_fail_leave_the_search_to_the_rule() -> None:
    for behaviour in ("invalid", "garbage", "down"):
        result = search("red mug", open_backend(f"mock:{behaviour}"), start=5).run(30)
        assert result.status == "found"


def test_calls_are_capped_and_the_rule_takes_over() -> None:
    backend = ScriptedBackend([say(action="rotate")] * 99)
    running = search("red mug", backend, start=5, settings=settings_from_mapping({"planner": {"max_calls": 4}}))
    assert running.run(40).status == "found"
    assert len(backend.prompts) == 4


def test_between_decisions_no_model_is_asked() -> None:
    backend = ScriptedBackend([goto(4)] * 9)
    made = [search("book", backend, start=2)]
    called = [made[0].step()["meta"]["planner_called"] for _ in range(2)]
    assert called == [True, False]


def test_a_found_goal_costs_no_call() -> None:
    backend = ScriptedBackend([say(target_status="visible", action="approach")] * 9)
    result = search("red mug", backend, start=2).run(20)
    assert result.status == "found"
    assert len(backend.prompts) == result.steps - 2


def test_calls_and_fallbacks_are_events_with_reason_and_count() -> None:
    down = BackendError("server", "is down", remedy="wait")
    log = RunLog()
    running = search("piano", ScriptedBackend([say(), down, down]), log=log)
    running.step()
    assert [record["event"] for record in log.records if record["type"] == "event"] == ["planner_called"]
    running.step()
    _, called, fell = [record for record in log.records if record["type"] == "event"]
    assert (called["calls"], called["retries"]) == (2, 1)
    assert (fell["event"], fell["reason"], fell["count"], fell["step_id"]) == ("fallback", "backend", 1, 1)
