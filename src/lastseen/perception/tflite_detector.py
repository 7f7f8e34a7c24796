"""Named things from a TensorFlow Lite file with built-in post-processing: EfficientDet-Lite, SSD MobileNet.

Such files give boxes, classes, scores and a count, in an order that differs; names lie inside the file, which is
also a zip archive with a label map.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Detector as Rules
from lastseen.detection import Detection
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.frame import Frame
from lastseen.models.folder import first_line
from lastseen.perception.boxes import OTHER_SCORE, merge_same
from lastseen.perception.label_names import COCO_BY_ID, in_words_of, read_labels

_REMEDY = "a detection model with built-in post-processing (boxes, classes, scores, count), as EfficientDet-Lite has"
_UNNAMED = frozenset({"???", "background", "-", ""})
MAX_SIDE = 4096
"""Pixels; a larger input is a damaged file."""


class TfliteDetector:
    """A detector from a .tflite file; ``labels`` is a file with one name per line in place of the file's own."""

    def __init__(self, path: str | Path, *, labels: str | Path | None = None, settings: Rules | None = None) -> None:
        self.settings = settings or Rules()
        self.path = Path(path)
        if not self.path.is_file():
            raise InvalidValue("detector", str(path), "is not a file", remedy=_REMEDY)
        try:
            from ai_edge_litert.interpreter import Interpreter
        except ImportError:
            raise MissingExtra("the TensorFlow Lite detector", extra="tflite") from None
        try:
            self._model: Any = Interpreter(str(self.path), num_threads=self.settings.threads or os.cpu_count() or 1)
            self._model.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise self._unfit(
                f"is not a model that LiteRT can run ({first_line(error)})", remedy="get it again"
            ) from error
        (self._image,) = self._image_input()
        self._boxes, self._pairs, self._count = self._outputs()
        own = read_labels(labels) if labels is not None else _names_inside(self.path)
        # label maps leave out the background, whose number is not given either
        self._names = COCO_BY_ID[1:] if own is None else own
        self.knows_people = "person" in self._names

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What is in the image, best first; its classes are fixed, ``targets`` only choose among words for one."""
        self._model.set_tensor(self._image["index"], self._prepared(frame.rgb))
        self._model.invoke()
        boxes = self._model.get_tensor(self._boxes["index"])[0].astype(np.float64)
        numbers, scores = self._sorted([self._model.get_tensor(one["index"])[0] for one in self._pairs])
        count = min(round(float(self._model.get_tensor(self._count["index"]).reshape(-1)[0])), len(boxes))
        size = np.array([frame.intrinsics.height, frame.intrinsics.width] * 2, dtype=np.float64)
        found = []
        for box, number, score in zip(np.clip(boxes[:count] * size, 0.0, size), numbers, scores, strict=False):
            if score < OTHER_SCORE or not np.isfinite(box).all():
                continue
            if not 0 <= number < len(self._names):
                raise self._unfit(
                    f"gives class {int(number)}, {len(self._names)} have names", remedy="give --labels FILE"
                )
            name = self._names[int(number)]
            top, left, bottom, right = box.tolist()
            if name and right - left >= 1.0 and bottom - top >= 1.0:
                sure = min(max(float(score), 0.0), 1.0)
                labels = in_words_of(targets, {name: sure})
                found.append(Detection(box=(left, top, right, bottom), score=sure, labels=labels))
        return [one for one in merge_same(found) if one.score >= self.settings.min_score]

    def _prepared(self, rgb: NDArray[np.uint8]) -> NDArray[Any]:
        """The image in the model's size and type; these models are trained on stretched images, values -1 to 1."""
        _, height, width, _ = self._image["shape"]
        small = np.asarray(Image.fromarray(rgb).resize((int(width), int(height)), Image.Resampling.BILINEAR))
        kind = self._image["dtype"]
        if kind == np.uint8:
            return small[np.newaxis]
        values: NDArray[np.float32] = (small.astype(np.float32) - np.float32(127.5)) / np.float32(127.5)
        if kind == np.int8:
            scale, zero = self._image["quantization"]
            whole: NDArray[np.int8] = np.clip(np.rint(values / scale + zero), -128, 127).astype(np.int8)
            return whole[np.newaxis]
        return values[np.newaxis]

    def _image_input(self) -> list[Any]:
        inputs = self._model.get_input_details()
        fits = [
            one
            for one in inputs
            if len(one["shape"]) == 4 and one["shape"][0] == 1 and one["shape"][3] == 3
            and one["dtype"] in (np.uint8, np.int8, np.float32)
        ]  # fmt: skip
        if len(inputs) != 1 or len(fits) != 1 or not 32 <= int(max(fits[0]["shape"][1:3])) <= MAX_SIDE:
            raise self._unfit(f"takes {_listed(inputs)}")
        return fits

    def _outputs(self) -> tuple[Any, list[Any], Any]:
        """The outputs that hold boxes, classes and scores (their order is told by their values), and the count."""
        outputs = self._model.get_output_details()
        boxes = [one for one in outputs if len(one["shape"]) == 3 and one["shape"][2] == 4]
        pairs = [one for one in outputs if len(one["shape"]) == 2]
        counts = [one for one in outputs if int(np.prod(one["shape"])) == 1 and len(one["shape"]) == 1]
        if len(outputs) != 4 or len(boxes) != 1 or len(pairs) != 2 or len(counts) != 1:
            raise self._unfit(f"gives {_listed(outputs)}")
        # the converters number their outputs boxes, classes, scores, count, or the other way round
        order = sorted(pairs, key=lambda one: one["name"])
        reverse = sorted(outputs, key=lambda one: one["name"])[0] is counts[0]
        return boxes[0], order[::-1] if reverse else order, counts[0]

    def _sorted(self, pair: list[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Classes and scores of a pair that should come in this order; values that cannot be scores turn it."""
        numbers, scores = pair
        if (scores > 1.0).any() or (scores < 0.0).any():
            numbers, scores = scores, numbers
        return np.rint(numbers).astype(np.int64), scores.astype(np.float64)

    def _unfit(self, problem: str, *, remedy: str = _REMEDY) -> InvalidValue:
        return InvalidValue("detector", str(self.path), problem, remedy=remedy)


def _names_inside(path: Path) -> tuple[str, ...] | None:
    """The label map that lies in the file, by class number; None where there is none."""
    try:
        with zipfile.ZipFile(path) as archive:
            texts = [name for name in archive.namelist() if name.endswith(".txt")]
            if not texts:
                return None
            lines = archive.read(texts[0]).decode("utf-8-sig").splitlines()
    except (zipfile.BadZipFile, OSError, UnicodeDecodeError):
        return None
    return tuple("" if line.strip() in _UNNAMED else line.strip() for line in lines)


def _listed(tensors: Sequence[Any]) -> str:
    return ", ".join(f"{one['name']} {[int(side) for side in one['shape']]}" for one in tensors[:6])
