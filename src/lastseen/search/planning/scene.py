"""The scene analyzer: from pictures to a scene type, read and retried like the planner's answer; see docs/places.md.

A scene that cannot be told is None, never a guess: the places it would have made could not be unmade.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from lastseen.config import Settings
from lastseen.config.search import Planner
from lastseen.errors import PlanError
from lastseen.frame import Frame
from lastseen.memory.places import normalize_scene_type
from lastseen.protocols import Scene, SceneAnalyzer
from lastseen.search.planning import strict_json
from lastseen.search.planning.model_call import ModelClient
from lastseen.search.planning.prompt import View, clean, scene_prompt
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend, EncodedImage
from lastseen.vlm.room_rules import RoomRules

_AT_ONCE = ("mock", "record", "recorded")
"""Backends whose answer is taken at the frame it was asked at: a cassette replays what came at the same frame."""
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


class ModelSceneAnalyzer(ModelClient[Scene]):
    """Asks a model what kind of space this is; implements ``lastseen.protocols.SceneAnalyzer``.

    A model that takes its time is asked in a thread of its own, so that nobody waits for it. ``wait`` asks at once
    instead, for answers that are there at once (rules, recorded answers) and must come at the same frame every time.
    """

    def __init__(
        self,
        backend: Backend,
        settings: Settings | None = None,
        *,
        wait: bool = True,
        with_images: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(backend, settings, parse=parse_scene, schema=SCENE_SCHEMA, clock=clock)
        self.name = backend.name
        self.with_images = with_images
        self._thread = None if wait else ThreadPoolExecutor(1, thread_name_prefix="lastseen-scene")

    def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
        """Begin to name the space in a frame."""
        images = (EncodedImage.from_rgb(frame.rgb),) if self.with_images else ()
        views = [View(0.0, tuple(seen))]
        if self._thread is not None:
            return self._thread.submit(lambda: self.analyze(views, images))
        answer: Future[Scene | None] = Future()
        answer.set_result(self.analyze(views, images))
        return answer

    def analyze(self, views: Sequence[View], images: Sequence[EncodedImage] = ()) -> Scene | None:
        """What is in front of the robot now; waits for the answer, None when none was fit."""
        return self.ask(scene_prompt(views), images).answer


def open_analyzer(settings: Settings, *, seed: int = 0, wait: bool = False) -> SceneAnalyzer:
    """The scene analyzer that the setting ``scene.backend`` names.

    Rules and recorded answers are taken at once, so that equal runs stay equal; a model that takes its time is asked
    in a thread of its own. ``wait`` asks any model at once, for evaluations: their figures must not depend on its
    speed.
    """
    name = settings.scene.backend
    kind = name.partition(":")[0]
    if kind == "offline":
        return RoomRules()
    backend = open_backend(name, scene_role(settings), seed=seed)
    return ModelSceneAnalyzer(backend, settings, wait=wait or kind in _AT_ONCE, with_images=kind != "mock")


def scene_role(settings: Settings) -> Planner:
    """What a backend reads in the scene analyzer's role: the planner's settings with its own model and server."""
    planner, scene = settings.planner, settings.scene
    return replace(planner, model=scene.model or planner.model, base_url=scene.base_url or planner.base_url)


def parse_scene(text: str) -> Scene:
    """Read an analyzer's answer; ``PlanError`` names what is wrong with it.

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
    unique = list(dict.fromkeys(name for name in names if name))[:_MAX_OBJECTS]
    return Scene(scene_type, tuple(unique), clean(description, limit=_MAX_DESCRIPTION))
