"""What people have that no source reads is called what it is, in one line with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.errors import SourceError
from lastseen.sources import open_source
from tests.sources.layouts import WRITERS


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["meta/info.json", "data/chunk-000/e.parquet"], "is a LeRobot dataset.*; export"),
        (
            ["1.0.0/features.json", "1.0.0/droid-train.tfrecord-00000-of-02048"],
            "is a dataset of TensorFlow",
        ),
        (["trajectory.h5", "recordings/SVO/1.svo"], "is raw data of DROID; export"),
        (["mav0/cam0/data/1.png"], "is of EuRoC's layout, which has no depth; give"),
        (["dataset/sequences/00/image_2/000000.png"], "is of KITTI's layout.*; give"),
        (["scene0000_00/scene0000_00.sens", "scene0000_00/scene.ply"], r"has only scene0000_00.sens.*; export"),
        (["00800-x/x.basis.glb", "00800-x/x.navmesh"], "has only x.basis.glb, which is a model"),
        (["ai_001/images/geometry/frame.hdf5"], "has only frame.hdf5, which is a file of arrays"),
        (["room/d-1.pgm", "room/r-1.ppm", "room/a-1.dump"], "has only a-1.dump, which is raw data of NYU Depth"),
        (
            ["chess/seq-01.zip", "chess/seq-02.zip"],
            r"holds packed parts \(seq-01.zip, seq-02.zip\); unpack",
        ),
        (["photos/1.jpg", "photos/2.jpg"], "has images, but no layout.*; add depth"),
        (["__MACOSX/._x.glb", "notes.md"], "no recording that is known"),
    ],
)
def test_a_folder_of_something_else_is_called_what_it_is(tmp_path: Path, files: list[str], message: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SourceError, match=message) as refused:
        open_source(tmp_path)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["map.db", "nyu_depth_v2_labeled.mat", "walk.mkv", "a.tar.zst", "x.rrd", "1.jpg"])
def test_a_file_of_something_else_is_called_what_it_is(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(SourceError, match=rf"{name}.*: is .*; "):
        open_source(tmp_path / name)


def test_one_file_of_a_recording_is_told_to_give_the_folder(tmp_path: Path) -> None:
    folder = WRITERS["TUM"](tmp_path / "walk")
    with pytest.raises(SourceError, match=r"rgb.txt.*is one file of a recording; give its folder .*walk"):
        open_source(folder / "rgb.txt")
