"""What a worker says of Habitat's axes, depths and sensors in our terms, and the overrides it is given."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lastseen.config import Settings, settings_from_mapping
from lastseen.errors import InvalidValue
from lastseen.evaluation.habitat.dataset import Dataset, quoted
from lastseen.evaluation.habitat.environment import Camera, DepthRange, camera_pose
from lastseen.geometry import Intrinsics

LEVEL = Camera("rgb", Intrinsics.from_fov(64, 48, horizontal_deg=79.0), (0.0, 0.88, 0.0), False)


def view(camera: dict[str, Any] | None = None) -> dict[str, Any]:
    """An agent at x 1, z -2 on a floor at y 5 that looks along -z."""
    return {"agent": {"position": [1.0, 5.0, -2.0], "rotation": [0.0, 0.0, 0.0, 1.0]}, "camera": camera}


def test_looking_along_minus_z_is_looking_along_our_y() -> None:
    pose = camera_pose(view(), LEVEL)
    np.testing.assert_allclose(pose.translation, [1.0, 2.0, 0.88])
    np.testing.assert_allclose(pose.rotation[:, 2], [0.0, 1.0, 0.0], atol=1e-12)


def test_a_tilted_sensor_tells_its_own_pose() -> None:
    down = -math.radians(30.0) / 2.0
    sensor = {"position": [1.0, 5.88, -2.0], "rotation": [math.sin(down), 0.0, 0.0, math.cos(down)]}
    pose = camera_pose(view(sensor), LEVEL)
    np.testing.assert_allclose(pose.rotation[:, 2], [0.0, math.cos(math.pi / 6), -0.5], atol=1e-12)
    assert pose.translation[2] == pytest.approx(0.88)


def test_a_turned_sensor_without_a_pose_is_refused() -> None:
    turned = Camera("rgb", LEVEL.intrinsics, LEVEL.position, True)
    with pytest.raises(InvalidValue, match="how rgb is turned"):
        camera_pose(view(), turned)


def test_a_fisheye_is_no_pinhole_and_a_sensor_that_is_not_there_is_named_with_those_that_are() -> None:
    facts = {"sensors": {"rgb": {"subtype": "FISHEYE", "hfov": 120.0}}, "known_sensors": ["depth", "rgb"]}
    with pytest.raises(InvalidValue, match="no pinhole"):
        Camera.of(facts, "rgb")
    with pytest.raises(InvalidValue, match="choose of depth, rgb"):
        Camera.of(facts, "head_rgb")


@pytest.mark.parametrize(
    ("normalized", "observed"), [(False, [0.5, 1.0, 4.3, np.nan]), (True, [0.0, 0.5 / 3.8, 1.0, np.nan])]
)
def test_depth_at_a_limit_is_unknown(normalized: bool, observed: list[float]) -> None:
    depth = DepthRange(0.5, 4.3, normalized).metres(np.array([observed], dtype=np.float32))
    np.testing.assert_allclose(depth, [[np.nan, 1.0, np.nan, np.nan]], rtol=1e-6)
    assert depth.dtype == np.float32


def test_the_overrides_hold_pixelnavs_figures() -> None:
    overrides = Dataset().request(Settings())["overrides"]
    assert "habitat.simulator.forward_step_size=0.25" in overrides
    assert "habitat.simulator.turn_angle=30" in overrides
    assert "habitat.simulator.habitat_sim_v0.allow_sliding=True" in overrides


def test_paths_are_quoted_and_keep_their_split() -> None:
    overrides = Dataset(data_path="my data/{split}.json.gz").request(Settings())["overrides"]
    assert "habitat.dataset.data_path='my data/{split}.json.gz'" in overrides
    assert quoted("it's") == "'it\\'s'"


def test_the_scene_dataset_of_hm3d_v2_lies_in_the_scenes_folder_unless_it_is_named() -> None:
    assert Dataset().request(Settings())["scene_dataset"] is None
    found = Dataset(scenes_dir="/scans").request(Settings())["scene_dataset"]
    assert found == "/scans/hm3d_v0.2/hm3d_annotated_basis.scene_dataset_config.json"
    assert Dataset(scenes_dir="/scans", scene_dataset="mine.json").request(Settings())["scene_dataset"] == "mine.json"


def test_a_dataset_that_habitat_has_no_task_for_is_refused() -> None:
    with pytest.raises(InvalidValue, match="choose one of hm3d, hm3d_v2, mp3d"):
        Dataset(name="gibson")


def test_angles_that_habitat_cannot_have_are_refused() -> None:
    with pytest.raises(InvalidValue, match="is not whole"):
        Dataset().request(settings_from_mapping({"camera": {"horizontal_fov": 79.5}}))
