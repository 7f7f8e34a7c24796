"""The TUM RGB-D benchmark's layout: the simplest recording there is, and easy to write.

``rgb.txt`` and ``depth.txt`` list images by stamp, ``groundtruth.txt`` poses, ``camera.json`` the intrinsics
(``fx fy cx cy width height depth_scale``, and the same under ``depth`` where depth has its own camera).
``confidence.txt`` and ``detections.jsonl`` are optional.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.conversion import camera_from_options
from lastseen.sources.layouts.cameras import has_camera, read_camera, values_per_metre
from lastseen.sources.layouts.files import Stored, by_stamp, first_size, part, read_json, read_text, seconds
from lastseen.sources.layouts.plain import find_poses, with_z_up
from lastseen.sources.layouts.sequence import Sequence, Shot
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, Trajectory

RAW_PER_METRE = 5000.0
"""Raw values per metre of the benchmark's depth images, where camera.json has no depth_scale."""

FREIBURG = {
    "1": (517.3, 516.5, 318.6, 255.3),
    "2": (520.9, 521.0, 325.1, 249.7),
    "3": (535.4, 539.2, 320.1, 247.6),
}
"""fx, fy, cx, cy of the benchmark's three cameras for 640x480, by the number in the names of its folders."""

BONN = (542.8228, 542.5769, 315.5935, 237.7561)
"""The same of the Bonn RGB-D dataset, which is of this layout."""

COLORS, DEPTHS = ("color.txt", "rgb.txt"), ("aligned_depth.txt", "depth.txt")
"""Lists of images: OpenLORIS's names, and the benchmark's own."""

PAIRS = ("associations.txt", "associate.txt", "associated.txt", "assoc.txt")
"""Lists of images that were paired already: ``stamp file stamp file``, colour or depth first."""

FIRST = 20
"""Images of which one must be readable to know their size."""

SAME_STAMP = 1e-3
"""Seconds between a depth image and its confidence map."""


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


def matches(path: Path) -> bool:
    """Whether a folder has a list of images, or of pairs."""
    return any((path / name).is_file() for name in (*COLORS, *DEPTHS, *PAIRS))


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording: OpenCV camera axes, z up; images are paired by their stamps."""
    intake = Intake()
    pairs = next((path / name for name in PAIRS if (path / name).is_file()), None)
    if pairs is not None and part(path, *COLORS) is None:
        colors, depths = (read_listing(pairs, intake, of=kind) for kind in ("rgb", "depth"))
    else:
        colors, depths = (read_listing(part(path, *names) or path / names[-1], intake) for names in (COLORS, DEPTHS))
    grades = read_listing(path / "confidence.txt", intake) if (path / "confidence.txt").exists() else None
    shots, as_stored = [], Stored()
    for stamp, name in zip(colors.stamps.tolist(), colors.names, strict=True):
        at = depths.match(stamp + options.depth_delay, tolerance=options.max_stamp_difference)
        if at is None:
            away = abs(float(depths.stamps[depths.nearest(stamp)]) - stamp)
            shots.append(Shot(stamp, as_stored(path / name), None, None, problem=f"nearest is {away:.3f} s away"))
            continue
        depth_stamp = float(depths.stamps[at])
        grade = None if grades is None else grades.match(depth_stamp, tolerance=SAME_STAMP)
        confidence = None if grades is None or grade is None else path / grades.names[grade]
        color, depth = as_stored(path / name), as_stored(path / depths.names[at])
        shots.append(Shot(stamp, color, depth, None, confidence, depth_stamp=depth_stamp))
    camera, depth_camera, scale = _cameras(path, options, [as_stored(path / name) for name in colors.names[:FIRST]])
    detections = path / "detections.jsonl"
    return Sequence(
        shots,
        camera,
        scale or RAW_PER_METRE,
        depth_camera,
        scale_known=scale is not None,
        intake=intake,
        trajectory=_trajectory(path, intake) if options.poses == "recorded" else None,
        depth_stamps=depths.stamps,
        detections=detections if detections.exists() else None,
    )


def _trajectory(path: Path, intake: Intake) -> Trajectory:
    found = path / "groundtruth.txt" if (path / "groundtruth.txt").is_file() else find_poses(path)
    if found is None:
        raise SourceError(
            "groundtruth.txt", str(path), "does not exist", remedy="copy it too, or use --poses odometry"
        )
    return read_trajectory(found, intake)


def read_listing(path: Path, intake: Intake, *, of: str = "") -> Listing:
    """Read ``stamp filename`` lines; malformed lines are counted, lines out of order are counted and sorted.

    ``of`` is the folder of the files that are meant, where a line lists a pair of them.
    """
    rows: list[tuple[float, str]] = []
    for number, line in _lines(path):
        words = line
        if of and len(line) >= 4:
            words = line[:2] if line[1].startswith(of) else line[2:4]
        stamp = _finite(words[0])
        if len(words) < 2 or stamp is None:
            intake.skip(f"malformed line in {path.name}", f"line {number}: {' '.join(words)[:60]}")
            continue
        # a name may hold spaces where it is the last word
        rows.append((stamp, words[1] if of else " ".join(words[1:])))
    if not rows:
        raise SourceError(path.name, str(path), "lists no images", remedy="write lines `stamp filename`")
    intake.out_of_order += sum(later[0] < earlier[0] for earlier, later in pairwise(rows))
    if len(set(rows)) < len(rows):
        intake.note(f"{len(rows) - len(set(rows))} lines of {path.name} are there twice")
    rows = sorted(set(rows))
    stamps = seconds(np.array([stamp for stamp, _ in rows]), path.name, intake)
    return Listing(stamps, tuple(name for _, name in rows))


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
    table = with_z_up(by_stamp(np.array(rows), path.name, intake), path)
    return Trajectory(seconds(table[:, 0], path.name, intake), table[:, 1:4], table[:, 4:8])


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
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


def _cameras(
    folder: Path, options: SourceOptions, images: list[Path]
) -> tuple[Intrinsics, Intrinsics | None, float | None]:
    """Intrinsics of colour, of depth where it has its own, and raw depth values per metre where they are said."""
    path = folder / "camera.json"
    if not path.exists() or "fx" not in read_json(path):
        # in any other form, such as ETH3D's calibration.txt, and more telling than the folder's name
        described = read_camera(folder, first_size(dict(enumerate(images)))) if has_camera(folder) else None
        if described is not None:
            return described[0], None, described[1]
        name = folder.resolve().name.lower()
        named = re.search(r"(?:freiburg|fr)([123])", name)
        known = BONN if "rgbd_bonn" in name else FREIBURG[named[1]] if named else None
        if known and not options.fx:
            return Intrinsics(*known, 640, 480), None, None
        if options.fx and options.fy:
            size = first_size(dict(enumerate(images)))
            return camera_from_options(options, size, where=str(folder)), None, None
        raise SourceError(
            "camera.json",
            str(path),
            "does not exist",
            remedy="write fx fy cx cy width height depth_scale into it; folders named as downloaded need none",
        )
    tree = read_json(path)
    own = tree.get("depth")
    depth = own if isinstance(own, dict) and "fx" in own else None
    said = (depth or tree).get("depth_scale", tree.get("depth_scale"))
    scale = (
        None if said is None else values_per_metre(_number({"depth_scale": said}, "depth_scale", None), "camera.json")
    )
    return _intrinsics(tree), None if depth is None else _intrinsics(depth), scale


def _intrinsics(tree: Mapping[str, Any]) -> Intrinsics:
    fx, fy, cx, cy = (_number(tree, key, None) for key in ("fx", "fy", "cx", "cy"))
    return Intrinsics(fx, fy, cx, cy, int(_number(tree, "width", 640)), int(_number(tree, "height", 480)))


def _number(tree: Mapping[str, Any], key: str, default: object) -> float:
    value = tree.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SourceError(f"camera.json {key}", value, "must be a number", remedy="give pixels, or values per metre")
    return float(value)
