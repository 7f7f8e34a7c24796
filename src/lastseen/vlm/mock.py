"""Backends for tests, yours and ours: ``ScriptedBackend`` gives the answers you write, ``MockBackend`` seeded ones.

``mock:BEHAVIOUR`` opens the second by name, for example in ``planner.backend``. It writes hypotheses for a schema
that has an ``action`` and planner output for one that has an ``angle``; neither reads prompts or pictures.

    HypothesisPlanner(ScriptedBackend(["not JSON", BackendError("mine", "is down", remedy="wait")]))
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm.protocol import Backend, EncodedImage

Behaviour = Literal["valid", "invalid", "garbage", "mixed", "down"]


class MockBackend:
    """Answers by behaviour: valid, invalid (JSON that breaks the schema), garbage (no JSON), mixed, or down."""

    def __init__(self, behaviour: Behaviour = "valid", *, seed: int = 0) -> None:
        if behaviour not in get_args(Behaviour):
            raise InvalidValue(
                "mock", behaviour, "is not a behaviour", remedy=f"choose one of {', '.join(get_args(Behaviour))}"
            )
        self.behaviour, self.name = behaviour, f"mock:{behaviour}"
        self.calls = 0
        self._random = random.Random(seed)

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """An answer of the chosen behaviour; the prompt and the pictures are not read."""
        del prompt, images
        self.calls += 1
        behaviour = self.behaviour
        if behaviour == "mixed":
            behaviour = self._random.choice(["valid", "invalid", "garbage", "down"])
        if behaviour == "down":
            raise BackendError(self.name, "is down", remedy="this is what it was asked to be", transient=True)
        if behaviour == "garbage":
            return self._random.choice(_GARBAGE)
        make = _panorama if "angle" in (schema or {}).get("properties", {}) else _hypothesis
        answer = make(self._random)
        if behaviour == "invalid":
            self._random.choice(_DAMAGES)(answer)
        return json.dumps(answer)


class ScriptedBackend:
    """Says the given answers in turn, raising those that are errors; then it is down."""

    name = "scripted"

    def __init__(self, answers: Sequence[str | Exception]) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.images: list[tuple[EncodedImage, ...]] = []

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The next answer; what was asked is kept in ``prompts`` and ``images``."""
        del schema
        self.prompts.append(prompt)
        self.images.append(tuple(images))
        if len(self.prompts) > len(self.answers):
            raise BackendError(self.name, "has no answer left", remedy="give it more answers")
        answer = self.answers[len(self.prompts) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``mock`` or ``mock:BEHAVIOUR``."""
    del settings
    behaviour: Any = argument or "valid"
    return MockBackend(behaviour, seed=seed)


def _hypothesis(rng: random.Random) -> dict[str, Any]:
    action = rng.choice(["explore", "rotate", "goto_node"])
    answer = {
        "target_status": "searching",
        "action": action,
        "confidence": round(rng.uniform(0.2, 0.9), 2),
        "rationale": "a guess, as good as any",
    }
    # the node may well not exist: a fit answer need not be a good one
    goal = {"node_id": rng.randrange(10)} if action == "goto_node" else {"heading_deg": _angle(rng)}
    return answer | {"navigation_goal": goal}


def _panorama(rng: random.Random) -> dict[str, Any]:
    return {
        "goal_flag": False,
        "angle": _angle(rng),
        "discovered_context": {
            "goal_scene_type": rng.choice(["kitchen", "corridor", "living room"]),
            "why": "not seen from here",
        },
    }


def _angle(rng: random.Random) -> float:
    return float(rng.randrange(-150, 181, 30))


def _drop_a_key(answer: dict[str, Any]) -> None:
    del answer[min(answer)]


def _put_text_for_a_number(answer: dict[str, Any]) -> None:
    answer["confidence"] = answer["angle"] = "very"


def _leave_the_range(answer: dict[str, Any]) -> None:
    answer["confidence"] = answer["angle"] = 1e9


_GARBAGE = ("I think it is in the kitchen.", "{", "```json\n{}\n```", "[]", "null", '{"action": "explore"', "�\x00")
_DAMAGES: tuple[Callable[[dict[str, Any]], None], ...] = (_drop_a_key, _put_text_for_a_number, _leave_the_range)
