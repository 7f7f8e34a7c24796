"""The scale of depth against that of the poses: a unit, or a few percent, and which of the two is wrong.

Depth too small and poses too large look alike: what decides is which of the two numbers is a usual one. Where neither
is, nothing can be known but that they disagree, and that is said.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise

import numpy as np

from lastseen.sources.doctor.hypotheses import COMMON_SCALES, POSE_UNITS, Changes
from lastseen.sources.doctor.poses import JUMP_SPEED
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import SAME_FIT, Reprojection
from lastseen.sources.options import SourceOptions

UNIT_ERROR = 0.35
"""Log ratio from which a scale is of another unit (40 %); less is calibration."""

FIT_GAIN, ALL_GAIN = 0.9, 0.95
"""Shares of the error that a scale of a few percent leaves at most: of frames it was not fitted on, and of all."""

SAME_SCALE, SMALL_SCALE = 0.04, 0.06
"""Log ratios: two parts of the frames agree within the first; a scale nearer to 1 than the second is calibration."""

OTHER_SCALE, FINE_SHOWS = 1.5, 1.8
"""A scale is known to a few percent when one so many times off raises the error by this factor."""

SHOWS = 1.15
"""Factor by which the error rises at the ends of the range in which a scale is known."""

RANGE = tuple(1.1**power for power in range(-12, 13))
"""Factors of the poses that are tried: a third to three times."""

SAME_UNIT = 0.1
"""Log ratio within which a scale is that of a unit."""

MOVING_PAIRS, MOVING_ANGLE = 32, 0.3
"""Pairs that a scale is judged by, and radians between their frames at most."""

STANDING = 1e-6
"""Factor that makes the camera of any poses stand and only turn."""

TURNING = "depth or poses are of another scale, but the camera turns more than it moves, which hides by how much"
"""Why no scale is offered."""

ROOM = (0.25, 12.0)
"""Metres between which the median depth of a camera in a home lies."""


class ScaleTrial:
    """The scale under some options, judged by the pairs between which the camera moved most."""

    def __init__(self, reprojection: Reprojection, options: SourceOptions) -> None:
        self._reprojection = reprojection
        self.options = options
        self._errors: dict[tuple[float, int], float] = {}

    def changes(self, ratio: float) -> Changes:
        """The option that multiplies depth by ``ratio``, or divides the poses by it; none where neither is likely."""
        scale, median = self._raw_per_metre, self._median_depth
        common = min(COMMON_SCALES, key=lambda one: abs(math.log(one * ratio / scale)))
        unit = min(POSE_UNITS, key=lambda one: abs(math.log(one * ratio)))
        depth_fits = abs(math.log(common * ratio / scale)) < SAME_UNIT and ROOM[0] < median * ratio < ROOM[1]
        pose_fits = abs(math.log(unit * ratio)) < SAME_UNIT and ROOM[0] < median < ROOM[1]
        if depth_fits and not (pose_fits and self._is_usual):
            return {"depth_scale": common}
        return {"pose_scale": round(self.options.pose_scale * unit, 9)} if pose_fits else {}

    def ratio_of(self, changes: Changes) -> float:
        """By what a change of a scale multiplies depth against the poses."""
        if "depth_scale" in changes:
            return self._raw_per_metre / float(str(changes["depth_scale"]))
        return self.options.pose_scale / float(str(changes["pose_scale"]))

    def shows(self, changes: Changes) -> bool:
        """Whether this scale explains the frames better than a camera that only turns, where that is possible."""
        poses, records = self._reprojection.poses(self.options), self._reprojection.sample.records
        seconds = np.maximum(np.diff([record.stamp for record in records]), 1e-3)
        steps = np.array([first.distance_to(second) for first, second in pairwise(poses)])
        if float(np.median(steps / seconds)) > JUMP_SPEED:
            # nothing moves that fast: the unit is wrong, however little the frames show of it
            return True
        standing = self._error(STANDING / self.options.pose_scale, 1)
        return SAME_FIT * self._error(1.0 / self.ratio_of(changes), 1) < standing

    def fine_ratio(self) -> float | None:
        """By what depth must be multiplied to fit the poses, where that is known to a few percent and not 1."""
        if not self._moves_enough:
            return None
        found, gains = [], []
        for part in (0, 1):
            errors = [self._error(step, part) for step in RANGE]
            at = int(np.argmin(errors))
            if at in {0, len(RANGE) - 1}:
                return None
            around = np.log(errors[at - 1 : at + 2])
            bend = around[0] - 2 * around[1] + around[2]
            move = 0.5 * (around[0] - around[2]) / bend if bend > 1e-9 else 0.0
            found.append(math.log(RANGE[at]) + float(move) * math.log(1.1))
            gains.append(self._error(math.exp(found[-1]), 1 - part) / self._error(1.0, 1 - part))
        best = math.exp(found[0])
        shown = min(self._error(best * step, 0) for step in (1 / OTHER_SCALE, OTHER_SCALE))
        agree = abs(found[0] - found[1]) < SAME_SCALE and min(map(abs, found)) > SMALL_SCALE
        if not agree or max(gains) > FIT_GAIN or shown < FINE_SHOWS * self._error(best, 0):
            return None
        # the other pairs, with less motion, must not contradict
        mean = math.exp(sum(found) / 2)
        scaled = self.options.replaced(pose_scale=self.options.pose_scale * mean)
        if self._reprojection.error(scaled) > ALL_GAIN * self._reprojection.error(self.options):
            return None
        # poses times the mean fit depth: depth over the mean fits the poses
        return 1.0 / mean

    def best_gain(self) -> float:
        """The factor by which a scale lowers the error of the frames it was not fitted on; 1 where none does."""
        gains = []
        for part in (0, 1):
            best = min(RANGE, key=lambda step: self._error(step, part))
            gains.append(self._error(1.0, 1 - part) / self._error(best, 1 - part))
        return max(1.0, min(gains))

    def fine_changes(self, ratio: float) -> Changes:
        """The option that corrects a scale of a few percent; none where a usual scale would be given up for it."""
        changes = self.changes(ratio)
        keeps = "depth_scale" in changes and self._is_usual and abs(math.log(ratio)) < UNIT_ERROR
        return {} if keeps else changes

    def check(self, name: str, *, unmoved: bool) -> Check:
        """Whether the pairs with most motion tell the scale, and how exactly."""
        errors = np.array([max(self._error(factor, part) for part in (0, 1)) for factor in RANGE])
        fits = [factor for factor, error in zip(RANGE, errors, strict=True) if error < SHOWS * errors.min()]
        figure = f"{100 * self._error(1.0, 0):.1f} % of depth off as given"
        if unmoved or fits[0] == RANGE[0] or fits[-1] == RANGE[-1] or not fits[0] / 1.1 < 1.0 < fits[-1] * 1.1:
            return Check(name, Verdict.UNSURE, figure, "this motion does not show it: move sideways past near things")
        return Check(
            name, Verdict.OK, f"{figure}; it lies between {fits[0] / 1.1:.2f} and {fits[-1] * 1.1:.2f} of that"
        )

    def disagreement(self, name: str, ratio: float) -> Check:
        """Depth and poses are of two scales, and nothing says which of them is right."""
        depth, pose = self._raw_per_metre / ratio, self.options.pose_scale / ratio
        return Check(
            name,
            Verdict.FAULT,
            f"depth and poses disagree in scale by {100 * abs(ratio - 1):.0f} %",
            f"it cannot be known which is wrong: measure a distance, then set depth_scale = {depth:.4g}"
            f" or pose_scale = {pose:.4g}",
        )

    @cached_property
    def _moving(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Pairs between which the camera moved most and rotated little, in two parts that share no frame."""
        poses, sample = self._reprojection.poses(self.options), self._reprojection.sample
        pairs = [
            (poses[first].distance_to(poses[second]), first, second)
            for first, second in sample.near_pairs()
            if poses[first].angle_to(poses[second]) < MOVING_ANGLE
        ]
        chosen = sorted((first, second) for _, first, second in sorted(pairs, reverse=True)[:MOVING_PAIRS])
        return sample.parts(chosen or self._reprojection.pairs)

    @property
    def _moves_enough(self) -> bool:
        """Whether most pairs move more than they turn: an error in a rotation would pass for a scale."""
        poses, depth = self._reprojection.poses(self.options), self._median_depth
        pairs = [*self._moving[0], *self._moving[1]]
        clear = sum(
            poses[first].distance_to(poses[second]) / depth > 0.5 * poses[first].angle_to(poses[second])
            for first, second in pairs
        )
        return clear >= max(len(pairs) / 2, MOVING_PAIRS / 4)

    @property
    def _is_usual(self) -> bool:
        return min(abs(math.log(one / self._raw_per_metre)) for one in COMMON_SCALES) < 0.01

    @property
    def _raw_per_metre(self) -> float:
        return self.options.depth_scale or self._reprojection.sample.records[0].raw_per_metre

    @cached_property
    def _median_depth(self) -> float:
        views = self._reprojection.views(self.options)
        return float(np.median(np.concatenate([view.points[:, 2] for view in views])))

    def _error(self, factor: float, part: int) -> float:
        """The error with poses times a factor, on a part of the pairs; kept, as several questions ask for it."""
        if (factor, part) not in self._errors:
            options = self.options.replaced(pose_scale=self.options.pose_scale * factor)
            self._errors[factor, part] = self._reprojection.fit(options, pairs=self._moving[part]).error
        return self._errors[factor, part]
