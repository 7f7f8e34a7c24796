"""Which candidates were tried, which have no way to them, and how often in a row nothing worked.

It makes a search end: every candidate is tried once at most, and failures in a row are counted.
"""

from __future__ import annotations

from collections.abc import Collection

from lastseen.belief import BeliefState


class Attempts:
    """The bookkeeping of one search."""

    def __init__(self) -> None:
        self.tried: set[int] = set()
        self.own: Collection[int] = ()
        """Nodes that this walk made: nothing new is to be seen from there."""
        self.blocked: set[int] = set()
        self.failures = 0

    def looked_from(self, node_id: int) -> None:
        """The goal was not seen from this node: no second visit."""
        self.tried.add(node_id)

    def block(self, node_id: int) -> None:
        """There is no way to this node, or none that is allowed."""
        if node_id not in self.tried:
            self.blocked.add(node_id)
            self.tried.add(node_id)

    def left(self, belief: BeliefState) -> list[int]:
        """Candidates not yet tried, best first."""
        ids = [candidate["node_id"] for candidate in belief["candidate_nodes"]]
        return [node_id for node_id in ids if node_id not in self.tried and node_id not in self.own]

    def all_blocked(self, belief: BeliefState) -> bool:
        """Whether there are candidates and no way to any of them."""
        ids = {candidate["node_id"] for candidate in belief["candidate_nodes"]} - set(self.own)
        return bool(ids) and ids <= self.blocked
