"""Where a rehearsed search gets its nodes: a nodes file, or the memory file of a robot that walked."""

from __future__ import annotations

import contextlib
from os import PathLike
from pathlib import Path

from lastseen.errors import InvalidValue
from lastseen.memory.nodes.store import SemanticMemoryStore

_SQLITE = b"SQLite format 3"


def load_nodes(file: str | PathLike[str]) -> SemanticMemoryStore:
    """The nodes that a file holds, whichever kind it is."""
    with contextlib.suppress(OSError), Path(file).open("rb") as opened:
        if opened.read(len(_SQLITE)) == _SQLITE:
            return _remembered(Path(file))
    return SemanticMemoryStore.load_json(file)


def _remembered(file: Path) -> SemanticMemoryStore:
    from lastseen.memory.facade import Memory
    from lastseen.memory.remembered_nodes import nodes_from_memory

    with Memory.open(file, read_only=True) as memory:
        store = nodes_from_memory(memory)
    if not store.nodes:
        raise InvalidValue(
            "memory", str(file), "holds objects but no walked places", remedy="ask it with `lastseen find` instead"
        )
    return store
