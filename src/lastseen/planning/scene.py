"""The scene analyzer: from pictures to a scene type, with the planner's discipline (sections 1.1, 5.2 and 9.2).

A scene that cannot be told is None, never a guess: the places it would have made could not be unmade.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lastseen.config import Settings
from lastseen.errors import PlanError
from lastseen.memory.places import normalize_scene_type
from lastseen.planning import strict_json
from lastseen.planning.asking import Asker, Attempt, Failure
from lastseen.planning.prompt import View, scene_prompt
from lastseen.planning.quoting import clean
from lastseen.vlm.protocol import Backend, EncodedImage

_MAX_OBJECTS = 20
_MAX_OBJECT = 60
_MAX_SCENE_TYPE = 80
_MAX_DESCRIPTION = 240

SCENE_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "scene_type": {"type": "string"},
        "objects": {"type": "array", "items": {"type": "string"}},
        "description": {"type": "string"},
    },
    "required": ["scene_type", "objects", "description"],
}


@dataclass(frozen=True, slots=True)
class Scene:
    """What a space is, what is in it, and one sentence about it."""

    scene_type: str
    objects: tuple[str, ...]
    description: str
    ignored_keys: tuple[str, ...] = field(default=(), compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The scene in the analyzer's own output format."""
        return {
            "scene_type": self.scene_type,
            "objects": list(self.objects),
            "description": self.description,
        }


@dataclass(frozen=True, slots=True)
class Analyzed:
    """A scene, or None when no answer was fit, and how it came about."""

    scene: Scene | None
    failures: tuple[Failure, ...]
    attempts: tuple[Attempt, ...]


class SceneAnalyzer(Asker[Scene]):
    """Asks a backend what kind of space this is; the runtime hands the answer to the spatial memory."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(backend, settings, parse=parse_scene, schema=SCENE_SCHEMA, clock=clock)

    @property
    def unknown(self) -> Counter[str]:
        """How often no scene could be told, by reason."""
        return self.given_up

    def analyze(self, views: Sequence[View], images: Sequence[EncodedImage] = ()) -> Analyzed:
        """One analysis of what is in front of the robot now."""
        asked = self.ask(scene_prompt(views, settings=self.settings.context), images)
        return Analyzed(asked.answer, asked.failures, asked.attempts)


def parse_scene(text: str) -> Scene:
    """Read an analyzer's answer; raise ``PlanError`` that names what is wrong with it.

    >>> parse_scene('{"scene_type": "Kitchen.", "objects": ["stove"], "description": "A kitchen."}').objects
    ('stove',)
    """
    values = strict_json.parse_object(text)
    scene_type = clean(
        strict_json.text("scene_type", strict_json.require(values, "scene_type")), limit=_MAX_SCENE_TYPE
    )
    if not normalize_scene_type(scene_type):
        raise PlanError("scene_type", scene_type, "has no letters", remedy="name the space", reason="blank")
    objects = strict_json.require(values, "objects")
    if not isinstance(objects, list):
        raise PlanError("objects", objects, "must be a list", remedy="[] for none", reason="wrong_type")
    names = [
        clean(strict_json.text(f"objects[{index}]", name), limit=_MAX_OBJECT) for index, name in enumerate(objects)
    ]
    description = strict_json.require(values, "description")
    if not isinstance(description, str):
        raise PlanError("description", description, "must be text", remedy='"" for none', reason="wrong_type")
    ignored = strict_json.unknown_keys(values, SCENE_SCHEMA["properties"])
    unique = list(dict.fromkeys(name for name in names if name))[:_MAX_OBJECTS]
    return Scene(scene_type, tuple(unique), clean(description, limit=_MAX_DESCRIPTION), tuple(ignored))
