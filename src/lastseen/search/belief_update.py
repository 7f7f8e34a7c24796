"""What changes the belief of a search: retrieval fills the candidates, perception sets ``visible`` and ``done``.

Retrieval may raise ``searching`` to ``likely_in_memory`` and nothing else; it never takes a status back, so a search
cannot flap between states. One detection may be false, so a goal counts as visible after consecutive sightings; it is
done when the robot was approaching it, sees it, and is close enough.
"""

from __future__ import annotations

from typing import Any, TypeVar

from lastseen.belief import BeliefState, Candidate
from lastseen.config.search import Retrieval, Search
from lastseen.errors import InvalidValue
from lastseen.search.world import Sight

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


def perceive(belief: BeliefState, sight: Sight, *, step: int, settings: Search) -> None:
    """Take one look into account, in place. A search that is over stays over."""
    belief["current_node_id"] = sight.node_id
    if belief["target_status"] in {"done", "unreachable"}:
        return
    if sight.trusted_stop:
        # only with stop.trust_planner: the literal rule of PixelNav's loop, without a check by detections and depth
        belief["target_status"] = "done"
        return
    if not sight.visible:
        belief["visible_streak"] = 0
        belief["missed_streak"] += sight.fresh
        lost = sight.rejected or belief["missed_streak"] >= settings.lost_streak
        if belief["target_status"] == "visible" and lost:
            # it was here a moment ago: memory holds something to try, which is all that this status says
            belief["target_status"] = "likely_in_memory"
        return
    belief["visible_streak"] += sight.fresh
    belief["missed_streak"] = 0
    belief["last_seen_step"] = step
    belief["last_seen_stamp"] = sight.stamp
    belief["last_seen_node_id"] = sight.node_id
    if belief["visible_streak"] >= settings.visible_streak:
        belief["target_status"] = "visible"
    if (
        belief["target_status"] == "visible"
        and belief["visible_streak"] >= settings.visible_streak
        and belief["next_action"] == "approach"
        and sight.sure
        and sight.distance is not None
        and sight.distance <= settings.success_distance
    ):
        belief["target_status"] = "done"


def unconfirmed(belief: BeliefState, settings: Search) -> bool:
    """Whether something was just seen that needs another look before it counts."""
    return belief["target_status"] != "visible" and 0 < belief["visible_streak"] < settings.visible_streak
