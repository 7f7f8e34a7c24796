"""Grounding DINO and SAM: tiny random weights, the real loading and inference code, every socket refused."""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from tests.search.policy.pixelnav.views import NO_TORCH

pytest.importorskip("torch", reason=NO_TORCH)

from lastseen.config import Settings
from lastseen.config.perception import Grounding, Outlines
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.perception.detectors import open_detector, open_named_detector, open_sam
from lastseen.perception.grounding_dino import GroundingDino, prompt
from lastseen.perception.pipeline import Perception
from lastseen.perception.sam import Outlined, Sam
from lastseen.protocols import Detector, Segmenter
from lastseen.search.policy.goal_pixel import choose_goal_pixel
from tests.perception.test_onnx_detector import frame
from tests.perception.test_segment import look
from tests.perception.tiny_transformers import tiny_grounding_dino, tiny_sam

pytestmark = pytest.mark.slow
EASY = Settings(
    grounding=Grounding(min_score=0.0), outlines=Outlines(min_quality=0.0, max_area=1.0, points_per_side=3)
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    home = tmp_path_factory.mktemp("models")
    return tiny_grounding_dino(home / "dino"), tiny_sam(home / "sam")


@pytest.fixture(scope="module")
def models(folders: tuple[Path, Path]) -> tuple[GroundingDino, Sam]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise AssertionError("the network was touched")

    with pytest.MonkeyPatch.context() as patch:
        for call in ("socket", "getaddrinfo", "create_connection"):
            patch.setattr(socket, call, refuse)
        detector, sam = open_detector(folders[0], settings=EASY), open_sam(folders[1], settings=EASY)
        assert isinstance(detector, GroundingDino)
        sam.outline(frame(), detector.detect(frame(), ["mug"]))
    return detector, sam


def test_they_are_a_detector_and_a_segmenter(models: tuple[GroundingDino, Sam]) -> None:
    assert isinstance(models[0], Detector)
    assert isinstance(models[1], Segmenter)
    assert isinstance(Outlined(*models), Detector)


def test_in_a_search_it_names_the_household_too_with_outlines(folders: tuple[Path, Path]) -> None:
    # the tiny model reads 16 tokens at once
    few = replace(EASY, grounding=replace(EASY.grounding, names_at_once=3))
    detector = open_named_detector(str(folders[0]), masks=str(folders[1]), settings=few)
    found = detector.detect(frame(), ["red mug"])
    names = {label for one in found for label in one.labels}
    assert names - {"red mug"}
    assert names <= {"red mug", *EASY.grounding.household.split(", ")}
    assert any(one.mask is not None for one in found)


def test_a_device_that_is_not_there_is_one_clear_line(folders: tuple[Path, Path]) -> None:
    for name, problem in (("cuda:99", "cannot be used here"), ("gpu", "cannot be used here")):
        with pytest.raises(InvalidValue, match=f"^grounding.device = '{name}': {problem}"):
            GroundingDino(folders[0], settings=Grounding(device=name))
    with pytest.raises(InvalidValue, match=r"^outlines\.device = 'gpu'"):
        Sam(folders[1], settings=Outlines(device="gpu"))


def test_what_is_found_has_a_name_that_was_asked_for(models: tuple[GroundingDino, Sam]) -> None:
    found = models[0].detect(frame(), ["red mug", "chair"])
    assert found
    assert {label for one in found for label in one.labels} <= {"red mug", "chair"}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        left, top, right, bottom = one.box
        assert 0 <= left < right <= 160
        assert 0 <= top < bottom <= 80


def test_many_names_are_asked_for_in_several_sentences(folders: tuple[Path, Path]) -> None:
    settings = Settings(grounding=Grounding(min_score=0.0, names_at_once=1))
    found = open_detector(folders[0], settings=settings).detect(frame(), ["mug", "chair"])
    assert {label for one in found for label in one.labels} == {"mug", "chair"}


def test_the_same_frame_gives_the_same_answer(models: tuple[GroundingDino, Sam]) -> None:
    first, second = (models[0].detect(frame(), ["mug"]) for _ in range(2))
    assert [(one.box, one.score) for one in first] == [(one.box, one.score) for one in second]


def test_names_are_cleaned_and_found_in_the_sentence() -> None:
    sentence, spans = prompt(["Mug.", "red,  chair!"])
    assert sentence == "mug. red chair."
    assert [sentence[first:last] for first, last in spans] == ["mug", "red chair"]


@pytest.mark.parametrize(("targets", "told"), [([], "are needed"), (["..."], "names nothing")])
def test_a_question_without_words_is_refused(
    models: tuple[GroundingDino, Sam], targets: list[str], told: str
) -> None:
    with pytest.raises(InvalidValue, match=told):
        models[0].detect(frame(), targets)


def test_a_sentence_that_is_too_long_names_the_setting(models: tuple[GroundingDino, Sam]) -> None:
    with pytest.raises(InvalidValue, match="names_at_once"):
        models[0].detect(frame(), [f"red chair {'mug ' * i}" for i in range(1, 6)])


def test_boxes_get_masks_in_the_size_of_the_picture(models: tuple[GroundingDino, Sam]) -> None:
    own = Detection(box=(0, 0, 9, 9), score=0.5, mask=np.ones((80, 160), dtype=np.bool_))
    boxes = [Detection(box=(40, 20, 80, 60), score=0.9, labels={"mug": 0.9}), own]
    outlined = models[1].outline(frame(), boxes)
    assert outlined[0].labels == {"mug": 0.9}
    assert outlined[0].mask is not None
    assert outlined[0].mask.shape == (80, 160)
    assert outlined[1] is own
    assert models[1].outline(frame(), []) == []


def test_a_picture_is_cut_into_masks_largest_first(models: tuple[GroundingDino, Sam]) -> None:
    found = models[1].segment(frame())
    assert found
    sizes = [int(one.mask.sum()) for one in found if one.mask is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert not any(one.labels for one in found)


def test_they_stand_behind_the_pipeline_and_the_goal_pixel(models: tuple[GroundingDino, Sam]) -> None:
    perception = Perception(EASY, detector=Outlined(*models), targets=("mug",))
    assert perception.perceive(look(textured=True)).refusal is None
    assert Perception(EASY, segmenter=models[1]).perceive(look(textured=True)).refusal is None
    seen = models[0].detect(frame(), ["mug"])
    assert choose_goal_pixel(frame(), seen, target="mug", goal_flag=True).kind == "target"


def test_other_weights_than_safetensors_are_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    for folder in folders:
        copy = Path(shutil.copytree(folder, tmp_path / folder.name))
        (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
        with pytest.raises(InvalidValue, match=r"has no model\.safetensors"):
            (open_detector if folder.name == "dino" else open_sam)(copy)


def test_a_checkpoint_that_lacks_a_tensor_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    copy = Path(shutil.copytree(folders[1], tmp_path / "sam"))
    tensors = load_file(copy / "model.safetensors")
    tensors.pop("mask_decoder.iou_token.weight")
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InvalidValue, match=r"lacks mask_decoder\.iou_token\.weight"):
        open_sam(copy)


def test_a_folder_of_another_kind_and_a_damaged_one_are_one_line(folders: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="is of type 'sam'"):
        open_detector(folders[1])
    with pytest.raises(InvalidValue, match=r"has no config\.json"):
        open_sam(tmp_path)
    copy = Path(shutil.copytree(folders[0], tmp_path / "dino"))
    (copy / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(InvalidValue, match="cannot be loaded") as caught:
        open_detector(copy)
    assert "\n" not in str(caught.value)


def test_code_in_a_folder_does_not_run(folders: tuple[Path, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(folders[0], tmp_path / "dino"))
    ran = tmp_path / "ran"
    (copy / "evil.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Evil: pass\n")
    for name in ("config.json", "tokenizer_config.json", "preprocessor_config.json"):
        config = json.loads((copy / name).read_text())
        kinds = ("AutoConfig", "AutoTokenizer", "AutoModel", "AutoImageProcessor")
        config["auto_map"] = dict.fromkeys(kinds, "evil.Evil")
        (copy / name).write_text(json.dumps(config))
    with contextlib.suppress(InvalidValue):
        open_detector(copy)
    assert not ran.exists()
