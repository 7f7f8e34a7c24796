from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.pose2d import Pose2D
from lastseen.sim.render import Renderer, camera_pose
from lastseen.sim.senses import DEPTH, MOTION, ActuationNoise, Drift, Level, noisy_depth, noisy_pose

CAMERA = Intrinsics.from_fov(160, 120, horizontal_deg=79.0)
IMPERFECT = [Level.GOOD, Level.TYPICAL, Level.BAD]


def wall(distance: float) -> np.ndarray:
    return np.full((120, 160), distance, dtype=np.float32)


@pytest.mark.parametrize("level", IMPERFECT)
def test_depth_noise_grows_with_the_range_squared(level: Level) -> None:
    noisy = [noisy_depth(wall(distance), CAMERA, 0, level=level, seed=1) for distance in (1.0, 2.0, 4.0)]
    spread = [float(np.nanstd(depth)) for depth in noisy]
    sigma = DEPTH[level].sigma
    assert spread == pytest.approx([sigma, 4 * sigma, 16 * sigma], rel=0.1)


def test_levels_get_worse() -> None:
    lost = [float(np.isnan(noisy_depth(wall(2.0), CAMERA, 0, level=level, seed=1)).mean()) for level in Level]
    assert lost[0] == 0.0
    assert lost == sorted(lost)


def test_edges_and_grazing_surfaces_lose_depth(renderer: Renderer) -> None:
    view = renderer.render(camera_pose(Pose2D(2.8, 2.0, -2.6), height=0.88), CAMERA)
    noisy = noisy_depth(view.depth, CAMERA, 0, level=Level.TYPICAL, seed=1)
    step = np.zeros(view.depth.shape, dtype=bool)
    step[:, 1:] |= np.abs(np.diff(view.depth, axis=1)) > 0.3
    assert np.isnan(noisy[step]).mean() > 3 * np.isnan(noisy).mean()
    rows = (1.0 / np.maximum(np.arange(120) - 59.5, 0.2)).astype(np.float32)
    floor = np.repeat((0.88 * CAMERA.fy * rows)[:, None], 160, axis=1)
    measured = noisy_depth(np.minimum(floor, 30.0), CAMERA, 0, level=Level.GOOD, seed=1)
    assert np.isnan(measured[59:64]).all()
    assert np.isnan(measured[100:]).mean() < 0.05


def test_what_is_too_near_or_too_far_is_not_measured() -> None:
    for distance in (0.1, 7.0):
        assert np.isnan(noisy_depth(wall(distance), CAMERA, 0, level=Level.TYPICAL, seed=1)).all()


def test_perfect_senses_change_nothing() -> None:
    pose = camera_pose(Pose2D(1.0, 2.0, 0.5), height=0.88)
    assert noisy_depth(wall(2.0), CAMERA, 0, level=Level.PERFECT, seed=1) is not None
    assert noisy_pose(pose, 0, level=Level.PERFECT, seed=1) == pose
    assert Drift(Level.PERFECT, seed=1).apply(pose) == pose
    assert ActuationNoise(Level.PERFECT, seed=1).disturb(0.25, 0.0) == (0.25, 0.0)


def test_depth_noise_depends_on_seed_and_frame_alone() -> None:
    def noisy(frame_id: int, seed: int) -> bytes:
        return noisy_depth(wall(2.0), CAMERA, frame_id, level=Level.TYPICAL, seed=seed).tobytes()

    assert noisy(5, 1) == noisy(5, 1)
    assert noisy(5, 1) != noisy(6, 1)
    assert noisy(5, 1) != noisy(5, 2)


@pytest.mark.parametrize("level", IMPERFECT)
def test_pose_noise_has_the_size_it_says(level: Level) -> None:
    pose = camera_pose(Pose2D(1.0, 2.0, 0.5), height=0.88)
    reported = [noisy_pose(pose, number, level=level, seed=1) for number in range(400)]
    errors = np.array([one.translation - pose.translation for one in reported])
    assert errors[:, :2].std() == pytest.approx(MOTION[level].position, rel=0.1)
    assert errors[:, 2].std() < 0.5 * errors[:, 0].std()
    yaw = [math.degrees(math.atan2(one.rotation[1, 2], one.rotation[0, 2])) - math.degrees(0.5) for one in reported]
    assert np.std(yaw) == pytest.approx(MOTION[level].rotation, rel=0.1)
    tilt = [math.degrees(math.asin(one.rotation[2, 2])) for one in reported]
    assert np.std(tilt) < 0.5 * np.std(yaw)


def test_drift_grows_with_the_way_and_not_with_time() -> None:
    def error(steps: int, seed: int) -> float:
        drift = Drift(Level.TYPICAL, seed=seed)
        pose = Pose3D.identity()
        for k in range(steps):
            pose = camera_pose(Pose2D(0.25 * k, 0.0, 0.0), height=0.88)
            reported = drift.apply(pose)
        return reported.distance_to(pose)

    near = np.mean([error(8, seed) for seed in range(10)])
    far = np.mean([error(200, seed) for seed in range(10)])
    assert near < 0.05
    assert far > 3 * near
    still = Drift(Level.BAD, seed=1)
    here = camera_pose(Pose2D(3.0, 1.0, 0.0), height=0.88)
    assert all(still.apply(here).distance_to(here) < 1e-12 for _ in range(50))


def test_actuation_noise_has_the_size_it_says() -> None:
    noise = ActuationNoise(Level.TYPICAL, seed=1)
    steps = np.array([noise.disturb(0.25, 0.0) for _ in range(500)])
    turns = np.array([noise.disturb(0.0, math.radians(30.0))[1] for _ in range(500)])
    assert steps[:, 0].mean() == pytest.approx(0.25, abs=0.003)
    assert steps[:, 0].std() == pytest.approx(0.25 * MOTION[Level.TYPICAL].forward, rel=0.15)
    assert np.degrees(turns).std() == pytest.approx(MOTION[Level.TYPICAL].turn, rel=0.15)


def test_an_unknown_level_is_refused_with_the_choices() -> None:
    with pytest.raises(InvalidValue, match="perfect, good, typical, bad"):
        Level.of("awful")
