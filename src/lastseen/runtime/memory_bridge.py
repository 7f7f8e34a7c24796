"""The documented entry point of the bridge from retrieval to the belief; the code is in ``lastseen.search``."""

from lastseen.search.belief_update import MEMORY_SCORE_THRESH, apply_memory_retrieval

__all__ = ["MEMORY_SCORE_THRESH", "apply_memory_retrieval"]
