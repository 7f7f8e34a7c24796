from __future__ import annotations

from collections.abc import Sequence

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.perception.keyframes import Refusal
from lastseen.perception.pipeline import Perception
from tests.perception.test_segment import look


class OneBox:
    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        return [Detection(box=(140.0, 100.0, 180.0, 150.0), score=0.9, labels={"box": 0.9})]


def test_things_get_a_place_an_embedding_and_a_crop() -> None:
    perceived = Perception().perceive(look(textured=True))
    assert perceived.observations
    for observation in perceived.observations:
        assert observation.embedding is not None
        assert observation.crop is not None
        assert observation.label is None


def test_a_detector_names_things() -> None:
    perception = Perception(detector=OneBox())
    (observation,) = perception.perceive(look(textured=True)).observations
    assert observation.label == "box"
    assert perception.names_things


def test_a_refused_frame_costs_no_model() -> None:
    perception = Perception()
    perception.perceive(look(textured=True))
    again = perception.perceive(look(textured=True))
    assert again.refusal is Refusal.NO_MOTION
    assert again.observations == ()


def test_what_each_stage_costs_is_summed() -> None:
    perception = Perception()
    perception.perceive(look(textured=True))
    assert set(perception.cpu_ms) == {"select", "find", "filter", "encode", "lift"}
