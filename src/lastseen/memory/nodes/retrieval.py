"""Which nodes are worth trying for a goal: embedding and keywords blended, in an order that never changes.

A search asks the same goal at every step, so answers are kept until the store changes. A new goal costs one rough
pass over all nodes and the exact score of the few that can still be among the best; the result is that of the
plain loop, to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import repeat
from operator import mul
from weakref import WeakKeyDictionary

from lastseen.belief import Candidate
from lastseen.config.search import Retrieval
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.embedding import Embedder, norm, normalize
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize

_DEFAULTS = Retrieval()
EMBEDDING_WEIGHT, KEYWORD_WEIGHT = 0.8, 0.2
"""Shares of the embedding's and the keywords' score in the blend: docs/memory-nodes.md."""
ROUGH_ERROR = 1e-9
"""How far a rough score may lie from the exact one; a million times what rounding can do at unit length."""
MAX_KEPT_ANSWERS = 64
"""Goals whose answers are kept per store: a search has one, a server a few."""
MAX_KEPT_INDEXES = 4
"""Embedders per store whose work is kept; the oldest goes first."""
SHORTEST = 1e-100
"""A shorter vector has no direction that floating point can tell; its cosine with anything is 0."""


def cosine_similarity(u: Sequence[float], v: Sequence[float]) -> float:
    """Cosine of the angle between two vectors, in -1 to 1; 0 where one has no direction.

    >>> cosine_similarity([1.0, 0.0], [0.0, 2.0])
    0.0
    """
    if len(u) != len(v):
        raise InvalidValue("vectors", (len(u), len(v)), "differ in length", remedy="use one embedder for both")
    return _cosine(u, norm(u), v, norm(v))


def cosine_to_score(cosine: float) -> float:
    """Map a cosine in -1 to 1 onto 0 to 1.

    >>> cosine_to_score(-1.0), cosine_to_score(0.0), cosine_to_score(1.0)
    (0.0, 0.5, 1.0)
    """
    return (cosine + 1.0) / 2.0


def keyword_score(goal_tokens: Sequence[str], node_tokens: frozenset[str] | set[str]) -> float:
    """The share of the goal's words that the node has; a word said twice counts twice below, once above."""
    return len(node_tokens.intersection(goal_tokens)) / len(goal_tokens)


def blend(embedding_score: float, keywords: float) -> float:
    """The final score: 0.8 of the embedding's and 0.2 of the keywords', kept in 0 to 1."""
    score = EMBEDDING_WEIGHT * embedding_score + KEYWORD_WEIGHT * keywords
    return min(1.0, max(0.0, score))


def retrieve_candidates(
    goal_text: str, store: SemanticMemoryStore, embedder: Embedder, k: int = _DEFAULTS.k
) -> list[Candidate]:
    """The k best nodes for a goal, best first, ties by id; empty for a goal without words.

    >>> from lastseen.memory.nodes import DeterministicEmbedder, seed_demo_store
    >>> retrieve_candidates("red mug", seed_demo_store(), DeterministicEmbedder())[0]["node_id"]
    2
    """
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise InvalidValue("k", k, "must be a whole number from 1", remedy=f"the default is {_DEFAULTS.k}")
    goal_tokens = tokenize(goal_text)
    if not goal_tokens:
        return []
    index = _kept(store, embedder)
    index.follow(store)
    answer = index.answers.get((goal_text, k))
    if answer is None:
        answer = _best(goal_text, goal_tokens, index, k)
        while len(index.answers) >= MAX_KEPT_ANSWERS:
            del index.answers[next(iter(index.answers))]
        index.answers[goal_text, k] = answer
    return [{"node_id": node_id, "score": score} for node_id, score in answer]


@dataclass(frozen=True, slots=True)
class IndexedNode:
    """One node with everything that its score is made from."""

    node: MemoryNode
    tokens: frozenset[str]
    embedding: tuple[float, ...]
    length: float
    unit: tuple[float, ...]


class NodeIndex:
    """The nodes of one store as one embedder sees them, by position in the order of their ids, and answers from them.

    It follows its store by version: a change costs the changed nodes only, however many others there are.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self._length: int | None = getattr(embedder, "dim", None)
        self.version = -1
        self.entries: list[IndexedNode] = []
        self.units: list[tuple[float, ...]] = []
        self.without_direction: list[int] = []
        self.holders: dict[str, list[int]] = {}
        self.answers: dict[tuple[str, int], list[tuple[int, float]]] = {}

    def follow(self, store: SemanticMemoryStore) -> None:
        """Bring the index up to the store's version; after a change no answer is kept."""
        if self.version == store.version:
            return
        self.answers.clear()
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


_kept_by_store: WeakKeyDictionary[SemanticMemoryStore, list[NodeIndex]] = WeakKeyDictionary()


def _kept(store: SemanticMemoryStore, embedder: Embedder) -> NodeIndex:
    of_store = _kept_by_store.setdefault(store, [])
    for kept in of_store:
        if kept.embedder is embedder:
            return kept
    del of_store[: len(of_store) - MAX_KEPT_INDEXES + 1]
    of_store.append(NodeIndex(embedder))
    return of_store[-1]


def _best(goal_text: str, goal_tokens: list[str], index: NodeIndex, k: int) -> list[tuple[int, float]]:
    goal = index.embed("goal", goal_text)
    length = norm(goal)
    scored = []
    for position in _contenders(goal, length, goal_tokens, index, k):
        entry = index.entries[position]
        cosine = _cosine(goal, length, entry.embedding, entry.length)
        score = blend(cosine_to_score(cosine), keyword_score(goal_tokens, entry.tokens))
        scored.append((entry.node.node_id, float(score)))
    scored.sort(key=lambda candidate: (-candidate[1], candidate[0]))
    return scored[:k]


def _contenders(
    goal: tuple[float, ...], length: float, goal_tokens: list[str], index: NodeIndex, k: int
) -> Sequence[int]:
    """Positions of every node that may be among the k best.

    For unit vectors the cosine is ``1 - d*d/2``, and ``math.dist`` runs in C at a fifth of the price of the dot
    product. Its rounding differs, so it only sorts out nodes that lie clearly below the k-th.
    """
    if len(index.entries) <= k or length < SHORTEST:
        return range(len(index.entries))
    shared = [0] * len(index.entries)
    for token in set(goal_tokens):
        for position in index.holders.get(token, ()):
            shared[position] += 1
    per_distance = EMBEDDING_WEIGHT / 4.0
    per_word = KEYWORD_WEIGHT / len(goal_tokens)
    distances = map(math.dist, repeat(tuple(normalize(goal))), index.units)
    rough = [per_word * words - per_distance * d * d for d, words in zip(distances, shared, strict=True)]
    for position in index.without_direction:
        rough[position] = -math.inf
    cut = nlargest(k, rough)[-1] - ROUGH_ERROR
    contenders = [position for position, score in enumerate(rough) if score >= cut]
    # the rough formula does not hold for these, so they are always scored
    return contenders if cut == -math.inf else contenders + index.without_direction


def _cosine(u: Sequence[float], u_length: float, v: Sequence[float], v_length: float) -> float:
    if u_length < SHORTEST or v_length < SHORTEST:
        return 0.0
    # fsum is exactly rounded: the same bits on every machine and Python, whatever order the terms come in
    return min(1.0, max(-1.0, math.fsum(map(mul, u, v)) / (u_length * v_length)))
