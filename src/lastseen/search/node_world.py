"""A world made of memory nodes alone: where a search over a nodes file is tried before a robot walks.

Every node shows the things in its text, and nothing has moved since. In a nodes file nearness stands for paths; the
memory file of a robot that walked gives the paths it walked, its encoder for words, and its own answer.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.embedding import DeterministicEmbedder, Embedder, EncoderEmbedder
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.object import Answer
from lastseen.pose2d import wrap_angle
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.node_graph import NodeGraph, NodePath
from lastseen.search.world import Moved, Sight

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory


_SQLITE = b"SQLite format 3"


@dataclass(frozen=True, slots=True)
class SearchedNodes:
    """Nodes, the paths between them and an embedder that fits; ``find`` answers where a memory is attached."""

    store: SemanticMemoryStore
    paths: NodeGraph
    embedder: Embedder
    find: Callable[[str], Answer] | None = None


@contextlib.contextmanager
def open_nodes(file: str | PathLike[str], settings: Settings) -> Iterator[SearchedNodes]:
    """What a nodes file or a memory file holds, for the time of a search."""
    if not _is_memory(Path(file)):
        yield linked_by_distance(SemanticMemoryStore.load_json(file))
        return
    from lastseen.memory.memory import Memory

    with Memory.open(Path(file), read_only=True, settings=settings) as memory:
        yield _walked(memory, Path(file))


def linked_by_distance(store: SemanticMemoryStore) -> SearchedNodes:
    """Nodes without a history: those near each other are taken to be joined."""
    paths = NodeGraph.from_store(store)
    return SearchedNodes(store, paths, DeterministicEmbedder())


def _walked(memory: Memory, file: Path) -> SearchedNodes:
    from lastseen.memory.nodes_of_memory import NodesOfMemory

    store = NodesOfMemory(memory).store
    if not store.nodes:
        raise InvalidValue(
            "memory",
            str(file),
            "holds no walked places",
            remedy="make it anew with `lastseen run`, or ask it with `lastseen find`",
        )
    same_spot, storeys = memory.settings.search.same_spot, memory.space.storey_of_anchor
    paths = NodeGraph.from_anchors(store, memory.spatial.graph, same_spot=same_spot, storeys=storeys)
    return SearchedNodes(store, paths, EncoderEmbedder(memory.encoder), memory.find)


def _is_memory(file: Path) -> bool:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE
    return False


FIRST_SEEN_AT = 3.0
"""Metres at which a thing comes into view: across a room."""
APPROACH_STEP = 1.0
"""Metres that one approach brings the robot nearer."""


class NodeWorld:
    """Walks the graph of nodes; starts at a node chosen by the seed, or nowhere when there are none.

    ``closed`` nodes are not explored; on the way to a node the path given is kept to. With ``find`` a node also shows
    what the memory behind the nodes takes the goal for: "somewhere to sit" is seen where the sofa is.
    """

    def __init__(
        self,
        graph: NodeGraph,
        *,
        seed: int = 0,
        start: int | None = None,
        closed: Callable[[MemoryNode], bool] = lambda _: False,
        find: Callable[[str], Answer] | None = None,
    ) -> None:
        self._find = find
        self._meant: dict[str, set[str]] = {}
        self.graph = graph
        ids = sorted(graph.nodes)
        self.at: int | None = start if start is not None or not ids else random.Random(seed).choice(ids)
        self._stamp = 0.0
        self._distance = FIRST_SEEN_AT
        self._path: list[int] = []
        self._visits: Counter[int] = Counter([] if self.at is None else [self.at])
        self._closed = {node_id for node_id, node in graph.nodes.items() if closed(node)}
        reachable = set() if self.at is None else graph.reachable_from(self.at, without=self._closed)
        self._reachable: set[int] = reachable

    def look(self, goal_text: str) -> Sight:
        """The goal is visible where a node holds all its words, or a thing that memory takes it for."""
        here = None if self.at is None else self.graph.nodes[self.at]
        visible = here is not None and self._shows(here, goal_text)
        return Sight(
            stamp=self._stamp,
            visible=visible,
            distance=self._distance if visible else None,
            node_id=self.at,
            idle=not self._path,
        )

    def _shows(self, node: MemoryNode, goal_text: str) -> bool:
        words = set(tokenize(goal_text))
        if self._find is not None and goal_text not in self._meant:
            self._meant[goal_text] = {hit.label for hit in self._find(goal_text).fitting if hit.label is not None}
        said = bool(words) and words <= set(tokenize(node.text))
        return said or not self._meant.get(goal_text, set()).isdisjoint(node.tags[1:])

    def follow(self, decision: Decision, path: NodePath | None) -> Moved:
        """One node along the path, one step nearer to what is in view, or on to the neighbour least visited."""
        self._stamp += 1.0
        if decision.node_id is not None:
            return self._walk_to(decision.node_id, path)
        self._path = []
        if decision.turn_only or decision.stop:
            return Moved(action="stop" if decision.stop else "turn")
        if decision.goal_flag:
            self._distance = max(0.0, self._distance - APPROACH_STEP)
            return Moved(action="approach")
        return self._explore(decision.heading or 0.0)

    def record(self) -> dict[str, Any]:
        """The node where the search stands, in the form of every log."""
        pose = None if self.at is None else self.graph.nodes[self.at].pose
        spot = None if pose is None else [pose.x, pose.y, pose.yaw]
        return {
            "step_id": int(self._stamp),
            "action": None,
            "collided": False,
            "branch": False,
            "panorama": False,
            "pose": spot or [0.0, 0.0, 0.0],
            "world_pose": spot,
            "seen": [] if self.at is None else sorted(set(self.graph.nodes[self.at].tags[1:])),
            "current_place_id": None,
            "current_anchor_id": self.at,
            "scene_analyzed": False,
            "scene": None,
        }

    def confirm(self) -> Moved:
        """Stand and look."""
        self._stamp += 1.0
        return Moved(action="look")

    def _walk_to(self, goal: int, path: NodePath | None) -> Moved:
        if path is None or self.at not in path.nodes:
            self._path = []
            return Moved(action="none", failed=f"node {goal}: no path there")
        self._path = list(path.nodes[path.nodes.index(self.at) + 1 :])
        if self._path:
            self._arrive(self._path.pop(0))
        return Moved(action="walk")

    def _explore(self, heading: float) -> Moved:
        if self.at is None or not (open_nodes := set(self.graph.neighbors(self.at)) - self._closed):
            return Moved(action="none", failed="there is nowhere to go")
        if self._reachable <= set(self._visits):
            return Moved(action="none", failed="every node in reach has been visited")
        pose = self.graph.nodes[self.at].pose

        def order(node_id: int) -> tuple[int, float, int]:
            off = wrap_angle(pose.bearing_to(self.graph.nodes[node_id].pose) - heading)
            return self._visits[node_id], abs(off), node_id

        self._arrive(min(open_nodes, key=order))
        return Moved(action="explore")

    def _arrive(self, node_id: int) -> None:
        self.at = node_id
        self._visits[node_id] += 1
        self._distance = FIRST_SEEN_AT
