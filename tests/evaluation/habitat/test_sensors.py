"""Habitat's axes, depths and sensors in our terms; no habitat-lab is needed for these."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lastseen.errors import InvalidValue, MissingExtra
from lastseen.evaluation.habitat import objectnav_config, open_objectnav
from lastseen.evaluation.habitat.environment import Camera, DepthRange, camera_pose
from lastseen.geometry import Intrinsics

LEVEL = Camera("rgb", Intrinsics.from_fov(64, 48, horizontal_deg=79.0), (0.0, 0.88, 0.0), False)


def state(**extra: Any) -> SimpleNamespace:
    """An agent at x 1, z -2 on a floor at y 5 that looks along -z."""
    return SimpleNamespace(position=[1.0, 5.0, -2.0], rotation=[0.0, 0.0, 0.0, 1.0], **extra)


def test_looking_along_minus_z_is_looking_along_our_y() -> None:
    pose = camera_pose(state(), LEVEL)
    np.testing.assert_allclose(pose.translation, [1.0, 2.0, 0.88])
    np.testing.assert_allclose(pose.rotation[:, 2], [0.0, 1.0, 0.0], atol=1e-12)


def test_a_tilted_sensor_tells_its_own_pose() -> None:
    down = -math.radians(30.0) / 2.0
    sensor = SimpleNamespace(position=[1.0, 5.88, -2.0], rotation=[math.sin(down), 0.0, 0.0, math.cos(down)])
    pose = camera_pose(state(sensor_states={"rgb": sensor}), LEVEL)
    np.testing.assert_allclose(pose.rotation[:, 2], [0.0, math.cos(math.pi / 6), -0.5], atol=1e-12)
    assert pose.translation[2] == pytest.approx(0.88)


def test_a_turned_sensor_without_a_pose_is_refused() -> None:
    turned = Camera("rgb", LEVEL.intrinsics, LEVEL.position, True)
    with pytest.raises(InvalidValue, match="how rgb is turned"):
        camera_pose(state(), turned)


def test_a_fisheye_is_no_pinhole() -> None:
    config = SimpleNamespace(sensor_subtype="FISHEYE", hfov=120)
    env = SimpleNamespace(
        sim=SimpleNamespace(sensor_suite=SimpleNamespace(sensors={"rgb": SimpleNamespace(config=config)}))
    )
    with pytest.raises(InvalidValue, match="no pinhole"):
        Camera.of(env, "rgb")


@pytest.mark.parametrize(
    ("normalized", "observed"), [(False, [0.5, 1.0, 4.3, np.nan]), (True, [0.0, 0.5 / 3.8, 1.0, np.nan])]
)
def test_depth_at_a_limit_is_unknown(normalized: bool, observed: list[float]) -> None:
    sensor = DepthRange(0.5, 4.3, normalized)
    depth = sensor.metres(np.array([observed], dtype=np.float32)[..., np.newaxis])
    np.testing.assert_allclose(depth, [[np.nan, 1.0, np.nan, np.nan]], rtol=1e-6)
    assert depth.dtype == np.float32


def test_the_overrides_hold_pixelnavs_figures() -> None:
    overrides = objectnav_config()
    assert "habitat.simulator.forward_step_size=0.25" in overrides
    assert "habitat.simulator.turn_angle=30" in overrides
    assert "habitat.simulator.habitat_sim_v0.allow_sliding=True" in overrides


def test_scenes_that_habitat_has_no_task_for_are_refused() -> None:
    with pytest.raises(InvalidValue, match="choose one of hm3d, mp3d"):
        open_objectnav("gibson")


def test_without_habitat_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "habitat", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[habitat\]"):
        open_objectnav("hm3d")
