"""A folder in the layout of the TUM RGB-D benchmark: the simplest recording there is, and easy to write.

``rgb.txt`` and ``depth.txt`` list images by stamp, ``groundtruth.txt`` poses, ``camera.json`` the intrinsics
(``fx fy cx cy width height depth_scale``, and the same under ``depth`` where depth has its own camera).
``confidence.txt`` and ``detections.jsonl`` are optional.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.images import read_color, read_depth
from lastseen.protocols import Detector
from lastseen.sources.base import RecordSource
from lastseen.sources.detections import RecordedDetections
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_DEPTH, NO_POSE, Intake, RawRecord, StoredPose, Trajectory

TUM_RAW_PER_METRE = 5000.0
"""Raw values per metre of the benchmark's depth images, where camera.json has no depth_scale."""

UNPOSED = Trajectory(np.zeros(1), np.zeros((1, 3)), np.array([[0.0, 0.0, 0.0, 1.0]]))
"""Stands in where poses come from the images."""

FREIBURG = {
    "1": (517.3, 516.5, 318.6, 255.3),
    "2": (520.9, 521.0, 325.1, 249.7),
    "3": (535.4, 539.2, 320.1, 247.6),
}
"""fx, fy, cx, cy of the benchmark's three cameras, for folders named as they are downloaded."""


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Stamps with one file name each, sorted by stamp."""

    stamps: NDArray[np.float64]
    names: tuple[str, ...]

    def nearest(self, stamp: float) -> int:
        """The index of the entry nearest in time; the earlier one of two equally near."""
        right = int(np.searchsorted(self.stamps, stamp))
        options = [index for index in (right - 1, right) if 0 <= index < len(self.stamps)]
        return min(options, key=lambda index: (abs(self.stamps[index] - stamp), index))

    def match(self, stamp: float, *, tolerance: float) -> int | None:
        """The index of the entry nearest in time, if it is within ``tolerance`` seconds."""
        index = self.nearest(stamp)
        # a stamp is text with six decimals: half a microsecond forgives the rounding to binary
        return index if abs(float(self.stamps[index]) - stamp) <= tolerance + 5e-7 else None


class TumSource(RecordSource):
    """Frames of a TUM-layout folder, by the stamps of the colour images."""

    def __init__(self, folder: str | Path, options: SourceOptions | None = None) -> None:
        super().__init__(str(folder), options)
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise SourceError("folder", str(folder), "is not a folder", remedy="give the folder that holds rgb.txt")
        self._camera = read_camera(self.folder / "camera.json", self.options)
        self._read_lists()

    def _read_lists(self) -> None:
        self.intake = Intake()
        self._rgb = read_listing(self.folder / "rgb.txt", self.intake)
        self._depth = read_listing(self.folder / "depth.txt", self.intake)
        self._poses = UNPOSED
        if self.options.poses == "recorded":
            self._poses = read_trajectory(self.folder / "groundtruth.txt", self.intake)
        confidence = self.folder / "confidence.txt"
        self._confidence: Listing | None = read_listing(confidence, self.intake) if confidence.exists() else None

    def length(self) -> int:
        """How many colour images are listed."""
        return len(self._rgb.stamps)

    def trajectory(self) -> Trajectory:
        """Every stored pose, sorted by stamp."""
        return self._poses

    def stamps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The stamps of colour and depth as listed."""
        return self._rgb.stamps, self._depth.stamps

    def detector(self) -> Detector | None:
        """The detections in ``detections.jsonl``, where there are any."""
        path = self.folder / "detections.jsonl"
        return RecordedDetections.read(path, self.options) if path.exists() else None

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records in the order of the colour stamps."""
        self._read_lists()
        for index in range(len(self._rgb.stamps)):
            record = self._record(index) if wanted is None or wanted(index) else None
            if record is not None:
                yield record

    def _record(self, index: int) -> RawRecord | None:
        stamp, options = float(self._rgb.stamps[index]), self.options
        match = self._depth.match(stamp + options.depth_delay, tolerance=options.max_stamp_difference)
        if match is None:
            away = abs(float(self._depth.stamps[self._depth.nearest(stamp)]) - stamp)
            self.intake.skip(NO_DEPTH, f"stamp {stamp:.6f}: nearest is {away:.3f} s away")
            return None
        pose: StoredPose | None = StoredPose(np.zeros(3), UNPOSED.quaternions[0], stamp)
        if options.poses == "recorded":
            pose = self._poses.at(stamp, max_gap=options.max_pose_gap, delay=options.pose_delay)
        if pose is None:
            self.intake.skip(NO_POSE, f"stamp {stamp:.6f}")
            return None
        if not self._is_wanted(stamp, pose.translation, pose.quaternion):
            return None
        try:
            return self._read(index, match, pose)
        except SourceError as error:
            self.intake.skip(f"unreadable {error.field.split('/')[0]}", str(error))
            return None

    def _read(self, index: int, depth_index: int, pose: StoredPose) -> RawRecord:
        stamp, limit = float(self._rgb.stamps[index]), self.options.max_pixels
        rgb_name, depth_name = self._rgb.names[index], self._depth.names[depth_index]
        rgb = read_color(self.folder / rgb_name, name=rgb_name, max_pixels=limit)
        depth = read_depth(self.folder / depth_name, name=depth_name, max_pixels=limit)
        confidence = None
        if self._confidence is not None:
            match = self._confidence.match(float(self._depth.stamps[depth_index]), tolerance=1e-3)
            if match is not None:
                name = self._confidence.names[match]
                confidence = read_depth(self.folder / name, name=name, max_pixels=limit).astype(np.uint8)
        camera, depth_camera, raw_per_metre = self._camera
        return RawRecord(
            stamp=stamp,
            rgb=rgb,
            depth=depth,
            raw_per_metre=raw_per_metre,
            translation=pose.translation,
            quaternion=pose.quaternion,
            intrinsics=camera,
            depth_intrinsics=depth_camera,
            confidence=confidence,
            depth_stamp=float(self._depth.stamps[depth_index]),
            pose_stamp=pose.stamp,
        )


def read_listing(path: Path, intake: Intake) -> Listing:
    """Read ``stamp filename`` lines; malformed lines are counted, lines out of order are counted and sorted."""
    rows: list[tuple[float, str]] = []
    for number, words in _lines(path):
        stamp = _finite(words[0])
        if len(words) < 2 or stamp is None:
            intake.skip(f"malformed line in {path.name}", f"line {number}: {' '.join(words)[:60]}")
            continue
        rows.append((stamp, words[1]))
    if not rows:
        raise SourceError(path.name, str(path), "lists no images", remedy="write lines `stamp filename`")
    intake.out_of_order += sum(later[0] < earlier[0] for earlier, later in pairwise(rows))
    rows.sort(key=lambda row: row[0])
    return Listing(np.array([stamp for stamp, _ in rows]), tuple(name for _, name in rows))


def read_trajectory(path: Path, intake: Intake) -> Trajectory:
    """Read ``stamp tx ty tz q q q q`` lines; lines with NaN or missing numbers are counted and left out."""
    rows: list[list[float]] = []
    for number, words in _lines(path):
        values = [_finite(word) for word in words[:8]]
        if len(values) < 8 or values[0] is None:
            intake.skip(f"malformed line in {path.name}", f"line {number}: {' '.join(words)[:60]}")
        elif any(value is None for value in values):
            intake.skip(f"NaN pose in {path.name}", f"line {number}")
        else:
            rows.append([value for value in values if value is not None])
    if not rows:
        raise SourceError(path.name, str(path), "holds no valid pose", remedy="write `stamp tx ty tz qx qy qz qw`")
    intake.out_of_order += sum(later[0] < earlier[0] for earlier, later in pairwise(rows))
    table = np.array(sorted(rows, key=lambda row: row[0]))
    return Trajectory(table[:, 0], table[:, 1:4], table[:, 4:8])


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(
            path.name,
            str(path),
            f"cannot be read ({error.strerror})",
            remedy="a TUM-layout folder has rgb.txt, depth.txt, groundtruth.txt and camera.json",
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(path.name, str(path), "is not text", remedy="check the recording") from error
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").split()
        if words and not words[0].startswith("#"):
            yield number, words


def _finite(word: str) -> float | None:
    """The finite number a word holds, or None."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def read_camera(path: Path, options: SourceOptions) -> tuple[Intrinsics, Intrinsics | None, float]:
    """Intrinsics of colour, of depth where it has its own, and raw depth values per metre."""
    try:
        tree = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        named = re.search(r"(?:freiburg|fr)([123])", path.parent.resolve().name)
        if options.fx and options.fy:
            tree = {"fx": options.fx, "fy": options.fy, "cx": options.cx, "cy": options.cy}
        elif named:
            tree = dict(zip(("fx", "fy", "cx", "cy"), FREIBURG[named[1]], strict=True))
        else:
            raise SourceError(
                "camera.json",
                str(path),
                "does not exist",
                remedy="write fx fy cx cy width height depth_scale into it; folders named as downloaded need none",
            ) from None
    except (OSError, ValueError) as error:
        raise SourceError("camera.json", str(path), f"cannot be read ({error})", remedy="write JSON") from error
    if not isinstance(tree, dict):
        raise SourceError("camera.json", tree, "must be an object", remedy="write fx fy cx cy width height")
    own = tree.get("depth")
    depth = own if isinstance(own, dict) and "fx" in own else None
    scale = _number(depth or tree, "depth_scale", tree.get("depth_scale", TUM_RAW_PER_METRE))
    if scale <= 0:
        raise SourceError("camera.json depth_scale", scale, "must be positive", remedy="1000 for millimetres")
    return _intrinsics(tree), None if depth is None else _intrinsics(depth), scale


def _intrinsics(tree: Mapping[str, Any]) -> Intrinsics:
    fx, fy, cx, cy = (_number(tree, key, None) for key in ("fx", "fy", "cx", "cy"))
    return Intrinsics(fx, fy, cx, cy, int(_number(tree, "width", 640)), int(_number(tree, "height", 480)))


def _number(tree: Mapping[str, Any], key: str, default: object) -> float:
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SourceError(f"camera.json {key}", value, "must be a number", remedy="give pixels, or values per metre")
    return float(value)
