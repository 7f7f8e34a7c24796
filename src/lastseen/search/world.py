"""What the loop asks of the world: look, walk, look again. A simulator, a robot and a graph of nodes fit behind it.

Perception lives on this side: about what is visible and how far it is, the loop believes a sighting, nothing else.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Protocol

from lastseen.search.planning.decision import Decision, Surroundings
from lastseen.search.planning.node_graph import NodePath
from lastseen.vlm.protocol import EncodedImage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """What is perceived now.

    ``idle`` tells that the last decision is used up: arrived, or the policy stopped; ``ready`` that enough was
    looked at to decide anew; ``fresh`` that this view was not seen before, for one view is one sighting. ``sure``
    tells that what is visible was called the goal in enough views to stop at it.
    ``own_nodes`` are the nodes that this walk made itself. ``rejected`` tells that a stop at what was seen failed its
    check, so that the sighting counts no longer; ``trusted_stop`` that the policy stopped at a goal which the planner
    flagged, where the settings take the planner's word for it.
    ``around`` is what planners of a robot that moves read.
    """

    stamp: float
    visible: bool
    sure: bool = True
    distance: float | None = None
    node_id: int | None = None
    idle: bool = True
    ready: bool = True
    fresh: bool = True
    rejected: bool = False
    trusted_stop: bool = False
    own_nodes: Collection[int] = ()
    images: tuple[EncodedImage, ...] = ()
    around: Surroundings = field(default_factory=Surroundings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """What was done in one step; ``failed`` says why the decision cannot be followed any further."""

    action: str
    failed: str | None = None


class World(Protocol):
    """A place to search in, one step at a time."""

    def look(self, goal_text: str) -> Sight:
        """Perceive from where the robot stands."""

    def follow(self, decision: Decision, path: NodePath | None) -> Moved:
        """Do one step of what was decided; towards a node along the path that was checked, and no other."""

    def confirm(self) -> Moved:
        """Keep looking at what was just seen for one more step, to make sure of it."""

    def record(self) -> dict[str, Any]:
        """What the log says of the newest view: the step's number, what led to it, and where it is."""
