"""What a memory node is: a spot on the floor with words about what was seen from it."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.pose2d import Pose2D

__all__ = ["MemoryNode", "Pose2D"]


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """A place to return to; ``embedding`` is None where the text is to be embedded instead.

    >>> MemoryNode(1, Pose2D(0, 0, 0), None, ["mug", "sink"], "kitchen").text
    'kitchen mug sink'
    """

    node_id: int
    pose: Pose2D
    embedding: list[float] | None
    tags: list[str]
    summary: str

    @property
    def text(self) -> str:
        """What keywords and, without an embedding of its own, the embedding are made from."""
        return self.summary + " " + " ".join(self.tags)

    def copy(self) -> MemoryNode:
        """The same node with lists of its own."""
        embedding = None if self.embedding is None else list(self.embedding)
        return MemoryNode(self.node_id, self.pose, embedding, list(self.tags), self.summary)
