"""What a way must keep to: constraints as short texts that a rule can judge, never a model.

    avoid: TEXT       no node on the way (where it ends included) that holds all these words
    avoid_node: ID    not over or to this node
    max_path: METRES  no longer than this

The belief holds them as text, so that a log reads as it was said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from lastseen.errors import InvalidValue
from lastseen.memory.nodes.types import MemoryNode
from lastseen.memory.nodes.utils import tokenize

_FORMS = "'avoid: TEXT', 'avoid_node: ID' or 'max_path: METRES'"


@dataclass(frozen=True, slots=True)
class Constraint:
    """One constraint, read."""

    text: str
    kind: Literal["avoid", "avoid_node", "max_path"]
    words: frozenset[str] = frozenset()
    node_id: int = -1
    metres: float = math.inf

    def forbids(self, node: MemoryNode) -> bool:
        """Whether a way may not touch this node."""
        if self.kind == "avoid":
            return self.words <= set(tokenize(node.text))
        return self.kind == "avoid_node" and node.node_id == self.node_id


def parse_constraint(text: str) -> Constraint:
    """Read a constraint; what no rule can judge is refused.

    >>> parse_constraint("max_path: 12.5").metres
    12.5
    """
    kind, _, value = (part.strip() for part in text.partition(":"))
    if kind == "avoid" and tokenize(value):
        return Constraint(text, "avoid", words=frozenset(tokenize(value)))
    if kind == "avoid_node" and value.isdecimal() and len(value) < 10:
        return Constraint(text, "avoid_node", node_id=int(value))
    if kind == "max_path":
        metres = _metres(value)
        if metres is not None:
            return Constraint(text, "max_path", metres=metres)
    raise InvalidValue("constraint", text, "cannot be judged", remedy=f"write {_FORMS}")


def judgeable(texts: Iterable[str]) -> tuple[list[Constraint], list[str]]:
    """The constraints among these texts, and the texts that are none."""
    read: list[Constraint] = []
    unread: list[str] = []
    for text in texts:
        try:
            read.append(parse_constraint(text))
        except InvalidValue:
            unread.append(text)
    return read, unread


def _metres(value: str) -> float | None:
    try:
        metres = float(value)
    except ValueError:
        return None
    return metres if math.isfinite(metres) and metres >= 0 else None
