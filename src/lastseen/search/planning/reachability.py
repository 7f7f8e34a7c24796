"""Whether a proposal can be carried out: is there a way, and does it keep the constraints.

A model may propose a node that does not exist, that lies behind a closed door, or that it was told to avoid.
Nothing moves before this check has said yes; it looks at a map, and asks no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from lastseen.memory.nodes.types import MemoryNode
from lastseen.search.planning.constraints import judgeable
from lastseen.search.planning.node_graph import Path


class Map(Protocol):
    """What knows the ways: a graph of nodes or anchors, or a simulator's floor plan."""

    def shortest_path(self, start: int, goal: int, *, closed: Callable[[MemoryNode], bool] = ...) -> Path | None:
        """The shortest way between two nodes that touches no closed one, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes with the way, or no with the reason; ``unchecked`` are constraints that no rule can judge."""

    reachable: bool
    reason: str | None = None
    path: Path | None = None
    unchecked: tuple[str, ...] = ()


def check_way(
    world: Map,
    *,
    start: int | None,
    goal: int,
    active_constraints: Iterable[str] = (),
    proposed_constraints: Iterable[str] = (),
) -> Verdict:
    """Judge the way from one node to another under the belief's constraints and those a hypothesis set itself."""
    if start is None:
        return Verdict(False, f"node {goal}: the robot's own node is not known")
    constraints, unchecked = judgeable([*active_constraints, *proposed_constraints])
    open_way = world.shortest_path(start, goal)
    if open_way is None:
        return Verdict(False, f"node {goal}: no way from node {start}", unchecked=tuple(unchecked))
    # the robot may have to leave a place it should avoid, so only what comes after the start counts
    kept = world.shortest_path(
        start, goal, closed=lambda node: any(constraint.forbids(node) for constraint in constraints)
    )
    if kept is None:
        broken = "; ".join(c.text for c in constraints if c.kind != "max_path")
        return Verdict(False, f"node {goal}: every way breaks a constraint ({broken})", unchecked=tuple(unchecked))
    limit = min((constraint.metres for constraint in constraints), default=float("inf"))
    if kept.length > limit:
        return Verdict(
            False, f"node {goal}: {kept.length:.1f} m away, beyond max_path {limit:g}", unchecked=tuple(unchecked)
        )
    return Verdict(True, path=kept, unchecked=tuple(unchecked))
