"""Detections that came with a recording: boxes and labels by stamp, behind the interface of a detector.

``detections.jsonl`` holds one object per line: ``{"stamp": s, "box": [left, top, right, bottom], "score": 0.9,
"label": "mug"}`` in pixels of the stored colour image; ``labels`` with scores may stand in for ``label``. A line may
also hold all of a frame: ``{"stamp": s, "detections": [{"box": ...}, ...]}``, as ``lastseen sim record`` writes them,
with ``mask`` as lengths of runs over the whole image.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.detection import Detection, decode_mask, encode_mask
from lastseen.errors import InvalidValue, SourceError
from lastseen.finite import is_finite
from lastseen.frame import Frame
from lastseen.sources.conversion import Box, mirror_box, quarter_turns, rotate_box, rotate_image, sensor_image
from lastseen.sources.options import SourceOptions

RECENT = 64
"""Frames of a live stream whose detections are kept: they are looked up while the frames come."""


@dataclass(frozen=True, slots=True)
class StoredDetection:
    """A detection in pixels of the stored image; the mask stays runs until its size is known."""

    detection: Detection
    runs: tuple[int, ...] | None = None


UndistortBox = Callable[[Box, tuple[int, int]], Box | None]
"""Maps a box of a stored image of (width, height) into the undistorted image; None where that does not show it."""


def _unchanged(box: Box, size: tuple[int, int]) -> Box | None:
    del size
    return box


class RecordedDetections:
    """A detector that looks up what was detected at the frame's stamp."""

    def __init__(
        self,
        rows: Sequence[tuple[float, StoredDetection]],
        options: SourceOptions,
        *,
        undistort: UndistortBox = _unchanged,
    ) -> None:
        self._undistort = undistort
        self._rows = sorted(rows, key=lambda row: row[0])
        self._stamps = np.array([stamp for stamp, _ in self._rows])
        self._options = options

    @classmethod
    def read(cls, path: Path, options: SourceOptions) -> RecordedDetections:
        """Read a detections.jsonl; a malformed line is an error that names it."""
        rows: list[tuple[float, StoredDetection]] = []
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(path.name, str(path), f"cannot be read ({error})", remedy="check the file") from error
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                rows += rows_of_line(line, f"{path.name} line {number}")
        return cls(rows, options)

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What was detected at the frame's stamp, best first; ``targets`` do not matter to a recording."""
        del targets
        reach = self._options.max_stamp_difference
        first = int(np.searchsorted(self._stamps, frame.stamp - reach))
        last = int(np.searchsorted(self._stamps, frame.stamp + reach, side="right"))
        found = (self._placed(stored, frame) for _, stored in self._rows[first:last])
        return sorted(
            (one for one in found if one is not None), key=lambda detection: (-detection.score, detection.box)
        )

    def _placed(self, found: StoredDetection, frame: Frame) -> Detection | None:
        """The detection in the pixels of the converted frame; None where the frame does not show it."""
        options, detection = self._options, found.detection
        turned, turns = quarter_turns(options.images_turned), quarter_turns(options.image_rotation)
        size = (frame.intrinsics.width, frame.intrinsics.height)
        width, height = size[::-1] if turns % 2 else size
        stored = (height, width) if turned % 2 else (width, height)
        undistorted = self._undistort(detection.box, stored)
        if undistorted is None:
            return None
        box: Box = rotate_box(undistorted, -turned % 4, width=stored[0], height=stored[1])
        if options.mirrored:
            box = mirror_box(box, width=width)
        box = rotate_box(box, turns, width=width, height=height)
        mask = None
        if found.runs is not None:
            mask = decode_mask(found.runs, width=stored[0], height=stored[1])
            mask = rotate_image(np.ascontiguousarray(sensor_image(mask, options)), turns)
        return Detection(box=box, score=detection.score, labels=detection.labels, mask=mask)


class RecentDetections:
    """A detector for a live stream that keeps the detections of the last frames."""

    def __init__(self, options: SourceOptions, *, undistort: UndistortBox = _unchanged) -> None:
        self._options, self._undistort = options, undistort
        self._rows: OrderedDict[float, list[tuple[float, StoredDetection]]] = OrderedDict()

    def add(self, stamp: float, rows: Sequence[tuple[float, StoredDetection]]) -> None:
        """Keep what came at a stamp; the oldest goes when there are too many."""
        self._rows[stamp] = list(rows)
        while len(self._rows) > RECENT:
            self._rows.popitem(last=False)

    def covers(self, stamp: float) -> bool | None:
        """Whether something looked at the image of a stamp; None where its word may still come."""
        reach = self._options.max_stamp_difference
        known = list(self._rows)
        if any(abs(one - stamp) <= reach for one in known):
            return True
        return False if known and max(known) > stamp + reach else None

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What came with the frame, best first; ``targets`` do not matter."""
        del targets
        near = [row for rows in list(self._rows.values()) for row in rows]
        return RecordedDetections(near, self._options, undistort=self._undistort).detect(frame)


def rows_of_line(line: str, where: str) -> list[tuple[float, StoredDetection]]:
    """The detections of one line of text, each with its stamp; ``where`` names it in errors."""
    try:
        tree = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(where, line, f"is not JSON ({error})", remedy="write one object per line") from error
    return rows_of_tree(tree, where)


def rows_of_tree(tree: Any, where: str) -> list[tuple[float, StoredDetection]]:
    """The detections of one JSON object, each with its stamp."""
    if not isinstance(tree, Mapping):
        raise SourceError(where, tree, "must be an object", remedy='write {"stamp": s, "box": [...], ...}')
    if "detections" not in tree:
        return [_row(tree, where)]
    inner = tree["detections"]
    if not isinstance(inner, list) or not all(isinstance(one, Mapping) for one in inner):
        raise SourceError(f"{where} detections", inner, "must be a list of objects", remedy="one per thing")
    return [_row({"stamp": tree.get("stamp"), **one}, where) for one in inner]


def tree_of_detection(detection: Detection) -> dict[str, Any]:
    """A detection as JSON, with its mask as runs."""
    tree: dict[str, Any] = {
        "box": [float(value) for value in detection.box],
        "score": float(detection.score),
        "labels": {label: float(score) for label, score in detection.labels.items()},
    }
    if detection.mask is not None:
        tree["mask"] = encode_mask(detection.mask)
    return tree


def _row(tree: Mapping[str, Any], where: str) -> tuple[float, StoredDetection]:
    box = tree.get("box")
    if not isinstance(box, list) or len(box) != 4 or not all(is_finite(value) for value in box):
        raise SourceError(f"{where} box", box, "must hold four numbers", remedy="left, top, right, bottom in pixels")
    stamp, score = tree.get("stamp"), tree.get("score", 1.0)
    if not is_finite(stamp) or not is_finite(score):
        raise SourceError(
            f"{where} stamp, score", (stamp, score), "must be finite numbers", remedy="stamp in seconds"
        )
    name = tree.get("label", "")
    if not isinstance(name, str):
        raise SourceError(f"{where} label", name, "must be text", remedy='write "label": "mug"')
    labels = tree.get("labels", {name: score} if "label" in tree else {})
    if not isinstance(labels, Mapping):
        raise SourceError(f"{where} labels", labels, "must map label to score", remedy='or give "label": "mug"')
    runs = tree.get("mask")
    if runs is not None and not (isinstance(runs, list) and all(isinstance(run, int) for run in runs)):
        raise SourceError(f"{where} mask", runs, "must be lengths of runs", remedy="whole numbers, row by row")
    corners = (float(box[0]), float(box[1]), float(box[2]), float(box[3]))
    try:
        detection = Detection(box=corners, score=float(score), labels=dict(labels))
        return float(stamp), StoredDetection(detection, None if runs is None else tuple(runs))
    except InvalidValue as error:
        raise SourceError(f"{where} {error.field}", error.value, error.problem, remedy=error.remedy) from error
