from __future__ import annotations

import inspect
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.belief import validate_belief
from lastseen.config import Settings, settings_from_mapping
from lastseen.errors import InvalidValue
from lastseen.memory.nodes import DeterministicEmbedder, Pose2D, SemanticMemoryStore, seed_demo_store
from lastseen.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.planning.hypothesis import HypothesisPlanner
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.node_graph import Path as Way
from lastseen.runtime import loop
from lastseen.runtime.loop import SearchLoop, main, rehearse
from lastseen.runtime.rehearsal import RehearsalWorld
from lastseen.runtime.step_log import StepLog
from lastseen.runtime.world import Moved, Sight
from lastseen.vlm import Backend, open_backend
from lastseen.vlm.mock import ScriptedBackend

GOOD: dict[str, Any] = {"target_status": "searching", "action": "explore", "confidence": 0.5, "rationale": "look"}


def say(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


def goto(node_id: int, **fields: Any) -> str:
    return say(action="goto_node", navigation_goal={"node_id": node_id}, **fields)


def store_at(*nodes: tuple[float, str]) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for x, summary in nodes:
        store.add_node(Pose2D(x, 0.0, 0.0), None, [], summary)
    return store


def search(
    goal: str = "red mug",
    backend: Backend | None = None,
    *,
    store: SemanticMemoryStore | None = None,
    start: int | None = 1,
    planner: Planner | None = None,
    settings: Settings | None = None,
    **options: Any,
) -> SearchLoop:
    nodes = seed_demo_store() if store is None else store
    graph = NodeGraph.from_store(nodes)
    return SearchLoop(
        goal,
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=planner or HypothesisPlanner(backend, settings),
        world=RehearsalWorld(graph, start=start),
        ways=graph,
        settings=settings,
        **options,
    )


def records(running: SearchLoop, limit: int = 40) -> list[dict[str, Any]]:
    made = []
    while running.result is None and running.steps < limit:
        made.append(running.step())
    return made


@pytest.mark.parametrize("start", [1, 2, 3, 4, 5])
def test_what_memory_holds_is_found_from_anywhere(start: int) -> None:
    result = search(start=start).run(30)
    assert (result.status, result.belief["target_status"], result.belief["next_action"]) == (
        "found",
        "done",
        "stop",
    )


def test_what_memory_does_not_hold_is_not_found_and_the_search_ends() -> None:
    result = search("piano").run(200)
    assert result.status == "not_found"
    assert result.steps < 30


def test_each_candidate_is_tried_once_in_the_order_of_scores() -> None:
    running = search("piano", start=2)
    made = records(running)
    order = [found["node_id"] for found in made[0]["belief"]["candidate_nodes"]]
    aims = [record["decision"]["node_id"] for record in made if record["decision"]["node_id"] is not None]
    distinct = list(dict.fromkeys(aims))
    assert distinct == [node for node in order if node in distinct]
    assert [aim for i, aim in enumerate(aims) if i == 0 or aims[i - 1] != aim] == distinct


def test_every_logged_belief_is_valid_and_copies_are_kept() -> None:
    made = records(search(start=4))
    for record in made:
        validate_belief(record["belief"])
        validate_belief(record["belief_before"])
    assert [record["belief_before"] for record in made[1:]] == [record["belief"] for record in made[:-1]]


def test_equal_runs_leave_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        rehearse("red mug", seed=4, backend="mock:mixed", log=tmp_path / name, steps=25)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


META = {
    "retrieval_ran",
    "retrieval_topk",
    "retrieval_best_score",
    "retrieval_threshold_pass",
    "backend",
    "retries",
    "errors",
}


@pytest.mark.parametrize("goal", ["red mug", "piano"])
def test_retrieval_is_logged_with_ids_and_scores_only(goal: str) -> None:
    meta = search(goal).step()["meta"]
    assert set(meta) >= META
    assert meta["retrieval_ran"] is True
    assert len(meta["retrieval_topk"]) == 5
    assert all(set(found) == {"node_id", "score"} for found in meta["retrieval_topk"])
    assert meta["retrieval_best_score"] == meta["retrieval_topk"][0]["score"]
    assert meta["retrieval_threshold_pass"] is True


@pytest.mark.parametrize("goal", ["", "   ", "!!!", "...", "🤖"])
def test_a_goal_without_words_runs_no_retrieval_and_stays_valid(goal: str) -> None:
    record = search(goal).step()
    meta = record["meta"]
    assert (meta["retrieval_ran"], meta["retrieval_topk"]) == (False, [])
    assert (meta["retrieval_best_score"], meta["retrieval_threshold_pass"]) == (None, False)
    assert record["belief"]["candidate_nodes"] == []
    assert record["belief"]["target_status"] == "searching"
    validate_belief(record["belief"])


def test_retrieval_ran_follows_the_tokens_not_the_candidates() -> None:
    meta = search("mug", store=SemanticMemoryStore(), start=None).step()["meta"]
    assert (meta["retrieval_ran"], meta["retrieval_topk"]) == (True, [])


def test_the_log_never_holds_more_than_five() -> None:
    store = store_at(*((float(i), f"spot {i}") for i in range(9)))
    meta = search("mug", store=store, settings=settings_from_mapping({"retrieval": {"k": 8}})).step()["meta"]
    assert len(meta["retrieval_topk"]) == 5


def test_the_anchor_comment_stands_between_the_copy_and_the_planner() -> None:
    source = inspect.getsource(SearchLoop.step)
    order = ["belief_before = json.loads(json.dumps(belief))", "# === Memory retrieval step ===", "self._decide("]
    places = [source.index(text) for text in order]
    assert places == sorted(places)
    assert "# TODO: Replace seed_demo_store() with persisted SLAM-derived nodes in production" in inspect.getsource(
        loop
    )


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
    assert record["belief"]["rejection_reason"] == "node 3: no way from node 1"
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
    result = rehearse("book", seed=1, constraints=["avoid: corridor"], log=log, steps=40)
    assert result.status == "not_found"
    made = [json.loads(line) for line in log.read_text().splitlines()]
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


class PlainPlanner:
    """A planner without hypotheses, as the panorama planner is: headings and a flag."""

    def __init__(self) -> None:
        self.situations: list[Situation] = []

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        self.situations.append(situation)
        seen = situation.belief["target_status"] == "visible"
        return Decision.turn_to(0.0, why="ahead", source="panorama", goal_flag=seen), PlannerCall(backend="plain")


def test_a_planner_of_another_kind_runs_in_the_same_loop() -> None:
    planner = PlainPlanner()
    running = search(planner=planner, start=1)
    assert running.run(40).status == "found"
    first = planner.situations[0]
    assert [node.node_id for node in first.context["nodes"]] == [
        found["node_id"] for found in first.belief["candidate_nodes"]
    ]


def test_a_planner_that_scribbles_in_its_situation_changes_nothing() -> None:
    class Scribbler(PlainPlanner):
        def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
            situation.belief["target_status"] = "done"
            situation.belief["candidate_nodes"].clear()
            return Decision.turn_to(0.0, why="", source="panorama"), PlannerCall(backend="plain")

    belief = search(planner=Scribbler(), start=1).step()["belief"]
    assert belief["target_status"] == "likely_in_memory"
    assert len(belief["candidate_nodes"]) == 5


class BrokenLegs(RehearsalWorld):
    def follow(self, decision: Decision, path: Way | None) -> Moved:
        return Moved(action="none", failed="the motors are off")


def test_a_robot_that_cannot_move_stops_safely() -> None:
    nodes = seed_demo_store()
    graph = NodeGraph.from_store(nodes)
    running = SearchLoop(
        "book",
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=HypothesisPlanner(),
        world=BrokenLegs(graph, start=2),
        ways=graph,
    )
    result = running.run(50)
    assert (result.status, result.steps) == ("not_found", 3)
    assert "the motors are off" in result.reason


class RandomWorld:
    """Shows and hides the goal at will; the loop must stay sane in it."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.stamp = 0.0

    def look(self, goal_text: str) -> Sight:
        self.stamp += 1.0
        return Sight(
            stamp=self.stamp,
            visible=self.rng.random() < 0.4,
            distance=self.rng.choice([None, 0.5, 2.0]),
            node_id=self.rng.choice([None, 1, 2, 3, 99]),
            idle=self.rng.random() < 0.6,
        )

    def follow(self, decision: Decision, path: Way | None) -> Moved:
        return Moved(action="walk", failed=self.rng.choice([None, None, None, "bump"]))

    def confirm(self) -> Moved:
        return Moved(action="look")


@given(st.integers(0, 10_000))
def test_whatever_world_and_model_do_the_belief_stays_valid_and_the_rules_hold(seed: int) -> None:
    nodes = seed_demo_store()
    running = SearchLoop(
        "red mug",
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=HypothesisPlanner(open_backend("mock:mixed", seed=seed)),
        world=RandomWorld(seed),
        ways=NodeGraph.from_store(nodes),
    )
    for record in records(running, limit=12):
        before, after = record["belief_before"]["target_status"], record["belief"]["target_status"]
        if after in {"visible", "done"} and after != before:
            assert record["sight"]["visible"]
        assert before not in {"done", "unreachable"} or after == before
    if running.result is not None and running.result.status == "found":
        assert running.belief["target_status"] == "done"


def test_a_nodes_file_is_searched(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    store_at((0.0, "hall"), (3.0, "study with a globe")).save_json(path)
    assert rehearse("globe", memory=path, steps=20).status == "found"


def test_the_command_tells_every_step_and_the_end(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "steps.jsonl"
    assert main(["red mug", "--seed", "1", "--steps", "30", "--log", str(log)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1].startswith("found after")
    assert len(said) - 1 == len(log.read_text().splitlines())


def test_the_command_names_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mug", "--memory", "none.json"]) == 1
    assert main(["mug", "--backend", "oracle"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.split(" = ")[0] for line in said] == ["error: nodes file", "error: backend"]


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "lastseen.runtime.loop", "red mug", "--steps", "20"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "found after" in done.stdout


def test_the_log_is_what_was_returned(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    with StepLog(path) as log:
        made = records(search(start=5, log=log))
    assert [json.loads(line) for line in path.read_text().splitlines()] == made
