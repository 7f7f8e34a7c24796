"""What is looked for: which detections count as the goal, by name and by colour.

A goal is words ("red mug"); a detector says "mug". Here the two meet, for the search and for the check of its stop:
the goal seen in consecutive views, and within reach by depth. False stops are the most frequent failure of object
search; the policy saying "here" is not enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lastseen.appearance import masked_crop
from lastseen.body import body_points
from lastseen.config.search import Stop
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder, color_shares
from lastseen.encoders.words import parse
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.query.ranker import color_fit
from lastseen.protocols import Encoder
from lastseen.search.policy.goal_pixel import detection_mask, target_detection
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


_NEAR_SHARE = 0.1
"""Quantile of the target's ranges taken as its distance: its near side, without stray foreground pixels."""
_TOP_SHARE = 0.75
"""Quantile of the target's heights taken as its top: with a level top it is that, give or take the noise of depth."""
_LOWEST_ROWS = 3
"""Rows of the picture in which a mask counts as cut off by its lower edge: masks are ragged."""


class StopCheck:
    """Follows one target through the views of an episode."""

    def __init__(self, target: str, settings: Stop | None = None) -> None:
        self.target = target
        self.settings = settings or Stop()
        self.streak = self.longest = 0
        self.distance: float | None = None
        self.since: float | None = None
        """Stamp of the first view of the streak."""

    def see(self, frame: Frame, detections: Sequence[Detection]) -> None:
        """Take in the detections of one view; a view without the target ends the streak."""
        found = target_detection(detections, self.target, min_score=self.settings.min_score)
        self.distance = None if found is None else distance_to(found, frame, reach=self.settings.reach)
        self.streak = 0 if found is None else self.streak + 1
        if self.streak <= 1:
            self.since = None if found is None else frame.stamp
        self.longest = max(self.longest, self.streak)

    def believed(self, *, within: float) -> bool:
        """Whether a stop made now is one: the target seen often enough running, and now within so many metres."""
        return self.streak >= self.settings.views and self.distance is not None and self.distance <= within


def distance_to(detection: Detection, frame: Frame, *, reach: float) -> float | None:
    """Metres over the floor to the near side of a detected thing; None without valid depth on it.

    A thing too low to be seen from within ``reach`` goes on below the picture: it is nearer than its lowest rows.
    """
    points, mask = body_points(frame), detection_mask(detection, frame)
    mask = mask & np.isfinite(points[..., 0])
    if not mask.any():
        return None
    near = float(np.quantile(_ranges(points[mask]), _NEAR_SHARE))
    lowest = points[-_LOWEST_ROWS:][mask[-_LOWEST_ROWS:]]
    if not len(lowest):
        return near
    eye = float(frame.T_world_camera.translation[2])
    ranges = _ranges(lowest)
    shown_from = eye - reach * float(np.median((eye - lowest[:, 2]) / ranges))
    top = float(np.quantile(points[mask][:, 2], _TOP_SHARE))
    return near if top > shown_from else min(near, float(np.quantile(ranges, _NEAR_SHARE)))


def _ranges(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Metres over the floor to each of the body points."""
    ranges: NDArray[np.float32] = np.hypot(points[:, 0], points[:, 1])
    return ranges
