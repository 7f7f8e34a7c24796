from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.conversion import to_frame
from lastseen.sources.message import pack, read_header, unpack

MANY = 10**6


BOX = {"box": [1, 1, 9, 9]}


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> Frame:
    from tests.sources.room import walk, write_recording

    folder: Path = write_recording(tmp_path_factory.mktemp("wire") / "walk", walk(1), depth_size=(80, 60))
    found: Frame = next(open_source(folder).frames())
    return found


def test_a_frame_comes_back_equal(frame: Frame) -> None:
    record, rows = unpack(pack(frame, sequence=3), max_pixels=MANY)
    again = to_frame(record, SourceOptions(), frame_id=0)
    assert rows == []
    assert again.stamp == frame.stamp
    assert (again.rgb == frame.rgb).all()
    assert np.array_equal(again.depth, frame.depth, equal_nan=True)
    assert again.intrinsics == frame.intrinsics
    assert again.depth_intrinsics == frame.depth_intrinsics
    assert (again.T_world_camera.quaternion == frame.T_world_camera.quaternion).all()


def changed(frame: Frame, change: Callable[[dict[str, Any]], object]) -> list[bytes]:
    header, color, depth = pack(frame)
    tree = json.loads(header)
    change(tree)
    return [json.dumps(tree).encode(), color, depth]


def test_compressed_pictures_are_read(frame: Frame) -> None:
    out = io.BytesIO()
    Image.fromarray(frame.rgb).save(out, "png")
    parts = changed(frame, lambda tree: tree["color"].update(encoding="png"))
    record, _ = unpack([parts[0], out.getvalue(), parts[2]], max_pixels=MANY)
    assert (record.rgb == frame.rgb).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.pop("stamp"), "header stamp"),
        (lambda tree: tree.update(version=2), "header version"),
        (lambda tree: tree.update(format="pickle"), "header format"),
        (lambda tree: tree.update(stamp="now"), "header stamp"),
        (lambda tree: tree["color"].update(width=10**9), "color size"),
        (lambda tree: tree["color"].update(width=-1, height=-1), "color size"),
        (lambda tree: tree["color"].update(width=7), "color buffer"),
        (lambda tree: tree["color"].update(encoding=["rgb8"]), "color encoding"),
        (lambda tree: tree["depth"].update(encoding="64FC1"), "depth encoding"),
        (lambda tree: tree["depth"].update(per_metre="mm"), "depth per_metre"),
        (lambda tree: tree["pose"].update(translation=[0, 0, None]), "pose translation"),
        (lambda tree: tree["pose"].update(quaternion=[0, 0, 1]), "pose quaternion"),
        (lambda tree: tree.update(camera=3), "header camera"),
        (lambda tree: tree.update(detections=7), "header detections"),
        (lambda tree: tree.update(stamp=10**400), "header stamp"),
        (lambda tree: tree["camera"].update(fx=10**400), "camera fx"),
        (lambda tree: tree.update(detections=[{**BOX, "label": ["mug"]}]), "header label"),
        (lambda tree: tree.update(detections=[{**BOX, "labels": {"mug": "much"}}]), "labels"),
        (lambda tree: tree.update(detections=[{**BOX, "box": [0, 0, 10**400, 9]}]), "header box"),
        (lambda tree: tree.update(detections=[{**BOX, "score": 10**400}]), "header stamp, score"),
        (lambda tree: tree.update(detections=[{**BOX, "mask": [5]}]), "mask = .* does not fill"),
    ],
)
def test_what_does_not_fit_is_one_clear_error(
    change: Callable[[dict[str, Any]], object], message: str, frame: Frame
) -> None:
    with pytest.raises(InvalidValue, match=message):
        unpack(changed(frame, change), max_pixels=MANY)


def test_buffers_that_are_cut_off_are_refused(frame: Frame) -> None:
    header, color, depth = pack(frame)
    with pytest.raises(InvalidValue, match="color buffer"):
        unpack([header, color[:-1], depth], max_pixels=MANY)
    with pytest.raises(InvalidValue, match="2 parts"):
        unpack([header, color], max_pixels=MANY)


@given(
    st.binary(max_size=60) | st.recursive(st.integers() | st.text(), st.lists).map(lambda x: json.dumps(x).encode())
)
def test_no_header_crashes(header: bytes) -> None:
    with pytest.raises(InvalidValue):
        read_header(header)
