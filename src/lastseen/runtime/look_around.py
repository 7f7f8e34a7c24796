"""The views of one look around, as planners are told of them: what was seen in each direction, and the free way."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lastseen.body import body_points, free_ahead
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.planning.prompt import View
from lastseen.vlm.protocol import EncodedImage


class LookAround:
    """Collects views while the robot turns left; angles are from where it faces now, which is the last view."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._taken: list[tuple[Frame, Sequence[Detection]]] = []

    @property
    def complete(self) -> bool:
        """Whether every direction was looked at."""
        return len(self._taken) >= self.settings.panorama.views

    def begin(self, frame: Frame, detections: Sequence[Detection]) -> None:
        """Forget the views and start again with this one."""
        self._taken = []
        self.add(frame, detections)

    def add(self, frame: Frame, detections: Sequence[Detection]) -> None:
        """Take the view one turn further to the left."""
        self._taken.append((frame, detections))

    def views(self) -> list[View]:
        """Every view with its angle, in the order they were taken."""
        count = len(self._taken)
        return [
            view_of(frame, detections, self.settings, angle=_turned(index - count + 1, count))
            for index, (frame, detections) in enumerate(self._taken)
        ]

    def images(self) -> tuple[EncodedImage, ...]:
        """The pictures, straight ahead first, the others turning left."""
        ordered = [self._taken[-1], *self._taken[:-1]]
        return tuple(EncodedImage.from_rgb(frame.rgb) for frame, _ in ordered)


def view_of(frame: Frame, detections: Sequence[Detection], settings: Settings, *, angle: float = 0.0) -> View:
    """One view in a planner's words: each label once with its best score, and the free way ahead."""
    best: dict[str, float] = {}
    for detection in detections:
        if detection.label is not None:
            sure = detection.score * detection.labels[detection.label]
            best[detection.label] = max(best.get(detection.label, 0.0), sure)
    labels = tuple(sorted(best.items(), key=lambda item: (-item[1], item[0])))
    half = math.radians(180.0 / settings.panorama.views)
    return View(angle, labels, free_ahead(body_points(frame), settings.policy, half_angle=half))


def _turned(steps: int, count: int) -> float:
    """Degrees of a view this many turns to the left, in (-180, 180]."""
    degrees = (steps * 360.0 / count) % 360.0
    return degrees - 360.0 if degrees > 180.0 else degrees
