from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.sim.home import Home
from lastseen.sim.render import Renderer, camera_pose


def test_instances_become_things_with_their_labels(aws_home: Home) -> None:
    assert len(aws_home.things_of("chair")) == 8
    assert aws_home.thing(64).label == "refrigerator"
    assert aws_home.thing(64).extent == pytest.approx([0.83, 1.04, 1.95], abs=0.02)


def test_walls_floors_doors_and_windows_are_structure(aws_home: Home) -> None:
    assert not {"wall", "floor", "door", "folding door", "window"} & set(aws_home.labels())
    assert aws_home.structure.bounds[0] == pytest.approx([-9.5, -5.7, 0.0], abs=0.05)


def test_boxes_are_those_of_the_file(aws_home: Home, shared_data: Path) -> None:
    boxes = np.load(shared_data / "aws_small_house" / "small_house.npz")["instance_box"]
    for key, thing in aws_home.things.items():
        assert thing.box == pytest.approx(boxes[key - 1], abs=1e-3)


def test_small_things_can_be_carried_and_know_their_support(aws_home: Home) -> None:
    tablet = aws_home.things_of("tablet")[0]
    assert tablet.movable
    assert tablet.support_id is not None
    assert aws_home.thing(tablet.support_id).label == "coffee table"
    assert not aws_home.things_of("sofa")[0].movable


def test_textures_are_drawn(aws_home: Home) -> None:
    camera = Intrinsics.from_fov(160, 120, horizontal_deg=79.0)
    view = Renderer(aws_home).render(camera_pose(Pose2D(4.0, -1.0, np.pi), height=0.88), camera)
    bin_id = aws_home.things_of("trash can")[0].id
    colours = view.rgb[view.ids == bin_id].astype(int)
    assert len(np.unique(colours // 16, axis=0)) > 10


def test_files_that_are_no_homes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        Home.from_npz(tmp_path / "none.npz")
    (tmp_path / "text.npz").write_text("no")
    with pytest.raises(InvalidValue, match="cannot be read"):
        Home.from_npz(tmp_path / "text.npz")
    np.savez(tmp_path / "other.npz", vertices=np.zeros((3, 3)))
    with pytest.raises(InvalidValue, match="lacks faces"):
        Home.from_npz(tmp_path / "other.npz")
