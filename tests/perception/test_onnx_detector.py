"""Detectors from ONNX files: the graphs are tiny, onnxruntime and everything around it is real."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from lastseen.config.perception import Detector as Rules
from lastseen.detection import Detection
from lastseen.errors import InvalidValue, MissingExtra
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.detectors import open_detector, open_sam
from lastseen.perception.onnx_detector import OnnxDetector
from lastseen.protocols import Detector
from lastseen.search.policy.goal_pixel import choose_goal_pixel
from tests.perception.tiny_onnx import final_detector, logits_of, raw_detector, save

CUP, BOWL, CHAIR = 41, 45, 56
MIDDLE = [0.25, 0.25, 0.5, 0.75]


def frame(width: int = 160, height: int = 80) -> Frame:
    rgb = np.zeros((height, width, 3), dtype=np.uint8)
    rgb[: height // 4, : width // 4] = 255
    depth = np.full((height, width), 2.0, dtype=np.float32)
    camera = Intrinsics(100.0, 100.0, width / 2, height / 2, width, height)
    return Frame(0, 0.0, rgb, depth, Pose3D.from_matrix(np.eye(4)), camera)


def boxes(found: list[Detection]) -> list[tuple[float, ...]]:
    return [tuple(round(value, 2) for value in one.box) for one in found]


def test_the_exporters_own_layout_gives_boxes_in_pixels_of_the_frame(tmp_path: Path) -> None:
    path = final_detector(
        tmp_path / "rtdetr.onnx",
        labels=[CHAIR, CUP, CUP],
        boxes=[[0.5, 0.5, 1.0, 1.0], MIDDLE, [0.0, 0.0, 0.1, 0.1]],
        scores=[0.6, 0.9, 0.1],
    )
    found = OnnxDetector(path).detect(frame())
    assert [one.labels for one in found] == [{"cup": pytest.approx(0.9)}, {"chair": pytest.approx(0.6)}]
    assert boxes(found) == [(40.0, 20.0, 80.0, 60.0), (80.0, 40.0, 160.0, 80.0)]


def test_the_transformers_layout_gives_the_same_boxes(tmp_path: Path) -> None:
    path = raw_detector(
        tmp_path / "model.onnx",
        logits=logits_of([{CUP: 0.9, BOWL: 0.3}, {CHAIR: 0.2}]),
        boxes=np.array([[0.375, 0.5, 0.25, 0.5], [0.5, 0.5, 1.0, 1.0]], dtype=np.float32),
    )
    (found,) = OnnxDetector(path).detect(frame())
    assert boxes([found]) == [(40.0, 20.0, 80.0, 60.0)]
    assert found.labels == {"cup": pytest.approx(0.9, abs=1e-4), "bowl": pytest.approx(0.3, abs=1e-4)}


@pytest.mark.parametrize("fit", ["stretch", "letterbox"])
def test_a_box_around_the_white_part_comes_back_around_it(tmp_path: Path, fit: str) -> None:
    """The whole prepared image is one box: stretched it is the frame, letterboxed it ends at the frame's border."""
    path = final_detector(tmp_path / "m.onnx", labels=[CUP], boxes=[[0.0, 0.25, 1.0, 0.75]], scores=[0.9])
    (found,) = OnnxDetector(path, settings=Rules(fit=fit)).detect(frame())
    expected = (0.0, 20.0, 160.0, 60.0) if fit == "stretch" else (0.0, 0.0, 160.0, 80.0)
    assert boxes([found]) == [expected]


def test_boxes_that_coincide_are_one_thing_with_two_names(tmp_path: Path) -> None:
    near = [value + 0.005 for value in MIDDLE]
    path = final_detector(tmp_path / "m.onnx", labels=[CUP, BOWL], boxes=[MIDDLE, near], scores=[0.8, 0.5])
    (found,) = OnnxDetector(path).detect(frame())
    assert found.labels == {"cup": pytest.approx(0.8), "bowl": pytest.approx(0.5)}


def test_an_open_input_size_takes_the_setting(tmp_path: Path) -> None:
    path = final_detector(tmp_path / "m.onnx", labels=[CUP], boxes=[MIDDLE], scores=[0.9], side="S")
    (found,) = OnnxDetector(path, settings=Rules(side=96)).detect(frame())
    assert boxes([found]) == [(40.0, 20.0, 80.0, 60.0)]


@pytest.mark.parametrize("kind", [TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT])
def test_the_size_is_given_in_the_type_that_the_graph_asks_for(tmp_path: Path, kind: int) -> None:
    path = final_detector(tmp_path / "m.onnx", labels=[CUP], boxes=[MIDDLE], scores=[0.9], size_type=kind)
    assert OnnxDetector(path).detect(frame())


def test_half_precision_and_a_pixel_mask_are_served(tmp_path: Path) -> None:
    path = raw_detector(
        tmp_path / "m.onnx",
        logits=logits_of([{CUP: 0.9}]),
        boxes=np.array([[0.5, 0.5, 0.5, 0.5]], dtype=np.float32),
        with_mask=True,
        image_type=TensorProto.FLOAT16,
    )
    assert [one.label for one in OnnxDetector(path).detect(frame())] == ["cup"]


def test_the_first_detr_scores_nothing_against_the_rest(tmp_path: Path) -> None:
    logits = np.zeros((2, 92), dtype=np.float32)
    logits[0, 47] = 9.0
    logits[1, 91] = 9.0
    middles = np.array([[0.5, 0.5, 0.5, 0.5]] * 2, dtype=np.float32)
    (found,) = OnnxDetector(raw_detector(tmp_path / "m.onnx", logits=logits, boxes=middles)).detect(frame())
    assert found.label == "cup"


def test_own_labels_come_from_a_file_and_a_dash_is_not_reported(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("sofa\n-\nradiator\n")
    path = final_detector(tmp_path / "m.onnx", labels=[2, 1], boxes=[MIDDLE, [0.6, 0.6, 0.9, 0.9]], scores=[0.9, 0.9])
    assert [one.label for one in OnnxDetector(path, labels=tmp_path / "labels.txt").detect(frame())] == ["radiator"]


def test_a_thing_is_called_by_the_word_it_was_asked_for(tmp_path: Path) -> None:
    couch = 57
    path = final_detector(tmp_path / "m.onnx", labels=[couch], boxes=[MIDDLE], scores=[0.9])
    detector = OnnxDetector(path)
    assert [one.label for one in detector.detect(frame(), ["sofa", "mug"])] == ["sofa"]
    assert [one.label for one in detector.detect(frame(), ["chair"])] == ["couch"]


def test_names_come_from_the_config_beside_the_model(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "d_fine", "id2label": {"0": "sofa", "1": "rug"}}))
    path = raw_detector(
        tmp_path / "onnx" / "model.onnx",
        logits=logits_of([{1: 0.9}], classes=2),
        boxes=np.array([[0.5, 0.5, 0.5, 0.5]], dtype=np.float32),
    )
    assert [one.label for one in OnnxDetector(path).detect(frame())] == ["rug"]


def test_the_same_frame_gives_the_same_detections(tmp_path: Path) -> None:
    path = final_detector(tmp_path / "m.onnx", labels=[CUP, CHAIR], boxes=[MIDDLE, MIDDLE], scores=[0.9, 0.9])
    first, second = (OnnxDetector(path).detect(frame()) for _ in range(2))
    assert [(one.box, one.score, dict(one.labels)) for one in first] == [
        (one.box, one.score, dict(one.labels)) for one in second
    ]


def test_too_few_labels_are_told_with_the_number_of_classes(tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("sofa\n")
    path = raw_detector(
        tmp_path / "m.onnx", logits=logits_of([{CUP: 0.9}]), boxes=np.array([[0.5] * 4], dtype=np.float32)
    )
    with pytest.raises(InvalidValue, match="has 80 classes, labels has 1 names"):
        OnnxDetector(path, labels=tmp_path / "labels.txt").detect(frame())


def test_a_class_beyond_the_labels_is_told(tmp_path: Path) -> None:
    path = final_detector(tmp_path / "m.onnx", labels=[99], boxes=[MIDDLE], scores=[0.9])
    with pytest.raises(InvalidValue, match="gives class 99, COCO has 80 names"):
        OnnxDetector(path).detect(frame())


def test_unnamed_classes_need_a_labels_file(tmp_path: Path) -> None:
    path = raw_detector(
        tmp_path / "m.onnx",
        logits=logits_of([{1: 0.9}], classes=7),
        boxes=np.array([[0.5] * 4], dtype=np.float32),
    )
    with pytest.raises(InvalidValue, match="give --labels FILE"):
        OnnxDetector(path).detect(frame())


@pytest.mark.parametrize("text", ["", "mug\n\ncup\n"])
def test_an_unfit_labels_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.txt").write_text(text)
    path = final_detector(tmp_path / "m.onnx", labels=[0], boxes=[MIDDLE], scores=[0.9])
    with pytest.raises(InvalidValue, match="labels"):
        OnnxDetector(path, labels=tmp_path / "labels.txt")


def test_what_is_no_graph_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"not a model at all")
    with pytest.raises(InvalidValue, match="not a graph that onnxruntime can run") as caught:
        OnnxDetector(tmp_path / "m.onnx")
    assert "\n" not in str(caught.value)


def test_a_graph_that_is_no_detector_is_named_by_what_it_gives(tmp_path: Path) -> None:
    image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, 8, 8])
    same = helper.make_tensor_value_info("same", TensorProto.FLOAT, [1, 3, 8, 8])
    path = save(tmp_path / "m.onnx", [helper.make_node("Identity", ["image"], ["same"])], [image], [same], {})
    with pytest.raises(InvalidValue, match=r"gives same \[1, 3, 8, 8\]"):
        OnnxDetector(path)


def test_boxes_that_are_not_finite_are_told(tmp_path: Path) -> None:
    path = final_detector(tmp_path / "m.onnx", labels=[CUP], boxes=[[np.nan, 0, 1, 1]], scores=[0.9])
    with pytest.raises(InvalidValue, match="not finite"):
        OnnxDetector(path).detect(frame())


def test_a_missing_file_and_a_foreign_one_name_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="is not a file"):
        open_detector(tmp_path / "none.onnx")
    with pytest.raises(InvalidValue, match=r"give an \.onnx or \.tflite file"):
        open_detector(tmp_path / "weights.pt")


def test_a_known_name_that_is_not_here_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTSEEN_MODELS", str(tmp_path))
    with pytest.raises(InvalidValue, match="lastseen models pull dfine-s"):
        open_detector("dfine-s")


@pytest.mark.parametrize("opener", [open_detector, open_sam])
def test_without_torch_the_error_names_the_extra(
    opener: Callable[[Path], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[torch\]"):
        opener(tmp_path)


def test_without_onnxruntime_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[onnx\]"):
        OnnxDetector(tmp_path / "m.onnx")


def test_it_is_a_detector_and_gives_the_goal_pixel(tmp_path: Path) -> None:
    detector = open_detector(final_detector(tmp_path / "m.onnx", labels=[CUP], boxes=[MIDDLE], scores=[0.9]))
    assert isinstance(detector, Detector)
    pixel = choose_goal_pixel(frame(), detector.detect(frame()), target="cup", goal_flag=True)
    assert pixel.kind == "target"
    assert 40 <= pixel.u < 80
    assert 20 <= pixel.v < 60
