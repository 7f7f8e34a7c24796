"""The layouts of the YOLO family: decoding as such, and graphs that really run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.onnx_detector import OnnxDetector
from lastseen.perception.yolo import decode, decode_plugin
from tests.perception.tiny_onnx import save

SIDE = 64
NAMES = ["cup", "chair", "bowl"]
CUP = [16.0, 24.0, 8.0, 16.0]
"""Middle and size in the prepared image: corners 12, 16, 20, 32."""


def rows(scores: list[list[float]], *, objectness: float | None = None, count: int = 40) -> NDArray[np.float32]:
    """Rows of version 5 (with objectness) or 8: the given ones at the cup's place, and empty ones."""
    width = 4 + (objectness is not None) + len(NAMES)
    table = np.zeros((count, width), dtype=np.float32)
    for row, given in zip(table, scores, strict=False):
        row[:4] = CUP
        row[4:] = [objectness, *given] if objectness is not None else given
    return table


def test_version_8_gives_columns_and_version_5_rows_with_objectness() -> None:
    newer = decode([rows([[0.9, 0.1, 0.3]]).T[None]], classes=3, min_score=0.4)
    older = decode([rows([[1.0, 0.1, 0.3]], objectness=0.9)[None]], classes=3, min_score=0.4)
    for answer in (newer, older):
        assert answer.boxes.tolist() == [[12.0, 16.0, 20.0, 32.0]]
        assert answer.scores[0, 0] == pytest.approx(0.9)


def test_rows_of_version_8_are_told_from_those_of_version_5_by_the_names() -> None:
    answer = decode([rows([[0.9, 0.1, 0.3]])[None]], classes=3, min_score=0.4)
    assert answer.scores.shape == (1, 3)


def test_boxes_of_one_class_at_one_place_become_one() -> None:
    answer = decode([rows([[0.9, 0, 0], [0.8, 0, 0], [0, 0.7, 0]]).T[None]], classes=3, min_score=0.4)
    assert answer.scores.max(axis=1).tolist() == pytest.approx([0.9, 0.7])


def test_built_in_nms_gives_final_boxes() -> None:
    final = np.array([[[12, 16, 20, 32, 0.9, 1], [0, 0, 4, 4, 0.1, 0]]], dtype=np.float32)
    answer = decode([final], classes=3, min_score=0.4)
    assert answer.boxes.tolist() == [[12.0, 16.0, 20.0, 32.0]]
    assert answer.scores.argmax(axis=1).tolist() == [1]


def test_version_7_end_to_end_and_the_plugin_give_the_same() -> None:
    flat = np.array([[0, 12, 16, 20, 32, 1, 0.9]], dtype=np.float32)
    first = decode([flat], classes=3, min_score=0.4)
    second = decode_plugin(
        [np.array([[1]]), flat[None, :, 1:5], np.array([[0.9]]), np.array([[1]])], classes=3, min_score=0.4
    )
    assert first.boxes.tolist() == second.boxes.tolist()
    assert first.scores.argmax() == second.scores.argmax() == 1


def graph(path: Path, outputs: dict[str, NDArray[Any]], *, metadata: dict[str, str], side: int | str = SIDE) -> Path:
    """A graph with these answers whatever the image, as ultralytics' exporter names its ports."""
    nodes = [
        helper.make_node("ReduceMax", ["images"], ["brightest"], keepdims=0),
        helper.make_node("Sub", ["brightest", "brightest"], ["zero"]),
    ]
    nodes += [helper.make_node("Add", [f"{name}_raw", "zero"], [name]) for name in outputs]
    save(
        path,
        nodes,
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [1, 3, side, side])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in outputs.items()],
        {f"{name}_raw": value for name, value in outputs.items()},
    )
    model = onnx.load(str(path))
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, str(path))
    return path


def frame(width: int = 128, height: int = 64) -> Frame:
    camera = Intrinsics(100.0, 100.0, width / 2, height / 2, width, height)
    depth = np.full((height, width), 2.0, dtype=np.float32)
    rgb: NDArray[np.uint8] = np.full((height, width, 3), 90, dtype=np.uint8)
    return Frame(0, 0.0, rgb, depth, Pose3D.identity(), camera)


def named(**more: str) -> dict[str, str]:
    return {"names": str(dict(enumerate(NAMES))), "task": "detect", **more}


def test_names_come_from_the_graph_and_boxes_lose_their_bars(tmp_path: Path) -> None:
    path = graph(tmp_path / "yolo.onnx", {"output0": rows([[0.9, 0.0, 0.3]]).T[None]}, metadata=named())
    (found,) = OnnxDetector(path).detect(frame())
    assert dict(found.labels) == {"cup": pytest.approx(0.9), "bowl": pytest.approx(0.3)}
    # 128x64 in 64x64: half the size, bars of 16 above and below
    assert found.box == pytest.approx((24.0, 0.0, 40.0, 32.0))


def test_outlines_are_drawn_inside_the_box(tmp_path: Path) -> None:
    prototypes = np.full((1, 32, SIDE // 4, SIDE // 4), -1.0, dtype=np.float32)
    prototypes[0, 0, :, :4] = 1.0
    table = np.zeros((40, 4 + len(NAMES) + 32), dtype=np.float32)
    table[0, :8] = [*CUP, 0.9, 0.0, 0.0, 1.0]
    path = graph(
        tmp_path / "yolo-seg.onnx",
        {"output0": table.T[None], "output1": prototypes},
        metadata=named(task="segment"),
    )
    (found,) = OnnxDetector(path).detect(frame())
    assert found.mask is not None
    assert found.mask.shape == (32, 64)
    columns = np.flatnonzero(found.mask.any(axis=0))
    # the box is 24 to 40 of 128 pixels, the outline ends at a quarter of the picture: 32
    assert columns[0] == 12
    assert 14 <= columns[-1] <= 17


@pytest.mark.parametrize(
    ("outputs", "metadata", "problem"),
    [
        ({"output0": rows([[0.9, 0, 0]]).T[None]}, {"names": str({0: "cup"})}, "classes, its metadata has 1 names"),
        ({"output0": rows([[0.9, 0, 0]]).T[None]}, named(task="pose"), "task 'pose'"),
        ({"output0": rows([[0.9, 0, 0]]).T[None]}, {"names": "[1"}, "no table of names"),
        ({"output0": np.zeros((1, 3, 8, 8), np.float32)}, {}, "gives output0 [1, 3, 8, 8]"),
        ({"output0": np.zeros((1, 1000), np.float32)}, {}, "gives output0 [1, 1000]"),
    ],
    ids=["names", "task", "metadata", "only prototypes", "classifier"],
)
def test_what_does_not_fit_is_said_in_one_line(
    tmp_path: Path, outputs: dict[str, NDArray[Any]], metadata: dict[str, str], problem: str
) -> None:
    path = graph(tmp_path / "odd.onnx", outputs, metadata=metadata)
    with pytest.raises(InvalidValue) as told:
        OnnxDetector(path).detect(frame())
    assert problem in str(told.value)
    assert "\n" not in str(told.value)


def test_an_exotic_input_size_is_refused(tmp_path: Path) -> None:
    path = graph(tmp_path / "wide.onnx", {"output0": rows([[0.9, 0, 0]]).T[None]}, metadata=named(), side=8192)
    with pytest.raises(InvalidValue, match="8192x8192"):
        OnnxDetector(path)


def test_the_exporters_size_is_used_where_the_graph_leaves_it_open(tmp_path: Path) -> None:
    path = graph(
        tmp_path / "open.onnx",
        {"output0": rows([[0.9, 0, 0]]).T[None]},
        metadata=named(imgsz=json.dumps([64, 64])),
        side="side",
    )
    found: list[Detection] = OnnxDetector(path).detect(frame())
    assert found[0].box == pytest.approx((24.0, 0.0, 40.0, 32.0))
