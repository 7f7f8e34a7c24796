"""What carries messages of ROS 2, rclpy or Zenoh alike: topics found, read as CDR and published as plain trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

Tree = dict[str, Any]
Handler = Callable[[bytes], None]


@dataclass(frozen=True, slots=True)
class Publication:
    """One message to send: topic (``~/`` is the node's own), type, and its fields.

    ``kept`` topics hold their last message for late joiners (transient local), as map servers do.
    """

    topic: str
    kind: str
    tree: Tree
    kept: bool = False


class Transport(Protocol):
    """A node's way to the graph."""

    def topics(self) -> list[tuple[str, str]]:
        """Name and type of every topic that somebody else publishes."""

    def subscribe(self, topic: str, kind: str, handle: Handler) -> Callable[[], None]:
        """Call ``handle`` with every message in CDR; returns what ends it."""

    def publish(self, publication: Publication) -> None:
        """Send a message; one of a type that is not known here is left out."""
