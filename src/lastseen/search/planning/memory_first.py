"""Memory before exploration: go to what is remembered while there is some, then ask the planner where to explore.

No model is asked for it. Once the goal was seen on this walk, what was seen counts, and memory holds back, unless the
path straight there turned out to be blocked.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from lastseen.memory.nodes.utils import tokenize
from lastseen.pose2d import wrap_angle
from lastseen.search.planning.constraints import Constraint, judgeable
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation

MEMORY = "memory"
_IN_VIEW = 0.5
"""Score from which a label in the panorama is worth a look before memory is believed."""


class MemoryFirstPlanner:
    """Takes the path to the nearest remembered object that fits; everything else is the other planner's."""

    def __init__(self, otherwise: Planner) -> None:
        self.otherwise = otherwise

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """The path to the best remembered object, when nothing better is in sight; else the planner's decision."""
        constraints, _ = judgeable(situation.belief["active_constraints"])
        remembered = [
            offer
            for offer in situation.context.get("remembered", ())
            if not any(_breaks(each, offer) for each in constraints)
        ]
        if remembered and not self._in_sight(situation):
            return _walk_to(remembered[0]), PlannerCall(backend=MEMORY, asked=False)
        return self.otherwise.decide(situation)

    @staticmethod
    def _in_sight(situation: Situation) -> bool:
        if situation.context.get("approach_failed"):
            # what is seen cannot be reached straight on: memory may know a path round
            return False
        if situation.belief["target_status"] in {"visible", "done"} or situation.context.get("sightings"):
            return True
        goal = situation.belief["goal_text"]
        views = situation.context.get("views", ())
        return any(label == goal and score >= _IN_VIEW for view in views for label, score in view["labels"])


def _breaks(constraint: Constraint, offer: Mapping[str, Any]) -> bool:
    """Whether going there breaks a constraint: by the words of its place, or by the length of the path."""
    if constraint.kind == "avoid":
        return constraint.words <= set(tokenize(f"{offer['place'] or ''} {offer['label'] or ''}"))
    return bool(offer["distance"] > constraint.metres)


def _walk_to(offer: Mapping[str, Any]) -> Decision:
    place = f" in the {offer['place']}" if offer["place"] else ""
    return Decision.turn_to(
        wrap_angle(math.radians(offer["angle"])),
        why=f"memory: {offer['label'] or 'it'} ({offer['id']}){place}, {offer['distance']:.1f} m from here",
        source="memory",
        segments=tuple(offer["segments"]),
    )
