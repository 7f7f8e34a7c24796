"""When a new scene type is believed: k analyses in a row that agree; see docs/places.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lastseen.memory.places.scene_type import normalize_scene_type


@dataclass(slots=True)
class Sighting:
    """A scene type that differs from the current place's, and what was seen with it so far."""

    scene_type: str
    agreed: int = 0
    objects: set[str] = field(default_factory=set)
    description: str = ""


class Dwell:
    """Holds back a change of place until every one of ``k`` consecutive analyses named the same new type."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.pending: Sighting | None = None

    def analyzed(
        self, scene_type: str, *, current: str, objects: Iterable[str] = (), description: str = ""
    ) -> Sighting | None:
        """Take one analysis; return the sighting once it is confirmed."""
        normalized = normalize_scene_type(scene_type)
        pending, self.pending = self.pending, None
        if normalized == normalize_scene_type(current):
            return None
        if pending is None:
            pending = Sighting(scene_type)
        elif normalize_scene_type(pending.scene_type) != normalized:
            # all k must agree: a third opinion ends the attempt, and the next period may start another
            return None
        pending.agreed += 1
        pending.objects.update(objects)
        pending.description = description or pending.description
        if pending.agreed >= self.k:
            return pending
        self.pending = pending
        return None

    def to_dict(self) -> dict[str, Any] | None:
        """The pending sighting in plain JSON values."""
        if self.pending is None:
            return None
        return {
            "scene_type": self.pending.scene_type,
            "agreed": self.pending.agreed,
            "objects": sorted(self.pending.objects),
            "description": self.pending.description,
        }

    def restore(self, values: Mapping[str, Any] | None) -> None:
        """Take up the sighting that ``to_dict`` wrote."""
        self.pending = (
            None
            if values is None
            else Sighting(values["scene_type"], values["agreed"], set(values["objects"]), values["description"])
        )
