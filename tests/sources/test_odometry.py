"""Poses from the images: a walk through the small room is tracked, a slow recording refused, a lost track said."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.errors import SourceError
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.sources import open_source
from lastseen.sources.follow import Summary, follow
from lastseen.sources.odometry import OdometrySource
from lastseen.sources.photometric import GrayImage
from lastseen.sources.tracker import Tracker
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


def test_a_lost_track_leaves_frames_out_until_a_known_place_is_seen_again(tmp_path: Path) -> None:
    away = [looking(-2.5, -2.0, yaw=2.5 + 0.01 * step) for step in range(25)]
    true = [*smooth(15), *away, *smooth(8)]
    folder = write_recording(tmp_path / "walk", true, period=1 / 30)
    with open_source(folder, changes=["poses=odometry"]) as source:
        assert isinstance(source, OdometrySource)
        found = [frame.T_world_camera for frame in source.frames()]
        assert source.tracker is not None
        assert source.tracker.found_again == 1
        assert source.intake.skipped["lost track"] == 25
    assert len(found) == 23
    assert found[-1].distance_to(found[7]) < 0.01


def test_a_track_that_stays_lost_goes_on_in_a_session_and_a_map_of_its_own(tmp_path: Path) -> None:
    elsewhere = [looking(-2.5, -2.0, yaw=2.5 + 0.01 * step) for step in range(45)]
    folder = write_recording(tmp_path / "walk", [*smooth(15), *elsewhere], period=1 / 30)
    with open_source(folder, changes=["poses=odometry"]) as source:
        begun = [(frame.id, updates.map_id) for frame in source.frames() if (updates := source.updates()).restarted]
        assert source.intake.frames == 30
        assert source.intake.skipped == {"lost track": 30}
        assert any("a map of its own" in note for note in source.intake.notes)
    assert begun == [(0, "odometry of walk from 100.000"), (15, "odometry of walk from 101.467")]


def furnished(count: int = 16) -> list[Pose3D]:
    """A walk past a cupboard that stands whole in the image."""
    return [looking(-0.6 - 0.06 * step, 0.03 * step, yaw=-0.8 + 0.02 * step, pitch=-0.35) for step in range(count)]


def other_side(count: int = 16) -> list[Pose3D]:
    """A walk that looks the other way, past a low chest: nothing of it is seen on the walk past the cupboard."""
    steps = range(count)
    return [looking(-0.4 + 0.05 * step, -0.7 + 0.02 * step, yaw=1.3 + 0.01 * step, pitch=-0.35) for step in steps]


def run_told(folder: Path, told: list[Pose3D | None], memory: Memory, monkeypatch: pytest.MonkeyPatch) -> Summary:
    """Run a recording whose tracker is told every pose; None is a frame that it loses."""

    class Told:
        def __init__(self) -> None:
            self.poses: dict[int, Pose3D] = {}
            self.loops = 0

        def track(self, number: int, *_: object) -> dict[int, Pose3D] | None:
            pose = told[number]
            if pose is None:
                return None
            self.poses[number] = pose
            return {}

    monkeypatch.setattr("lastseen.sources.odometry.Tracker", Told)
    monkeypatch.setattr("lastseen.sources.odometry.GIVEN_UP", 3)
    return follow(open_source(folder, changes=["poses=odometry"]), memory, Perception(memory.settings))


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    settings = Settings()
    settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=1))
    with Memory.open(tmp_path / "home.lastseen", settings=settings, wall_clock=None) as memory:
        yield memory


def test_what_is_seen_again_after_a_lost_track_is_recognised(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the tracker has lost where it is and begins elsewhere
    poses = furnished()
    folder = write_recording(tmp_path / "walk", [*poses, *poses[:3], *poses])
    away = Pose3D.from_quaternion([4.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    run_told(folder, [*poses, *[None] * 3, *(away @ pose for pose in poses)], memory, monkeypatch)
    first, second = memory.session_frames()
    assert (first.state, second.state) == ("first", "aligned")
    assert second.transform is not None
    moved = second.transform
    assert (moved.yaw, moved.x, moved.y, moved.z) == pytest.approx((0.0, -4.0, -2.0, 0.0), abs=0.05)
    assert all(one.position[0] < 3.0 for one in memory.objects())


def test_what_is_seen_after_a_lost_track_waits_in_a_map_of_its_own(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    poses, others = furnished(), other_side()
    folder = write_recording(tmp_path / "walk", [*poses, *poses[:3], *others])
    away = Pose3D.from_quaternion([4.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0])
    told = [*poses, *[None] * 3, *(away @ pose for pose in others)]
    summary = run_told(folder, told, memory, monkeypatch)
    assert [one.state for one in memory.session_frames()] == ["first", "quarantined"]
    # the run has ended its session, so what waits is in the file of that session
    waiting = memory.session_frames()[1].file
    assert waiting is not None
    with Memory.open(tmp_path / waiting, settings=memory.settings, read_only=True) as apart:
        assert len(apart.objects()) > 0
    assert len(memory.objects()) > 0
    # nothing of the new map was put into the first one, whose things cannot be placed from here
    assert all(one.position[0] < 3.0 for one in memory.objects())
    assert {one.alignment for one in memory.objects()} == {"unknown"}
    assert summary.skipped == {"lost track": 3}
    assert any("in a map of its own until that is aligned" in note for note in summary.notes)


def test_two_recordings_without_poses_are_not_taken_for_one_map(
    tmp_path: Path, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, poses in (("monday", furnished()), ("tuesday", other_side()), ("monday", furnished())):
        folder = tmp_path / name
        if not folder.exists():
            write_recording(folder, poses)
        run_told(folder, [*poses], memory, monkeypatch)
    assert [one.state for one in memory.session_frames()] == ["first", "quarantined", "stated"]


def test_colour_follows_a_motion_along_a_bare_wall() -> None:
    # depth is the same everywhere, so only the pattern on the wall shows the motion
    chance = np.random.default_rng(4)
    wall = np.kron(chance.integers(60, 200, (60, 80)), np.ones((12, 12))).astype(np.uint8)
    camera = Intrinsics(200.0, 200.0, 127.5, 95.5, 256, 192)
    tracker = Tracker(threads=1)
    for step in range(12):
        # 3 pixels at 1 m are 1.5 cm to the right
        view = wall[100 : 100 + 192, 100 + 3 * step : 100 + 3 * step + 256]
        depth = np.ones((192, 256), dtype=np.float32)
        rgb = np.ascontiguousarray(np.repeat(view[:, :, None], 3, axis=2))
        points = camera.unproject_image(depth)[::2, ::2].reshape(-1, 3)
        assert tracker.track(step, points, GrayImage.of(rgb, depth, camera)) is not None
    assert tracker.poses[11].translation == pytest.approx([0.165, 0.0, 0.0], abs=0.01)


def test_a_bare_wall_without_a_pattern_is_lost_not_guessed() -> None:
    camera = Intrinsics(200.0, 200.0, 127.5, 95.5, 256, 192)
    tracker = Tracker(threads=1)
    depth = np.ones((192, 256), dtype=np.float32)
    image = GrayImage.of(np.full((192, 256, 3), 128, dtype=np.uint8), depth, camera)
    points = camera.unproject_image(depth)[::2, ::2].reshape(-1, 3)
    assert tracker.track(0, points, image) is not None
    assert tracker.track(1, points, image) is None


@pytest.mark.parametrize("brightness", [0, 180])
def test_a_covered_lens_after_a_walk_is_a_lost_track(brightness: int) -> None:
    """Depth may go on in the dark, or before a wall; colour has no gradient to solve for then."""
    camera = Intrinsics(200.0, 200.0, 127.5, 95.5, 256, 192)
    chance = np.random.default_rng(4)
    pattern = np.kron(chance.integers(60, 200, (16, 22)), np.ones((12, 12)))[:192, :256].astype(np.uint8)
    tracker, depth = Tracker(threads=1), np.ones((192, 256), dtype=np.float32)
    points = camera.unproject_image(depth)[::2, ::2].reshape(-1, 3)
    seen, dark = (
        GrayImage.of(np.ascontiguousarray(np.repeat(gray[:, :, None], 3, axis=2)), depth, camera)
        for gray in (pattern, np.full_like(pattern, brightness))
    )
    assert tracker.track(0, points, seen) is not None
    assert tracker.track(1, points, dark) is None
    assert tracker.track(2, points, seen) is not None
