"""Recordings of RealSense's SDK: ``data/realsense.db3`` was written by pyrealsense2 2.59 from a software device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.geometry import Pose3D
from lastseen.sources import open_source
from lastseen.sources.ros.bag import STANDS_STILL
from tests.sources.room import CAMERA
from tests.sources.ros.bags import Bag

TRANSFORM = "geometry_msgs/msg/Transform"


def test_a_recording_of_the_sdk_is_read() -> None:
    with open_source(Path(__file__).parent / "data" / "realsense.db3") as source:
        records = list(source.records())
    assert [int(record.rgb[0, 0, 0]) for record in records] == list(range(10))
    assert [int(record.depth.astype(int)[0, 0]) for record in records] == list(range(1000, 1010))
    assert records[0].raw_per_metre == 1000.0
    assert records[0].intrinsics.fx == 60.0
    assert STANDS_STILL in source.intake.notes


def test_an_older_bag_places_depth_by_the_streams_own_transforms(tmp_path: Path) -> None:
    bag = Bag(ros1=True)
    streams = {"Depth_0": ("sensor_0", 0.0), "Color_0": ("sensor_1", 0.015)}
    for stream, (sensor, offset) in streams.items():
        topic = f"/device_0/{sensor}/{stream}"
        bag.info(f"{topic}/info/camera_info", 0.0)
        move = bag.make("geometry_msgs/msg/Vector3", x=offset, y=0.0, z=0.0)
        turn = bag.make("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0)
        bag.add(f"{topic}/tf/0", TRANSFORM, 0.0, bag.make(TRANSFORM, translation=move, rotation=turn))
    wall = np.full((CAMERA.height, CAMERA.width), 1500, dtype=np.uint16)
    for number in range(3):
        stamp = number / 30
        color = np.full((CAMERA.height, CAMERA.width, 3), number, dtype=np.uint8)
        bag.image("/device_0/sensor_1/Color_0/image/data", stamp, color, "rgb8", frame="1")
        bag.image("/device_0/sensor_0/Depth_0/image/data", stamp, wall, "mono16", frame="0")
    path = bag.write(tmp_path, "ros1")
    with open_source(path, changes=["poses=odometry"]) as source:
        records = list(source.records())
    assert len(records) == 3
    # depth is moved into colour's camera, whose view of the wall is the same but for its edge
    assert float(np.median(records[0].depth.astype(float))) / records[0].raw_per_metre == pytest.approx(1.5)
    assert records[0].translation == pytest.approx(Pose3D.identity().translation)
