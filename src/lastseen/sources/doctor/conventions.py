"""Which way of reading poses, depth and intrinsics explains the images: every hypothesis is a change of options.

All hypotheses compete in one pool, because they imitate each other: a wrong scale also makes an inverted pose look
a little better. The one with the least error wins, and only by a clear margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import product

import numpy as np

from lastseen.sources.doctor.hypotheses import COMMON_SCALES, DELAYS, POSE_OPTIONS, POSE_UNITS, Tried, hypotheses
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import SAME_FIT, UNEXPLAINED_ERROR, Reprojection
from lastseen.sources.options import SourceOptions

FAULT_GAIN = 1.6
"""Another convention is named when it lowers the error by this factor; wrong ones cost 2 and more."""

MAX_SCALE_ERROR = 0.35
"""Log ratio from which a depth scale is of another unit (40 %); less is calibration."""

MAX_FOCAL_ERROR = 0.18
"""Log ratio from which intrinsics are of another image (20 %)."""

MAX_DELAY = 0.06
"""Seconds between image and pose clock that are normal: two frames of a 30 Hz camera."""

SCALE_GAIN = 0.9
"""A scale that differs by less than a unit must leave this share of the error, on pairs it was not fitted on."""

ALL_GAIN = 0.95
"""Share of the error of all pairs that such a scale must leave."""

SAME_SCALE, SMALL_SCALE = 0.04, 0.06
"""Log ratios: two halves of the pairs agree within the first; a scale nearer to 1 than the second is calibration."""

OTHER_SCALE, SCALE_SHOWS, FINE_SHOWS = 1.5, 1.15, 1.8
"""A scale is known when one so many times off raises the error by this factor; to a few percent, by this."""

SAME_UNIT = 0.1
"""Log ratio within which a scale is that of a unit."""

MOVING_PAIRS, MOVING_ANGLE = 32, 0.3
"""Pairs that a scale is judged by, and radians between their frames at most."""

NEAR_SCALES = (0.8, 0.87, 0.91, 0.95, 1.05, 1.1, 1.15, 1.25)
"""Scales that are less than a unit off."""

HELD_GAIN = 1.3
"""Factor by which a correction lowers the error of pairs that it was not chosen by."""

ROOM = (0.25, 12.0)
"""Metres between which the median depth of a camera in a home lies."""

MAX_CENTER_ERROR = 0.03
"""Share of the image by which a principal point may be off: less is calibration."""

NUMBERS = {"depth_scale", "pose_scale", "focal_factor", "pose_delay", "cx", "cy"}
"""Options with a value that is found on a grid."""

NAMES = {
    "pose_inverted": "pose direction",
    "camera_axes": "camera axes",
    "quaternion_order": "quaternion order",
    "depth_scale": "depth scale",
    "pose_scale": "pose scale",
    "focal_factor": "intrinsics",
    "share_view": "intrinsics",
    "cx": "principal point",
    "cy": "principal point",
    "mirrored": "mirrored images",
    "images_turned": "images turned against poses",
    "pose_delay": "pose clock",
}
"""The check each option belongs to."""


class ConventionTrial:
    """Tries the hypotheses on a sample and makes checks of the outcome."""

    def __init__(self, reprojection: Reprojection, options: SourceOptions) -> None:
        self._reprojection = reprojection
        self.options = options
        self.changes: dict[str, object] = {}
        self.given = self._try({}, options)
        self.still = reprojection.fit(options, still=True).error
        self.tried: list[Tried] = []
        self.rivals: list[Tried] = []
        self.best = self.given
        self.disagreement = 1.0
        """By what depth must be multiplied to fit the poses, where it is not known which of them is wrong."""
        for _ in range(3):
            if not self._round():
                break
        if not self.unmoved and self.best.error < UNEXPLAINED_ERROR:
            self._judge_fine_scale()

    @property
    def unmoved(self) -> bool:
        """Whether a camera that never moved explains the images as well as the poses: nothing can be judged."""
        return self.still <= SAME_FIT * self.best.error

    def _round(self) -> bool:
        """Try every hypothesis on top of the options found so far; adopt the best one when it is clearly better."""
        records = self._reprojection.sample.records
        delays = DELAYS if _has_trajectory(self._reprojection) else ()
        pool = [
            self._try(changes, self.options)
            for changes in hypotheses(
                self.options,
                raw_per_metre=records[0].raw_per_metre,
                delays=delays,
                camera=records[0].intrinsics if records[0].depth_intrinsics is None else None,
            )
        ]
        if not self.tried:
            self.tried = pool
        if min(tried.error for tried in pool) > UNEXPLAINED_ERROR:
            pool += [self._try(changes, self.options) for changes in self._pairs(pool)]
        pool.sort(key=lambda tried: (tried.error, len(tried.changes), str(tried.changes)))
        pool = [self._refined(pool[0]), *pool]
        # depth with colour's intrinsics needs no new number: a focal length that is as good comes after it
        best = min(
            pool,
            key=lambda tried: (
                round(math.log(tried.error), 1),
                len(tried.changes),
                "focal_factor" in tried.changes,
                tried.error,
            ),
        )
        if set(best.changes) in ({"depth_scale"}, {"pose_scale"}):
            best = self._placed_scale(best)
        if set(best.changes) in ({"cx"}, {"cy"}):
            # a scale that is a little off looks like a principal point that is: the better one counts
            scaled = [self._try({"pose_scale": self.options.pose_scale * step}, self.options) for step in NEAR_SCALES]
            if min(tried.error for tried in scaled) < SAME_FIT * best.error:
                return False
        if self.best.error < FAULT_GAIN * best.error or self._small(best.changes) or not self._holds(best.changes):
            return False
        self.rivals = [
            tried for tried in pool if tried.error < SAME_FIT * best.error and set(tried.changes) != set(best.changes)
        ]
        self.options = self.options.replaced(**best.changes)
        self.changes |= best.changes
        self.best = best
        return True

    def _pairs(self, pool: list[Tried]) -> Iterator[dict[str, object]]:
        """A pose convention together with a depth scale: alone neither helps when both are wrong."""
        poses = [tried.changes for tried in pool if set(tried.changes) <= POSE_OPTIONS]
        scales = [tried.changes for tried in pool if tried.changes.get("depth_scale") in COMMON_SCALES]
        for pose, scale in product(poses, scales):
            yield {**pose, **scale}

    def _holds(self, changes: dict[str, object]) -> bool:
        """Whether a correction lowers the error of the pairs it was not chosen by, as a share and in centimetres."""
        if set(changes) == {"pose_delay"}:
            # poses between two noisy ones are smoother: that helps on either side, a true delay on one only
            delay = 2 * self.options.pose_delay - _float(changes["pose_delay"])
            other = self._try({"pose_delay": delay}, self.options, held=True)
            if other.error < FAULT_GAIN * self._try(changes, self.options, held=True).error:
                return False
        before, after = (self._try(one, self.options, held=True) for one in ({}, changes))
        nearer = not math.isfinite(before.centimetres) or after.centimetres < before.centimetres
        return after.error * HELD_GAIN < before.error and nearer

    def _placed_scale(self, best: Tried) -> Tried:
        """The same ratio of depth to poses, put on that one which is likely wrong; no change if none is."""
        if "depth_scale" in best.changes:
            ratio = self._scale() / _float(best.changes["depth_scale"])
        else:
            ratio = self.options.pose_scale / _float(best.changes["pose_scale"])
        changes = self._scale_changes(ratio)
        clear = abs(math.log(ratio)) > MAX_SCALE_ERROR and self.best.error > FAULT_GAIN * best.error
        if not changes and clear and self._holds(best.changes):
            self.disagreement = ratio
        return self._try(changes, self.options)

    def _scale_changes(self, ratio: float) -> dict[str, object]:
        """The option that multiplies depth by ``ratio``, or divides the poses by it; none where neither is likely.

        Depth too small and poses too large look alike: what decides is which of the two numbers is a usual one.
        """
        scale, median = self._scale(), self._median_depth()
        common = min(COMMON_SCALES, key=lambda one: abs(math.log(one * ratio / scale)))
        unit = min(POSE_UNITS, key=lambda one: abs(math.log(one * ratio)))
        depth_fits = abs(math.log(common * ratio / scale)) < SAME_UNIT and ROOM[0] < median * ratio < ROOM[1]
        pose_fits = abs(math.log(unit * ratio)) < SAME_UNIT and ROOM[0] < median < ROOM[1]
        usual = min(abs(math.log(one / scale)) for one in COMMON_SCALES) < 0.01
        if depth_fits and not (pose_fits and usual):
            return {"depth_scale": common}
        return {"pose_scale": round(self.options.pose_scale * unit, 9)} if pose_fits else {}

    def _judge_fine_scale(self) -> None:
        """Find a scale that is off by less than a unit: fitted on each half of the pairs, judged on the other."""
        poses, depth = self._reprojection.poses(self.options), self._median_depth()
        moved = [(poses[first].distance_to(poses[second]), first, second) for first, second in self._moving]
        # a hand that turns a camera moves it too, and an error in its rotation would pass for a scale
        clear = sum(far / depth > 0.5 * poses[first].angle_to(poses[second]) for far, first, second in moved)
        if clear < len(moved) / 2 or clear < MOVING_PAIRS / 4:
            return
        steps = [1.1**power for power in range(-12, 13)]
        found, gains = [], []
        for held in (False, True):
            errors = [self._scaled(step, held=held) for step in steps]
            at = int(np.argmin(errors))
            if at in {0, len(steps) - 1}:
                return
            around = np.log(errors[at - 1 : at + 2])
            bend = around[0] - 2 * around[1] + around[2]
            move = 0.5 * (around[0] - around[2]) / bend if bend > 1e-9 else 0.0
            found.append(math.log(steps[at]) + float(move) * math.log(1.1))
            gains.append(self._scaled(math.exp(found[-1]), held=not held) / self._scaled(1.0, held=not held))
        agree = abs(found[0] - found[1]) < SAME_SCALE and min(map(abs, found)) > SMALL_SCALE
        shown = min(self._scaled(math.exp(found[0]) * step, held=False) for step in (1 / OTHER_SCALE, OTHER_SCALE))
        if not agree or max(gains) > SCALE_GAIN or shown < FINE_SHOWS * self._scaled(math.exp(found[0]), held=False):
            return
        # the other pairs, with less motion, must not contradict
        scaled: dict[str, object] = {"pose_scale": self.options.pose_scale * math.exp(sum(found) / 2)}
        if self._try(scaled, self.options).error > ALL_GAIN * self._try({}, self.options).error:
            return
        # poses times exp(mean) fit depth: depth over exp(mean) fits the poses
        ratio = math.exp(-sum(found) / 2)
        changes = self._scale_changes(ratio)
        usual = min(abs(math.log(one / self._scale())) for one in COMMON_SCALES) < 0.01
        if not changes or ("depth_scale" in changes and usual and abs(math.log(ratio)) < MAX_SCALE_ERROR):
            self.disagreement = ratio
            return
        self.changes |= changes
        self.options = self.options.replaced(**changes)
        self.best = self._try({}, self.options)

    @cached_property
    def _moving(self) -> list[tuple[int, int]]:
        """Pairs between which the camera moved most and rotated little: the ones that a scale shows in."""
        poses = self._reprojection.poses(self.options)
        pairs = [
            (poses[first].distance_to(poses[second]), first, second)
            for first, second in self._reprojection.sample.near_pairs()
            if poses[first].angle_to(poses[second]) < MOVING_ANGLE
        ]
        return sorted((first, second) for _, first, second in sorted(pairs, reverse=True)[:MOVING_PAIRS])

    def _scaled(self, factor: float, *, held: bool) -> float:
        options = self.options.replaced(pose_scale=self.options.pose_scale * factor)
        return self._reprojection.fit(options, pairs=self._moving[int(held) :: 2] or self._reprojection.pairs).error

    def _scale(self) -> float:
        return self.options.depth_scale or self._reprojection.sample.records[0].raw_per_metre

    def _median_depth(self) -> float:
        views = self._reprojection.views(self.options)
        return float(np.median(np.concatenate([view.points[:, 2] for view in views])))

    def _refined(self, tried: Tried) -> Tried:
        """A number found on a coarse grid, made finer; common depth scales stay as they are."""
        if set(tried.changes) == {"focal_factor"}:
            center = float(str(tried.changes["focal_factor"]))
            finer = [self._try({"focal_factor": center * step}, self.options) for step in (0.9, 0.95, 1.05, 1.1)]
        elif set(tried.changes) == {"pose_delay"}:
            center = float(str(tried.changes["pose_delay"]))
            finer = [self._try({"pose_delay": round(center + s, 3)}, self.options) for s in (-0.1, -0.05, 0.05, 0.1)]
        elif set(tried.changes) in ({"cx"}, {"cy"}):
            name, camera = next(iter(tried.changes)), self._reprojection.sample.records[0].intrinsics
            size = camera.width if name == "cx" else camera.height
            center = _float(tried.changes[name])
            moves = (-0.06, -0.04, -0.02, 0.02, 0.04, 0.06)
            finer = [self._try({name: round(center + move * size, 1)}, self.options) for move in moves]
        else:
            return tried
        return min([tried, *finer], key=lambda one: one.error)

    def _small(self, changes: dict[str, object]) -> bool:
        """Whether a change of a number is within what calibration and clocks normally miss."""
        options = self.options
        if set(changes) == {"depth_scale"}:
            scale = options.depth_scale or self._reprojection.sample.records[0].raw_per_metre
            return abs(math.log(float(str(changes["depth_scale"])) / scale)) < MAX_SCALE_ERROR
        if set(changes) == {"focal_factor"}:
            factor = float(str(changes["focal_factor"])) / options.focal_factor
            return abs(math.log(factor)) < MAX_FOCAL_ERROR
        if set(changes) in ({"cx"}, {"cy"}):
            camera = self._reprojection.sample.records[0].intrinsics
            name, size = ("cx", camera.width) if "cx" in changes else ("cy", camera.height)
            given = _float(getattr(options, name) or getattr(camera, name))
            return abs(_float(changes[name]) - given) < MAX_CENTER_ERROR * size
        if set(changes) == {"pose_delay"}:
            return abs(float(str(changes["pose_delay"])) - options.pose_delay) < MAX_DELAY
        return False

    def _try(self, changes: dict[str, object], base: SourceOptions, *, held: bool = False) -> Tried:
        """The error under changed options, on every other pair, or on those that are held back from choosing."""
        options = base.replaced(**changes)
        reprojection = self._reprojection
        if "pose_delay" in changes:
            moved = reprojection.sample.with_pose_delay(options.pose_delay, max_gap=2.0)
            if len(moved.records) < 0.7 * len(reprojection.sample.records):
                return Tried(changes, 1.0, float("nan"))
            reprojection = Reprojection(moved)
        fit = reprojection.fit(options, pairs=reprojection.pairs[int(held) :: 2] or reprojection.pairs)
        return Tried(changes, fit.error, fit.centimetres)

    def checks(self) -> Iterator[Check]:
        """One row per option that re-projection can judge."""
        for option, name in NAMES.items():
            # both coordinates of the principal point share a row, and both ways to correct intrinsics
            if option not in {"cy", "share_view"} or option in self.changes:
                yield self._check(option, name)
        yield self._pose_fit()

    def _check(self, option: str, name: str) -> Check:
        alone = [tried for tried in self.tried if set(tried.changes) == {option}]
        before = f"{self.given.centimetres:.1f} cm as given"
        if option in self.changes:
            value = self.changes[option]
            rivals = sorted({NAMES[key] for tried in self.rivals for key in tried.changes} - {name})
            remedy = f"set {option} = {_toml(value)}"
            if rivals:
                remedy += f" (or it is {' or '.join(rivals)}: this motion hardly tells them apart)"
            return Check(
                name, Verdict.FAULT, f"{before}, {self.best.centimetres:.1f} cm corrected", remedy, {option: value}
            )
        if option == "depth_scale" and self.disagreement != 1.0:
            return self._disagree(name)
        if not alone:
            why = (
                "depth has a camera of its own" if option == "cx" else "the source stores poses with the images only"
            )
            return Check(name, Verdict.UNSURE, "not tried", why)
        other = min(alone, key=lambda tried: tried.error)
        figure = f"{before}, {other.centimetres:.1f} cm with {option} = {_toml(other.changes[option])}"
        if option in {"depth_scale", "pose_scale"}:
            return self._scale_check(name)
        if self.unmoved:
            return Check(name, Verdict.UNSURE, figure, "the camera hardly moves: give a stretch with motion")
        if self.changes:
            return Check(name, Verdict.OK, "fits once the fault found is corrected")
        numeric = option in NUMBERS
        if other.error < SAME_FIT * self.given.error and not (numeric and self._small(other.changes)):
            return Check(name, Verdict.UNSURE, figure, "both fit: this motion cannot tell them apart")
        return Check(name, Verdict.OK, figure)

    def _scale_check(self, name: str) -> Check:
        """Whether the pairs with most motion tell the scale, and how much worse another one is."""
        whole = [self._scaled(factor, held=False) for factor in (1.0, 1.0 / OTHER_SCALE, OTHER_SCALE)]
        figure = f"{100 * whole[0]:.1f} % of depth as given, {100 * min(whole[1:]):.1f} % {OTHER_SCALE:g} times off"
        if self.unmoved or min(whole[1:]) < SCALE_SHOWS * whole[0]:
            return Check(name, Verdict.UNSURE, figure, "this motion does not show it: move sideways past near things")
        return Check(name, Verdict.OK, figure)

    def _disagree(self, name: str) -> Check:
        """Depth and poses are of two scales, and nothing says which of them is right."""
        ratio = self.disagreement
        depth, pose = self._scale() / ratio, self.options.pose_scale / ratio
        return Check(
            name,
            Verdict.FAULT,
            f"depth and poses disagree in scale by {100 * abs(ratio - 1):.0f} %",
            f"it cannot be known which is wrong: measure a distance, then set depth_scale = {depth:.4g}"
            f" or pose_scale = {pose:.4g}",
        )

    def _pose_fit(self) -> Check:
        share = f"{self.best.centimetres:.1f} cm, {100 * self.best.error:.1f} % of depth"
        # a camera that hardly moves fits any poses that say so; where nothing fits, its poses are wrong
        if self.unmoved and self.best.error < UNEXPLAINED_ERROR:
            return Check("poses explain images", Verdict.UNSURE, share, "the camera hardly moves between the images")
        if self.best.error < UNEXPLAINED_ERROR:
            return Check("poses explain images", Verdict.OK, share)
        return Check(
            "poses explain images",
            Verdict.FAULT,
            share,
            "no known convention fits: are the poses of this camera (not of the robot's base) and of this clock?",
        )


def _float(value: object) -> float:
    return float(str(value))


def _has_trajectory(reprojection: Reprojection) -> bool:
    trajectory = reprojection.sample.trajectory
    return trajectory is not None and len(trajectory.stamps) >= 4


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
