"""What perception does to the belief: the one place where ``visible`` and ``done`` are set.

One detection may be false, so a goal counts as visible after consecutive sightings; it is done when the robot was
approaching it, sees it, and is close enough.
"""

from __future__ import annotations

from lastseen.belief import BeliefState
from lastseen.config.seeking import Search
from lastseen.search.world import Sight


def perceive(belief: BeliefState, sight: Sight, *, step: int, settings: Search) -> None:
    """Take one look into account, in place. A search that is over stays over."""
    belief["current_node_id"] = sight.node_id
    if belief["target_status"] in {"done", "unreachable"}:
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
        and sight.distance is not None
        and sight.distance <= settings.success_distance
    ):
        belief["target_status"] = "done"


def unconfirmed(belief: BeliefState, settings: Search) -> bool:
    """Whether something was just seen that needs another look before it counts."""
    return belief["target_status"] != "visible" and 0 < belief["visible_streak"] < settings.visible_streak
