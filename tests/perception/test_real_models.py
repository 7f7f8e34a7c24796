"""Real weights on the real recordings: run where LASTSEEN_MODELS has them, printing what was found.

See it with ``pytest -s -m real_model``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest

from lastseen.config import Settings
from lastseen.encoders import open_encoder
from lastseen.frame import Frame
from lastseen.perception.detectors import open_detector, open_sam
from lastseen.perception.pipeline import Perception
from lastseen.perception.sam import Outlined
from lastseen.perception.vocabulary import Namer
from lastseen.protocols import Detector
from lastseen.sources import open_source

pytestmark = [pytest.mark.real_model, pytest.mark.slow, pytest.mark.timeout(1200)]
RECORDINGS = ["tum_fr1_rpy_60", "tum_fr3_cabinet", "lens_clip"]
RealModel = Callable[[str], Path]


def some_frames(folder: Path, *, every: int, most: int) -> list[Frame]:
    with open_source(str(folder)) as source:
        return list(islice(source.frames(), 0, every * most, every))


def counted(detector: Detector, frames: list[Frame], *, title: str) -> Counter[str]:
    found = Counter(one.label for frame in frames for one in detector.detect(frame) if one.label is not None)
    print(f"\n{title}, {len(frames)} frames: {', '.join(f'{n} {name}' for name, n in found.most_common(15))}")
    return found


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("name", ["dfine-n", "dfine-s", "rtdetr"])
def test_a_detector_names_things(name: str, recording: str, real_model: RealModel, shared_data: Path) -> None:
    real_model(name)
    frames = some_frames(shared_data / recording, every=8, most=6)
    assert counted(open_detector(name), frames, title=f"{name} on {recording}")


@pytest.mark.parametrize("recording", RECORDINGS)
@pytest.mark.parametrize("name", ["clip", "siglip2"])
def test_looks_give_names(name: str, recording: str, real_model: RealModel, shared_data: Path) -> None:
    real_model(name)
    encoder = open_encoder(name)
    perception = Perception(Settings(), encoder=encoder, namer=Namer(encoder))
    seen = [
        one
        for frame in some_frames(shared_data / recording, every=8, most=6)
        for one in perception.perceive(frame).observations
    ]
    names = Counter(one.label or "unknown" for one in seen)
    print(f"\n{name} on {recording}: {', '.join(f'{n} {label}' for label, n in names.most_common(15))}")
    assert seen
    assert set(names) != {"unknown"}


def test_what_is_asked_for_is_found_and_outlined(real_model: RealModel, shared_data: Path) -> None:
    real_model("grounding-dino")
    real_model("sam")
    targets = ("monitor", "keyboard", "desk", "chair", "book")
    detector = Outlined(open_detector("grounding-dino", targets=targets), open_sam("sam"))
    frames = some_frames(shared_data / "tum_fr1_rpy_60", every=30, most=2)
    assert counted(detector, frames, title="grounding-dino and sam on tum_fr1_rpy_60")
