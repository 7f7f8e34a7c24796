"""Named things on a CPU without torch: a detector that the user has as an ONNX file.

RT-DETR and D-FINE (both Apache-2.0) and the YOLO family. Exports differ in names, types and sizes, which are read
from the graph, from its metadata and from the files beside it. Four layouts are known. ``final``: images and their
sizes in, labels, boxes and scores out, as RT-DETR's and D-FINE's own exporters write it. ``raw``: pixels in, logits
and relative boxes out, as the exporters around transformers do. ``yolo`` and ``plugin``: the YOLO family (yolo.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from lastseen.config.perception import Detector as Rules
from lastseen.detection import Detection
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.frame import Frame
from lastseen.models.folder import config_beside, first_line
from lastseen.perception.boxes import MAX_NAMES, OTHER_SCORE, Fit, Fitted, ImageInput, corners, merge_same, scaling_of
from lastseen.perception.label_names import (
    COCO_BY_ID,
    COCO_NAMES,
    in_words_of,
    names_of_config,
    names_of_metadata,
    read_labels,
    sides_of,
)
from lastseen.perception.yolo import PLUGIN_OUTPUTS, UnknownLayout, decode, decode_plugin, outline

Kind = Literal["final", "raw", "yolo", "plugin"]

FINAL = ("labels", "boxes", "scores")
RAW = ("logits", "pred_boxes")
_ROLES: dict[Kind, tuple[str, ...]] = {"final": FINAL, "raw": RAW, "plugin": PLUGIN_OUTPUTS, "yolo": ()}
_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
}
_REMEDY = (
    "known are RT-DETR and D-FINE by their own exporters (labels, boxes, scores) or transformers' (logits, "
    "pred_boxes), and YOLO from version 5 on (output0, and output1 for outlines)"
)
MAX_SIDE = 4096
"""Pixels; a larger input is a mistake of the export."""


_SOFTMAX_MODELS = frozenset({"detr", "yolos", "table-transformer"})
"""Models that score a last class "nothing" against the others; all later ones score each class by itself."""


class OnnxDetector:
    """A detector from an .onnx file; ``labels`` is a file with one name per line where its classes are not COCO's.

    A config.json beside the model names its classes, a preprocessor_config.json its scaling: hub folders have them.
    """

    def __init__(self, path: str | Path, *, labels: str | Path | None = None, settings: Rules | None = None) -> None:
        self.settings = settings or Rules()
        self._graph = Graph(path, threads=self.settings.threads)
        layout, metadata = self._graph.layout, self._graph.metadata
        yolo = layout.kind in {"yolo", "plugin"}
        task = metadata.get("task", "detect")
        if task not in {"detect", "segment"}:
            raise self._unfit(f"is made for the task {task!r}", remedy="export a model that detects or segments")
        config = config_beside(self._graph.path)
        self._softmax = config.get("model_type") in _SOFTMAX_MODELS
        self._names, self._given = self._read_names(labels, config)
        self.knows_people = "person" in (COCO_NAMES if self._names is None else self._names)
        mean, std = scaling_of(config_beside(self._graph.path, "preprocessor_config.json"))
        fit = self.settings.fit if self.settings.fit != "auto" else "letterbox" if yolo else "stretch"
        height, width = sides_of(metadata) or (self.settings.side, self.settings.side)
        self._input = ImageInput(
            width=layout.width or width, height=layout.height or height, fit=cast("Fit", fit), mean=mean, std=std
        )

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What is in the image, best first; its classes are fixed, ``targets`` only choose among words for one."""
        fitted = self._input.prepare(frame.rgb)
        answer = self._graph.run(fitted.pixels)
        if self._graph.layout.kind in {"yolo", "plugin"}:
            return self._yolo(answer, fitted, targets)
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

    def _read_names(self, labels: str | Path | None, config: Mapping[str, Any]) -> tuple[tuple[str, ...] | None, str]:
        """The names of the classes and where they come from: a labels file, the graph, a config.json beside it."""
        if labels is not None:
            return read_labels(labels), "labels"
        own = names_of_metadata(self._graph.metadata)
        return (own, "its metadata") if own is not None else (names_of_config(dict(config)), "config.json")

    def _yolo(self, answer: Mapping[str, NDArray[Any]], fitted: Fitted, targets: Sequence[str]) -> list[Detection]:
        """The YOLO family: boxes in pixels of the prepared image, outlines where the model gives them."""
        outputs = list(answer.values())
        count = None if self._names is None else len(self._names)
        # a box counts from the least score on; its second names are kept below that
        least = self.settings.min_score
        try:
            given = (decode_plugin if self._graph.layout.kind == "plugin" else decode)(
                outputs, classes=count, min_score=least
            )
        except UnknownLayout as error:
            shapes = ", ".join(str(list(one.shape)) for one in outputs)
            raise self._unfit(f"gives {shapes}: {error}", remedy="export YOLO for one image, task detect") from error
        names = COCO_NAMES if self._names is None else self._names
        if len(given.boxes) and given.scores.shape[1] != len(names):
            raise self._miscounted(f"has {given.scores.shape[1]} classes", len(names))
        if not np.isfinite(given.boxes).all():
            raise self._unfit("gives boxes that are not finite", remedy="export it in float32")
        prototypes = next((one[0] for one in outputs if one.ndim == 4), None)
        found = []
        for index, box in enumerate(fitted.to_source(given.boxes).tolist()):
            left, top, right, bottom = box
            row = given.scores[index]
            order = np.argsort(-row, kind="stable")[:MAX_NAMES].tolist()
            labels = {names[i]: _score(row[i]) for i in order if names[i] and row[i] >= OTHER_SCORE}
            if not labels or right - left < 1.0 or bottom - top < 1.0:
                continue
            mask = None
            if given.weights is not None and prototypes is not None:
                mask = fitted.mask_to_source(outline(given.weights[index], prototypes), (left, top, right, bottom))
            found.append(
                Detection(
                    box=(left, top, right, bottom),
                    score=max(labels.values()),
                    labels=in_words_of(targets, labels),
                    mask=mask if mask is not None and mask.any() else None,
                )
            )
        return [one for one in merge_same(found) if one.score >= self.settings.min_score]

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


@dataclass(frozen=True, slots=True)
class Port:
    """One input of the graph: its name and the type it takes."""

    name: str
    dtype: type[np.generic]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the image goes in and what comes out; sizes are None where the graph leaves them open."""

    kind: Kind
    image: Port
    width: int | None
    height: int | None
    size: Port | None
    mask: Port | None
    outputs: tuple[str, ...]

    def feeds(self, pixels: NDArray[np.float32]) -> dict[str, NDArray[Any]]:
        """The graph's inputs for one prepared image; boxes are asked for in pixels of that image."""
        height, width = pixels.shape[2:]
        feeds: dict[str, NDArray[Any]] = {self.image.name: pixels.astype(self.image.dtype)}
        if self.size is not None:
            feeds[self.size.name] = np.array([[width, height]], dtype=self.size.dtype)
        if self.mask is not None:
            feeds[self.mask.name] = np.ones((1, height, width), dtype=self.mask.dtype)
        return feeds


class Graph:
    """A loaded ONNX graph that turns onnxruntime's errors into one clear line."""

    def __init__(self, path: str | Path, *, threads: int = 0) -> None:
        try:
            import onnxruntime
            from onnxruntime.capi import onnxruntime_pybind11_state as state
        except ImportError:
            raise MissingExtra("the ONNX detector", extra="onnx") from None
        self.path = Path(path)
        self._errors = tuple(
            kind for kind in vars(state).values() if isinstance(kind, type) and issubclass(kind, Exception)
        )
        if not self.path.is_file():
            raise InvalidValue("detector", str(path), "is not a file", remedy=_REMEDY)
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        try:
            self._session: Any = onnxruntime.InferenceSession(
                str(self.path), sess_options=options, providers=["CPUExecutionProvider"]
            )
        except self._errors as error:
            problem = f"is not a graph that onnxruntime can run ({first_line(error)})"
            raise InvalidValue("detector", str(path), problem, remedy="get or export the file again") from error
        self.layout = layout_of(self.path, self._session.get_inputs(), self._session.get_outputs())
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)

    def run(self, pixels: NDArray[np.float32]) -> Mapping[str, NDArray[Any]]:
        """The graph's outputs for one prepared image, by the names of the layout."""
        try:
            values = self._session.run(list(self.layout.outputs), self.layout.feeds(pixels))
        except self._errors as error:
            problem = f"failed on an image of {pixels.shape[3]}x{pixels.shape[2]} ({first_line(error)})"
            raise InvalidValue("detector", str(self.path), problem, remedy="export it for one image") from error
        return dict(zip(_ROLES[self.layout.kind] or self.layout.outputs, map(np.asarray, values), strict=True))


def layout_of(path: Path, inputs: list[Any], outputs: list[Any]) -> Layout:
    """Tell the layout from the graph's inputs and outputs, or say what they are."""
    images = [port for port in inputs if len(port.shape) == 4]
    sizes = [port for port in inputs if len(port.shape) == 2]
    masks = [port for port in inputs if len(port.shape) == 3]
    names = {port.name.lower(): port.name for port in outputs}
    if len(images) != 1 or len(sizes) > 1 or len(masks) > 1 or images[0].shape[1] not in (3, None, "num_channels"):
        raise InvalidValue("detector", str(path), f"takes {_listed(inputs)}", remedy=_REMEDY)
    kind = next((one for one, roles in _ROLES.items() if roles and set(roles) <= set(names)), None)
    if kind is None and _is_yolo(outputs) and len(inputs) == 1:
        kind = "yolo"
    if kind is None:
        raise InvalidValue("detector", str(path), f"gives {_listed(outputs)}", remedy=_REMEDY)
    batch, _, height, width = images[0].shape
    if isinstance(batch, int) and batch != 1:
        raise InvalidValue("detector", str(path), f"takes {batch} images at once", remedy="export it for one image")
    sides = [side for side in (height, width) if isinstance(side, int)]
    if any(not 32 <= side <= MAX_SIDE for side in sides):
        problem = f"takes images of {width}x{height} pixels"
        raise InvalidValue("detector", str(path), problem, remedy=f"export it for sides of 32 to {MAX_SIDE}")
    return Layout(
        kind=kind,
        image=_port(path, images[0]),
        width=width if isinstance(width, int) else None,
        height=height if isinstance(height, int) else None,
        size=_port(path, sizes[0]) if sizes else None,
        mask=_port(path, masks[0]) if masks else None,
        outputs=tuple(names[role] for role in _ROLES[kind]) or tuple(port.name for port in outputs[:2]),
    )


def _is_yolo(outputs: list[Any]) -> bool:
    """Rows of boxes, and at most one stack of prototypes for outlines beside them."""
    ranks = [len(port.shape) for port in outputs[:2]]
    return all(port.type in {"tensor(float)", "tensor(float16)"} for port in outputs[:2]) and (
        ranks in ([3], [3, 4]) or (ranks == [2] and outputs[0].shape[1] == 7)
    )


def _port(path: Path, port: Any) -> Port:
    if port.type not in _TYPES:
        raise InvalidValue("detector", str(path), f"takes {port.name} as {port.type}", remedy="export it in float32")
    return Port(port.name, _TYPES[port.type])


def _listed(ports: list[Any]) -> str:
    return ", ".join(f"{port.name} {list(port.shape)}" for port in ports[:6])
