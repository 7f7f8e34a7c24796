"""The rules of the search itself: who may say what, what is checked before anything moves, what is logged."""

from __future__ import annotations

import json
from typing import Any

from lastseen import belief as beliefs
from lastseen.belief import BeliefState
from lastseen.config import Settings
from lastseen.config.seeking import Search
from lastseen.errors import InvalidValue, PlanError
from lastseen.memory.nodes.embedding import DeterministicEmbedder
from lastseen.memory.nodes.store import SemanticMemoryStore, seed_demo_store
from lastseen.pose2d import Pose2D
from lastseen.search import belief_update, loop
from lastseen.search.node_world import NodeWorld
from lastseen.search.planning import hypothesis as hypotheses
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.search.self_check import expect, expect_equal, invariant
from lastseen.search.world import Sight
from lastseen.vlm.mock import ScriptedBackend
from lastseen.vlm.protocol import Backend

GOOD = {"target_status": "searching", "action": "explore", "confidence": 0.5, "rationale": "look elsewhere"}


def _search(
    goal: str, backend: Backend | None = None, *, store: SemanticMemoryStore | None = None, start: int = 1
) -> loop.SearchLoop:
    nodes = seed_demo_store() if store is None else store
    graph = NodeGraph.from_store(nodes)
    return loop.SearchLoop(
        goal,
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=hypotheses.HypothesisPlanner(backend),
        world=NodeWorld(graph, start=start),
        paths=graph,
        settings=Settings(),
    )


def _say(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


def _seen(times: int, *, next_action: Any, distance: float = 0.5) -> BeliefState:
    belief = beliefs.new_belief("red mug")
    for step in range(times):
        belief["next_action"] = next_action
        sight = Sight(stamp=float(step), visible=True, distance=distance)
        belief_update.perceive(belief, sight, step=step, settings=Search())
    return belief


@invariant
def two_sightings() -> None:
    """Two sightings in a row make visible, one does not."""
    expect_equal(_seen(1, next_action="approach")["target_status"], "searching")
    expect_equal(_seen(2, next_action="explore")["target_status"], "visible")
    broken = _seen(1, next_action="explore")
    for step, visible in enumerate([False, True]):
        belief_update.perceive(broken, Sight(stamp=0.0, visible=visible), step=step, settings=Search())
    expect_equal(broken["target_status"], "searching")


@invariant
def done_is_verified() -> None:
    """Done needs approach, visible and close, all three."""
    expect_equal(_seen(2, next_action="approach")["target_status"], "done")
    expect_equal(_seen(2, next_action="approach", distance=1.5)["target_status"], "visible")
    expect_equal(_seen(2, next_action="explore")["target_status"], "visible")


@invariant
def models_only_propose() -> None:
    """A model that says visible or done changes no status."""
    claims = [_say(target_status="done", action="stop"), _say(target_status="visible", action="approach")]
    search = _search("piano", ScriptedBackend(claims * 10))
    for _ in range(6):
        search.step()
        expect(search.belief["target_status"] not in {"visible", "done"}, search.belief["target_status"])


@invariant
def strict_answers() -> None:
    """Answers that are no JSON, break the schema or are empty of meaning are refused."""
    unfit = ["", "{", "[]", "null", "```json\n{}\n```", f"Sure! {_say()}", _say(confidence=2), _say(action="dance")]
    unfit += [_say(action="goto_node"), _say(action="ask_clarification"), _say(confidence="0.5")]
    unfit += [_say().replace("0.5", "NaN"), _say(action="approach"), _say(rationale=None)]
    for text in unfit:
        try:
            hypotheses.parse_hypothesis(text)
        except PlanError:
            continue
        expect(False, f"accepted {text!r}")
    hypotheses.parse_hypothesis(_say())


@invariant
def one_retry() -> None:
    """An unfit answer is asked for once more, then the rule decides."""
    backend = ScriptedBackend(["garbage"] * 3)
    meta = _search("red mug", backend).step()["meta"]
    expect_equal((len(backend.prompts), meta["retries"], meta["fallback"]), (2, 1, True))
    backend = ScriptedBackend(["garbage", _say()])
    meta = _search("red mug", backend).step()["meta"]
    expect_equal((meta["retries"], meta["fallback"], len(meta["errors"])), (1, False, 1))


@invariant
def fallback_rule() -> None:
    """The rule: done stops, visible approaches, candidates are gone to, else explore."""
    belief = beliefs.new_belief("red mug")
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "explore")
    belief["candidate_nodes"] = [{"node_id": 4, "score": 0.9}, {"node_id": 2, "score": 0.5}]
    expect_equal(hypotheses.fallback_hypothesis(belief).get("navigation_goal"), {"node_id": 4})
    expect_equal(hypotheses.fallback_hypothesis(belief, tried=[4]).get("navigation_goal"), {"node_id": 2})
    belief["target_status"] = "visible"
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "approach")
    belief["target_status"] = "done"
    expect_equal(hypotheses.fallback_hypothesis(belief)["action"], "stop")


@invariant
def unreachable_nodes() -> None:
    """A node without a path is refused and the next candidate taken; no path at all ends in a safe stop."""
    apart = SemanticMemoryStore()
    apart.add_node(Pose2D(0.0, 0.0, 0.0), None, [], "corridor")
    apart.add_node(Pose2D(3.0, 0.0, 0.0), None, ["chair"], "study")
    apart.add_node(Pose2D(90.0, 0.0, 0.0), None, ["piano"], "piano")
    search = _search(
        "piano", ScriptedBackend([_say(action="goto_node", navigation_goal={"node_id": 3})]), store=apart
    )
    record = search.step()
    expect(record["meta"]["rejected"] is not None, "a node without a path was accepted")
    expect_equal(record["decision"]["node_id"], 2)
    alone = SemanticMemoryStore()
    alone.add_node(Pose2D(0.0, 0.0, 0.0), None, [], "corridor")
    alone.add_node(Pose2D(90.0, 0.0, 0.0), None, ["piano"], "piano")
    result = _search("piano", store=alone).run(20)
    expect_equal((result.status, result.belief["next_action"]), ("not_found", "stop"))


@invariant
def retrieval_logged() -> None:
    """Retrieval_ran follows the words of the goal, and the log holds ids and scores of five at most."""
    for goal, ran in [("red mug", True), ("!!!", False), ("", False), ("   ", False)]:
        record = _search(goal).step()
        meta = record["meta"]
        expect_equal(meta["retrieval_ran"], ran)
        expect_equal(bool(meta["retrieval_topk"]), ran)
        expect(len(meta["retrieval_topk"]) <= 5, "more than five logged")
        expect(all(sorted(found) == ["node_id", "score"] for found in meta["retrieval_topk"]), "payload logged")
        best = meta["retrieval_topk"][0]["score"] if ran else None
        expect_equal(meta["retrieval_best_score"], best)
        expect_equal(meta["retrieval_threshold_pass"], best is not None and best >= 0.3)
        beliefs.validate_belief(record["belief"])


@invariant
def whole_search() -> None:
    """A search tries the best candidate first, finds what memory holds, logs valid beliefs, and repeats exactly."""
    runs = []
    for _ in range(2):
        search = _search("red mug", start=5)
        records = []
        while search.result is None and search.steps < 20:
            records.append(search.step())
        expect_equal(search.result and search.result.status, "found")
        expect_equal(records[0]["belief"]["target_status"], "likely_in_memory")
        best = records[0]["meta"]["retrieval_topk"][0]["node_id"]
        expect_equal(records[0]["decision"]["node_id"], best)
        runs.append(json.dumps(records, sort_keys=True))
        for record in records:
            beliefs.validate_belief(record["belief"])
    expect_equal(runs[0], runs[1])


@invariant
def schemas_refuse() -> None:
    """A belief or hypothesis that breaks its schema is refused."""
    good = dict(beliefs.new_belief("red mug"))
    changes: list[dict[str, Any]] = [
        {"target_status": "found"},
        {"candidate_nodes": [{"node_id": 1}]},
        {"extra": 1},
    ]
    for bad in [*({**good, **change} for change in changes), {}]:
        try:
            beliefs.validate_belief(bad)
        except InvalidValue:
            continue
        expect(False, f"accepted {bad!r}")
    beliefs.validate_belief(good)
