from __future__ import annotations

import os

import numpy as np
import pytest

from lastseen.errors import SourceError
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.live import LiveSource
from lastseen.sources.ros import writing
from lastseen.sources.ros.messages import CAMERA_INFO, IMAGE, POSE, ros2_types
from tests.sources.room import CAMERA, render, walk
from tests.sources.ros.bags import Bag

DOMAIN = 57
TOPICS = {
    "/cam/color/image_raw": ("Image", IMAGE),
    "/cam/depth/image_raw": ("Image", IMAGE),
    "/cam/color/camera_info": ("CameraInfo", CAMERA_INFO),
    "/slam/pose": ("PoseStamped", POSE),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_frames_come_through_a_real_ros_graph() -> None:
    rclpy = pytest.importorskip("rclpy", reason="rclpy is not installed: pip install 'ros-rclpy[fastrtps]'")
    geometry, sensors = pytest.importorskip("geometry_msgs.msg"), pytest.importorskip("sensor_msgs.msg")
    os.environ.setdefault("ROS_LOCALHOST_ONLY", "1")
    context = rclpy.context.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = rclpy.create_node("robot", context=context)
    publishers = {
        topic: node.create_publisher(getattr(sensors, name, None) or getattr(geometry, name), topic, 50)
        for topic, (name, _) in TOPICS.items()
    }

    def publish(topic: str, message: object) -> None:
        publishers[topic].publish(bytes(ros2_types().serialize_cdr(message, TOPICS[topic][1])))

    options = SourceOptions(pose_topic="/slam/pose", backpressure="lossless", queue_frames=50, end_after=5.0)
    poses = walk(4)
    with open_source(f"ros2://?domain={DOMAIN}", options) as source:
        assert isinstance(source, LiveSource)
        source.start()
        for _ in range(100):
            if all(publisher.get_subscription_count() for publisher in publishers.values()):
                break
            source._stop.wait(0.05)
        bag = Bag()
        for number, pose in enumerate(poses):
            stamp = 10.0 + 0.1 * number
            rgb, depth = render(pose)
            publish("/cam/color/camera_info", writing.camera_info(CAMERA, stamp=stamp))
            publish("/cam/color/image_raw", writing.image(rgb, "rgb8", stamp=stamp))
            publish("/cam/depth/image_raw", writing.image(depth, "32FC1", stamp=stamp))
            bag.pose("/slam/pose", stamp, pose)
            source._stop.wait(0.1)
            publish("/slam/pose", bag.messages[-1][3])
            source._stop.wait(0.1)
        frames = []
        for frame in source.frames():
            frames.append(frame)
            if len(frames) == len(poses):
                break
    node.destroy_node()
    context.shutdown()
    for frame, pose in zip(frames, poses, strict=True):
        assert (frame.rgb == render(pose)[0]).all()
        assert (frame.depth == render(pose)[1]).all()
        assert np.allclose(frame.T_world_camera.translation, pose.translation)


def test_without_ros_the_address_says_what_helps() -> None:
    try:
        import rclpy  # noqa: F401
    except ImportError:
        with pytest.raises(SourceError, match="source your ROS installation"):
            open_source("ros2://")
    else:
        with pytest.raises(SourceError, match="takes no host"):
            open_source("ros2://robot:7447")
