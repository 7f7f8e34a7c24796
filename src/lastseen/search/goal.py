"""What is looked for: which detections count as the goal, by name and by colour.

A goal is words ("red mug"); a detector says "mug". Here the two meet, for the search and for the check of its stop:
the goal seen in consecutive views, and within reach by depth. False stops are the most frequent failure of object
search; the policy saying "here" is not enough.
"""

from __future__ import annotations

from collections import Counter
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
from lastseen.memory.objects.snapshot import ObjectState
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

    @property
    def has_colors(self) -> bool:
        """Whether it names a colour."""
        return bool(self._colors)

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

_MOST_REMEMBERED = 3
"""Votes that a name from before this search counts at most: enough to outweigh two wrong names running, and few
enough for what is seen now to outweigh a name that was wrong."""


class Names:
    """What each thing was called in the views of one search, and before: most votes decide whether it is the goal.

    A detector that takes a monitor for the tv does so in one view of ten, and now and then in two running. Every view
    of a thing is a vote, so that the name of one or two views does not end a search at a thing that has been called
    otherwise, and a view that misnames the goal does not lose it.
    """

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self._votes: dict[str, Counter[str]] = {}
        self._shown: dict[int, Counter[str]] = {}

    def vote(self, marked: Sequence[Detection], things: Sequence[ObjectState | None]) -> list[Detection]:
        """Count one view; returns its detections, each called what most views called the thing that it is of.

        ``marked`` are detections as ``Goal.marked`` gives them, ``things`` what memory takes each for.
        """
        self._shown.clear()
        return [
            detection if thing is None else self._voted(detection, thing)
            for detection, thing in zip(marked, things, strict=True)
        ]

    def lead(self, detection: Detection) -> int | None:
        """By how many votes a detection of the newest view is of the goal rather than of the next best name.

        None where memory does not know which thing it is of.
        """
        votes = self._shown.get(id(detection))
        if votes is None:
            return None
        return votes[self.goal.text] - max((votes[name] for name in votes if name != self.goal.text), default=0)

    def _voted(self, detection: Detection, thing: ObjectState) -> Detection:
        label, text = detection.label, self.goal.text
        if label is None:
            return detection
        votes = self._votes.get(thing.id)
        if votes is None:
            votes = self._votes[thing.id] = self._before(thing)
        votes[label] += 1
        name = max(sorted(votes), key=lambda each: (votes[each], each == label))
        if name != label and text in (label, name):
            detection = replace(detection, labels={name: detection.labels[label]})
        self._shown[id(detection)] = votes
        return detection

    def _before(self, thing: ObjectState) -> Counter[str]:
        """The votes that a thing has when it is first seen on this search: its remembered name, by its sightings."""
        sightings = min(thing.hits - 1, _MOST_REMEMBERED)
        if thing.label is None or not thing.confirmed or sightings < 1:
            return Counter()
        if not self.goal.names(thing.label):
            return Counter({thing.label: sightings})
        # of its colours nothing is known here: this view and the next ones tell
        return Counter() if self.goal.has_colors else Counter({self.goal.text: sightings})


_NEAR_SHARE = 0.1
"""Quantile of the target's ranges taken as its distance: its near side, without stray foreground pixels."""
_GAP = 0.25
"""Metres between a thing and what is before or behind it, as when it is placed in the world."""
_TOP_SHARE = 0.75
"""Quantile of the target's heights taken as its top: with a level top it is that, give or take the noise of depth."""
_LOWEST_ROWS = 3
"""Rows of the picture in which a mask counts as cut off by its lower edge: masks are ragged."""
_LEAD = 3
"""Views by which the name of the goal must lead to stop at a thing: of two that a detector misnamed there is one in
some thirty searches, of three hardly any; a thing that is walked up to is seen in more."""


class StopCheck:
    """Follows one target through the views of an episode."""

    def __init__(self, target: str, settings: Stop | None = None) -> None:
        self.target = target
        self.settings = settings or Stop()
        self.streak = self.longest = 0
        self.sure = False
        """Whether enough more views called the newest sighting the goal than anything else."""
        self.distance: float | None = None
        self.since: float | None = None
        """Stamp of the first view of the streak."""

    def see(self, frame: Frame, detections: Sequence[Detection], names: Names | None = None) -> None:
        """Take in the detections of one view; a view without the target ends the streak.

        ``names`` tells what else the thing was called; without them two views running are enough.
        """
        found = target_detection(detections, self.target, min_score=self.settings.min_score)
        lead = None if found is None or names is None else names.lead(found)
        self.sure = found is not None and (lead is None or lead >= _LEAD)
        self.distance = None if found is None else distance_to(found, frame, reach=self.settings.reach)
        self.streak = 0 if found is None else self.streak + 1
        if self.streak <= 1:
            self.since = None if found is None else frame.stamp
        self.longest = max(self.longest, self.streak)

    def believed(self, *, within: float) -> bool:
        """Whether a stop made now is one: the target seen often enough running, and now within so many metres."""
        seen = self.streak >= self.settings.views and self.sure
        return seen and self.distance is not None and self.distance <= within


def distance_to(detection: Detection, frame: Frame, *, reach: float) -> float | None:
    """Metres over the floor to the near side of a detected thing; None without valid depth on it.

    A thing too low to be seen from within ``reach`` goes on below the picture: it is nearer than its lowest rows.
    """
    points, mask = body_points(frame), detection_mask(detection, frame)
    mask = mask & np.isfinite(points[..., 0])
    if not mask.any():
        return None
    near = float(np.quantile(_largest_group(_ranges(points[mask])), _NEAR_SHARE))
    lowest = points[-_LOWEST_ROWS:][mask[-_LOWEST_ROWS:]]
    if not len(lowest):
        return near
    eye = float(frame.T_world_camera.translation[2])
    ranges = _ranges(lowest)
    shown_from = eye - reach * float(np.median((eye - lowest[:, 2]) / ranges))
    top = float(np.quantile(points[mask][:, 2], _TOP_SHARE))
    return near if top > shown_from else min(near, float(np.quantile(ranges, _NEAR_SHARE)))


def _largest_group(ranges: NDArray[np.float32]) -> NDArray[np.float32]:
    """The most ranges without a gap: of a far thing behind a near one a mask's ragged edge shows the near one too."""
    ordered = np.sort(ranges)
    groups = np.split(ordered, np.flatnonzero(np.diff(ordered) > _GAP) + 1)
    return max(groups, key=len)


def _ranges(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Metres over the floor to each of the body points."""
    return np.hypot(points[:, 0], points[:, 1])
