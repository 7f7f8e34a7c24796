from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.perception.keyframes import Refusal
from lastseen.perception.pipeline import Perception
from tests.perception.test_segment import look
from tests.sources.room import looking, write_recording

WARMED_UP = """
import sys
from lastseen.compiled import Compiled
from lastseen.perception.pipeline import Perception
from lastseen.perception.warm_up import warm_up
from lastseen.sources import open_source
def compiled():
    return {one.__qualname__: len(one.machine_code.signatures) for one in Compiled._all if one.machine_code}
warm_up()
before = compiled()
perception = Perception()
for frame in open_source(sys.argv[1]).frames():
    perception.perceive(frame)
assert perception.keyframes.passed == 4
assert compiled() == before, {name: count for name, count in compiled().items() if before.get(name) != count}
assert set(before.values()) == {1}, before
"""


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


class BoxAndFarPerson:
    """Sees a box and, where no depth is measured, a person right beside it."""

    knows_people = True

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        mask = np.zeros(frame.depth.shape, dtype=np.bool_)
        mask[90:160, 170:200] = True
        return [
            Detection(box=(140.0, 100.0, 180.0, 150.0), score=0.9, labels={"box": 0.9}),
            Detection(box=(170.0, 90.0, 200.0, 160.0), score=0.9, labels={"person": 0.9}, mask=mask),
        ]


def test_a_person_whom_depth_cannot_place_is_blanked_in_the_crops_of_other_things() -> None:
    seen = look(textured=True)
    depth = seen.depth.copy()
    depth[85:165, 165:205] = np.nan
    (box,) = Perception(detector=BoxAndFarPerson()).perceive(replace(seen, depth=depth)).observations
    picture = box.picture()
    assert picture is not None
    with Image.open(io.BytesIO(picture)) as crop:
        shown = np.asarray(crop).astype(int)
    # the crop goes from column 136 to 184: the last 14 are the person's
    assert np.abs(shown[:, -10:-2] - 128).max() < 30


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


def test_after_warming_up_no_image_waits_for_the_compiler(tmp_path: Path) -> None:
    poses = [looking(-0.6 - 0.06 * step, 0.03 * step, yaw=-0.8 + 0.02 * step, pitch=-0.35) for step in range(4)]
    walk = write_recording(tmp_path / "walk", poses)
    done = subprocess.run(
        [sys.executable, "-c", WARMED_UP, str(walk)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
