"""What a search may remember: nodes to walk to, ways between them, and whom to ask about the goal.

A nodes file holds nodes alone, and nearness stands for ways. The memory file of a robot that walked gives the ways it
walked, its encoder for words, and its own answer: found, ambiguous or not found.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.embedding import DeterministicEmbedder, Embedder, EncoderEmbedder
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.search.planning.node_graph import NodeGraph

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory
    from lastseen.memory.object import Answer

_SQLITE = b"SQLite format 3"


@dataclass(frozen=True, slots=True)
class Remembered:
    """Nodes, the ways between them and an embedder that fits; ``find`` answers where a memory is attached."""

    store: SemanticMemoryStore
    ways: NodeGraph
    embedder: Embedder
    find: Callable[[str], Answer] | None = None


@contextlib.contextmanager
def open_remembered(file: str | PathLike[str], settings: Settings) -> Iterator[Remembered]:
    """What a nodes file or a memory file holds, for the time of a search."""
    if not _is_memory(Path(file)):
        yield nodes_alone(SemanticMemoryStore.load_json(file), settings)
        return
    from lastseen.memory.memory import Memory

    with Memory.open(Path(file), read_only=True, settings=settings) as memory:
        yield _walked(memory, Path(file))


def nodes_alone(store: SemanticMemoryStore, settings: Settings) -> Remembered:
    """Nodes without a history: those near each other are taken to be joined."""
    ways = NodeGraph.from_store(store, link_distance=settings.search.link_distance)
    return Remembered(store, ways, DeterministicEmbedder(settings.retrieval.embedder_dim))


def _walked(memory: Memory, file: Path) -> Remembered:
    from lastseen.memory.nodes_of_memory import NodesOfMemory

    store = NodesOfMemory(memory).store
    if not store.nodes:
        raise InvalidValue(
            "memory",
            str(file),
            "holds no walked places",
            remedy="make it anew with `lastseen run`, or ask it with `lastseen find`",
        )
    ways = NodeGraph.from_anchors(store, memory.spatial.graph, same_spot=memory.settings.search.same_spot)
    return Remembered(store, ways, EncoderEmbedder(memory.encoder), memory.find)


def _is_memory(file: Path) -> bool:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(len(_SQLITE)) == _SQLITE
    return False
