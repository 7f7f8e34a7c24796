from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.belief import BeliefState, Candidate, TargetStatus, new_belief, validate_belief
from lastseen.errors import InvalidValue
from lastseen.memory.nodes import DeterministicEmbedder, retrieve_candidates, seed_demo_store, tokenize
from lastseen.runtime.memory_bridge import MEMORY_SCORE_THRESH, apply_memory_retrieval

STATUSES: list[TargetStatus] = ["searching", "visible", "likely_in_memory", "unreachable", "done"]
WEAK: list[Candidate] = [{"node_id": 1, "score": 0.1}]
STRONG: list[Candidate] = [{"node_id": 1, "score": 0.9}, {"node_id": 2, "score": 0.4}]
candidate_lists = st.lists(
    st.builds(lambda i, s: Candidate(node_id=i, score=s), st.integers(0, 9), st.floats(0, 1)), max_size=5
)


def belief_in(status: TargetStatus, goal: str = "red mug") -> BeliefState:
    belief = new_belief(goal)
    belief["target_status"] = status
    return belief


@pytest.mark.parametrize("candidates", [[], WEAK, STRONG])
def test_visible_never_demotes(candidates: list[Candidate]) -> None:
    assert apply_memory_retrieval(belief_in("visible"), candidates)["target_status"] == "visible"


@pytest.mark.parametrize("score", [0.3, 0.9, 1.0])
def test_promotion_searching_to_likely_in_memory(score: float) -> None:
    belief = apply_memory_retrieval(belief_in("searching"), [{"node_id": 1, "score": score}])
    assert belief["target_status"] == "likely_in_memory"


@pytest.mark.parametrize("candidates", [[], WEAK, [{"node_id": 1, "score": 0.2999999}]])
def test_a_search_below_the_threshold_goes_on(candidates: list[Candidate]) -> None:
    assert apply_memory_retrieval(belief_in("searching"), candidates)["target_status"] == "searching"


@pytest.mark.parametrize("candidates", [[], WEAK])
def test_no_flapping_likely_in_memory_stays(candidates: list[Candidate]) -> None:
    assert apply_memory_retrieval(belief_in("likely_in_memory"), candidates)["target_status"] == "likely_in_memory"


@pytest.mark.parametrize("status", ["done", "unreachable"])
def test_terminal_states_unchanged(status: TargetStatus) -> None:
    assert apply_memory_retrieval(belief_in(status), STRONG)["target_status"] == status


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("candidates", [[], WEAK, STRONG])
def test_candidate_nodes_always_set(status: TargetStatus, candidates: list[Candidate]) -> None:
    belief = belief_in(status)
    belief["candidate_nodes"] = [{"node_id": 77, "score": 1.0}]
    apply_memory_retrieval(belief, candidates)
    assert belief["candidate_nodes"] == candidates
    validate_belief(belief)


def test_it_changes_the_dict_it_is_given_and_returns_it() -> None:
    belief = belief_in("searching")
    assert apply_memory_retrieval(belief, STRONG) is belief


@pytest.mark.parametrize("goal", ["!!!", "", "   ", "...", "🤖"])
def test_goal_without_words_integration(goal: str) -> None:
    belief = belief_in("searching", goal)
    retrieval_ran = len(tokenize(belief["goal_text"])) > 0
    candidates = retrieve_candidates(goal, seed_demo_store(), DeterministicEmbedder())
    apply_memory_retrieval(belief, candidates)
    assert not retrieval_ran
    assert belief["candidate_nodes"] == []
    assert belief["target_status"] == "searching"
    validate_belief(belief)


def test_a_populated_belief_passes_its_schema() -> None:
    belief = belief_in("searching")
    apply_memory_retrieval(belief, retrieve_candidates("red mug", seed_demo_store(), DeterministicEmbedder()))
    assert len(belief["candidate_nodes"]) == 5
    validate_belief(belief)


def test_the_threshold_is_the_documents_and_can_be_given() -> None:
    assert MEMORY_SCORE_THRESH == 0.3
    assert apply_memory_retrieval(belief_in("searching"), STRONG, threshold=0.95)["target_status"] == "searching"


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(InvalidValue, match="target_status = 'lost'"):
        apply_memory_retrieval({"target_status": "lost"}, [])


@given(st.sampled_from(STATUSES), st.lists(st.tuples(candidate_lists, st.floats(0, 1))))
def test_no_sequence_of_retrievals_ever_demotes(
    status: TargetStatus, retrievals: list[tuple[list[Candidate], float]]
) -> None:
    belief = belief_in(status)
    for candidates, threshold in retrievals:
        before = belief["target_status"]
        apply_memory_retrieval(belief, candidates, threshold)
        after = belief["target_status"]
        assert after == before or (before, after) == ("searching", "likely_in_memory")


def test_it_loads_no_numpy() -> None:
    code = (
        "import sys, lastseen.memory.nodes.retrieval, lastseen.runtime.memory_bridge;"
        "sys.exit(any(m in sys.modules for m in ('numpy', 'jsonschema', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
