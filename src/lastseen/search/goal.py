"""What is looked for: which detections count as the goal, by name and by colour.

A goal is words ("red mug"); a detector says "mug". Here the two meet, for the search and for the check of its stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lastseen.appearance import masked_crop
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.encoders.words import parse
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.query.ranker import color_fit
from lastseen.protocols import Encoder
from lastseen.vlm.offline import is_named

_SAME_WORD = 0.95
"""Similarity from which a label is another word for the goal: a couch is a sofa, a cup is no mug."""


def check_goal(text: str) -> None:
    """Refuse a goal without words."""
    if not tokenize(text):
        raise InvalidValue("goal", text, "has no words", remedy='say what to look for, for example "red mug"')


class Goal:
    """One goal; ``text`` is what the planner is told and what detections that fit are called.

    ``encoder`` tells synonyms. ``also`` are labels that memory takes the goal for ("sofa" for "somewhere to sit");
    they count where no detector's word does.
    """

    def __init__(self, text: str, encoder: Encoder, *, also: Sequence[str] = ()) -> None:
        check_goal(text)
        parsed = parse(text)
        self.text = " ".join(text.split())
        self._name = " ".join(parsed.words) or self.text
        self._colors = parsed.colors
        self._any_thing = not parsed.words and bool(parsed.colors)
        self._encoder = encoder
        self._vector = None if self._any_thing else encoder.encode_text([parsed.plain or self._name])[0]
        self._also = frozenset(also)
        self._fits: dict[str, bool] = {}
        self._eyes = ColorShapeEncoder()

    def names(self, label: str) -> bool:
        """Whether a detector that says this label may mean the goal, colours aside."""
        if label not in self._fits:
            self._fits[label] = (
                self._any_thing or is_named(label, self._name) or label in self._also or self._similar(label)
            )
        return self._fits[label]

    def marked(self, frame: Frame, detections: Sequence[Detection]) -> list[Detection]:
        """The same detections, those that are the goal called by its text."""
        return [self._mark(frame, detection) for detection in detections]

    def _similar(self, label: str) -> bool:
        assert self._vector is not None
        return float(self._encoder.encode_text([label])[0] @ self._vector) >= _SAME_WORD

    def _mark(self, frame: Frame, detection: Detection) -> Detection:
        label = detection.label
        if label is None or label == self.text or not self.names(label):
            return detection
        if self._colors and not self._has_colors(frame, detection):
            return detection
        return replace(detection, labels={self.text: detection.labels[label]})

    def _has_colors(self, frame: Frame, detection: Detection) -> bool:
        shares = color_shares(self._eyes.encode_image([masked_crop(frame, detection)]))
        return bool(color_fit(np.asarray(shares, dtype=np.float32), self._colors)[0] >= _COLOR_ACCEPT)


_COLOR_ACCEPT = 0.6
"""How well the colours of a detection must fit those named: as well as those of a remembered thing must."""
