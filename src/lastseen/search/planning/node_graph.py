"""Which memory nodes can be walked between: the edges a robot travelled, or nearness where none are known.

A proposed path is checked against constraints, short texts that a rule can judge:

    avoid: TEXT       no node on the path (where it ends included) that holds all these words
    avoid_node: ID    not over or to this node
    max_path: METRES  no longer than this

The belief holds them as text, so that a log reads as it was said.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal, Protocol, Self

from lastseen.config.search import Search
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.places.graph import PlaceGraph

_DEFAULTS = Search()
LINK_DISTANCE = 4.0
"""Metres up to which nodes without travelled edges are joined: from one room to the next."""


@dataclass(frozen=True, slots=True)
class NodePath:
    """Nodes from start to goal, both included, and the metres between them."""

    nodes: tuple[int, ...]
    length: float


class NodeGraph:
    """Nodes by id and undirected edges, each as long as the straight line between its ends."""

    def __init__(self, nodes: Mapping[int, MemoryNode], edges: Iterable[tuple[int, int]]) -> None:
        self.nodes = dict(sorted(nodes.items()))
        joined: dict[int, set[int]] = {node_id: set() for node_id in self.nodes}
        for a, b in edges:
            if a in joined and b in joined and a != b:
                joined[a].add(b)
                joined[b].add(a)
        self._neighbors = {node_id: tuple(sorted(others)) for node_id, others in joined.items()}

    @classmethod
    def from_store(cls, store: SemanticMemoryStore, *, link_distance: float = LINK_DISTANCE) -> Self:
        """Join every two nodes that are no farther apart than this; an assumption, for nodes without a history."""
        size = max(link_distance, 1e-6)
        cells: dict[tuple[int, int], list[MemoryNode]] = {}
        for node in store.nodes.values():
            cells.setdefault((int(node.pose.x // size), int(node.pose.y // size)), []).append(node)
        edges = [
            (a.node_id, b.node_id)
            for (column, row), here in cells.items()
            for right, up in product((-1, 0, 1), repeat=2)
            for b in cells.get((column + right, row + up), ())
            for a in here
            if a.node_id < b.node_id and a.pose.distance_to(b.pose) <= link_distance
        ]
        return cls(store.nodes, edges)

    @classmethod
    def from_anchors(
        cls,
        store: SemanticMemoryStore,
        places: PlaceGraph,
        *,
        same_spot: float = _DEFAULTS.same_spot,
        storeys: Mapping[int, int] | None = None,
    ) -> Self:
        """Join nodes whose anchors the robot walked between, and those that are too near for a wall between them.

        For a store made by ``NodesOfMemory``: its nodes share one frame. Without the second kind of edge a path
        would go round by everything that happened between two visits of one spot. ``storeys`` are the numbers of the
        storeys of nodes that are not on storey 0: only what was walked leads from one to another.
        """
        near, on = cls.from_store(store, link_distance=same_spot), storeys or {}
        edges = [
            (node_id, other)
            for node_id in store.nodes
            for other in near.neighbors(node_id)
            if on.get(node_id, 0) == on.get(other, 0)
        ]
        for node_id in store.nodes:
            anchor = places.anchors.get(node_id)
            edges += [(node_id, other) for other in (anchor.neighbors if anchor is not None else ())]
        return cls(store.nodes, edges)

    def neighbors(self, node_id: int) -> tuple[int, ...]:
        """The nodes one edge away, by id; none for an unknown node."""
        return self._neighbors.get(node_id, ())

    def reachable_from(self, start: int, *, without: Collection[int] = ()) -> set[int]:
        """Every node that can be walked to, the start included; none for an unknown node."""
        found: set[int] = set()
        waiting = [start] if start in self.nodes else []
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting.extend(other for other in self._neighbors[here] if other not in without)
        return found

    def shortest_path(
        self, start: int, goal: int, *, closed: Callable[[MemoryNode], bool] = lambda _: False
    ) -> NodePath | None:
        """The shortest path that touches no closed node, or None; the start may be closed, one is there already.

        Of paths of equal length the one over the lower ids is taken.
        """
        if start not in self.nodes or goal not in self.nodes:
            return None
        frontier: list[tuple[float, tuple[int, ...]]] = [(0.0, (start,))]
        settled: set[int] = set()
        while frontier:
            length, path = heapq.heappop(frontier)
            here = path[-1]
            if here == goal:
                return NodePath(path, length)
            if here in settled:
                continue
            settled.add(here)
            for other in self._neighbors[here]:
                if other not in settled and not closed(self.nodes[other]):
                    step = self.nodes[here].pose.distance_to(self.nodes[other].pose)
                    heapq.heappush(frontier, (length + step, (*path, other)))
        return None


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
