"""Tiny ONNX detectors that really run: constant answers, touched by the image so that the input is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

SIDE = 64
QUERIES = 3
OPSET = 17
IR = 9


def save(path: Path, nodes: list[Any], inputs: list[Any], outputs: list[Any], constants: dict[str, Any]) -> Path:
    """Write a graph of these parts in a format that every onnxruntime of the range reads."""
    graph = helper.make_graph(
        nodes,
        "tiny",
        inputs,
        outputs,
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    return path


def final_detector(
    path: Path,
    *,
    labels: list[int],
    boxes: list[list[float]],
    scores: list[float],
    side: int | str = SIDE,
    size_type: int = TensorProto.INT64,
) -> Path:
    """Relative boxes scaled by orig_target_sizes, as RT-DETR's own exporter gives them.

    The scores are multiplied by the image's largest value, 1 for an image with a white part.
    """
    count = len(labels)
    nodes = [
        helper.make_node("Cast", ["orig_target_sizes"], ["size"], to=TensorProto.FLOAT),
        helper.make_node("Concat", ["size", "size"], ["size4"], axis=1),
        helper.make_node("Mul", ["relative", "size4"], ["flat"]),
        helper.make_node("Unsqueeze", ["flat", "first"], ["boxes"]),
        helper.make_node("ReduceMax", ["images"], ["brightest"], keepdims=0),
        helper.make_node("Mul", ["scores_raw", "brightest"], ["scores"]),
        helper.make_node("Identity", ["labels_raw"], ["labels"]),
    ]
    return save(
        path,
        nodes,
        [
            helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 3, side, side]),
            helper.make_tensor_value_info("orig_target_sizes", size_type, ["N", 2]),
        ],
        [
            helper.make_tensor_value_info("labels", TensorProto.INT64, [1, count]),
            helper.make_tensor_value_info("boxes", TensorProto.FLOAT, ["N", count, 4]),
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, count]),
        ],
        {
            "relative": np.array(boxes, dtype=np.float32).reshape(-1, 4),
            "labels_raw": np.array([labels], dtype=np.int64),
            "scores_raw": np.array([scores], dtype=np.float32),
            "first": np.array([0], dtype=np.int64),
        },
    )


def raw_detector(
    path: Path,
    *,
    logits: NDArray[np.float32],
    boxes: NDArray[np.float32],
    side: int | str = SIDE,
    with_mask: bool = False,
    image_type: int = TensorProto.FLOAT,
) -> Path:
    """Logits (queries, classes) and relative middles with sizes, as the exporters around transformers give them."""
    nodes = [
        helper.make_node("ReduceMax", ["pixel_values"], ["brightest"], keepdims=0),
        helper.make_node("Sub", ["brightest", "brightest"], ["nothing"]),
        helper.make_node("Cast", ["nothing"], ["zero"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["logits_raw", "zero"], ["logits"]),
        helper.make_node("Identity", ["boxes_raw"], ["pred_boxes"]),
    ]
    inputs = [helper.make_tensor_value_info("pixel_values", image_type, ["batch_size", 3, side, side])]
    outputs = [
        helper.make_tensor_value_info("logits", TensorProto.FLOAT, list(logits[None].shape)),
        helper.make_tensor_value_info("pred_boxes", TensorProto.FLOAT, list(boxes[None].shape)),
    ]
    if with_mask:
        inputs.append(helper.make_tensor_value_info("pixel_mask", TensorProto.INT64, ["batch_size", side, side]))
        nodes.append(helper.make_node("ReduceMin", ["pixel_mask"], ["least"], keepdims=0))
        outputs.append(helper.make_tensor_value_info("least", TensorProto.INT64, []))
    return save(path, nodes, inputs, outputs, {"logits_raw": logits[None], "boxes_raw": boxes[None]})


def logits_of(scores: list[dict[int, float]], classes: int = 80) -> NDArray[np.float32]:
    """Logits whose sigmoid gives these scores, and 0.001 everywhere else."""
    table = np.full((len(scores), classes), 0.001, dtype=np.float64)
    for row, named in zip(table, scores, strict=True):
        for number, score in named.items():
            row[number] = score
    return np.log(table / (1.0 - table)).astype(np.float32)
