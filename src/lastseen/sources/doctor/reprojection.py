"""A sample of a source, and how well a set of conventions explains it by re-projecting depth between frames.

Depth of one frame moved into another must meet its depth. The sample is stretches of neighbouring frames spread over
the recording, and pairs of frames within them. The error is a share of the depth, so that hypotheses about scale
compare fairly, and it is averaged in the logarithm over pairs, so that one moving person or one bad pose does not
decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lastseen.frame import metric_depth
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.sources.base import RecordSource
from lastseen.sources.conversion import cameras, sensor_image, to_pose
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord, Trajectory

Pairs = Sequence[tuple[int, int]]

MAX_FRAMES = 60
"""Frames of a sample at most, six stretches of ten: enough to judge, seconds to read."""

MAX_BYTES = 256 * 2**20
"""Bytes of images in a sample at most: 60 frames of 1280x720, fewer of larger ones."""

STRETCH = 10
"""Frames in a row, so that neighbours show the same things."""

HOLE = 3.0
"""Usual steps from which a pause between two frames is a hole: one lost frame is none."""

SLOW = 10.0
"""Frames a second below which a camera may turn far from one frame to the next."""

PROBE = 600
"""Records a source of unknown length is read for at most."""

RUNS, MIN_PART = 4, 6
"""Runs of frames that a recording of few stretches is cut into, and pairs that each part must have."""

MAX_PAIR_ROTATION = 25.0
"""Degrees between two frames above which they overlap too little to be a pair."""

LOOKUP_WIDTH = 240
"""Columns of the depth image that are enough to look a moved point up in."""

POINTS = 1500
"""Depth points re-projected per pair: medians are stable from there on."""

SPARSE, REACH = 0.4, 6.0
"""Share of measured pixels below which a lookup takes the nearest one, and how many pixels away that may be."""

MIN_OVERLAP = 0.1
"""Share of points that must land in the other image."""

ERROR_FLOOR = 0.002
"""Share of depth that is sensor noise: a smaller error is luck."""

NEAR_DELAY = 0.25
"""Share of a delay by which stamps of two images may miss it."""

SAME_FIT = 1.25
"""Two readings whose errors differ by a smaller factor cannot be told apart by this motion."""

UNEXPLAINED_ERROR = 0.05
"""Share of depth: poses that leave more than this under every convention are wrong."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Records in the order of their stamps; neighbours of one stretch share its number."""

    records: tuple[RawRecord, ...]
    stretch: tuple[int, ...]
    intake: Intake
    trajectory: Trajectory | None
    edges: dict[tuple[object, ...], NDArray[np.complex128] | None] = field(default_factory=dict)
    """Spectra of edges in colour, which are compared with the outlines in depth of many hypotheses."""

    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of one stretch, near and further apart, as far as the camera rotated little between them."""
        found = self._pairs_of(1)
        for lag in (2, 4, 8, 16):
            pairs = self._pairs_of(lag)
            rotations = [self._rotation(first, second) for first, second in pairs]
            if not rotations or float(np.median(rotations)) > MAX_PAIR_ROTATION:
                break
            found += pairs
        # four dozen pairs tell as much as four hundred
        step = max(1, len(found) // 48)
        return found[::step]

    def parts(self, pairs: Pairs) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Pairs in two parts that share no frame: what is found on one is confirmed on the other.

        Every other stretch goes to the second part; a recording of few stretches is cut into runs of equal length.
        """
        runs = np.array(self.stretch)
        if len(np.unique(runs)) < RUNS:
            runs = np.arange(len(self.records)) * RUNS // max(len(self.records), 1)
        numbers = {run: number for number, run in enumerate(np.unique(runs).tolist())}
        found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for first, second in pairs:
            if runs[first] == runs[second]:
                found[numbers[int(runs[first])] % 2].append((first, second))
        if min(map(len, found)) >= MIN_PART:
            return found
        # too short for that: the parts share frames, though no pair
        return list(pairs[::2]), list(pairs[1::2]) or list(pairs)

    def near_pairs(self) -> list[tuple[int, int]]:
        """All pairs of one stretch that are one to four frames apart."""
        return [pair for lag in (1, 2, 4) for pair in self._pairs_of(lag)]

    def with_pose_delay(self, delay: float, *, max_gap: float) -> Sample:
        """The same images with their poses taken at stamps shifted by ``delay``; images without one are left out."""
        if self.trajectory is None:
            return self
        kept = []
        for record, stretch in zip(self.records, self.stretch, strict=True):
            pose = self.trajectory.at(record.stamp, max_gap=max_gap, delay=delay)
            if pose is not None:
                moved = replace(record, translation=pose.translation, quaternion=pose.quaternion)
                kept.append((moved, stretch))
        return Sample(
            tuple(record for record, _ in kept), tuple(stretch for _, stretch in kept), self.intake, self.trajectory
        )

    def with_depth_delay(self, delay: float) -> Sample:
        """The same colour images with the depth of those ``delay`` seconds earlier, as far as there are such."""
        stamps = np.array([record.stamp for record in self.records])
        kept = []
        for record, stretch in zip(self.records, self.stretch, strict=True):
            other = int(np.argmin(np.abs(stamps - (record.stamp - delay))))
            if abs(stamps[other] - (record.stamp - delay)) <= NEAR_DELAY * abs(delay):
                kept.append((replace(record, depth=self.records[other].depth), stretch))
        records, stretches = tuple(record for record, _ in kept), tuple(stretch for _, stretch in kept)
        return Sample(records, stretches, self.intake, self.trajectory, self.edges)

    def _pairs_of(self, lag: int) -> list[tuple[int, int]]:
        return [
            (first, first + lag)
            for first in range(len(self.records) - lag)
            if self.stretch[first] == self.stretch[first + lag]
        ]

    def _rotation(self, first: int, second: int) -> float:
        """The angle between two poses in degrees, the smaller one of the two quaternion orders."""
        a, b = self.records[first].quaternion, self.records[second].quaternion
        angles = []
        for order in (0, -1):
            one, other = (Pose3D(np.zeros(3), np.roll(q, order) / (np.linalg.norm(q) + 1e-12)) for q in (a, b))
            angles.append(np.degrees(one.angle_to(other)))
        return float(min(angles))


def take_sample(source: RecordSource, *, every: int = 1) -> Sample:
    """Read up to ``MAX_FRAMES`` records, all of a short recording, stretches of a long one; or every n-th of them."""
    if source.live:
        source.detector()  # waits for the first message: a silent stream is an error at once
    numbers = frozenset(sorted(_numbers(source.length(), source.trajectory()))[::every])
    records: list[RawRecord] = []
    stretches: list[int] = []
    taken = 0
    for record in source.records(wanted=numbers.__contains__):
        records.append(record)
        stretches.append(0)
        taken += record.rgb.nbytes + record.depth.nbytes
        if len(records) >= MAX_FRAMES or taken > MAX_BYTES:
            break
    period = float(np.median(np.diff([record.stamp for record in records]))) if len(records) > 2 else 0.0
    # frames on the two sides of a hole may share nothing: a new stretch begins there
    for index in range(1, len(records)):
        gap = records[index].stamp - records[index - 1].stamp
        stretches[index] = stretches[index - 1] + (gap > HOLE * period)
    return Sample(tuple(records), tuple(stretches), source.intake, source.trajectory())


def _numbers(length: int | None, trajectory: Trajectory | None) -> frozenset[int] | range:
    if length is None:
        return range(0, PROBE, max(1, PROBE // MAX_FRAMES // 2))
    if length <= 1.5 * MAX_FRAMES:
        return range(min(length, MAX_FRAMES))
    # within a stretch every third frame: at 30 Hz neighbours then lie 0.1 s apart. A slow recording that every other
    # frame covers whole is taken so; of a longer one each frame counts, or neighbours would see other things
    step = max(1, min(3, length // MAX_FRAMES))
    if step > 2 and (trajectory is None or length < SLOW * float(np.ptp(trajectory.stamps))):
        step = 1
    count = max(1, MAX_FRAMES // STRETCH)
    starts = np.linspace(0, max(0, length - STRETCH * step), count).astype(int)
    return frozenset(int(start) + step * index for start in starts for index in range(STRETCH))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The error of one hypothesis: per pair as a share of depth (1 where nothing overlaps) and overall in cm."""

    pair_errors: NDArray[np.float64]
    centimetres: float

    @property
    def error(self) -> float:
        """The logarithmic mean over pairs, errors under the sensor's noise counted as noise."""
        if not len(self.pair_errors):
            return 1.0
        return float(np.exp(np.log(np.clip(self.pair_errors, ERROR_FLOOR, 1.0)).mean()))


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """What re-projection needs of one record: metric depth, its camera, and a grid of its points."""

    depth: NDArray[np.float32]
    camera: Intrinsics
    points: NDArray[np.float32]
    inverse: NDArray[np.float32]
    """1 / depth, which is linear across a plane: looked up between pixels."""


class Reprojection:
    """Tries options on one sample; depth images and poses are converted once per way of reading them."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.pairs = sample.pairs()
        self.parts = sample.parts(self.pairs)
        self._views: tuple[SourceOptions, list[View]] | None = None
        self._poses: tuple[tuple[object, ...], list[Pose3D]] | None = None
        self._depths: dict[int, tuple[tuple[object, ...], NDArray[np.float32], NDArray[np.float32]]] = {}

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
            errors, depths, overlap = _differences(moved, views[second].inverse, views[second].camera)
            if len(errors) < 30 or overlap < MIN_OVERLAP:
                relative.append(1.0)
                continue
            relative.append(min(1.0, _median(errors / depths)))
            absolute.append(_median(errors))
        return Fit(np.array(relative), 100.0 * float(np.median(absolute)) if absolute else float("nan"))

    def error(self, options: SourceOptions) -> float:
        """The overall error under these options, as a share of depth."""
        return self.fit(options).error

    def poses(self, options: SourceOptions) -> list[Pose3D]:
        """T_world_camera of every record under these options, before any turn to upright."""
        key = (
            options.pose_inverted,
            options.camera_axes,
            options.quaternion_order,
            options.world_up,
            options.pose_scale,
        )
        if self._poses is None or self._poses[0] != key:
            records = self.sample.records
            self._poses = (key, [to_pose(one.translation, _unit(one.quaternion), options) for one in records])
        return self._poses[1]

    def views(self, options: SourceOptions) -> list[View]:
        """Depth as these options read it."""
        key = options.replaced(
            pose_inverted=False,
            camera_axes="opencv",
            quaternion_order="xyzw",
            world_up="z",
            pose_delay=0.0,
            pose_scale=1.0,
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
        depth, inverse = self._depth(index, options, stride)
        camera = camera.thinned(stride)
        step = max(1, int(np.sqrt(depth.size / POINTS)))
        rows, columns = (np.arange(step // 2, size, step) for size in depth.shape)
        z = depth[np.ix_(rows, columns)]
        x = (columns - camera.cx) / camera.fx
        y = (rows - camera.cy) / camera.fy
        points = np.stack([z * x[np.newaxis], z * y[:, np.newaxis], z], axis=-1).reshape(-1, 3)
        return View(depth, camera, points[np.isfinite(points[:, 2])].astype(np.float32), inverse)

    def _depth(
        self, index: int, options: SourceOptions, stride: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Metric depth of a record and 1 / depth to look up in; kept, as most hypotheses leave them as they are."""
        record = self.sample.records[index]
        scale = options.depth_scale or record.raw_per_metre
        key = (scale, options.images_turned, options.mirrored, options.min_confidence, stride)
        kept = self._depths.get(index)
        if kept is not None and kept[0] == key:
            return kept[1:]
        thinned = (slice(stride // 2, None, stride), slice(stride // 2, None, stride))
        depth = metric_depth(sensor_image(record.depth, options)[thinned], scale=scale)
        if record.confidence is not None and options.min_confidence:
            depth[sensor_image(record.confidence, options)[thinned] < options.min_confidence] = np.nan
        looked_up = depth
        if np.isfinite(depth).mean() < SPARSE:
            # between lone pixels nothing could be looked up
            away, nearest = ndimage.distance_transform_edt(np.isnan(depth), return_indices=True)
            looked_up = np.where(away <= REACH, depth[tuple(nearest)], np.nan).astype(np.float32)
        self._depths[index] = (key, depth, 1.0 / looked_up)
        return self._depths[index][1:]


def _unit(quaternion: NDArray[np.float64]) -> NDArray[np.float64]:
    """The doctor judges directions; a quaternion that is not quite a unit is judged elsewhere."""
    length = float(np.linalg.norm(quaternion))
    return quaternion / length if length > 1e-9 else np.array([0.0, 0.0, 0.0, 1.0])


def between_pixels(image: NDArray[np.float32], u: NDArray[np.float32], v: NDArray[np.float32]) -> NDArray[np.float32]:
    """Values of an image at points between its pixels, by the four around each; NaN where one of them is."""
    column, row = u.astype(np.intp), v.astype(np.intp)
    right, below = u - column, v - row
    above = image[row, column] * (1 - right) + image[row, column + 1] * right
    under = image[row + 1, column] * (1 - right) + image[row + 1, column + 1] * right
    return above * (1 - below) + under * below


def _median(values: NDArray[np.float32]) -> float:
    """The median as numpy gives it, whose checks cost more than its work where ten thousand are asked for."""
    half = len(values) // 2
    if len(values) % 2:
        return float(np.partition(values, half)[half])
    ordered = np.partition(values, (half - 1, half))
    return float((ordered[half - 1] + ordered[half]) / np.float32(2))


def _differences(
    points: NDArray[np.float32], inverse: NDArray[np.float32], camera: Intrinsics
) -> tuple[NDArray[np.float32], NDArray[np.float32], float]:
    """Depth differences where points land, the smaller depth of each, and the share of points that land."""
    z = points[:, 2]
    front = z > 1e-3
    z = z[front]
    u = points[front, 0] / z * camera.fx + camera.cx
    v = points[front, 1] / z * camera.fy + camera.cy
    inside = (u >= 0) & (u < camera.width - 1) & (v >= 0) & (v < camera.height - 1)
    measured = 1.0 / between_pixels(inverse, u[inside], v[inside])
    valid = np.isfinite(measured)
    moved, seen = z[inside][valid], measured[valid]
    return np.abs(seen - moved), np.minimum(seen, moved), float(inside.sum()) / max(len(points), 1)
