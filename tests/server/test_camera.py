from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import requests
from PIL import Image

from lastseen.memory.memory import Memory
from lastseen.perception.keyframes import Refusal
from lastseen.perception.pipeline import Perceived
from lastseen.server.run import Running
from tests.memory.objects.scenes import frame_at, seen
from tests.server.conftest import serving

MUG = (2.0, 0.0, 0.8)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    with Memory.open(tmp_path / "m.lastseen") as memory, serving(memory) as served:
        yield served


def see(running: Running, number: int, *, people: tuple[tuple[float, float, float, float], ...] | None = ()) -> None:
    eye = (0.0, 1.2 * number, 1.2)
    frame = frame_at(number, eye=eye, target=MUG, depth=2.0)
    running.service.observe(frame, Perceived((seen(MUG, eye=eye, labels={"mug": 0.9}),), people=people))


def get(running: Running, path: str) -> requests.Response:
    return requests.get(running.address.base + path, timeout=60)


def test_the_newest_image_comes_with_the_objects_in_it(running: Running) -> None:
    assert get(running, "/camera").json() is None
    see(running, 0)
    told = get(running, "/camera").json()
    assert told["live"] is True
    assert told["people"] == "blanked"
    (mug,) = told["objects"]
    assert mug["label"] == "mug"
    left, _, right, _ = mug["box"]
    assert 0 <= left < 40 < right <= 80
    picture = Image.open(io.BytesIO(get(running, told["image_url"]).content))
    assert picture.size == (80, 60)
    depth = np.asarray(Image.open(io.BytesIO(get(running, told["depth_url"]).content)))
    assert depth[30, 40] == pytest.approx(255 * 0.6, abs=1)


def test_boxes_and_image_are_of_the_same_frame_however_late_it_is_asked_for(running: Running) -> None:
    see(running, 0)
    told = get(running, "/camera").json()
    image, depth = get(running, told["image_url"]).content, get(running, told["depth_url"]).content
    see(running, 1)
    # one colour is one picture: the frames differ in depth
    running.service.show(replace(running.service.view.frame, depth=running.service.view.frame.depth * 2.0))  # type: ignore[union-attr]
    assert get(running, told["image_url"]).content == image
    assert get(running, told["depth_url"]).content == depth
    assert get(running, "/camera/depth").content != depth
    for number in range(2, 12):
        see(running, number)
        get(running, "/camera")
    assert get(running, told["depth_url"]).status_code == 200


def test_a_frame_that_was_refused_is_not_shown_where_people_are_blanked(running: Running) -> None:
    refused = Perceived((), refusal=Refusal.BLURRED)
    running.service.observe(frame_at(0, eye=(0.0, 0.0, 1.2), target=MUG, depth=2.0), refused)
    assert get(running, "/camera").json()["people"] == "kept"
    see(running, 1)
    before = get(running, "/camera").json()
    running.service.observe(frame_at(2, eye=(0.0, 2.0, 1.2), target=MUG, depth=2.0), refused)
    assert get(running, "/camera").json() == before


def test_the_past_is_the_keyframe_of_then(running: Running) -> None:
    for number in range(4):
        see(running, number)
    told = get(running, "/camera?at=1.5").json()
    assert told["live"] is False
    assert told["memory_time"] == 1.0
    assert get(running, told["image_url"]).content[:3] == b"\xff\xd8\xff"
    assert get(running, "/camera?at=-5").json() is None


def test_pictures_of_an_object_are_listed_newest_first(running: Running) -> None:
    for number in range(3):
        see(running, number)
    found = get(running, "/keyframes?object_id=obj-1&limit=2").json()
    assert found["total"] == 3
    assert [one["memory_time"] for one in found["keyframes"]] == [2.0, 1.0]
    assert get(running, "/keyframes?object_id=obj-9").json()["total"] == 0
    assert get(running, "/keyframes/99/image").status_code == 404


def test_without_a_detector_that_knows_people_nothing_is_kept(running: Running) -> None:
    see(running, 0, people=None)
    assert get(running, "/camera").json()["people"] == "kept"
    assert get(running, "/keyframes").json()["total"] == 0
