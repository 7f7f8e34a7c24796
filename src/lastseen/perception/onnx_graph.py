"""An exported detector as a graph: the image it takes, the boxes it gives, and the way between its pixels and ours.

Exports differ in names, types and sizes, which are read from the graph itself. Four layouts are known. ``final``:
images and their sizes in, labels, boxes and scores out, as RT-DETR's and D-FINE's own exporters write it. ``raw``:
pixels in, logits and relative boxes out, as the exporters around transformers do. ``yolo`` and ``plugin``: the YOLO
family (``yolo.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.models.folder import first_line
from lastseen.perception.yolo import PLUGIN_OUTPUTS

Fit = Literal["stretch", "letterbox"]
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


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prepared image (1, 3, height, width) and the way back to the pixels it came from."""

    pixels: NDArray[np.float32]
    scale_x: float
    scale_y: float
    left: int
    top: int
    width: int
    height: int

    def mask_to_source(self, logits: NDArray[np.float32], box: tuple[float, ...]) -> NDArray[np.bool_]:
        """A mask of half the source's size from logits over the prepared image, inside a box in source pixels."""
        height, width = max(1, self.height // 2), max(1, self.width // 2)
        sx, sy = logits.shape[1] / self.pixels.shape[3], logits.shape[0] / self.pixels.shape[2]
        inner = (
            self.left * sx,
            self.top * sy,
            (self.left + self.scale_x * self.width) * sx,
            (self.top + self.scale_y * self.height) * sy,
        )
        resized = Image.fromarray(logits).resize((width, height), Image.Resampling.BILINEAR, box=inner)
        mask: NDArray[np.bool_] = np.asarray(resized) > 0.0
        left, top = int(box[0] * width / self.width), int(box[1] * height / self.height)
        right, bottom = int(np.ceil(box[2] * width / self.width)), int(np.ceil(box[3] * height / self.height))
        inside = np.zeros_like(mask)
        inside[top:bottom, left:right] = mask[top:bottom, left:right]
        return inside

    def to_source(self, boxes: NDArray[np.floating]) -> NDArray[np.float64]:
        """Boxes (n, 4) in pixels of the prepared image as pixels of the source image, cut at its borders."""
        back = boxes.astype(np.float64)
        back[:, 0::2] = np.clip((back[:, 0::2] - self.left) / self.scale_x, 0.0, self.width)
        back[:, 1::2] = np.clip((back[:, 1::2] - self.top) / self.scale_y, 0.0, self.height)
        return back


@dataclass(frozen=True, slots=True)
class ImageInput:
    """What a model wants to see: size in pixels, how an image gets into it, and how values are scaled."""

    width: int
    height: int
    fit: Fit = "stretch"
    mean: tuple[float, ...] = (0.0, 0.0, 0.0)
    std: tuple[float, ...] = (1.0, 1.0, 1.0)

    def prepare(self, rgb: NDArray[np.uint8]) -> Fitted:
        """The image in this size, values from 0 to 1 before mean and deviation; letterbox bars are grey."""
        height, width = rgb.shape[:2]
        if self.fit == "stretch":
            inner_w, inner_h = self.width, self.height
        else:
            ratio = min(self.width / width, self.height / height)
            inner_w, inner_h = max(1, round(width * ratio)), max(1, round(height * ratio))
        left, top = (self.width - inner_w) // 2, (self.height - inner_h) // 2
        resized = Image.fromarray(rgb).resize((inner_w, inner_h), Image.Resampling.BILINEAR)
        canvas = np.full((self.height, self.width, 3), 114, dtype=np.uint8)
        canvas[top : top + inner_h, left : left + inner_w] = np.asarray(resized)
        shift, spread = np.asarray(self.mean, dtype=np.float32), np.asarray(self.std, dtype=np.float32)
        values: NDArray[np.float32] = (canvas.astype(np.float32) / np.float32(255.0) - shift) / spread
        pixels = np.ascontiguousarray(values.transpose(2, 0, 1)[np.newaxis])
        return Fitted(pixels, inner_w / width, inner_h / height, left, top, width, height)


def scaling_of(preprocessor: Mapping[str, Any]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation that a preprocessor_config.json asks for; 0 and 1 where it asks for none."""
    if not preprocessor.get("do_normalize", False):
        return (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    mean = _three(preprocessor, "image_mean")
    std = _three(preprocessor, "image_std")
    if min(std) <= 0:
        raise InvalidValue("image_std", std, "must be positive", remedy="get preprocessor_config.json again")
    return mean, std


def _three(preprocessor: Mapping[str, Any], key: str) -> tuple[float, ...]:
    given = preprocessor.get(key)
    if not isinstance(given, list) or len(given) != 3 or not all(isinstance(one, int | float) for one in given):
        raise InvalidValue(key, given, "must be three numbers", remedy="get preprocessor_config.json again")
    return tuple(float(one) for one in given)
