"""Semantic nodes: places worth returning to, and the deterministic search among them.

Standard library only, so that it runs wherever Python does.
"""

from lastseen.memory.nodes.embedding import DeterministicEmbedder, Embedder, EncoderEmbedder, normalize
from lastseen.memory.nodes.retrieval import cosine_similarity, cosine_to_score, retrieve_candidates
from lastseen.memory.nodes.store import SemanticMemoryStore, seed_demo_store
from lastseen.memory.nodes.types import MemoryNode, Pose2D
from lastseen.memory.nodes.utils import tokenize

__all__ = [
    "DeterministicEmbedder",
    "Embedder",
    "EncoderEmbedder",
    "MemoryNode",
    "Pose2D",
    "SemanticMemoryStore",
    "cosine_similarity",
    "cosine_to_score",
    "normalize",
    "retrieve_candidates",
    "seed_demo_store",
    "tokenize",
]
