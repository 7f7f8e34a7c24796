"""The loop: what it finds, retrieves and logs, and that its rules hold in any world."""

from __future__ import annotations

import inspect
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.belief import validate_belief
from lastseen.config import settings_from_mapping
from lastseen.memory.nodes import DeterministicEmbedder, SemanticMemoryStore, seed_demo_store
from lastseen.runtime import loop
from lastseen.runtime.loop import search_nodes
from lastseen.search.log import RunLog
from lastseen.search.loop import SearchLoop
from lastseen.search.node_world import NodeWorld
from lastseen.search.planning.decision import Decision, PlannerCall, Situation
from lastseen.search.planning.hypothesis import HypothesisPlanner
from lastseen.search.planning.node_graph import NodeGraph, NodePath
from lastseen.search.world import Moved, Sight
from lastseen.vlm import open_backend
from tests.search.searches import records, search, store_at


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
        search_nodes("red mug", seed=4, backend="mock:mixed", log=tmp_path / name, steps=25)
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
    order = [
        "belief_before = json.loads(json.dumps(belief))",
        "# === Memory retrieval step ===",
        "self.decider.decide(",
    ]
    places = [source.index(text) for text in order]
    assert places == sorted(places)
    assert "# TODO: Replace seed_demo_store() with persisted SLAM-derived nodes in production" in inspect.getsource(
        loop
    )


def test_the_log_is_what_was_returned(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    with RunLog(path) as log:
        made = records(search(start=5, log=log))
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"type": "step", **each} for each in made]


class PlainPlanner:
    """A planner without hypotheses, as the panorama planner is: headings and a flag."""

    def __init__(self) -> None:
        self.situations: list[Situation] = []

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        self.situations.append(situation)
        seen = situation.belief["target_status"] == "visible"
        return Decision(heading=0.0, why="ahead", source="panorama", goal_flag=seen), PlannerCall(backend="plain")


def test_a_planner_of_another_kind_runs_in_the_same_loop() -> None:
    planner = PlainPlanner()
    running = search(planner=planner, start=1)
    assert running.run(40).status == "found"
    first = planner.situations[0]
    assert [node.node_id for node in first.nodes] == [found["node_id"] for found in first.belief["candidate_nodes"]]


def test_a_planner_that_scribbles_in_its_situation_changes_nothing() -> None:
    class Scribbler(PlainPlanner):
        def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
            situation.belief["target_status"] = "done"
            situation.belief["candidate_nodes"].clear()
            return Decision(heading=0.0, why="", source="panorama"), PlannerCall(backend="plain")

    belief = search(planner=Scribbler(), start=1).step()["belief"]
    assert belief["target_status"] == "likely_in_memory"
    assert len(belief["candidate_nodes"]) == 5


class BrokenLegs(NodeWorld):
    def follow(self, decision: Decision, path: NodePath | None) -> Moved:
        return Moved(action="none", failed="the motors are off")


def test_a_robot_that_cannot_move_stops_safely() -> None:
    result = search("book", start=2, world=BrokenLegs).run(50)
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

    def follow(self, decision: Decision, path: NodePath | None) -> Moved:
        return Moved(action="walk", failed=self.rng.choice([None, None, None, "bump"]))

    def confirm(self) -> Moved:
        return Moved(action="look")

    def record(self) -> dict[str, Any]:
        return {"step_id": int(self.stamp), "action": None}


@given(st.integers(0, 10_000))
def test_whatever_world_and_model_do_the_belief_stays_valid_and_the_rules_hold(seed: int) -> None:
    nodes = seed_demo_store()
    running = SearchLoop(
        "red mug",
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=HypothesisPlanner(open_backend("mock:mixed", seed=seed)),
        world=RandomWorld(seed),
        paths=NodeGraph.from_store(nodes),
    )
    for record in records(running, limit=12):
        before, after = record["belief_before"]["target_status"], record["belief"]["target_status"]
        if after in {"visible", "done"} and after != before:
            assert record["sight"]["visible"]
        assert before not in {"done", "unreachable"} or after == before
    if running.result is not None and running.result.status == "found":
        assert running.belief["target_status"] == "done"


class StopsShort(NodeWorld):
    """Stands a little off wherever it walks to, so that another node is nearest."""

    def follow(self, decision: Decision, path: NodePath | None) -> Moved:
        del decision, path
        return Moved(action="walk")


def test_a_node_that_was_walked_to_gets_no_second_visit_though_another_is_nearest() -> None:
    running = search("book", start=2, world=StopsShort)
    made = [running.step() for _ in range(4)]
    aimed = [record["decision"]["node_id"] for record in made if record["decision"]["node_id"] is not None]
    assert len(aimed) == len(set(aimed)) >= 3
