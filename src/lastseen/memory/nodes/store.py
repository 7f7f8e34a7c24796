"""Where memory nodes are kept: by id, with a version that tells caches when they are out of date.

Nodes are copied on the way in and on the way out. A caller that changes a list it was given changes nothing here,
so what retrieval has worked out about a node stays true until the store itself is told otherwise.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from lastseen.errors import InvalidValue
from lastseen.memory.nodes.types import MemoryNode, Pose2D

FORMAT = "lastseen.nodes"
FORMAT_VERSION = 1
LARGEST_COMPONENT = 1e100
"""Beyond it squares overflow; no encoder comes near it."""


class SemanticMemoryStore:
    """Memory nodes by id.

    >>> store = SemanticMemoryStore()
    >>> store.add_node(Pose2D(1.0, 2.0, 0.0), None, ["mug"], "kitchen")
    1
    """

    def __init__(self) -> None:
        self._nodes: dict[int, MemoryNode] = {}
        self.version = 0
        """Grows with every change."""

    @property
    def nodes(self) -> Mapping[int, MemoryNode]:
        """The nodes themselves, to read and not to change; ``get_node`` gives a copy."""
        return MappingProxyType(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __contains__(self, node_id: object) -> bool:
        return node_id in self._nodes

    def add_node(
        self,
        pose: Pose2D,
        embedding: Sequence[float] | None,
        tags: Sequence[str],
        summary: str,
        *,
        node_id: int | None = None,
    ) -> int:
        """Keep a node and return its id; a given id is kept, a taken one refused, none gets the next free one."""
        if node_id is None:
            node_id = max(self._nodes, default=0) + 1
        elif node_id in self._nodes:
            raise InvalidValue("node_id", node_id, "is taken", remedy="leave it out to get a free one")
        if isinstance(tags, str):
            raise InvalidValue(f"node {node_id}: tags", tags, "is one text", remedy="give a list of words")
        self._put(MemoryNode(node_id, pose, None if embedding is None else list(embedding), list(tags), summary))
        return node_id

    def replace_node(self, node: MemoryNode) -> None:
        """Put a changed node in the place of the one with its id: tags grow while a robot looks around."""
        self._require(node.node_id)
        self._put(node.copy())

    def get_node(self, node_id: int) -> MemoryNode:
        """A copy of the node of this id."""
        return self._require(node_id).copy()

    def all_nodes(self) -> list[MemoryNode]:
        """Copies of all nodes, by id."""
        return [self._nodes[node_id].copy() for node_id in sorted(self._nodes)]

    def save_json(self, path: str | PathLike[str]) -> None:
        """Write all nodes; equal stores give equal bytes, and a crash leaves the old file or the new one."""
        document = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "nodes": [asdict(self._nodes[node_id]) for node_id in sorted(self._nodes)],
        }
        target = Path(path)
        partial = target.with_name(f"{target.name}.partial")
        try:
            with partial.open("w", encoding="utf-8") as file:
                json.dump(document, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            raise InvalidValue(
                "nodes file", str(path), f"cannot be written ({error.strerror})", remedy="check the path"
            ) from error

    @classmethod
    def load_json(cls, path: str | PathLike[str]) -> Self:
        """Read what ``save_json`` wrote; an error names the file and the node."""
        store = cls()
        for index, entry in enumerate(_read(Path(path))):
            try:
                if entry["node_id"] is None:
                    raise TypeError("node_id is null")
                pose = entry["pose"]
                store.add_node(
                    Pose2D(pose["x"], pose["y"], pose["yaw"]),
                    entry["embedding"],
                    entry["tags"],
                    entry["summary"],
                    node_id=entry["node_id"],
                )
            except (InvalidValue, KeyError, TypeError) as error:
                raise InvalidValue(
                    f"{path}: nodes[{index}]", entry, f"is not a node ({error})", remedy="see docs/memory-nodes.md"
                ) from error
        return store

    def _require(self, node_id: int) -> MemoryNode:
        try:
            return self._nodes[node_id]
        except KeyError:
            raise InvalidValue("node_id", node_id, "is not in the store", remedy="see all_nodes()") from None

    def _put(self, node: MemoryNode) -> None:
        _check(node)
        self._nodes[node.node_id] = node
        self.version += 1


def seed_demo_store() -> SemanticMemoryStore:
    """A flat of five rooms for development and tests; a robot brings nodes of its own."""
    store = SemanticMemoryStore()
    store.add_node(Pose2D(0.0, 0.0, 0.0), None, ["door", "coat", "shoes"], "corridor by the front door")
    store.add_node(Pose2D(3.0, 1.0, 0.0), None, ["sink", "red mug", "kettle"], "kitchen counter")
    store.add_node(Pose2D(2.5, -2.5, -1.5), None, ["sofa", "television", "lamp"], "living room")
    store.add_node(Pose2D(-3.0, 1.5, 3.0), None, ["bed", "book", "alarm clock"], "bedroom")
    store.add_node(Pose2D(-2.5, -2.0, -2.4), None, ["towel", "toothbrush", "mirror"], "bathroom")
    return store


def _check(node: MemoryNode) -> None:
    where = f"node {node.node_id}"
    if isinstance(node.node_id, bool) or not isinstance(node.node_id, int) or node.node_id < 0:
        raise InvalidValue("node_id", node.node_id, "must be a whole number from 0", remedy="leave it out")
    if not isinstance(node.pose, Pose2D):
        raise InvalidValue(f"{where}: pose", node.pose, "must be a Pose2D", remedy="give Pose2D(x, y, yaw)")
    if not isinstance(node.summary, str):
        raise InvalidValue(f"{where}: summary", node.summary, "must be text", remedy="give '' when there is none")
    for tag in node.tags:
        if not isinstance(tag, str):
            raise InvalidValue(f"{where}: tags", tag, "must be text", remedy="give a list of words")
    for value in node.embedding or ():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not math.isfinite(value) or abs(value) > LARGEST_COMPONENT:
            raise InvalidValue(
                f"{where}: embedding", value, "must hold finite numbers", remedy="give plain floats, or None"
            )


def _read(path: Path) -> list[Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidValue(
            "nodes file", str(path), f"cannot be read ({error.strerror})", remedy="check the path"
        ) from error
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InvalidValue(
            "nodes file", str(path), f"is not JSON ({error})", remedy="write it with save_json"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidValue("nodes file", str(path), f"is not a {FORMAT} file", remedy="write it with save_json")
    if document.get("version") != FORMAT_VERSION:
        raise InvalidValue(
            f"{path}: version",
            document.get("version"),
            f"is not {FORMAT_VERSION}, the one this version of lastseen reads",
            remedy="use the lastseen that wrote it",
        )
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        raise InvalidValue(f"{path}: nodes", nodes, "must be a list", remedy="write it with save_json")
    return nodes
