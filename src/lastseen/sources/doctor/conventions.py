"""Which way of reading poses, depth and intrinsics explains the images: every hypothesis is a change of options.

All hypotheses compete in one pool, because they imitate each other: a wrong scale also makes an inverted pose look
a little better. The best one is chosen on one part of the frames and must be clearly better on the other part too.
Where another kind of correction is as good there, it cannot be known which is right, and none is offered.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from lastseen.sources.doctor.hypotheses import (
    COMMON_SCALES,
    DELAYS,
    POSE_OPTIONS,
    Changes,
    Number,
    hypotheses,
    numbers,
)
from lastseen.sources.doctor.registration import align, in_step
from lastseen.sources.doctor.reprojection import SAME_FIT, UNEXPLAINED_ERROR, Reprojection
from lastseen.sources.doctor.scale import TURNING, UNIT_ERROR, ScaleTrial
from lastseen.sources.options import SourceOptions

USUAL_SHARE, USUAL_CM = 0.1, 6.0
"""Share of depth, and centimetres, below which an error is the noise of usual poses: 4 cm are 5 % of a wall at
80 cm."""

FAULT_GAIN = 1.6
"""Another convention is named when it lowers the error by this factor; wrong ones cost 2 and more."""

HELD_GAIN = 1.3
"""Factor by which a correction lowers the error of frames that it was not chosen by."""

NUMBER_GAIN = 1.2
"""The same for a number that is fitted on each part and tried on the other: calibrations stay below 1.05."""

RIVAL = 1.1
"""Two corrections whose errors differ by a smaller factor cannot be told apart."""

MAX_FOCAL_ERROR = 0.18
"""Log ratio from which intrinsics are of another image (20 %)."""

MAX_DELAY = 0.06
"""Seconds between image and pose clock that are normal: two frames of a 30 Hz camera."""

NAMES = {
    "pose_inverted": "pose direction",
    "camera_axes": "camera axes",
    "quaternion_order": "quaternion order",
    "depth_scale": "depth scale",
    "pose_scale": "pose scale",
    "focal_factor": "intrinsics",
    "depth_focal_factor": "intrinsics",
    "share_view": "intrinsics",
    "cx": "principal point",
    "cy": "principal point",
    "depth_shift_x": "principal point",
    "depth_shift_y": "principal point",
    "mirrored": "mirrored images",
    "images_turned": "images turned against poses",
    "pose_delay": "pose clock",
}
"""The check each option belongs to."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One hypothesis with its error as a share of depth and in centimetres."""

    changes: Changes
    error: float
    centimetres: float


class ConventionTrial:
    """Tries the hypotheses on a sample and makes checks of the outcome."""

    def __init__(self, reprojection: Reprojection, options: SourceOptions) -> None:
        self.reprojection = reprojection
        self.options = options
        """The options with every correction that was found, to look further with."""
        self.changes: Changes = {}
        """The corrections among them that are offered."""
        self.open: dict[str, str] = {}
        """Why no correction is offered, by the name of the check."""
        self.given = self._try({})
        self.still = reprojection.fit(options, still=True).error
        self.tried: list[Tried] = []
        self.fitted: dict[str, float] = {}
        """Where a number fits best, as a share of the image or the logarithm of a factor."""
        self.likely: Changes = {}
        """Numbers that both parts of the frames want, though too little speaks for them to name them."""
        self.best = self.given
        self.disagreement = 1.0
        """By what depth must be multiplied to fit the poses, where it is not known which of them is wrong."""
        for _ in range(3):
            if not self._round():
                break
        if not self.unmoved and self.best.error < UNEXPLAINED_ERROR:
            self._fit_numbers()
            self._fit_scale()

    @property
    def unmoved(self) -> bool:
        """Whether a camera that never moved explains the images as well as the poses: nothing can be judged."""
        return self.still <= SAME_FIT * self.best.error

    @property
    def explained(self) -> bool:
        """Whether the poses with their corrections explain the images."""
        return self.best.error < UNEXPLAINED_ERROR or self._is_usual

    @property
    def _is_usual(self) -> bool:
        return self.best.error < USUAL_SHARE and self.best.centimetres < USUAL_CM

    def _round(self) -> bool:
        """Try every hypothesis on top of the options found so far; adopt the best one when it is clearly better."""
        reprojection = self.reprojection
        trajectory = reprojection.sample.trajectory
        delays = DELAYS if trajectory is not None and len(trajectory.stamps) >= 4 else ()
        pool = [self._try(one) for one in hypotheses(self.options, reprojection.sample.records[0], delays=delays)]
        self.tried = self.tried or pool
        if min(tried.error for tried in pool) > UNEXPLAINED_ERROR:
            pool += [self._try(changes) for changes in _pairs(pool)]
        pool.sort(key=lambda tried: (tried.error, len(tried.changes), str(tried.changes)))
        pool = [self._refined(pool[0]), *pool]
        best = min(pool, key=lambda tried: (round(math.log(tried.error), 1), len(tried.changes), tried.error))
        # depth with colour's intrinsics needs no new number: it goes before a focal length that is as good
        shared = [tried for tried in pool if tried.changes == {"share_view": "color"}]
        if "focal_factor" in best.changes and shared and shared[0].error < SAME_FIT * best.error:
            best = shared[0]
        if _is_scale(best.changes):
            best = self._placed_scale(self._best_scale(pool, best))
            if self._is_usual and _is_scale(best.changes) and not self._scale_shows(best.changes):
                # positions with the usual noise of a camera that turns: poses that stand have none of it
                return False
        gain = self.best.error / best.error
        if gain < FAULT_GAIN or self.is_small(best.changes) or not self._holds(best.changes):
            return False
        self._adopt(best, rivals=[tried for tried in pool if tried.error < SAME_FIT * best.error])
        return True

    def _adopt(self, best: Tried, *, rivals: list[Tried]) -> None:
        """Go on with a correction; offer it unless one of another kind is as good on the held part."""
        held = self._try(best.changes, held=True).error
        kinds = _kinds(best.changes)
        others = [
            _kinds(tried.changes)
            for tried in rivals
            if not _kinds(tried.changes) & kinds and self._try(tried.changes, held=True).error < RIVAL * held
        ]
        changes, why = self._of_one_camera(best.changes)
        if "pose_delay" in changes:
            # from here on with the poses of the corrected stamps
            delay = float(str(changes["pose_delay"]))
            self.reprojection = Reprojection(self.reprojection.sample.with_pose_delay(delay, max_gap=2.0))
            if self._depth_may_be_late(delay - self.options.pose_delay):
                why = "it may be depth that is late, or of another image, and not the poses"
        if _is_scale(changes) and not self._scale_shows(changes):
            why = TURNING
        if others:
            why = f"it may be {' or '.join(sorted({name for names in [kinds, *others] for name in names}))}"
        if why:
            self.open |= {NAMES[key]: why for key in best.changes}
        else:
            self.changes |= changes
        self.options = self.options.replaced(**changes)
        self.best = self._try({})

    def _depth_may_be_late(self, delay: float) -> bool:
        """Whether outlines in depth miss the edges of their own images, or better meet those of ``delay`` later.

        Depth without stamps is of another image where its numbers begin elsewhere.
        """
        upright, sample = self.options.replaced(image_rotation="0"), self.reprojection.sample
        given = align(sample, upright)
        other = align(sample.with_depth_delay(delay), upright)
        better = given is not None and other is not None and other.unshifted > RIVAL * given.unshifted
        return better or not in_step(given)

    def _scale_shows(self, changes: Changes) -> bool:
        return ScaleTrial(self.reprojection, self.options).shows(changes)

    def _of_one_camera(self, changes: Changes) -> tuple[Changes, str]:
        """A correction of both cameras, or of depth's alone where colour then fits its outlines; and why neither."""
        sample = self.reprojection.sample
        if sample.records[0].depth_intrinsics is None or self.options.share_view != "none":
            return changes, ""
        alone = {key: value for key, value in changes.items() if key.startswith("depth_shift")}
        if "focal_factor" in changes:
            factor = float(str(changes["focal_factor"])) / self.options.focal_factor
            alone = {"depth_focal_factor": round(self.options.depth_focal_factor * factor, 3)}
        if not alone:
            return changes, ""
        upright = self.options.replaced(image_rotation="0")
        found = [align(sample, upright.replaced(**one)) for one in (changes, alone)]
        both, depth = (0.0 if one is None else one.unshifted for one in found)
        if max(both, depth) < RIVAL * min(both, depth):
            return changes, "it cannot be known whether colour's camera is wrong too"
        return (changes, "") if both > depth else (alone, "")

    def _holds(self, changes: Changes) -> bool:
        """Whether a correction lowers the error of the frames it was not chosen by, as a share and in centimetres."""
        if set(changes) == {"pose_delay"}:
            # poses between two noisy ones are smoother: that helps on either side, a true delay on one only
            delay = 2 * self.options.pose_delay - float(str(changes["pose_delay"]))
            other = self._try({"pose_delay": delay}, held=True)
            if other.error < FAULT_GAIN * self._try(changes, held=True).error:
                return False
        before, after = (self._try(one, held=True) for one in ({}, changes))
        nearer = not math.isfinite(before.centimetres) or after.centimetres < before.centimetres
        return after.error * HELD_GAIN < before.error and nearer

    def _best_scale(self, pool: list[Tried], best: Tried) -> Tried:
        """Of the scales that fit as well as the best one, the one that both parts of the frames want.

        Where a camera mostly turns, poses shrunk to nothing fit one part of the frames as well as the right ones.
        """
        alike = [tried for tried in pool if _is_scale(tried.changes) and tried.error < SAME_FIT * best.error]
        return min(alike, key=lambda tried: (tried.error * self._try(tried.changes, held=True).error, str(tried)))

    def _placed_scale(self, best: Tried) -> Tried:
        """The same ratio of depth to poses, put on that one which is likely wrong; no change if none is."""
        trial = ScaleTrial(self.reprojection, self.options)
        ratio = trial.ratio_of(best.changes)
        changes = trial.changes(ratio)
        clear = abs(math.log(ratio)) > UNIT_ERROR and self.best.error > FAULT_GAIN * best.error
        if not changes and clear and self._holds(best.changes):
            self.disagreement = ratio
        elif not changes and clear and not self._is_usual and not trial.shows(best.changes):
            self.open["depth scale"] = TURNING
        return self._try(changes)

    def _fit_scale(self) -> None:
        """Find a scale that is off by less than a unit."""
        trial = ScaleTrial(self.reprojection, self.options)
        ratio = trial.fine_ratio()
        if ratio is None:
            return
        changes = trial.fine_changes(ratio)
        if not changes:
            self.disagreement = ratio
            return
        self.changes |= changes
        self.options = self.options.replaced(**changes)
        self.best = self._try({})

    def _fit_numbers(self) -> None:
        """Find a principal point or focal length that is off: fitted on each part, confirmed on the other."""
        found = []
        for number in numbers(self.options, self.reprojection.sample.records[0]):
            value, gain = self._fit_number(number)
            if gain > 0.0:
                found.append((gain, number, value))
        if not found:
            return
        gain, number, value = max(found, key=lambda one: one[0])
        scale = ScaleTrial(self.reprojection, self.options).best_gain()
        changes, why = self._of_one_camera(number.changes(value))
        others = [NAMES[other.option] for rate, other, _ in found if other is not number and gain < RIVAL * rate]
        if gain < RIVAL * scale:
            others.append("the scale")
        if others:
            why = f"it may be {' or '.join(sorted({NAMES[number.option], *others}))}"
        if why:
            self.open[NAMES[number.option]] = why
        else:
            self.changes |= changes
        self.options = self.options.replaced(**changes)
        self.best = self._try({})

    def _fit_number(self, number: Number) -> tuple[float, float]:
        """The value that both parts agree on, and by what factor it lowers the error of the other part; else 0."""
        curves = np.array([self._errors(number.changes(value)) for value in number.values]).T
        step = number.values[1] - number.values[0]
        values = []
        for curve in curves:
            at = int(np.argmin(curve))
            if at in {0, len(curve) - 1}:
                return 0.0, 0.0
            values.append(number.values[at])
        middle = sum(values) / 2
        self.fitted[number.option] = middle
        if min(map(abs, values)) < number.least or abs(values[0] - values[1]) > 1.5 * step:
            return 0.0, 0.0
        before = self._errors({})
        gains = [
            before[1 - part] / self._errors(number.changes(value))[1 - part] for part, value in enumerate(values)
        ]
        if min(gains) <= NUMBER_GAIN:
            self.likely |= number.changes(middle)
        finer = [middle + share * step for share in (-0.5, -0.25, 0.0, 0.25, 0.5)]
        best = min(finer, key=lambda value: math.prod(self._errors(number.changes(value))))
        return best, min(gains) if min(gains) > NUMBER_GAIN else 0.0

    def _errors(self, changes: Changes) -> list[float]:
        """The error under changed options on each part of the frames."""
        options = self.options.replaced(**changes)
        return [self.reprojection.fit(options, pairs=part).error for part in self.reprojection.parts]

    def _refined(self, tried: Tried) -> Tried:
        """A number found on a coarse grid, made finer; common depth scales stay as they are."""
        if set(tried.changes) == {"focal_factor"}:
            center = float(str(tried.changes["focal_factor"]))
            finer = [self._try({"focal_factor": center * step}) for step in (0.9, 0.95, 1.05, 1.1)]
        elif set(tried.changes) == {"pose_delay"}:
            center = float(str(tried.changes["pose_delay"]))
            finer = [self._try({"pose_delay": round(center + s, 3)}) for s in (-0.1, -0.05, 0.05, 0.1)]
        else:
            return tried
        return min([tried, *finer], key=lambda one: one.error)

    def is_small(self, changes: Changes) -> bool:
        """Whether a change of a number is within what calibration and clocks normally miss."""
        options = self.options
        if set(changes) == {"depth_scale"}:
            scale = options.depth_scale or self.reprojection.sample.records[0].raw_per_metre
            return abs(math.log(float(str(changes["depth_scale"])) / scale)) < UNIT_ERROR
        if set(changes) == {"focal_factor"}:
            factor = float(str(changes["focal_factor"])) / options.focal_factor
            return abs(math.log(factor)) < MAX_FOCAL_ERROR
        if set(changes) == {"pose_delay"}:
            return abs(float(str(changes["pose_delay"])) - options.pose_delay) < MAX_DELAY
        return False

    def _try(self, changes: Changes, *, held: bool = False) -> Tried:
        """The error under changed options, on the part of the frames that is chosen by or on the other one."""
        options = self.options.replaced(**changes)
        reprojection = self.reprojection
        if "pose_delay" in changes:
            moved = reprojection.sample.with_pose_delay(options.pose_delay, max_gap=2.0)
            if len(moved.records) < 0.7 * len(reprojection.sample.records):
                return Tried(changes, 1.0, float("nan"))
            reprojection = Reprojection(moved)
        fit = reprojection.fit(options, pairs=reprojection.parts[int(held)])
        return Tried(changes, fit.error, fit.centimetres)


def _pairs(pool: list[Tried]) -> Iterator[Changes]:
    """A pose convention together with a depth scale: alone neither helps when both are wrong."""
    poses = [tried.changes for tried in pool if set(tried.changes) <= POSE_OPTIONS]
    scales = [tried.changes for tried in pool if tried.changes.get("depth_scale") in COMMON_SCALES]
    for pose, scale in product(poses, scales):
        yield {**pose, **scale}


def _kinds(changes: Changes) -> set[str]:
    """What changes correct; depth and poses share one scale, and which of them is wrong is judged elsewhere."""
    return {"scale" if key.endswith("_scale") else NAMES[key] for key in changes}


def _is_scale(changes: Changes) -> bool:
    return set(changes) in ({"depth_scale"}, {"pose_scale"})
