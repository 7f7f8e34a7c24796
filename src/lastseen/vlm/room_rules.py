"""Rooms named by rules over what was seen in them: the scene analyzer that needs no model and answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from lastseen.frame import Frame
from lastseen.protocols import Scene
from lastseen.vlm.household import describe_scene

_MOST_SEEN = 12
"""Labels that are weighed: a view is told by its first dozen things."""


class RoomRules:
    """Implements ``lastseen.protocols.SceneAnalyzer`` with the common sense of ``lastseen.vlm.household``."""

    name = "offline"
    """The same rules as the offline model's."""

    def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
        """The likeliest room by the labels, or unknown; the frame itself is not looked at."""
        del frame
        labels = [(label, round(score, 2)) for label, score in seen[:_MOST_SEEN]]
        answer: Future[Scene | None] = Future()
        answer.set_result(Scene(*describe_scene(labels)))
        return answer
