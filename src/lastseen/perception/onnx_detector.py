"""Named things on a CPU without torch: a DETR-like detector that the user has as an ONNX file.

RT-DETR and D-FINE are meant (both Apache-2.0); names and sizes are read from the graph and from the files beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from lastseen.config.models import Detector as Rules
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.models.folder import config_beside
from lastseen.perception.boxes import MAX_NAMES, OTHER_SCORE, corners, merge_same
from lastseen.perception.label_names import COCO_BY_ID, COCO_NAMES, in_words_of, names_of_config, read_labels
from lastseen.perception.onnx_graph import Fit, Graph, ImageInput, scaling_of

_SOFTMAX_MODELS = frozenset({"detr", "yolos", "table-transformer"})
"""Models that score a last class "nothing" against the others; all later ones score each class by itself."""


class OnnxDetector:
    """A detector from an .onnx file; ``labels`` is a file with one name per line where its classes are not COCO's.

    A config.json beside the model names its classes, a preprocessor_config.json its scaling: hub folders have them.
    """

    def __init__(self, path: str | Path, *, labels: str | Path | None = None, settings: Rules | None = None) -> None:
        self.settings = settings or Rules()
        self._graph = Graph(path, threads=self.settings.threads)
        config = config_beside(self._graph.path)
        self._softmax = config.get("model_type") in _SOFTMAX_MODELS
        self._names = names_of_config(config) if labels is None else read_labels(labels)
        self._given = "labels" if labels is not None else "config.json"
        mean, std = scaling_of(config_beside(self._graph.path, "preprocessor_config.json"))
        layout = self._graph.layout
        self._input = ImageInput(
            width=layout.width or self.settings.side,
            height=layout.height or self.settings.side,
            fit=cast("Fit", self.settings.fit),
            mean=mean,
            std=std,
        )

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What is in the image, best first; its classes are fixed, ``targets`` only choose among words for one."""
        fitted = self._input.prepare(frame.rgb)
        answer = self._graph.run(fitted.pixels)
        boxes, labels = self._final(answer) if self._graph.layout.kind == "final" else self._raw(answer)
        if not np.isfinite(boxes).all():
            raise InvalidValue(
                "detector", str(self._graph.path), "gives boxes that are not finite", remedy="export it in float32"
            )
        found = [
            Detection(box=(left, top, right, bottom), score=max(names.values()), labels=in_words_of(targets, names))
            for (left, top, right, bottom), names in zip(fitted.to_source(boxes).tolist(), labels, strict=True)
            if right - left >= 1.0 and bottom - top >= 1.0
        ]
        merged = merge_same(found)
        return [detection for detection in merged if detection.score >= self.settings.min_score]

    def _final(self, answer: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], list[dict[str, float]]]:
        """Rows of label, box and score; the boxes are already in pixels of the prepared image."""
        numbers, scores = answer["labels"].reshape(-1), answer["scores"].reshape(-1)
        boxes = answer["boxes"].reshape(-1, 4)
        if not len(numbers) == len(scores) == len(boxes):
            raise self._unfit(f"gives {len(numbers)} labels, {len(boxes)} boxes, {len(scores)} scores")
        names = COCO_NAMES if self._names is None else self._names
        kept = np.flatnonzero(scores >= OTHER_SCORE)
        beyond = [int(number) for number in numbers[kept] if not 0 <= number < len(names)]
        if beyond:
            raise self._miscounted(f"gives class {beyond[0]}", len(names))
        rows = [(index, names[int(numbers[index])]) for index in kept.tolist()]
        rows = [(index, name) for index, name in rows if name]
        labels = [{name: _score(scores[index])} for index, name in rows]
        return boxes[[index for index, _ in rows]].astype(np.float64).reshape(-1, 4), labels

    def _raw(self, answer: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], list[dict[str, float]]]:
        """Logits per query and relative boxes; a query keeps the names that come near its best."""
        logits, middles = answer["logits"], answer["pred_boxes"]
        if logits.ndim != 3 or middles.shape != (*logits.shape[:2], 4) or len(logits) != 1:
            raise self._unfit(f"gives logits {logits.shape} and boxes {middles.shape}")
        names, softmax = self._classes(logits.shape[2])
        scores = _softmax(logits[0])[:, :-1] if softmax else _sigmoid(logits[0])
        scores = scores * np.array([bool(name) for name in names], dtype=np.float64)
        kept = np.flatnonzero(scores.max(axis=1) >= OTHER_SCORE)
        labels = []
        for row in scores[kept]:
            best = np.argsort(-row, kind="stable")[:MAX_NAMES]
            labels.append({names[i]: _score(row[i]) for i in best.tolist() if row[i] >= OTHER_SCORE})
        size = np.array([self._input.width, self._input.height] * 2, dtype=np.float64)
        return corners(middles[0][kept]) * size, labels

    def _classes(self, count: int) -> tuple[tuple[str, ...], bool]:
        """The names of the scored classes, and whether a last class "nothing" follows them."""
        if self._names is None:
            known = {len(COCO_NAMES): COCO_NAMES, len(COCO_BY_ID): COCO_BY_ID, len(COCO_BY_ID) + 1: COCO_BY_ID}
            if count not in known:
                raise self._unfit(f"has {count} classes and none of them a name", remedy="give --labels FILE")
            return known[count], count == len(COCO_BY_ID) + 1
        scored = count - 1 if self._softmax or count == len(self._names) + 1 else count
        if scored != len(self._names):
            raise self._miscounted(f"has {scored} classes", len(self._names))
        return self._names, scored == count - 1

    def _miscounted(self, found: str, named: int) -> InvalidValue:
        source = "COCO has" if self._names is None else f"{self._given} has"
        return self._unfit(f"{found}, {source} {named} names", remedy="give --labels FILE with a name per class")

    def _unfit(self, problem: str, *, remedy: str = "export it for one image") -> InvalidValue:
        return InvalidValue("detector", str(self._graph.path), problem, remedy=remedy)


def _score(value: float) -> float:
    # half precision may pass 1 by its last digit
    return min(max(float(value), 0.0), 1.0)


def _sigmoid(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(logits.astype(np.float64), -60.0, 60.0))))


def _softmax(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
