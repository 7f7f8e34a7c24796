"""Which way of reading poses, depth and intrinsics explains the images: every hypothesis is a change of options.

All hypotheses compete in one pool, because they imitate each other: a wrong scale also makes an inverted pose look
a little better. The one with the least error wins, and only by a clear margin.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from lastseen.geometry import CameraAxes
from lastseen.sources.conversion import quarter_turns
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import SAME_FIT, UNEXPLAINED_ERROR, Reprojection
from lastseen.sources.options import QUARTER_TURNS, SourceOptions

COMMON_SCALES = (1.0, 10.0, 100.0, 256.0, 1000.0, 4000.0, 5000.0, 8000.0, 10000.0)
"""Raw values per metre that sensors and file formats use."""

DELAYS = (-0.8, -0.5, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Seconds by which a pose clock may be off: a network's delay, a filter's, or a wrong stamp."""

FAULT_GAIN = 1.6
"""Another convention is named when it lowers the error by this factor; wrong ones cost 2 and more."""

MAX_SCALE_ERROR = 0.35
"""Log ratio from which a depth scale is of another unit (40 %); less is calibration."""

MAX_FOCAL_ERROR = 0.18
"""Log ratio from which intrinsics are of another image (20 %)."""

MAX_DELAY = 0.06
"""Seconds between image and pose clock that are normal: two frames of a 30 Hz camera."""

POSE_OPTIONS = {"pose_inverted", "camera_axes", "quaternion_order"}

NAMES = {
    "pose_inverted": "pose direction",
    "camera_axes": "camera axes",
    "quaternion_order": "quaternion order",
    "depth_scale": "depth scale",
    "focal_factor": "intrinsics",
    "mirrored": "mirrored images",
    "images_turned": "images turned against poses",
    "pose_delay": "pose clock",
}
"""The check each option belongs to."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One hypothesis with its error as a share of depth and in centimetres."""

    changes: dict[str, object]
    error: float
    centimetres: float


def hypotheses(
    options: SourceOptions, *, raw_per_metre: float, delays: tuple[float, ...]
) -> Iterator[dict[str, object]]:
    """Every change of options worth trying: pose conventions in all combinations, the rest one at a time."""
    ways = product((False, True), [axes.value for axes in CameraAxes], ("xyzw", "wxyz"))
    for inverted, axes, order in ways:
        whole: dict[str, object] = {"pose_inverted": inverted, "camera_axes": axes, "quaternion_order": order}
        changes = {name: value for name, value in whole.items() if value != getattr(options, name)}
        if changes:
            yield changes
    yield {"mirrored": not options.mirrored}
    # a quarter turn would exchange width and height: only a half turn keeps the size that the intrinsics name
    half = QUARTER_TURNS[(quarter_turns(options.images_turned) + 2) % 4]
    yield {"images_turned": half}
    scale = options.depth_scale or raw_per_metre
    for other in sorted({*COMMON_SCALES, scale / 2.0, scale * 2.0, scale / 1.5, scale * 1.5}):
        if abs(math.log(other / scale)) > 0.01:
            yield {"depth_scale": other}
    for factor in (0.25, 0.4, 0.5, 0.6, 0.75, 0.87, 1.15, 1.33, 1.6, 2.0, 2.5, 4.0):
        yield {"focal_factor": options.focal_factor * factor}
    for delay in delays:
        yield {"pose_delay": options.pose_delay + delay}


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
        for _ in range(3):
            if not self._round():
                break

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
            for changes in hypotheses(self.options, raw_per_metre=records[0].raw_per_metre, delays=delays)
        ]
        if not self.tried:
            self.tried = pool
        if min(tried.error for tried in pool) > UNEXPLAINED_ERROR:
            pool += [self._try(changes, self.options) for changes in self._pairs(pool)]
        pool.sort(key=lambda tried: (tried.error, len(tried.changes), str(tried.changes)))
        pool = [self._refined(pool[0]), *pool]
        best = min(pool, key=lambda tried: (round(math.log(tried.error), 1), len(tried.changes), tried.error))
        if self.best.error < FAULT_GAIN * best.error or self._small(best.changes):
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

    def _refined(self, tried: Tried) -> Tried:
        """A number found on a coarse grid, made finer; common depth scales stay as they are."""
        if set(tried.changes) == {"focal_factor"}:
            center = float(str(tried.changes["focal_factor"]))
            finer = [self._try({"focal_factor": center * step}, self.options) for step in (0.9, 0.95, 1.05, 1.1)]
        elif set(tried.changes) == {"pose_delay"}:
            center = float(str(tried.changes["pose_delay"]))
            finer = [self._try({"pose_delay": round(center + s, 3)}, self.options) for s in (-0.1, -0.05, 0.05, 0.1)]
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
        if set(changes) == {"pose_delay"}:
            return abs(float(str(changes["pose_delay"])) - options.pose_delay) < MAX_DELAY
        return False

    def _try(self, changes: dict[str, object], base: SourceOptions) -> Tried:
        options = base.replaced(**changes)
        reprojection = self._reprojection
        if "pose_delay" in changes:
            moved = reprojection.sample.with_pose_delay(options.pose_delay, max_gap=2.0)
            if len(moved.records) < 0.7 * len(reprojection.sample.records):
                return Tried(changes, 1.0, float("nan"))
            reprojection = Reprojection(moved)
        fit = reprojection.fit(options)
        return Tried(changes, fit.error, fit.centimetres)

    def checks(self) -> Iterator[Check]:
        """One row per option that re-projection can judge."""
        for option, name in NAMES.items():
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
        if not alone:
            return Check(name, Verdict.UNSURE, "not tried", "the source stores poses with the images only")
        other = min(alone, key=lambda tried: tried.error)
        figure = f"{before}, {other.centimetres:.1f} cm with {option} = {_toml(other.changes[option])}"
        if option == "depth_scale":
            # centimetres of two scales do not compare: shares of depth do
            value = _toml(other.changes[option])
            figure = (
                f"{100 * self.given.error:.1f} % of depth as given, {100 * other.error:.1f} % with {option} = {value}"
            )
        if self.unmoved:
            return Check(name, Verdict.UNSURE, figure, "the camera hardly moves: give a stretch with motion")
        if self.changes:
            return Check(name, Verdict.OK, "fits once the fault found is corrected")
        numeric = option in {"depth_scale", "focal_factor", "pose_delay"}
        if other.error < SAME_FIT * self.given.error and not (numeric and self._small(other.changes)):
            return Check(name, Verdict.UNSURE, figure, "both fit: this motion cannot tell them apart")
        return Check(name, Verdict.OK, figure)

    def _pose_fit(self) -> Check:
        share = f"{self.best.centimetres:.1f} cm, {100 * self.best.error:.1f} % of depth"
        if self.unmoved:
            return Check("poses explain images", Verdict.UNSURE, share, "the camera hardly moves between the images")
        if self.best.error < UNEXPLAINED_ERROR:
            return Check("poses explain images", Verdict.OK, share)
        return Check(
            "poses explain images",
            Verdict.FAULT,
            share,
            "no known convention fits: are the poses of this camera (not of the robot's base) and of this clock?",
        )


def _has_trajectory(reprojection: Reprojection) -> bool:
    trajectory = reprojection.sample.trajectory
    return trajectory is not None and len(trajectory.stamps) >= 4


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
