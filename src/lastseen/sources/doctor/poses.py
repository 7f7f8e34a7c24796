"""Whether the poses can be right: stuck, jumping, or moving too little to see two sides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lastseen.config.memory import Views
from lastseen.geometry import Pose3D
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import UNEXPLAINED_ERROR, Reprojection, Sample
from lastseen.sources.options import SourceOptions

STATIC_DISTANCE, STATIC_ANGLE = 0.0005, 0.05
"""Metres and degrees: a pose that moves less while the images change is stuck. It is half a pixel; two pixels between
images of a hand that is held almost still change them as much as a walk does."""

CHANGED = 0.02
"""Mean change of colour between two images, as a share of white, above which the camera surely moved."""

JUMP_ERROR, JUMP_RATIO = 0.06, 6.0
"""A jump leaves an error of this share of depth, and so many times the usual one of neighbours (1 or 2 %)."""

JUMP_SPEED, JUMP_DISTANCE = 5.0, 0.3
"""Metres per second no home robot or walking hand reaches; steps below the metres are noise of a fast tracker."""

CELL = 0.25
"""Edge in metres of the cells in which view directions are gathered: about one object."""

MIN_TWO_SIDED = 0.4
"""Share of surface seen from two view bins under which few objects get confirmed."""


def judge_stillness(reprojection: Reprojection, options: SourceOptions) -> Check:
    """The check "poses move": equal poses while the images change mean a tracker that is lost or not connected."""
    name = "poses move"
    poses = reprojection.poses(options)
    pairs = [pair for pair in reprojection.pairs if pair[1] - pair[0] == 1] or list(reprojection.pairs)
    still = changed = stuck = 0
    for first, second in pairs:
        same = (
            poses[first].distance_to(poses[second]) < STATIC_DISTANCE
            and np.degrees(poses[first].angle_to(poses[second])) < STATIC_ANGLE
        )
        differs = _difference(reprojection.sample, first, second) > CHANGED
        still, changed, stuck = still + same, changed + differs, stuck + (same and differs)
    figure = f"{stuck} of {changed} image changes without a change of pose"
    if changed and stuck > 0.3 * changed and stuck >= 2:
        return Check(
            name, Verdict.FAULT, figure, "the tracker is stuck or its topic is wrong: record poses that move"
        )
    if not changed:
        return Check(name, Verdict.UNSURE, "the images do not change", "give a stretch in which the camera moves")
    return Check(name, Verdict.OK, figure)


def judge_jumps(reprojection: Reprojection, options: SourceOptions) -> Check:
    """The check "pose jumps": neighbours that disagree while the rest agrees, or a speed no robot has."""
    name = "pose jumps"
    pairs = [
        (index, index + 1)
        for index in range(len(reprojection.sample.records) - 1)
        if reprojection.sample.stretch[index] == reprojection.sample.stretch[index + 1]
    ]
    errors = reprojection.fit(options, pairs=pairs).pair_errors
    poses = reprojection.poses(options)
    steps = np.array([_step(poses[first], poses[second]) for first, second in pairs])
    if not len(errors):
        return Check(name, Verdict.UNSURE, "no neighbouring frames", "give a longer recording")
    usual = float(np.median(errors))
    # a large step alone is fast motion, a large error alone a moving person: a jump is both
    broken = (errors > max(JUMP_ERROR, JUMP_RATIO * usual)) & (steps > 2.0 * np.median(steps))
    fast = _too_fast(reprojection.sample)
    if usual > UNEXPLAINED_ERROR and not fast:
        return Check(
            name, Verdict.UNSURE, f"neighbours differ by {100 * usual:.0f} % of depth", "correct the faults first"
        )
    if broken.any() or fast:
        first = pairs[int(np.argmax(errors * broken))][1] if broken.any() else None
        where = fast or f"at stamp {reprojection.sample.records[first or 0].stamp:.3f}"
        return Check(
            name,
            Verdict.FAULT,
            f"{max(int(broken.sum()), 1)} jump(s), {where}",
            "a relocalisation or a lost tracker: cut the recording there, or give the correction as a transform",
        )
    return Check(
        name, Verdict.OK, f"neighbours differ by {100 * usual:.1f} % of depth, at most {100 * errors.max():.1f} %"
    )


def judge_views(reprojection: Reprojection, options: SourceOptions, views: Views) -> Check:
    """The check "seen from two sides": how much of the surface got two view bins, which confirming needs."""
    name = "seen from two sides"
    poses = reprojection.poses(options)
    cells: dict[tuple[int, int, int], set[int]] = {}
    for view, pose in zip(reprojection.views(options), poses, strict=True):
        points = pose.transform(view.points[::3])
        directions = pose.translation - points
        bins = _view_bins(directions, views)
        for key, one in zip(map(tuple, np.floor(points / CELL).astype(int)), bins, strict=True):
            cells.setdefault(key, set()).add(int(one))
    share = float(np.mean([len(seen) >= 2 for seen in cells.values()])) if cells else 0.0
    path = sum(first.distance_to(second) for first, second in pairwise(poses))
    figure = f"{100 * share:.0f} % of the surface, path {path:.1f} m"
    if share >= MIN_TWO_SIDED:
        return Check(name, Verdict.OK, figure)
    return Check(
        name,
        Verdict.WARN,
        figure,
        "too little camera motion to confirm objects: move around them, or --min-view-bins 1",
    )


def _view_bins(directions: NDArray[np.float64], views: Views) -> NDArray[np.intp]:
    length = np.maximum(np.linalg.norm(directions, axis=-1), 1e-9)
    azimuth = np.arctan2(directions[:, 1], directions[:, 0]) / (2.0 * np.pi) % 1.0
    elevation = (directions[:, 2] / length + 1.0) / 2.0
    column = np.minimum((azimuth * views.azimuth_bins).astype(int), views.azimuth_bins - 1)
    row = np.minimum((elevation * views.elevation_bins).astype(int), views.elevation_bins - 1)
    return row * views.azimuth_bins + column


def _difference(sample: Sample, first: int, second: int) -> float:
    one, other = (sample.records[index].rgb[::8, ::8].astype(np.float32) for index in (first, second))
    return float(np.abs(one - other).mean()) / 255.0 if one.shape == other.shape else 1.0


def _step(first: Pose3D, second: Pose3D) -> float:
    """Size of a motion: metres plus radians, which weigh alike at a metre's distance."""
    return first.distance_to(second) + first.angle_to(second)


def _too_fast(sample: Sample) -> str:
    trajectory = sample.trajectory
    if trajectory is None or len(trajectory.stamps) < 3:
        return ""
    distance = np.linalg.norm(np.diff(trajectory.translations, axis=0), axis=1)
    speed = distance / np.maximum(np.diff(trajectory.stamps), 1e-3)
    bad = (speed > JUMP_SPEED) & (distance > JUMP_DISTANCE)
    if not bad.any():
        return ""
    where = int(np.argmax(bad))
    seconds = float(np.diff(trajectory.stamps)[where])
    return f"{distance[where]:.2f} m within {seconds:.3f} s at stamp {trajectory.stamps[where]:.3f}"
