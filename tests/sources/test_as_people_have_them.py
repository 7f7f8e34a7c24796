"""Folders with names, cameras and depth in the forms that people have them in: read right, or said what is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import SourceError
from lastseen.sources import open_source
from lastseen.sources.layouts.sequence import NO_STAMPS
from tests.sources.exports import EXPORTS, redwood_room
from tests.sources.layouts import COUNT, VARIANTS, WRITERS, k_matrix
from tests.sources.room import CAMERA, walk

PLAIN = "colour and depth in one folder"
VALUES = {"fx": CAMERA.fx, "fy": CAMERA.fy, "cx": CAMERA.cx, "cy": CAMERA.cy}


def _nerfstudio(folder: Path) -> Path:
    WRITERS["nerfstudio"](folder)
    tree = json.loads((folder / "transforms.json").read_text())
    for number, frame in enumerate(tree["frames"], start=8):
        (folder / frame["file_path"]).rename(folder / "images" / f"{number}.png")
        frame["file_path"] = f"images/{number}.png"
    (folder / "transforms.json").write_text(json.dumps(tree))
    return folder


def _colmap(folder: Path) -> Path:
    EXPORTS["COLMAP"](folder)
    text = (folder / "sparse" / "0" / "images.txt").read_text()
    for number in reversed(range(COUNT)):
        for part, end in (("images", "jpg"), ("depth", "png")):
            (folder / part / f"f{number}.{end}").rename(folder / part / f"f{number + 8}.{end}")
        text = text.replace(f" f{number}.jpg", f" f{number + 8}.jpg")
    (folder / "sparse" / "0" / "images.txt").write_text(text)
    return folder


@pytest.mark.parametrize("write", [_nerfstudio, _colmap])
def test_numbers_without_leading_zeros_come_in_their_order(write: Callable[[Path], Path], tmp_path: Path) -> None:
    """By their letters frame 10 comes before frame 8: the walk would jump there and back."""
    with open_source(write(tmp_path / "walk")) as source:
        places = [frame.T_world_camera.translation for frame in source.frames()]
    steps = [float(np.linalg.norm(later - earlier)) for earlier, later in pairwise(places)]
    true = [later.distance_to(earlier) for earlier, later in pairwise(walk(COUNT))]
    assert steps == pytest.approx(true, abs=1e-3)


def test_the_trajectory_is_found_beside_another_log(tmp_path: Path) -> None:
    folder = WRITERS["Open3D"](tmp_path / "lounge")
    (folder / "scene" / "trajectory.log").rename(folder / "lounge_trajectory.log")
    (folder / "odometry.log").write_text("0 1 2\n")
    with open_source(folder) as source:
        assert len(list(source.frames())) == COUNT


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("camera.json", json.dumps({"K": k_matrix(), "depth_scale": 1000})),
        ("intrinsics.json", json.dumps({**VALUES, "depth_scale": 1000})),
        ("intrinsics.json", json.dumps({**VALUES, "depth_factor": 1000})),
        ("camera_info.json", json.dumps({"camera": {**VALUES, "png_depth_scale": 1000}})),
    ],
)
def test_tum_takes_the_camera_in_any_form_that_other_folders_may_have(tmp_path: Path, name: str, text: str) -> None:
    folder = WRITERS["TUM"](tmp_path / "walk")
    scale = json.loads((folder / "camera.json").read_text())["depth_scale"]
    (folder / "camera.json").unlink()
    (folder / name).write_text(text.replace("1000", str(scale)))
    with open_source(folder) as source:
        record = next(iter(source.records()))
    assert (record.intrinsics.fx, record.intrinsics.cx) == (CAMERA.fx, CAMERA.cx)
    assert record.raw_per_metre == scale


def _with_camera(folder: Path, **changes: float) -> Path:
    VARIANTS[PLAIN](folder)
    for file in folder.glob("*intrinsic*"):
        file.unlink()
    (folder / "camera.json").write_text(json.dumps({**VALUES, **changes}))
    return folder


def test_a_principal_point_beside_the_middle_is_believed_where_the_size_is_said(tmp_path: Path) -> None:
    """Images cut from larger ones have one; without a size it says that the numbers are of another size."""
    folder = _with_camera(tmp_path / "walk", cx=110.0, width=CAMERA.width, height=CAMERA.height)
    with open_source(folder) as source:
        camera = next(iter(source.frames())).intrinsics
    assert (camera.fx, camera.cx) == (CAMERA.fx, 110.0)


def test_a_camera_of_another_shape_is_refused(tmp_path: Path) -> None:
    folder = _with_camera(tmp_path / "walk", width=320, height=180)
    with pytest.raises(SourceError, match=r"camera.json = '320x180': is not the shape of the images, 160x120"):
        open_source(folder)


def test_depth_of_8_bits_is_called_a_picture(tmp_path: Path) -> None:
    """Its values are no distances, but read as millimetres they would be things before the lens."""
    folder = WRITERS["ScanNet"](tmp_path / "scan")
    for file in (folder / "depth").iterdir():
        Image.fromarray((np.array(Image.open(file)) / 16).astype(np.uint8)).save(file)
    with open_source(folder) as source:
        assert not list(source.frames())
        assert "0.png = '8 bits': is a picture of depth, not depth" in source.intake.lines()[0]


def test_a_camera_that_no_file_describes_is_named_or_asked_for(tmp_path: Path) -> None:
    with open_source(redwood_room(tmp_path / "room")) as source:
        assert len(list(source.frames())) == COUNT
        assert any("no file says the intrinsics" in note for note in source.intake.notes)
    folder = WRITERS["Open3D"](tmp_path / "wide")
    (folder / "camera_intrinsic.json").unlink()
    for file in (folder / "color").iterdir():
        Image.open(file).resize((160, 90)).save(file)
    with pytest.raises(SourceError, match=r"intrinsics.*does not say them; write fx, fy, cx, cy into camera.json"):
        open_source(folder)


@pytest.mark.parametrize("name", ["7-Scenes", "ScanNet", "Replica", "Open3D", "nerfstudio"])
def test_stamps_that_are_assumed_are_noted(tmp_path: Path, name: str) -> None:
    with open_source(WRITERS[name](tmp_path / "walk")) as source:
        next(iter(source.records()))
        assert NO_STAMPS in source.intake.notes


def test_a_recording_may_lie_beside_what_was_unpacked_with_it(tmp_path: Path) -> None:
    folder = WRITERS["Stray Scanner"](tmp_path / "download" / "8653a2142b")
    (tmp_path / "download" / "__MACOSX").mkdir()
    shutil.copy(folder / "camera_matrix.csv", tmp_path / "download" / "notes.csv")
    with open_source(tmp_path / "download") as source:
        assert len(list(source.frames())) == COUNT
