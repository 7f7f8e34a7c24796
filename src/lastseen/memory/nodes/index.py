"""What retrieval works out about each node once: words, vector, length, and which nodes hold which word.

The index follows its store by version. A change costs the changed nodes only, however many others there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.errors import InvalidValue
from lastseen.memory.nodes.embedding import Embedder, norm, normalize
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize

SHORTEST = 1e-100
"""A shorter vector has no direction that floating point can tell; its cosine with anything is 0."""


@dataclass(frozen=True, slots=True)
class IndexedNode:
    """One node with everything that its score is made from."""

    node: MemoryNode
    tokens: frozenset[str]
    embedding: tuple[float, ...]
    length: float
    unit: tuple[float, ...]


class NodeIndex:
    """The nodes of one store as one embedder sees them, by position in the order of their ids."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._length: int | None = getattr(embedder, "dim", None)
        self.version = -1
        self.entries: list[IndexedNode] = []
        self.units: list[tuple[float, ...]] = []
        self.without_direction: list[int] = []
        self.holders: dict[str, list[int]] = {}

    def follow(self, store: SemanticMemoryStore) -> bool:
        """Bring the index up to the store's version; tells whether anything changed."""
        if self.version == store.version:
            return False
        known = {entry.node.node_id: entry for entry in self.entries}
        nodes = store.nodes
        entries = []
        for node_id in sorted(nodes):
            entry = known.get(node_id)
            # the store never changes a node in place, so the same object is the same node
            entries.append(entry if entry and entry.node is nodes[node_id] else self._indexed(nodes[node_id]))
        self.entries = entries
        self.units = [entry.unit for entry in entries]
        self.without_direction = [at for at, entry in enumerate(entries) if entry.length < SHORTEST]
        self.holders = {}
        for position, entry in enumerate(entries):
            for token in entry.tokens:
                self.holders.setdefault(token, []).append(position)
        self.version = store.version
        return True

    def embed(self, what: str, text: str, given: list[float] | None = None) -> tuple[float, ...]:
        """The vector of a text, or the one given for it, refused when it is not of the embedder's length."""
        vector = tuple(self.embedder.embed_text(text) if given is None else given)
        if self._length is None:
            # an embedder need not tell its length: all its vectors have one, so the first tells
            self._length = len(vector)
        if len(vector) != self._length:
            raise InvalidValue(
                f"{what}: embedding",
                vector,
                f"has length {len(vector)}, the embedder's is {self._length}",
                remedy="use one embedder for all nodes, or give None",
            )
        return vector

    def _indexed(self, node: MemoryNode) -> IndexedNode:
        text = node.text
        embedding = self.embed(f"node {node.node_id}", text, node.embedding)
        return IndexedNode(node, frozenset(tokenize(text)), embedding, norm(embedding), tuple(normalize(embedding)))
