"""The two baselines that stand in the planner's place: both read the prompt that every planner reads.

Neither knows rooms. They flag the goal when the detector named it, as any planner would, so what is compared is
where they go and nothing else.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from lastseen.vlm.offline import LEAST_FREE, OfflineBackend, sighting
from lastseen.vlm.prompt_reading import ReadPrompt, SeenView, read_prompt
from lastseen.vlm.protocol import EncodedImage


class _Chooser:
    """Answers scene questions and sightings as the offline planner does, and chooses directions its own way."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self._offline = OfflineBackend(seed=seed)

    @property
    def name(self) -> str:
        """Which baseline it is."""
        raise NotImplementedError

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """A plan for a schema with an ``angle``; everything else is the offline model's."""
        if "angle" not in (schema or {}).get("properties", {}):
            return self._offline.complete(prompt, images, schema)
        read = read_prompt(prompt)
        seen = sighting(read)
        digest = hashlib.sha256(f"{self.name}:{self.seed}:{prompt}".encode("utf-8", "replace")).digest()
        angle, why = self.choose(read, random.Random(digest)) if seen is None else (seen.angle, "in view")
        context = {"goal_scene_type": "unknown", "why": why}
        return json.dumps({"goal_flag": seen is not None, "angle": float(angle), "discovered_context": context})

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """The angle to take in degrees, and why."""
        raise NotImplementedError


class RandomBackend(_Chooser):
    """Draws one of the views that are not barred, seeded by the prompt."""

    @property
    def name(self) -> str:
        """Always ``random``."""
        return "random"

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """Any view with room for a step, all alike."""
        views = _open(read)
        return (rng.choice(views).angle if views else 0.0), "drawn"


class FrontierBackend(_Chooser):
    """Goes to the unexplored edge with the shortest way; where none is left, to the farthest open floor."""

    @property
    def name(self) -> str:
        """Always ``frontier``."""
        return "frontier"

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """The nearest edge; ties by angle."""
        if read.unexplored:
            nearest = min(read.unexplored, key=lambda edge: (edge.distance, edge.angle))
            return nearest.angle, "the nearest unexplored edge"
        views = _open(read)
        return (rng.choice(views).angle if views else 0.0), "no edge is left"


def _open(read: ReadPrompt) -> list[SeenView]:
    return [view for view in read.views if view.free is None or view.free >= LEAST_FREE] or read.views
