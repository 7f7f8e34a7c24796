"""How well a set of conventions explains the data: depth of one frame moved into another must meet its depth.

The error is a share of the depth, so that hypotheses about scale compare fairly, and it is averaged in the
logarithm over pairs of frames, so that one moving person or one bad pose does not decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.doctor import Doctor
from lastseen.frame import metric_depth
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.sources.conversion import cameras, sensor_image, to_pose
from lastseen.sources.doctor.sample import Sample
from lastseen.sources.options import SourceOptions

Pairs = Sequence[tuple[int, int]]

LOOKUP_WIDTH = 240
"""Columns of the depth image that are enough to look a moved point up in."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The error of one hypothesis: per pair as a share of depth (1 where nothing overlaps) and overall in cm."""

    pair_errors: NDArray[np.float64]
    centimetres: float

    def error(self, floor: float) -> float:
        """The logarithmic mean over pairs, errors under the sensor's noise counted as noise."""
        return float(np.exp(np.log(np.clip(self.pair_errors, floor, 1.0)).mean())) if len(self.pair_errors) else 1.0


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What re-projection needs of one record: metric depth, its camera, and a grid of its points."""

    depth: NDArray[np.float32]
    camera: Intrinsics
    points: NDArray[np.float32]


class Reprojection:
    """Tries options on one sample; depth images and poses are converted once per way of reading them."""

    def __init__(self, sample: Sample, pairs: Pairs, config: Doctor) -> None:
        self.sample = sample
        self.pairs = pairs
        self._config = config
        self._views: tuple[SourceOptions, list[View]] | None = None
        self._poses: tuple[tuple[bool, str, str, str], list[Pose3D]] | None = None

    def fit(self, options: SourceOptions, *, pairs: Pairs | None = None, still: bool = False) -> Fit:
        """The fit under these options; ``still`` asks how well a camera that never moved explains the images."""
        views = self.views(options)
        poses = self.poses(options)
        relative, absolute = [], []
        for first, second in self.pairs if pairs is None else pairs:
            moved = views[first].points
            if not still:
                # by matrices: composing poses costs more than all the rest of a pair
                turn = poses[second].rotation.T @ poses[first].rotation
                shift = poses[second].rotation.T @ (poses[first].translation - poses[second].translation)
                moved = moved @ turn.T.astype(np.float32) + shift.astype(np.float32)
            errors, depths, overlap = _differences(moved, views[second].depth, views[second].camera)
            if len(errors) < 30 or overlap < self._config.min_overlap:
                relative.append(1.0)
                continue
            relative.append(min(1.0, float(np.median(errors / depths))))
            absolute.append(float(np.median(errors)))
        return Fit(np.array(relative), 100.0 * float(np.median(absolute)) if absolute else float("nan"))

    def error(self, options: SourceOptions) -> float:
        """The overall error under these options, as a share of depth."""
        return self.fit(options).error(self._config.error_floor)

    def poses(self, options: SourceOptions) -> list[Pose3D]:
        """T_world_camera of every record under these options, before any turn to upright."""
        key = (options.pose_inverted, options.camera_axes, options.quaternion_order, options.world_up)
        if self._poses is None or self._poses[0] != key:
            records = self.sample.records
            self._poses = (key, [to_pose(one.translation, _unit(one.quaternion), options) for one in records])
        return self._poses[1]

    def views(self, options: SourceOptions) -> list[View]:
        """Depth as these options read it."""
        key = options.replaced(
            pose_inverted=False, camera_axes="opencv", quaternion_order="xyzw", world_up="z", pose_delay=0.0
        )
        if self._views is None or self._views[0] != key:
            self._views = (key, [self._view(index, options) for index in range(len(self.sample.records))])
        return self._views[1]

    def _view(self, index: int, options: SourceOptions) -> View:
        record = self.sample.records[index]
        color_camera, depth_camera = cameras(record, options)
        camera = depth_camera or color_camera
        # every n-th pixel of a large image: a lookup needs no more than a small one holds
        stride = max(1, camera.width // LOOKUP_WIDTH)
        thinned = (slice(stride // 2, None, stride), slice(stride // 2, None, stride))
        raw = sensor_image(record.depth, options)[thinned]
        depth = metric_depth(raw, scale=options.depth_scale or record.raw_per_metre)
        if record.confidence is not None and options.min_confidence:
            depth[sensor_image(record.confidence, options)[thinned] < options.min_confidence] = np.nan
        camera = Intrinsics(
            camera.fx / stride,
            camera.fy / stride,
            (camera.cx - stride // 2) / stride,
            (camera.cy - stride // 2) / stride,
            depth.shape[1],
            depth.shape[0],
        )
        step = max(1, int(np.sqrt(depth.size / self._config.points)))
        rows, columns = (np.arange(step // 2, size, step) for size in depth.shape)
        z = depth[np.ix_(rows, columns)]
        x = (columns - camera.cx) / camera.fx
        y = (rows - camera.cy) / camera.fy
        points = np.stack([z * x[np.newaxis], z * y[:, np.newaxis], z], axis=-1).reshape(-1, 3)
        return View(depth, camera, points[np.isfinite(points[:, 2])].astype(np.float32))


def _unit(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """The doctor judges directions; a quaternion that is not quite a unit is judged elsewhere."""
    length = float(np.linalg.norm(quaternion))
    return quaternion / length if length > 1e-9 else np.array([0.0, 0.0, 0.0, 1.0])


def _differences(
    points: NDArray[np.float32], depth: NDArray[np.float32], camera: Intrinsics
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Depth differences where points land, the smaller depth of each, and the share of points that land."""
    z = points[:, 2]
    front = z > 1e-3
    z = z[front]
    u = np.rint(points[front, 0] / z * camera.fx + camera.cx)
    v = np.rint(points[front, 1] / z * camera.fy + camera.cy)
    inside = (u >= 0) & (u < camera.width) & (v >= 0) & (v < camera.height)
    measured = depth[v[inside].astype(np.intp), u[inside].astype(np.intp)]
    valid = np.isfinite(measured)
    moved, seen = z[inside][valid], measured[valid]
    return np.abs(seen - moved), np.minimum(seen, moved), float(inside.sum()) / max(len(points), 1)
