"""Whether the tracker that gave the poses was good: noise from frame to frame, and slow drift over the recording.

Depth of one frame is aligned with that of another (point to plane) starting from the stored poses. What the alignment
moves, and how much better it fits, is the error of the poses between these two frames.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from lastseen.geometry import Pose3D
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import Reprojection, View, between_pixels
from lastseen.sources.options import SourceOptions

NOISE_GAIN = 0.6
"""Share of the error that aligning must leave, for the poses to be the cause of it."""

NOISE_DISTANCE, NOISE_ANGLE = 0.08, 2.0
"""Metres and degrees from frame to frame above which objects are smeared. Odometry of wheels stays below, and so does
a localizer with noise of 2 cm and a degree, of which an alignment that slides along plain walls makes 5 to 7 cm."""

MAX_NOISE_TURN = 25.0
"""Degrees between two frames that are aligned at most: further apart they show half of the same or less."""

DRIFT_DISTANCE, DRIFT_ANGLE = 0.08, 4.0
"""Metres and degrees by which a place seen again may be off: half a step of the memory's association."""

DRIFT_RATIO = 3.0
"""How many times the error between neighbours a drift must have."""

MAX_PAIRS = 24
"""Pairs that are aligned at most, of neighbours and of places seen again."""

FAR, NEAR = 0.6, 0.3
"""Metres between two points that may be the same, while the alignment begins and as it ends."""

STEPS = 12
"""Iterations of the alignment."""


def judge_noise(reprojection: Reprojection, options: SourceOptions) -> Check:
    """The check "pose noise": what aligning neighbours moves, where it makes them fit much better."""
    name = "pose noise"
    sample = reprojection.sample
    pairs = [
        (index, index + 1)
        for index in range(len(sample.records) - 1)
        if sample.stretch[index] == sample.stretch[index + 1]
    ]
    poses = reprojection.poses(options)
    # frames that turned far share too little: aligning them slides, and that would be called noise
    pairs = [pair for pair in pairs if np.degrees(poses[pair[0]].angle_to(poses[pair[1]])) < MAX_NOISE_TURN]
    moved = _moved(reprojection, options, pairs[:: max(1, len(pairs) // MAX_PAIRS)])
    if len(moved) < 4:
        return Check(name, Verdict.UNSURE, "too few frames can be aligned", "give a longer recording")
    distance, angle, before, after = np.median(np.array(moved), axis=0)
    figure = f"{100 * distance:.1f} cm and {angle:.1f} deg from frame to frame"
    noisy = distance > NOISE_DISTANCE or angle > NOISE_ANGLE
    if noisy and after < NOISE_GAIN * before:
        return Check(name, Verdict.FAULT, figure, "the poses shake: smooth them, or use --poses odometry")
    return Check(name, Verdict.OK, figure if after < NOISE_GAIN * before else "no more than depth itself has")


def judge_drift(reprojection: Reprojection, options: SourceOptions) -> Check:
    """The check "drift": whether a place that is seen again much later is where it was."""
    name = "drift"
    pairs = _seen_again(reprojection, options)
    neighbours = [pair for pair in reprojection.pairs if pair[1] - pair[0] == 1]
    near = _moved(reprojection, options, neighbours[:MAX_PAIRS])
    again = _moved(reprojection, options, pairs)
    if len(again) < 3 or len(near) < 3:
        return Check(
            name, Verdict.UNSURE, "no place is seen again", "walk back to where you began, and it can be told"
        )
    usual = np.median(np.array(near), axis=0)
    distance, angle, before, after = np.median(np.array(again), axis=0)
    figure = f"places seen again are off by {100 * distance:.1f} cm and {angle:.1f} deg"
    off = distance > max(DRIFT_DISTANCE, DRIFT_RATIO * usual[0]) or angle > max(DRIFT_ANGLE, DRIFT_RATIO * usual[1])
    if off and after < NOISE_GAIN * before:
        return Check(name, Verdict.WARN, figure, "the tracker drifts: give poses with its loops closed, if it can")
    return Check(name, Verdict.OK, figure if after < NOISE_GAIN * before else "places seen again fit")


def align(first: View, second: View, T_second_first: Pose3D) -> tuple[Pose3D, float, float] | None:
    """T_second_first that fits depth best, and the median error before and after (metres); None without overlap."""
    normals = _normal_image(second)
    rotation, translation = T_second_first.rotation.copy(), T_second_first.translation.copy()
    before = after = np.nan
    for step in range(STEPS + 1):
        moved = first.points @ rotation.T + translation
        z = moved[:, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            u = moved[:, 0] / z * second.camera.fx + second.camera.cx
            v = moved[:, 1] / z * second.camera.fy + second.camera.cy
        inside = (z > 0.05) & (u >= 1) & (u < second.camera.width - 2) & (v >= 1) & (v < second.camera.height - 2)
        if inside.sum() < 100:
            return None
        u, v, points = u[inside], v[inside], moved[inside]
        depth = 1.0 / between_pixels(second.inverse, u.astype(np.float32), v.astype(np.float32))
        normal = normals[np.rint(v).astype(int), np.rint(u).astype(int)]
        seen = np.stack(
            [
                (u - second.camera.cx) / second.camera.fx * depth,
                (v - second.camera.cy) / second.camera.fy * depth,
                depth,
            ],
            axis=1,
        )
        error = ((seen - points) * normal).sum(axis=1)
        valid = np.isfinite(error) & (np.abs(seen[:, 2] - points[:, 2]) < (FAR if step < STEPS // 2 else NEAR))
        if valid.sum() < 80:
            return None
        error, points, normal = error[valid], points[valid], normal[valid]
        after = float(np.median(np.abs(error)))
        before = after if step == 0 else before
        if step == STEPS:
            break
        width = 2.0 * after + 1e-4
        weight = width / np.maximum(np.abs(error), width)
        rows = np.concatenate([np.cross(points, normal), normal], axis=1)
        # a little damping keeps a plain wall from sliding along itself
        damping = 1e-3 * len(rows) * np.diag([0.1, 0.1, 0.1, 1.0, 1.0, 1.0])
        change = np.linalg.solve(rows.T @ (rows * weight[:, np.newaxis]) + damping, rows.T @ (weight * error))
        turn = Rotation.from_rotvec(change[:3]).as_matrix()
        rotation, translation = turn @ rotation, turn @ translation + change[3:]
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation, translation
    return Pose3D.from_matrix(matrix), before, after


def _moved(
    reprojection: Reprojection, options: SourceOptions, pairs: list[tuple[int, int]]
) -> list[tuple[float, float, float, float]]:
    """For each pair what aligning moved it (metres, degrees), and the error before and after."""
    views, poses = reprojection.views(options), reprojection.poses(options)
    found = []
    for first, second in pairs:
        start = poses[second].inverse() @ poses[first]
        aligned = align(views[first], views[second], start)
        if aligned is not None:
            pose, before, after = aligned
            found.append((start.distance_to(pose), float(np.degrees(start.angle_to(pose))), before, after))
    return found


def _seen_again(reprojection: Reprojection, options: SourceOptions) -> list[tuple[int, int]]:
    """Pairs of frames of two stretches of the recording, or far apart in one, that look at the same thing."""
    sample, poses = reprojection.sample, reprojection.poses(options)
    views = reprojection.views(options)
    stamps = [record.stamp for record in sample.records]
    long = 0.4 * (stamps[-1] - stamps[0])
    centers = [
        pose.translation + float(np.median(view.points[:, 2])) * pose.rotation[:, 2] if len(view.points) else None
        for pose, view in zip(poses, views, strict=True)
    ]
    found = []
    for first in range(len(poses)):
        for second in range(first + 1, len(poses)):
            one, other = centers[first], centers[second]
            if stamps[second] - stamps[first] < long or one is None or other is None:
                continue
            apart = float(np.linalg.norm(one - other)) + poses[first].distance_to(poses[second])
            if poses[first].angle_to(poses[second]) < 0.5 and apart < 1.0:
                found.append((apart, first, second))
    return [(first, second) for _, first, second in sorted(found)[:MAX_PAIRS]]


def _normal_image(view: View) -> NDArray[np.float64]:
    """Unit normals of a depth image; NaN at edges and where nothing was measured."""
    points = view.camera.unproject_image(view.depth).astype(np.float64)
    normals = np.full(points.shape, np.nan)
    across = points[1:-1, 2:] - points[1:-1, :-2]
    down = points[2:, 1:-1] - points[:-2, 1:-1]
    found = np.cross(down, across)
    limit = 0.1 * points[1:-1, 1:-1, 2]
    with np.errstate(invalid="ignore"):
        smooth = (np.abs(across[..., 2]) < limit) & (np.abs(down[..., 2]) < limit)
        found /= np.linalg.norm(found, axis=-1, keepdims=True)
    found[~smooth] = np.nan
    normals[1:-1, 1:-1] = found
    return normals
