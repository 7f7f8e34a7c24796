"""Words put to looks: what no name answers is asked of an encoder that reads both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.encoders import ColorShapeEncoder, open_encoder
from lastseen.errors import IndexMismatch
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.store.reindex import reindex
from lastseen.observation import Observation
from lastseen.protocols import Encoder
from tests.encoders.tiny_towers import tiny_clip


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return open_encoder(f"clip:{tiny_clip(tmp_path_factory.mktemp('clip'))}")


def picture(red: int, green: int, blue: int) -> NDArray[np.uint8]:
    image = np.zeros((20, 20, 3), dtype=np.uint8)
    image[:] = (red, green, blue)
    return image


def look_around(memory: Memory, encoder: Encoder, *, name: str | None = None) -> None:
    """Two things seen three times from two sides: a red one, and a green one that may have a name."""
    camera = Intrinsics(30.0, 30.0, 19.5, 14.5, 40, 30)
    for i in range(3):
        frame = Frame(
            i,
            float(i),
            np.zeros((30, 40, 3), np.uint8),
            np.full((30, 40), 5.0, np.float32),
            Pose3D.from_matrix(np.eye(4)),
            camera,
        )
        seen = []
        for at, color, label in (((0.0, 0.0, 1.0), (255, 0, 0), None), ((3.0, 0.0, 1.0), (0, 255, 0), name)):
            seen.append(
                Observation(
                    position=np.array(at),
                    extent=np.full(3, 0.2),
                    view_direction=np.array([1.0, float(i % 2), 0.0]),
                    stamp=float(i),
                    labels={label: 0.9} if label else {},
                    embedding=encoder.encode_image([picture(*color)])[0],
                )
            )
        memory.observe(frame, seen)


def test_a_thing_without_a_name_is_found_by_its_look(clip: Encoder) -> None:
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip)
        memory.flush()
        answer = memory.find("a photo of a red mug", include_tentative=True)
        assert answer.status == "found", answer.reason
        assert answer.hits[0].position == pytest.approx((0.0, 0.0, 1.0))


def test_a_name_is_surer_than_a_look(clip: Encoder) -> None:
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip, name="mug")
        memory.flush()
        answer = memory.find("mug", include_tentative=True)
        assert [hit.label for hit in answer.hits] == ["mug"]


def test_what_is_neither_named_nor_seen_is_not_found(clip: Encoder) -> None:
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip)
        memory.flush()
        assert memory.find("blue mug", include_tentative=True).status == "not_found"


def test_the_encoder_may_come_later_and_must_be_the_one(clip: Encoder, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with Memory.open(file, image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip)
    with Memory.open(file, read_only=True) as memory:
        assert memory.find("red mug", include_tentative=True).status == "not_found"
        with pytest.raises(IndexMismatch, match="reindex"):
            memory.use_image_encoder(ColorShapeEncoder())
        memory.use_image_encoder(clip)
        assert memory.find("red mug", include_tentative=True).status == "found"
        assert memory.find(image=picture(250, 3, 3), include_tentative=True).hits


def test_a_memory_of_another_encoder_takes_it_by_reindex(clip: Encoder, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with Memory.open(file, image_encoder=ColorShapeEncoder(), wall_clock=None) as memory:
        look_around(memory, ColorShapeEncoder())
        settings = memory.settings
    with pytest.raises(IndexMismatch):
        Memory.open(file, image_encoder=clip)
    assert reindex(file, clip, settings=settings).encoder == clip.name
    with Memory.open(file, image_encoder=clip) as memory:
        assert memory.stats()["image_encoder"] == clip.name
