"""Vector indexes behind one protocol: exact FAISS by default, Milvus where several robots share one."""

from lastseen.memory.store.index.flat import FaissIndex
from lastseen.memory.store.index.protocol import Match, VectorIndex

__all__ = ["FaissIndex", "Match", "VectorIndex"]
