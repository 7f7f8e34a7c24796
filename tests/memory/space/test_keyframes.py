from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.detection import Box, Detection, people_in
from lastseen.errors import JournalDamaged
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.space.keyframes import Keyframe, Keyframes
from tests.memory.objects.scenes import CAMERA, frame_at, seen

MUG = (2.0, 0.0, 0.8)


def white(number: int, *, stamp: float | None = None, y: float = 0.0) -> Frame:
    made = frame_at(number, stamp=stamp, eye=(0.0, y, 1.2), target=MUG, depth=2.0)
    return replace(made, rgb=np.full(made.rgb.shape, 255, dtype=np.uint8))


def walk(memory: Memory, *, people: Sequence[Box] | None, count: int = 6) -> None:
    for number in range(count):
        y = 1.2 * number
        memory.observe(white(number, y=y), [seen(MUG, eye=(0.0, y, 1.2), labels={"mug": 0.9})], people=people)


def pixels(one: Keyframe) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(one.jpeg)))


def with_keyframes(value: str) -> Settings:
    return replace(Settings(), store=Store(keyframes=value))


def test_a_picture_is_kept_per_side_with_the_box_of_what_is_in_it(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen") as memory:
        walk(memory, people=())
        kept = memory.keyframes()
        assert len(kept) >= 4
        assert all(one.people == "blanked" for one in kept)
        left, top, right, bottom = kept[0].seen["obj-1"]
        assert left < CAMERA.width / 2 < right
        assert top < CAMERA.height / 2 < bottom


def test_standing_still_adds_none(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen") as memory:
        for number in range(20):
            memory.observe(white(number, stamp=0.1 * number), [seen(MUG)], people=())
        assert len(memory.keyframes()) == 1


def test_no_picture_where_nobody_looked_for_people(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen") as memory:
        walk(memory, people=None)
        assert memory.keyframes() == ()


def test_consent_keeps_pictures_and_the_file_says_so(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen", settings=with_keyframes("always")) as memory:
        walk(memory, people=None)
        assert {one.people for one in memory.keyframes()} == {"kept"}


def test_never_keeps_none(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen", settings=with_keyframes("never")) as memory:
        walk(memory, people=())
        assert memory.keyframes() == ()


def test_people_are_blanked_and_leave_no_points_on_the_surface(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen") as memory:
        walk(memory, people=[(10.0, 10.0, 30.0, 50.0)], count=1)
        picture = pixels(memory.keyframes()[0])
        assert abs(int(picture[30, 20, 0]) - 128) < 12
        assert picture[30, 70, 0] > 240
        some = len(memory.space.surface)
    with Memory.open(tmp_path / "n.lastseen") as memory:
        walk(memory, people=(), count=1)
        assert len(memory.space.surface) > some


def test_only_a_detector_that_knows_people_tells_where_they_are() -> None:
    found = [
        Detection((1.0, 2.0, 3.0, 4.0), 0.9, {"Person": 0.9}),
        Detection((5.0, 5.0, 9.0, 9.0), 0.8, {"mug": 0.8}),
    ]

    class Knows:
        knows_people = True

    assert people_in(found, Knows(), names=("person",)) == ((1.0, 2.0, 3.0, 4.0),)
    assert people_in(found, object(), names=("person",)) is None


def test_pictures_are_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "m.lastseen"
    with Memory.open(path) as memory:
        walk(memory, people=())
        before = [one.body for one in memory.keyframes()]
    with Memory.open(path, read_only=True) as memory:
        assert [one.body for one in memory.keyframes()] == before
        assert memory.stats()["disk"]["keyframes"] > sum(map(len, before))


def test_forgetting_takes_the_pictures_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.lastseen"
    with Memory.open(path) as memory:
        walk(memory, people=())
        jpeg = memory.keyframes()[0].jpeg
        memory.flush()
        memory.forget("obj-1")
        assert memory.keyframes() == ()
    assert jpeg[200:260] not in path.read_bytes()


def test_forgetting_takes_pictures_that_look_at_its_place_without_naming_it() -> None:
    keyframes = Keyframes()
    keyframes.observe(white(0), [seen((2.0, 0.5, 0.8))], ["obj-2"], people=())
    keyframes.forget(["obj-1"], boxes=[(MUG, (0.1, 0.1, 0.1))])
    assert len(keyframes) == 0


def test_forgetting_takes_pictures_of_where_it_stood_before(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m.lastseen") as memory:
        walk(memory, people=())
        memory.flush()
        memory._writes.objects.carry("obj-1", [0.0, 9.0, 0.0])
        # it looks at where the mug stood, and names another thing
        memory._writes.space.keyframes.observe(white(50, stamp=700.0), [seen((2.0, 0.4, 0.8))], ["obj-9"], people=())
        memory.forget("obj-1")
        assert memory.keyframes() == ()


def test_the_budget_thins_the_older_half() -> None:
    keyframes = Keyframes(budget=20_000)
    for number in range(60):
        keyframes.observe(white(number, stamp=700.0 * number), [seen(MUG)], ["obj-1"], people=())
    kept = keyframes.all
    assert sum(len(one.body) for one in kept) <= 20_000
    assert kept[0].number == 1
    assert kept[-1].number == 60


@pytest.mark.parametrize("body", [b"", b"\x05\x00\x00\x00{}", b"\x02\x00\x00\x00{}JPEG"])
def test_a_damaged_picture_is_named(body: bytes) -> None:
    with pytest.raises(JournalDamaged, match="keyframe 4 cannot be read"):
        Keyframes().restore({4: body}, "home.lastseen")
