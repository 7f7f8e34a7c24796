"""Poses from the images: a walk through the small room is tracked, a slow recording refused, a lost track said."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import SourceError
from lastseen.geometry import Pose3D
from lastseen.sources import open_source
from lastseen.sources.odometry import OdometrySource
from tests.sources.room import looking, write_recording

pytest.importorskip("small_gicp")


def smooth(count: int) -> list[Pose3D]:
    """A slow turn through a corner of the room, at 30 Hz."""
    return [
        looking(-0.8 + 0.01 * step, 0.3 * math.sin(step / 20), yaw=-0.2 + 0.012 * step, height=1.3)
        for step in range(count)
    ]


def test_a_walk_is_tracked_with_the_floor_level(tmp_path: Path) -> None:
    true = smooth(40)
    folder = write_recording(tmp_path / "walk", true, period=1 / 30)
    (folder / "groundtruth.txt").unlink()
    with open_source(folder, changes=["poses=odometry"]) as source:
        found = [frame.T_world_camera for frame in source.frames()]
    assert len(found) == len(true)
    for pose, wanted in zip(found, true, strict=True):
        # both worlds have z up, so heights and tilts compare as they are
        tilt = np.degrees(np.arccos(np.clip(pose.rotation[2] @ wanted.rotation[2], -1, 1)))
        assert tilt < 2.0
        assert found[0].distance_to(pose) == pytest.approx(true[0].distance_to(wanted), abs=0.03)


def test_frames_that_are_far_apart_are_no_video(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "walk", smooth(12), period=0.67)
    with open_source(folder, changes=["poses=odometry"]) as source, pytest.raises(SourceError, match=r"0.67 s apart"):
        list(source.frames())


def test_a_lost_track_leaves_frames_out_and_says_so(tmp_path: Path) -> None:
    away = [looking(-2.5, -2.0, yaw=2.5 + 0.01 * step) for step in range(35)]
    folder = write_recording(tmp_path / "walk", [*smooth(15), *away], period=1 / 30)
    with open_source(folder, changes=["poses=odometry"]) as source:
        assert isinstance(source, OdometrySource)
        assert len(list(source.frames())) == 15
        assert source.intake.skipped["lost track"] >= 30
        assert any("run it apart" in note for note in source.intake.notes)
