"""A stop ends a search, so it is checked: the goal seen in consecutive views, and within reach by depth.

False stops are the most frequent failure of object search; the policy saying "here" is not enough.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.body import body_points
from lastseen.config.policy import Stop
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.search.policy.goal_pixel import detection_mask, target_detection

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
