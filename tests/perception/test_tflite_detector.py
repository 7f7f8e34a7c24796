from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.tflite_detector import TfliteDetector
from tests.perception.tiny_tflite import tflite_model, with_names

pytest.importorskip("ai_edge_litert")
pytest.importorskip("flatbuffers")

BOXES = np.array([[[0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.5, 0.25], [0.1, 0.1, 0.2, 0.2]]], dtype=np.float32)
CLASSES = np.array([[1.0, 0.0, 1.0]], dtype=np.float32)
SCORES = np.array([[0.9, 0.6, 0.01]], dtype=np.float32)
COUNT = np.array([3.0], dtype=np.float32)
FORWARD = (("out:0", BOXES), ("out:1", CLASSES), ("out:2", SCORES), ("out:3", COUNT))
BACKWARD = (("out:0", COUNT), ("out:1", SCORES), ("out:2", CLASSES), ("out:3", BOXES))


def frame() -> Frame:
    camera = Intrinsics.from_fov(80, 40, horizontal_deg=70)
    rgb, depth = np.full((40, 80, 3), 90, np.uint8), np.full((40, 80), 2.0, np.float32)
    return Frame(0, 0.0, rgb, depth, Pose3D.identity(), camera)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.float32])
@pytest.mark.parametrize("outputs", [FORWARD, BACKWARD], ids=["boxes first", "count first"])
def test_boxes_names_and_scores_are_read_in_either_order(
    tmp_path: Path, outputs: Sequence[tuple[str, NDArray[np.float32]]], kind: type[np.generic]
) -> None:
    path = with_names(tflite_model(outputs, kind=kind), ["mug", "chair"], tmp_path / "tiny.tflite")
    found = TfliteDetector(path).detect(frame())
    assert [(one.label, one.box) for one in found] == [
        ("chair", (40.0, 10.0, 80.0, 30.0)),
        ("mug", (0.0, 0.0, 20.0, 20.0)),
    ]
    assert [one.score for one in found] == pytest.approx([0.9, 0.6])


def test_a_list_of_names_replaces_the_one_inside_and_leaves_classes_out(tmp_path: Path) -> None:
    path = with_names(tflite_model(FORWARD), ["mug", "chair"], tmp_path / "tiny.tflite")
    (tmp_path / "names.txt").write_text("-\narmchair\n")
    assert [one.label for one in TfliteDetector(path, labels=tmp_path / "names.txt").detect(frame())] == ["armchair"]


def test_a_file_without_names_speaks_in_those_of_coco(tmp_path: Path) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(tflite_model(FORWARD))
    assert [one.label for one in TfliteDetector(path).detect(frame())] == ["bicycle", "person"]


def test_a_class_without_a_name_is_one_line_with_the_remedy(tmp_path: Path) -> None:
    path = with_names(tflite_model(FORWARD), ["mug"], tmp_path / "tiny.tflite")
    with pytest.raises(InvalidValue, match=r"gives class 1, 1 have names.*--labels FILE") as caught:
        TfliteDetector(path).detect(frame())
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (tflite_model(FORWARD[:3]), r"gives out:0 \[1, 3, 4\], out:1 \[1, 3\], out:2 \[1, 3\]"),
        (tflite_model(FORWARD, side=16), r"takes image \[1, 16, 16, 3\]"),
        (tflite_model(FORWARD, side=5000), r"takes image \[1, 5000, 5000, 3\]"),
        (tflite_model(FORWARD, channels=1), r"takes image \[1, 64, 64, 1\]"),
        (tflite_model(FORWARD)[:200], "is not a model that LiteRT can run"),
        (b"", "is not a model that LiteRT can run"),
        (b"no model at all", "is not a model that LiteRT can run"),
    ],
    ids=["outputs", "small", "large", "grey", "cut off", "empty", "foreign"],
)
def test_a_file_of_another_layout_or_a_damaged_one_is_refused_in_one_line(
    tmp_path: Path, model: bytes, said: str
) -> None:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(model)
    with pytest.raises(InvalidValue, match=said) as caught:
        TfliteDetector(path)
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="is not a file"):
        TfliteDetector(tmp_path / "none.tflite")
