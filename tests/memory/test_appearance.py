"""Text -> encoder -> index -> ranked objects, where one encoder puts words and images in one space."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.encoders import ColorShapeEncoder, open_encoder
from lastseen.errors import IndexMismatch, InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.images import read_color
from lastseen.memory.memory import Memory
from lastseen.memory.query.ranker import MOST_RANKED
from lastseen.memory.store.index import FaissIndex, Match
from lastseen.memory.store.reindex import reindex
from lastseen.observation import Observation
from lastseen.protocols import Encoder
from tests.encoders.tiny_towers import tiny_clip
from tests.memory.homes import ROOM, walk


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return open_encoder(f"clip:{tiny_clip(tmp_path_factory.mktemp('clip'))}")


def picture(red: int, green: int, blue: int) -> NDArray[np.uint8]:
    image = np.zeros((20, 20, 3), dtype=np.uint8)
    image[:] = (red, green, blue)
    return image


def look_around(memory: Memory, encoder: Encoder, *, name: str | None = None) -> None:
    """Two things seen three times from two sides: a red one, and a green one that may have a name."""
    red, green = encoder.encode_image([picture(255, 0, 0), picture(0, 255, 0)])
    for i in range(3):
        seen = [thing((0.0, 0.0, 1.0), red), thing((3.0, 0.0, 1.0), green, name)]
        memory.observe(frame(i), [replace(one, stamp=float(i)) for one in seen])


def frame(number: int) -> Frame:
    return Frame(
        number,
        float(number),
        np.zeros((30, 40, 3), np.uint8),
        np.full((30, 40), 5.0, np.float32),
        Pose3D.from_matrix(np.eye(4)),
        Intrinsics(30.0, 30.0, 19.5, 14.5, 40, 30),
    )


def thing(at: tuple[float, float, float], embedding: NDArray[np.float32], label: str | None = None) -> Observation:
    return Observation(
        position=np.array(at, dtype=np.float64),
        extent=np.full(3, 0.2),
        view_direction=np.array([1.0, 0.0, 0.0]),
        stamp=0.0,
        labels={label: 0.9} if label else {},
        embedding=embedding,
    )


def test_a_thing_without_a_name_is_found_by_its_appearance(clip: Encoder) -> None:
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip)
        memory.flush()
        answer = memory.find("a photo of a red mug", include_tentative=True)
        assert answer.status == "found", answer.reason
        assert answer.hits[0].position == pytest.approx((0.0, 0.0, 1.0))
        assert answer.reason == "something fits 'a photo of a red mug' by appearance"


def test_name_and_appearance_together_beat_one_of_them(clip: Encoder) -> None:
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip, name="mug")
        named = memory.find("green mug", include_tentative=True)
        assert (named.status, named.hits[0].label) == ("found", "mug")
        # a name that means something else refuses what appearance alone would take
        otherwise = memory.find("green chair", include_tentative=True)
        assert otherwise.status == "not_found"
        assert otherwise.hits[0].label == "mug"


def test_the_index_is_searched_for_every_question_in_words(clip: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    search = FaissIndex.search

    def counted(self: FaissIndex, *args: Any, **options: Any) -> list[Match]:
        asked.append(1)
        return search(self, *args, **options)

    monkeypatch.setattr(FaissIndex, "search", counted)
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        look_around(memory, clip, name="mug")
        for question in ("mug", "red thing", "piano"):
            asked.clear()
            memory.find(question)
            assert asked == [1], question
    with Memory.open(image_encoder=ColorShapeEncoder(), wall_clock=None) as memory:
        look_around(memory, ColorShapeEncoder(), name="mug")
        asked.clear()
        memory.find("mug")
        assert asked == []


def test_all_names_are_compared_by_appearance_too(clip: Encoder) -> None:
    # more unnamed things than are ranked by appearance, all nearer to "blue" than the one with a name
    with Memory.open(image_encoder=clip, wall_clock=None) as memory:
        blue, green = clip.encode_image([picture(0, 0, 255), picture(0, 255, 0)])
        things = [thing((0.5 * i, 0.0, 1.0), blue) for i in range(MOST_RANKED + 5)]
        for i in range(3):
            memory.observe(
                frame(i), [replace(one, stamp=float(i)) for one in [*things, thing((0, 9, 1), green, "mug")]]
            )
        hits = memory.find("blue mug", include_tentative=True, k=300).hits
        (mug,) = [hit for hit in hits if hit.label == "mug"]
        # its name fits with the colour unseen (0.8), its appearance not at all
        assert mug.score == pytest.approx((0.8 + 0.0) / 2, abs=0.01)


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


def test_a_memory_of_another_encoder_takes_it_by_reindex_and_mixes_nothing(clip: Encoder, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with walk(Memory.open(file, image_encoder="elsewhere-16", wall_clock=None), looks="random") as memory:
        settings, old = memory.settings, memory.object("obj-1").emb_mean
        names = [(one.id, one.label, one.position) for one in memory.objects()]
    with pytest.raises(IndexMismatch, match="reindex"):
        Memory.open(file, image_encoder=clip)
    done = reindex(file, clip, settings=settings)
    assert (done.encoder, done.encoded, done.without_pictures) == (clip.name, len(names), 0)
    with Memory.open(file, image_encoder=clip, wall_clock=None) as memory:
        assert memory.stats()["image_encoder"] == clip.name
        assert [(one.id, one.label, one.position) for one in memory.objects()] == names
        # every vector is of the new encoder, made from the object's own pictures
        for one in memory.objects():
            picture = read_color(memory.object(one.id).image_crops[0])
            assert one.emb_mean is not None
            assert one.emb_gallery is not None
            assert one.emb_gallery.shape[1] == clip.dim
            assert float(one.emb_mean @ clip.encode_image([picture])[0]) > 0.99
        assert memory.find("red mug").hits[0].color == "red"
        with pytest.raises(InvalidValue, match="embedding"):
            memory.find(embedding=old)
        with pytest.raises(InvalidValue):
            walk(memory, 1, looks="random", start=10)
    with pytest.raises(IndexMismatch, match="reindex"):
        Memory.open(file, image_encoder="elsewhere-16")


def test_an_object_without_pictures_has_no_embedding_after_a_reindex(clip: Encoder, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with walk(Memory.open(file, wall_clock=None)) as memory:
        settings = memory.settings
    assert reindex(file, clip, settings=settings).encoded == 0
    with Memory.open(file, image_encoder=clip, wall_clock=None) as memory:
        assert [one.emb_mean for one in memory.objects()] == [None] * len(ROOM)
        assert memory.find("bowl").status == "found"
