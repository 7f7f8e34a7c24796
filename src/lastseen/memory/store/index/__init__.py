"""Vector indexes behind one protocol: exact FAISS by default, brute force as the oracle of the tests."""

from lastseen.memory.store.index.brute import BruteForceIndex
from lastseen.memory.store.index.flat import FaissIndex
from lastseen.memory.store.index.protocol import Match, VectorIndex

__all__ = ["BruteForceIndex", "FaissIndex", "Match", "VectorIndex"]
