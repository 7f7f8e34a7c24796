"""Detections that came with a recording: boxes and labels by stamp, given back as a detector.

``detections.jsonl`` holds one object per line: ``{"stamp": s, "box": [left, top, right, bottom], "score": 0.9,
"label": "mug"}`` in pixels of the stored colour image; ``labels`` with scores may stand in for ``label``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from lastseen.detection import Detection
from lastseen.errors import InvalidValue, SourceError
from lastseen.frame import Frame
from lastseen.sources.options import SourceOptions
from lastseen.sources.turning import Box, mirror_box, quarter_turns, turn_box


class RecordedDetections:
    """A detector that looks up what was detected at the frame's stamp."""

    def __init__(self, rows: Sequence[tuple[float, Detection]], options: SourceOptions) -> None:
        self._rows = sorted(rows, key=lambda row: row[0])
        self._stamps = np.array([stamp for stamp, _ in self._rows])
        self._options = options

    @classmethod
    def read(cls, path: Path, options: SourceOptions) -> RecordedDetections:
        """Read a detections.jsonl; a malformed line is an error that names it."""
        rows = []
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(path.name, str(path), f"cannot be read ({error})", remedy="check the file") from error
        for number, line in enumerate(text.splitlines(), start=1):
            if line.strip():
                rows.append(_row(line, f"{path.name} line {number}"))
        return cls(rows, options)

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What was detected at the frame's stamp, best first; ``targets`` do not matter to a recording."""
        del targets
        reach = self._options.max_stamp_difference
        first = int(np.searchsorted(self._stamps, frame.stamp - reach))
        last = int(np.searchsorted(self._stamps, frame.stamp + reach, side="right"))
        found = [self._placed(detection, frame) for _, detection in self._rows[first:last]]
        return sorted(found, key=lambda detection: (-detection.score, detection.box))

    def _placed(self, detection: Detection, frame: Frame) -> Detection:
        """The detection in the pixels of the frame as it left the door."""
        turned = quarter_turns(self._options.images_turned)
        turns = quarter_turns(self._options.image_rotation)
        sensor = (frame.intrinsics.width, frame.intrinsics.height)
        width, height = sensor[::-1] if turns % 2 else sensor
        box: Box = detection.box
        stored = (height, width) if turned % 2 else (width, height)
        box = turn_box(box, -turned % 4, width=stored[0], height=stored[1])
        if self._options.mirrored:
            box = mirror_box(box, width=width)
        box = turn_box(box, turns, width=width, height=height)
        return Detection(box=box, score=detection.score, labels=detection.labels)


def _row(line: str, where: str) -> tuple[float, Detection]:
    try:
        tree = json.loads(line)
    except ValueError as error:
        raise SourceError(where, line, f"is not JSON ({error})", remedy="write one object per line") from error
    if not isinstance(tree, Mapping):
        raise SourceError(where, tree, "must be an object", remedy='write {"stamp": s, "box": [...], ...}')
    box = tree.get("box")
    if not isinstance(box, list) or len(box) != 4 or not all(_is_number(value) for value in box):
        raise SourceError(f"{where} box", box, "must hold four numbers", remedy="left, top, right, bottom in pixels")
    stamp, score = tree.get("stamp"), tree.get("score", 1.0)
    if not _is_number(stamp) or not _is_number(score):
        raise SourceError(f"{where} stamp, score", (stamp, score), "must be numbers", remedy="stamp in seconds")
    labels = tree.get("labels", {tree["label"]: score} if "label" in tree else {})
    if not isinstance(labels, Mapping):
        raise SourceError(f"{where} labels", labels, "must map label to score", remedy='or give "label": "mug"')
    try:
        return float(stamp), Detection(
            box=(float(box[0]), float(box[1]), float(box[2]), float(box[3])),
            score=float(score),
            labels=dict(labels),
        )
    except InvalidValue as error:
        raise SourceError(f"{where} {error.field}", error.value, error.problem, remedy=error.remedy) from error


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
