"""How retrieval touches the belief: it fills the candidates, and may raise ``searching`` to ``likely_in_memory``.

Nothing else. Retrieval never takes a status back and never says that something is seen, so a search cannot flap
between states and only perception decides what is visible or done.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lastseen.belief import BeliefState, Candidate
from lastseen.config.seeking import Retrieval
from lastseen.errors import InvalidValue

MEMORY_SCORE_THRESH = Retrieval().score_threshold

Belief = TypeVar("Belief", BeliefState, dict[str, Any])


def apply_memory_retrieval(
    belief: Belief, candidates: list[Candidate], threshold: float = MEMORY_SCORE_THRESH
) -> Belief:
    """Put the candidates into the belief, in place, and return it; a best score at the threshold promotes a search.

    >>> apply_memory_retrieval({"target_status": "searching"}, [{"node_id": 1, "score": 0.6}])["target_status"]
    'likely_in_memory'
    """
    status = belief["target_status"]
    belief["candidate_nodes"] = candidates
    if status == "searching":
        if candidates and candidates[0]["score"] >= threshold:
            belief["target_status"] = "likely_in_memory"
    elif status == "likely_in_memory":
        pass  # weak retrieval takes nothing back: no flapping
    elif status == "visible":
        pass  # perception set it, and only perception may end it
    elif status in {"done", "unreachable"}:
        pass  # the search is over; the candidates are kept for the log
    else:
        raise InvalidValue("belief.target_status", status, "is not a status", remedy="see docs/interface-contract.md")
    return belief
