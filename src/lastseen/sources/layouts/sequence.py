"""What all folder layouts share: a list of shots (colour, depth, pose by number), read one at a time as records.

A layout's module says whether a folder is of its kind (``matches``) and lists what is in it (``read``); poses leave
it as 4 x 4 matrices T_world_camera with OpenCV's camera axes and z up, where the layout documents its axes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from lastseen.errors import InvalidValue, SettingsError, SourceError
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up
from lastseen.images import read_color
from lastseen.protocols import Detector
from lastseen.sources.base import RecordSource
from lastseen.sources.conversion import camera_from_options
from lastseen.sources.detections import RecordedDetections
from lastseen.sources.layouts.files import read_plane, short
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_DEPTH, NO_POSE, Intake, RawRecord, StoredPose, Trajectory

FRAME_RATE = 30.0
"""Frames a second where a layout has no stamps: that of the sensors these layouts come from."""

MAX_SKEW = 0.02
"""How far from a rotation a stored matrix may be: files round, and 7-Scenes' poses are off by half a percent."""

NO_STAMPS = "the layout has no stamps: frames are taken at 30 Hz"
NO_PICTURE = "no such picture in the video"
OTHER_SIZE = "image of another size"


@dataclass(frozen=True, slots=True, eq=False)
class Shot:
    """One frame of a layout: files of its images, its pose, and a camera of its own where it has one."""

    stamp: float
    color: Path | int
    """A file, or the number of a picture in a video."""
    depth: Path | None
    pose: NDArray[np.float64] | None
    """T_world_camera; None where it is lost, or the poses come by stamp."""
    confidence: Path | None = None
    intrinsics: Intrinsics | None = None
    depth_stamp: float | None = None
    problem: str = ""
    """Why there is no depth, where the layout knows more than that."""


@dataclass(slots=True)
class Sequence:
    """A recording as a layout describes it."""

    shots: list[Shot]
    intrinsics: Intrinsics | None
    raw_per_metre: float
    depth_intrinsics: Intrinsics | None = None
    read_bytes: Callable[[Path], Path | bytes] | None = None
    """Reads a file where the paths are those inside an archive; a path it returns is a file of its own."""
    decode_depth: Callable[[bytes, str], NDArray[np.generic]] | None = None
    """Decodes depth that is no image: its bytes and its name."""
    decode_confidence: Callable[[bytes, str], NDArray[np.generic]] | None = None
    colors: Callable[[Callable[[int], bool]], Iterator[NDArray[np.uint8]]] | None = None
    """Yields the pictures of a video that are wanted, by number."""
    intake: Intake = field(default_factory=Intake)
    """What was noted and counted while the folder was listed."""
    trajectory: Trajectory | None = None
    """Poses by stamp, where they do not belong to single images: they are interpolated."""
    depth_stamps: NDArray[np.float64] | None = None
    """Stamps of all depth images, where they have their own."""
    detections: Path | None = None
    """Detections that lie beside the images, as ``detections.jsonl``."""
    scale_known: bool = False
    """Whether a file says ``raw_per_metre``: where none does, it is of integers only, and floats are metres."""
    invalid_depth: int = 0
    """A raw value that means nothing was measured, beside 0."""
    close: Callable[[], None] = lambda: None


class SequenceSource(RecordSource):
    """Frames of a folder or file in one of the layouts."""

    def __init__(
        self,
        path: str | Path,
        options: SourceOptions | None,
        *,
        layout: str,
        read: Callable[[Path, SourceOptions], Sequence],
    ) -> None:
        super().__init__(str(path), options)
        self.layout, self._read = layout, read
        self._first_sizes: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._list()
        if not self._sequence.shots:
            raise SourceError(layout, str(path), "has no frame", remedy="check that the folder was copied whole")
        if self._sequence.intrinsics is None and all(shot.intrinsics is None for shot in self._sequence.shots):
            remedy = "write fx, fy, cx, cy into camera.json there, or --set fx=... --set fy=..."
            camera_from_options(self.options, (1, 1), where=str(path), remedy=remedy)
        if self.options.depth_delay and self._sequence.depth_stamps is None:
            raise SettingsError(
                "source options.depth_delay",
                self.options.depth_delay,
                f"means nothing to {layout}: its depth has no stamps",
                remedy="leave it out",
            )

    def _list(self) -> None:
        self._listed = self.options
        try:
            self._sequence = self._read(Path(self.address), self.options)
        except InvalidValue as error:
            if isinstance(error, SourceError):
                raise
            # a number that is no camera's: whoever checks it does not know which recording it is of
            raise SourceError(
                f"{self.address}: {error.field}", error.value, error.problem, remedy=error.remedy
            ) from error
        self._sequence.shots.sort(key=lambda shot: shot.stamp)
        if self._sequence.depth_intrinsics == self._sequence.intrinsics:
            # one camera said twice
            self._sequence.depth_intrinsics = None

    def length(self) -> int:
        """How many colour images there are."""
        return len(self._sequence.shots)

    def trajectory(self) -> Trajectory | None:
        """The poses by stamp, or those of the shots that have one."""
        if self._sequence.trajectory is not None:
            return self._sequence.trajectory
        known = [(shot.stamp, _numbers(shot.pose)) for shot in self._sequence.shots if shot.pose is not None]
        rows = [(stamp, *numbers) for stamp, numbers in known if numbers is not None]
        if not rows:
            return None
        table = np.array(rows)
        return Trajectory(table[:, 0], table[:, 1:4], table[:, 4:8])

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records by stamp; what is missing or cannot be read is counted."""
        if self.options != self._listed:
            # which images are a pair may depend on the options
            self.close()
            self._list()
        self.intake = copy.deepcopy(self._sequence.intake)
        self._poses = self.trajectory() if self.options.pose_delay else self._sequence.trajectory
        picked = [number for number in range(self.length()) if wanted is None or wanted(number)]
        for number, rgb in self._colored(picked):
            shot = self._sequence.shots[number]
            try:
                record = self._record(shot, rgb)
            except SourceError as error:
                self.intake.skip(f"unreadable {Path(error.field).parent.name or 'image'}", str(error))
                continue
            if record is not None:
                yield record

    def stamps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The stamps of colour and depth, where depth has its own."""
        depth = self._sequence.depth_stamps
        return None if depth is None else (np.array([shot.stamp for shot in self._sequence.shots]), depth)

    def detector(self) -> Detector | None:
        """The detections that lie in the folder, where there are any."""
        path = self._sequence.detections
        return None if path is None else RecordedDetections.read(path, self.options)

    def close(self) -> None:
        """Release what the layout holds open."""
        self._sequence.close()

    def _colored(self, picked: list[int]) -> Iterator[tuple[int, NDArray[np.uint8] | None]]:
        """Each picked shot with its picture, where that comes from a video; None where it is read from a file."""
        shots, colors = self._sequence.shots, self._sequence.colors
        if colors is None:
            yield from ((number, None) for number in picked)
            return
        by_picture = {shots[number].color: number for number in picked}
        ordered = sorted(picture for picture in by_picture if isinstance(picture, int))
        there = 0
        for picture, rgb in zip(ordered, colors(by_picture.__contains__), strict=False):
            there += 1
            yield by_picture[picture], rgb
        for picture in ordered[there:]:
            self.intake.skip(NO_PICTURE, f"picture {picture}")

    def _record(self, shot: Shot, rgb: NDArray[np.uint8] | None) -> RawRecord | None:
        sequence, limit = self._sequence, self.options.max_pixels
        name = f"stamp {shot.stamp:.6f}" + (f" ({short(shot.color)})" if isinstance(shot.color, Path) else "")
        if shot.depth is None:
            self.intake.skip(NO_DEPTH, f"{name}: {shot.problem}" if shot.problem else name)
            return None
        pose = self._pose(shot)
        if pose is None:
            self.intake.skip(NO_POSE, f"{name}: {self._why_unposed(shot.stamp)}")
            return None
        if not self._is_wanted(shot.stamp, pose.translation, pose.quaternion):
            return None
        if rgb is None:
            assert isinstance(shot.color, Path)
            rgb = read_color(self._data(shot.color), name=short(shot.color), max_pixels=limit)
        depth = self._plane(shot.depth, sequence.decode_depth)
        if sequence.invalid_depth:
            depth = np.where(depth == sequence.invalid_depth, 0, depth)
        problem = self._other_size(shot, rgb.shape[:2], depth.shape)
        if problem:
            self.intake.skip(OTHER_SIZE, problem)
            return None
        if depth.dtype.itemsize == 1:
            raise SourceError(
                short(shot.depth), "8 bits", "is a picture of depth, not depth", remedy="store it with 16 bits"
            )
        confidence = None
        if shot.confidence is not None:
            confidence = self._plane(shot.confidence, sequence.decode_confidence).astype(np.uint8)
        metres = not sequence.scale_known and depth.dtype.kind == "f"
        camera = shot.intrinsics or sequence.intrinsics
        if camera is None:
            camera = camera_from_options(self.options, rgb.shape[1::-1], where=self.address)
        return RawRecord(
            stamp=shot.stamp,
            rgb=rgb,
            depth=depth,
            raw_per_metre=1.0 if metres else sequence.raw_per_metre,
            translation=pose.translation,
            quaternion=pose.quaternion,
            intrinsics=camera,
            depth_intrinsics=sequence.depth_intrinsics,
            confidence=confidence,
            depth_stamp=shot.stamp if shot.depth_stamp is None else shot.depth_stamp,
            pose_stamp=pose.stamp,
        )

    def _other_size(self, shot: Shot, color: tuple[int, ...], depth: tuple[int, ...]) -> str:
        """What is wrong where depth's size is to colour's not as in the first frame: its view is unknown then."""
        self._first_sizes = self._first_sizes or (color, depth)
        first_color, first_depth = self._first_sizes
        if all(abs(first_depth[k] * color[k] - depth[k] * first_color[k]) <= color[k] + depth[k] for k in (0, 1)):
            return ""
        odd, first = (depth, first_depth) if depth != first_depth else (color, first_color)
        image = shot.depth if odd is depth else shot.color
        name = short(image) if isinstance(image, Path) else f"picture {image}"
        return f"{name} is {odd[1]}x{odd[0]}, the first one {first[1]}x{first[0]}: resize it, or drop it"

    def _pose(self, shot: Shot) -> StoredPose | None:
        """The pose of a shot as stored; the origin where the images themselves will tell it."""
        options = self.options
        if options.poses == "odometry":
            return StoredPose(np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]), shot.stamp)
        if self._poses is not None:
            return self._poses.at(shot.stamp, max_gap=options.max_pose_gap, delay=options.pose_delay)
        numbers = None if shot.pose is None else _numbers(shot.pose)
        return None if numbers is None else StoredPose(np.array(numbers[:3]), np.array(numbers[3:]), shot.stamp)

    def _why_unposed(self, stamp: float) -> str:
        if self._poses is None:
            return "no pose, or none that is a rigid motion"
        first, last = (float(self._poses.stamps[at]) for at in (0, -1))
        if first <= stamp + self.options.pose_delay <= last:
            return f"the poses around it are over {self.options.max_pose_gap:g} s apart (max_pose_gap)"
        start, end = (self._sequence.shots[at].stamp for at in (0, -1))
        reach = f"poses reach from {first:.3f} to {last:.3f}"
        if first <= end and start <= last:
            return reach
        return f"{reach}; if they begin with the images, --set pose_delay={first - start:.3f}"

    def _data(self, path: Path) -> Path | bytes:
        return path if self._sequence.read_bytes is None else self._sequence.read_bytes(path)

    def _plane(self, path: Path, decode: Callable[[bytes, str], NDArray[np.generic]] | None) -> NDArray[np.generic]:
        """Depth or confidence: an image, or what ``decode`` makes of the bytes."""
        data = self._data(path)
        if decode is None or path.suffix.lower() == ".npy":
            return read_plane(data, path, max_pixels=self.options.max_pixels)
        return decode(path.read_bytes() if isinstance(data, Path) else data, short(path))


def fitted(fx: float, fy: float, cx: float, cy: float, size: tuple[int, int]) -> Intrinsics:
    """Intrinsics for images of this size; where the principal point says that they are of another size, scaled."""
    width, height = size
    if fx <= 0 or fy <= 0 or cx <= 0 or cy <= 0:
        raise SourceError("intrinsics", (fx, fy, cx, cy), "must be positive", remedy="give fx, fy, cx, cy in pixels")
    if abs(2 * cx / width - 1) < 0.2 and abs(2 * cy / height - 1) < 0.2:
        return Intrinsics(fx, fy, cx, cy, width, height)
    return Intrinsics(fx, fy, cx, cy, round(2 * cx), round(2 * cy)).resized(width, height)


def pose_matrix(translation: ArrayLike, quaternion: ArrayLike) -> NDArray[np.float64] | None:
    """T from a translation and a quaternion (x, y, z, w); None where they are none."""
    numbers = np.asarray(quaternion, dtype=np.float64)
    length = float(np.linalg.norm(numbers))
    if not np.isfinite(length) or abs(length - 1.0) > MAX_SKEW:
        return None
    whole = np.eye(4)
    whole[:3, :3] = Rotation.from_quat(numbers).as_matrix()
    whole[:3, 3] = translation
    return whole


def converted(pose: NDArray[np.float64] | None, axes: CameraAxes, up: WorldUp) -> NDArray[np.float64] | None:
    """A pose of a layout with these camera axes and this vertical, in ours; None where it is no rigid motion."""
    numbers = None if pose is None else _numbers(pose)
    if numbers is None:
        return None
    stored = Pose3D(np.array(numbers[:3]), np.array(numbers[3:]))
    return world_to_z_up(camera_to_opencv(stored, axes), up).matrix


def _numbers(pose: NDArray[np.float64]) -> tuple[float, ...] | None:
    """Translation and quaternion of a 4 x 4 matrix, its rotation made exact; None where it is no rigid motion."""
    if pose.shape != (4, 4) or not np.isfinite(pose).all():
        return None
    left, _, right = np.linalg.svd(pose[:3, :3])
    rotation = left @ right
    if np.linalg.det(rotation) < 0 or np.abs(rotation - pose[:3, :3]).max() > MAX_SKEW:
        return None
    return (*pose[:3, 3].tolist(), *Rotation.from_matrix(rotation).as_quat().tolist())
