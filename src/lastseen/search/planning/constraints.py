"""Constraints on paths between nodes, as short texts that a rule can judge, and the check of a proposed path.

    avoid: TEXT       no node on the path (where it ends included) that holds all these words
    avoid_node: ID    not over or to this node
    max_path: METRES  no longer than this

The belief holds them as text, so that a log reads as it was said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from lastseen.errors import InvalidValue
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize
from lastseen.search.planning.node_graph import NodePath

_FORMS = "'avoid: TEXT', 'avoid_node: ID' or 'max_path: METRES'"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, read."""

    text: str
    kind: Literal["avoid", "avoid_node", "max_path"]
    words: frozenset[str] = frozenset()
    node_id: int = -1
    metres: float = math.inf

    def forbids(self, node: MemoryNode) -> bool:
        """Whether a path may not touch this node."""
        if self.kind == "avoid":
            return self.words <= set(tokenize(node.text))
        return self.kind == "avoid_node" and node.node_id == self.node_id


def parse_constraint(text: str) -> Constraint:
    """Read a constraint; what no rule can judge is refused.

    >>> parse_constraint("max_path: 12.5").metres
    12.5
    """
    kind, _, value = (part.strip() for part in text.partition(":"))
    if kind == "avoid" and tokenize(value):
        return Constraint(text, "avoid", words=frozenset(tokenize(value)))
    if kind == "avoid_node" and value.isdecimal() and len(value) < 10:
        return Constraint(text, "avoid_node", node_id=int(value))
    if kind == "max_path":
        metres = _metres(value)
        if metres is not None:
            return Constraint(text, "max_path", metres=metres)
    raise InvalidValue("constraint", text, "cannot be judged", remedy=f"write {_FORMS}")


def judgeable(texts: Iterable[str]) -> tuple[list[Constraint], list[str]]:
    """The constraints among these texts, and the texts that are none."""
    read: list[Constraint] = []
    unread: list[str] = []
    for text in texts:
        try:
            read.append(parse_constraint(text))
        except InvalidValue:
            unread.append(text)
    return read, unread


def _metres(value: str) -> float | None:
    try:
        metres = float(value)
    except ValueError:
        return None
    return metres if math.isfinite(metres) and metres >= 0 else None


class Map(Protocol):
    """What knows the paths: a graph of nodes or anchors, or a simulator's floor plan."""

    def shortest_path(self, start: int, goal: int, *, closed: Callable[[MemoryNode], bool] = ...) -> NodePath | None:
        """The shortest path between two nodes that touches no closed one, or None."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes with the path, or no with the reason; ``unchecked`` are constraints that no rule can judge."""

    reachable: bool
    reason: str | None = None
    path: NodePath | None = None
    unchecked: tuple[str, ...] = ()


def check_path(
    world: Map,
    *,
    start: int | None,
    goal: int,
    active_constraints: Iterable[str] = (),
    proposed_constraints: Iterable[str] = (),
) -> Verdict:
    """Judge the path from one node to another under the belief's constraints and those a hypothesis set itself."""
    if start is None:
        return Verdict(False, f"node {goal}: the robot's own node is not known")
    constraints, unchecked = judgeable([*active_constraints, *proposed_constraints])
    open_path = world.shortest_path(start, goal)
    if open_path is None:
        return Verdict(False, f"node {goal}: no path from node {start}", unchecked=tuple(unchecked))
    # the robot may have to leave a place it should avoid, so only what comes after the start counts
    kept = world.shortest_path(
        start, goal, closed=lambda node: any(constraint.forbids(node) for constraint in constraints)
    )
    if kept is None:
        broken = "; ".join(c.text for c in constraints if c.kind != "max_path")
        return Verdict(False, f"node {goal}: every path breaks a constraint ({broken})", unchecked=tuple(unchecked))
    limit = min((constraint.metres for constraint in constraints), default=float("inf"))
    if kept.length > limit:
        return Verdict(
            False, f"node {goal}: {kept.length:.1f} m away, beyond max_path {limit:g}", unchecked=tuple(unchecked)
        )
    return Verdict(True, path=kept, unchecked=tuple(unchecked))
