"""The self-check passes as things are, and each rule that is broken on purpose is caught by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lastseen.belief import new_belief
from lastseen.config.search import Search
from lastseen.memory.nodes import embedding, retrieval, utils
from lastseen.runtime.loop import main
from lastseen.search import belief_update, decider, log, loop
from lastseen.search.planning import hypothesis, model_call, strict_json
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.node_graph import Verdict
from lastseen.search.self_check import INVARIANTS, print_self_check, self_check

Mutant = tuple[str, object, str, Any]


def names_broken() -> set[str]:
    return {each.name for each in self_check() if each.problem is not None}


def test_every_rule_holds() -> None:
    assert names_broken() == set()


def test_it_prints_a_table_and_answers_with_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_self_check() == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{len(INVARIANTS)} of {len(INVARIANTS)} invariants hold"
    assert sum(line.startswith("pass") for line in said) == len(INVARIANTS)


def test_the_module_exits_with_zero() -> None:
    command = [sys.executable, "-W", "error", "-m", "lastseen.runtime.loop", "--self-check"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def bridge(change: Callable[[Any, list[Any], float], None]) -> Callable[..., Any]:
    """The bridge with one of its rules replaced."""
    real = belief_update.apply_memory_retrieval

    def mutant(belief: Any, candidates: list[Any], threshold: float = 0.3) -> Any:
        real(belief, candidates, threshold)
        change(belief, candidates, threshold)
        return belief

    return mutant


def demote(status: str) -> Callable[[Any, list[Any], float], None]:
    def change(belief: Any, candidates: list[Any], threshold: float) -> None:
        if belief["target_status"] == status and (not candidates or candidates[0]["score"] < threshold):
            belief["target_status"] = "searching"

    return change


def reopen(status: str) -> Callable[[Any, list[Any], float], None]:
    def change(belief: Any, candidates: list[Any], threshold: float) -> None:
        if belief["target_status"] == status and candidates:
            belief["target_status"] = "likely_in_memory"

    return change


def keep_old_candidates(belief: Any, candidates: list[Any], threshold: float) -> None:
    if not candidates:
        del belief["candidate_nodes"]


def never_promote(belief: Any, candidates: list[Any], threshold: float) -> None:
    if belief["target_status"] == "likely_in_memory" and candidates and candidates[0]["score"] == threshold:
        belief["target_status"] = "searching"


def always_promote(belief: Any, candidates: list[Any], threshold: float) -> None:
    if belief["target_status"] == "searching" and candidates:
        belief["target_status"] = "likely_in_memory"


def retrieve(change: Callable[[list[Any]], list[Any]]) -> Callable[..., Any]:
    """Retrieval whose answer is spoilt on the way out."""
    real = retrieval.retrieve_candidates
    return lambda goal, store, embedder, k=5: change(real(goal, store, embedder, k))


def one_sighting(belief: Any, sight: Any, *, step: int, settings: Any) -> None:
    REAL_PERCEIVE(belief, sight, step=step, settings=Search(visible_streak=1))


def far_is_done(belief: Any, sight: Any, *, step: int, settings: Any) -> None:
    REAL_PERCEIVE(belief, sight, step=step, settings=Search(success_distance=99.0))


def any_action_is_done(belief: Any, sight: Any, *, step: int, settings: Any) -> None:
    action, belief["next_action"] = belief["next_action"], "approach"
    REAL_PERCEIVE(belief, sight, step=step, settings=settings)
    belief["next_action"] = action


def streak_survives_a_miss(belief: Any, sight: Any, *, step: int, settings: Any) -> None:
    streak = belief["visible_streak"]
    REAL_PERCEIVE(belief, sight, step=step, settings=settings)
    if not sight.visible:
        belief["visible_streak"] = streak


def believing_planner(self: Any, situation: Any) -> Any:
    """What a loop that trusts its model would do."""
    decision, call = REAL_DECIDE(self, situation)
    if call.hypothesis is not None and call.hypothesis["target_status"] in {"visible", "done"}:
        BELIEVED[0]["target_status"] = call.hypothesis["target_status"]
    return decision, call


BELIEVED: list[Any] = [new_belief("")]
REAL_PERCEIVE = belief_update.perceive
REAL_DECIDE = hypothesis.HypothesisPlanner.decide
REAL_INIT = loop.SearchLoop.__init__
REAL_PARSE = hypothesis.parse_hypothesis
REAL_META = log.retrieval_meta
REAL_ASK = model_call.ModelClient._ask


def remember_belief(self: Any, *args: Any, **options: Any) -> None:
    REAL_INIT(self, *args, **options)
    BELIEVED[0] = self.belief


def asking_again(retries: int) -> Callable[..., Any]:
    def ask(self: Any, *asked: Any) -> Any:
        self.settings = replace(self.settings, planner=replace(self.settings.planner, retries=retries))
        return REAL_ASK(self, *asked)

    return ask


def lenient_parse(text: str) -> Any:
    start, end = text.find("{"), text.rfind("}")
    return REAL_PARSE(text[start : end + 1])


def never_approach(belief: Any, *, tried: Any = ()) -> Any:
    return {
        "target_status": belief["target_status"],
        "action": "explore",
        "confidence": 1.0,
        "rationale": "wander",
        "navigation_goal": None,
    }


def noisy_meta(candidates: Any, *, ran: bool, threshold: float) -> Any:
    meta = REAL_META(candidates, ran=ran, threshold=threshold)
    return {**meta, "retrieval_topk": [{**found, "summary": "kitchen"} for found in meta["retrieval_topk"]]}


MUTANTS: list[Mutant] = [
    ("score_mapping", retrieval, "cosine_to_score", lambda cosine: cosine),
    ("score_mapping", retrieval, "cosine_to_score", lambda cosine: (cosine + 1.0) / 2.0 + 1e-9),
    ("cosine", retrieval, "cosine_similarity", lambda u, v: sum(a * b for a, b in zip(u, v, strict=True))),
    ("plain_loop", retrieval, "ROUGH_ERROR", -0.2),
    ("blending", retrieval, "blend", lambda score, keywords: 0.5 * score + 0.5 * keywords),
    ("blending", retrieval, "keyword_score", lambda goal, node: len(node & set(goal)) / len(set(goal))),
    ("blending", retrieval, "blend", lambda score, keywords: score),
    ("ordering", retrieval, "retrieve_candidates", retrieve(lambda found: found[::-1])),
    (
        "tie_break",
        retrieval,
        "retrieve_candidates",
        retrieve(lambda found: sorted(found, key=lambda c: (-c["score"], -c["node_id"]))),
    ),
    ("candidates", retrieval, "retrieve_candidates", retrieve(lambda found: [{**c, "tags": []} for c in found])),
    (
        "candidates",
        retrieval,
        "retrieve_candidates",
        retrieve(lambda found: [{**c, "node_id": str(c["node_id"])} for c in found]),
    ),
    ("candidates", retrieval, "retrieve_candidates", retrieve(lambda found: found[:4])),
    ("candidates", retrieval, "blend", lambda score, keywords: 1.5 * score),
    ("empty_goals", retrieval, "tokenize", lambda text: text.split() or ["anything"]),
    ("tokens", utils, "tokenize", lambda text: text.lower().split()),
    ("tokens", utils, "tokenize", lambda text: sorted(set(text.lower().split()))),
    ("embedder", embedding, "normalize", lambda vector: [2.0 * value for value in vector]),
    ("embedder", embedding.DeterministicEmbedder, "embed_text", lambda self, text: [0.125] * 64),
    ("visible_stays", belief_update, "apply_memory_retrieval", bridge(demote("visible"))),
    ("visible_stays", belief_update, "apply_memory_retrieval", bridge(reopen("visible"))),
    ("no_flapping", belief_update, "apply_memory_retrieval", bridge(demote("likely_in_memory"))),
    ("terminal_states_stay", belief_update, "apply_memory_retrieval", bridge(reopen("done"))),
    ("terminal_states_stay", belief_update, "apply_memory_retrieval", bridge(reopen("unreachable"))),
    ("promotion", belief_update, "apply_memory_retrieval", bridge(never_promote)),
    ("promotion", belief_update, "apply_memory_retrieval", bridge(always_promote)),
    ("promotion", belief_update, "MEMORY_SCORE_THRESH", 0.5),
    ("candidates_set", belief_update, "apply_memory_retrieval", bridge(keep_old_candidates)),
    ("two_sightings", belief_update, "perceive", one_sighting),
    ("two_sightings", belief_update, "perceive", streak_survives_a_miss),
    ("done_is_verified", belief_update, "perceive", far_is_done),
    ("done_is_verified", belief_update, "perceive", any_action_is_done),
    ("strict_answers", hypothesis, "parse_hypothesis", lenient_parse),
    ("strict_answers", hypothesis, "validate_hypothesis", lambda value: None),
    ("strict_answers", strict_json, "_no_constant", lambda name: 0.5),
    ("one_retry", model_call.ModelClient, "_ask", asking_again(0)),
    ("one_retry", model_call.ModelClient, "_ask", asking_again(2)),
    ("fallback_rule", hypothesis, "fallback_hypothesis", never_approach),
    ("unreachable_nodes", decider, "check_path", lambda *a, **o: Verdict(True)),
    (
        "unreachable_nodes",
        decider.Decider,
        "_explore_or_stop",
        lambda self, why, belief: Decision(heading=0.0, why=why, source="fallback"),
    ),
    ("retrieval_logged", loop, "retrieval_meta", noisy_meta),
    ("retrieval_logged", loop, "tokenize", lambda text: text.split()),
    ("retrieval_logged", log, "LOGGED_CANDIDATES", 0),
    ("whole_search", loop, "apply_memory_retrieval", lambda belief, candidates, threshold: belief),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant[0]}-{mutant[2]}")
def test_a_broken_rule_is_caught_by_name(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    caught_by, where, name, replacement = mutant
    monkeypatch.setattr(where, name, replacement)
    assert caught_by in names_broken()


def test_a_loop_that_believes_its_model_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop.SearchLoop, "__init__", remember_belief)
    monkeypatch.setattr(hypothesis.HypothesisPlanner, "decide", believing_planner)
    assert "models_only_propose" in names_broken()


def test_a_schema_that_lets_everything_pass_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    from lastseen import belief

    monkeypatch.setattr(belief, "validate_belief", lambda value: None)
    assert "schemas_refuse" in names_broken()


def test_every_rule_has_a_mutant_that_breaks_it() -> None:
    covered = {mutant[0] for mutant in MUTANTS} | {"models_only_propose", "schemas_refuse"}
    assert covered == {each.__name__ for each in INVARIANTS}


def test_a_broken_rule_ends_with_exit_code_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(retrieval, "cosine_to_score", lambda cosine: cosine)
    assert main(["--self-check"]) == 1
    assert "FAIL  score_mapping" in capsys.readouterr().out
