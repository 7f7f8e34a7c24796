"""The one form in which every planner says what to do, so that one loop can follow any of them.

A decision names exactly one of: a heading to take, a memory node to walk to, or stop. ``goal_flag`` is the
planner's claim that it sees the goal; only perception makes it true.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lastseen.belief import BeliefState, Hypothesis
from lastseen.errors import InvalidValue
from lastseen.vlm.protocol import EncodedImage

if TYPE_CHECKING:
    from lastseen.memory.nodes.types import MemoryNode
    from lastseen.memory.rooms.room import Room
    from lastseen.pose2d import Pose2D
    from lastseen.search.explored import Spot
    from lastseen.search.planning.prompt import View, Where
    from lastseen.search.recall import Remembered

DecisionSource = Literal["panorama", "hypothesis", "memory", "rules", "fallback"]
"""Which planner it came from; ``rules`` where no model was asked, ``fallback`` when it gave nothing usable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What to do until the next decision: one of heading, node or stop.

    ``heading`` is in radians relative to where the robot faces, positive to the left; with ``turn_only`` the robot
    turns and looks, and does not walk. ``segments`` are the straight parts of a known path that begins there: metres,
    and radians from where the robot faces; without one the robot walks as far as it sees.
    """

    why: str
    source: DecisionSource
    goal_flag: bool = False
    heading: float | None = None
    node_id: int | None = None
    stop: bool = False
    turn_only: bool = False
    segments: tuple[tuple[float, float], ...] = ()

    def __post_init__(self) -> None:
        if (self.heading is not None) + (self.node_id is not None) + self.stop != 1:
            raise InvalidValue(
                "decision",
                self,
                "must name exactly one of heading, node_id and stop",
                remedy="leave out the others",
            )
        if self.heading is not None and not (math.isfinite(self.heading) and abs(self.heading) <= math.pi):
            raise InvalidValue(
                "decision.heading", self.heading, "must lie in -pi to pi", remedy="use pose2d.wrap_angle"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a robot that moves sees around it and knows of where to go; empty where nothing moves.

    ``views`` are those of the look around. ``unexplored`` are the edges of what was seen, ``sightings`` where the
    goal was seen in this search, and ``remembered`` the objects that memory takes for it, nearest first, each with
    the path there. ``rooms`` are those that memory cut from the seen floor, in the frame of ``here``, the robot's
    pose, which is the dead-reckoned one unless told otherwise. ``paths`` tell the path to each node, in place of the
    straight line; nodes that are ``exhausted`` are no candidates any more. ``approach_failed`` tells that a stop at
    what was seen failed its check, ``steps_here`` for how many steps the robot has been in this place.
    """

    views: Sequence[View] = ()
    unexplored: Sequence[Spot] = ()
    sightings: Sequence[Spot] = ()
    remembered: Sequence[Remembered] = ()
    rooms: Sequence[Room] = ()
    here: Pose2D | None = None
    paths: Mapping[int, Where] = field(default_factory=dict)
    exhausted: Collection[int] = ()
    approach_failed: bool = False
    steps_here: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a planner may look at: the belief (read it, never change it), pictures and what is around the robot.

    ``images`` are the panorama, first the picture straight ahead, the others turning left. ``nodes`` are the memory
    nodes behind the belief's candidates, ``tried`` the ids that get no second visit.
    """

    step: int
    belief: BeliefState
    images: tuple[EncodedImage, ...] = ()
    around: Surroundings = field(default_factory=Surroundings)
    nodes: tuple[MemoryNode, ...] = ()
    tried: Collection[int] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerCall:
    """How a decision came about, for the step log: the checked output, and what went wrong on the way.

    ``output`` is what passed the checks, None when the fallback decided; ``errors`` holds one line per failed try.
    ``reason`` is a word for the last failure, to count by.
    ``asked`` tells that a model was asked; what is in view is approached without asking.
    ``hypothesis`` is what a hypothesis planner settled on, the model's or the fallback's; others leave it out.
    """

    backend: str
    asked: bool = True
    retries: int = 0
    errors: tuple[str, ...] = ()
    output: Mapping[str, Any] | None = None
    fallback: bool = False
    reason: str | None = None
    hypothesis: Hypothesis | None = None


class Planner(Protocol):
    """Decides what to do next; never raises for what a model says or fails to say."""

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """One decision, with at most the configured retries, and the record of how it came about."""
        ...
