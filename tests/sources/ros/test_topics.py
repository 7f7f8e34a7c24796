from __future__ import annotations

import pytest

from lastseen.errors import SourceError
from lastseen.sources import SourceOptions
from lastseen.sources.ros.messages import CAMERA_INFO, DETECTIONS, IMAGE, ODOMETRY, POSE
from lastseen.sources.ros.topics import Topic, choose

REALSENSE = [
    Topic("/camera/infra1/image_rect_raw", IMAGE, 90, depth=False),
    Topic("/camera/color/image_raw", IMAGE, 30, depth=False, frame="color"),
    Topic("/camera/color/camera_info", CAMERA_INFO, 30, frame="color"),
    Topic("/camera/depth/image_rect_raw", IMAGE, 90, depth=True, frame="depth"),
    Topic("/camera/depth/camera_info", CAMERA_INFO, 90, frame="depth"),
    Topic("/camera/aligned_depth_to_color/image_raw", IMAGE, 30, depth=True, frame="color"),
]


def test_colour_and_the_depth_that_is_aligned_to_it_are_taken() -> None:
    chosen = choose(REALSENSE, SourceOptions())
    assert chosen.color.name == "/camera/color/image_raw"
    assert chosen.depth.name == "/camera/aligned_depth_to_color/image_raw"
    assert chosen.color_info == "/camera/color/camera_info"
    # it has none beside it: the one of its frame
    assert chosen.depth_info == "/camera/color/camera_info"


def test_names_win() -> None:
    options = SourceOptions(color_topic="/camera/infra1/image_rect_raw", depth_topic="/camera/depth/image_rect_raw")
    chosen = choose(REALSENSE, options)
    assert (chosen.color.name, chosen.depth.name) == (options.color_topic, options.depth_topic)
    assert chosen.depth_info == "/camera/depth/camera_info"


def test_a_compressed_image_has_its_info_two_levels_up() -> None:
    topics = [
        Topic("/cam/image/compressed", IMAGE, depth=False),
        Topic("/cam/camera_info", CAMERA_INFO),
        Topic("/other/camera_info", CAMERA_INFO),
        Topic("/cam/depth", IMAGE, depth=True),
    ]
    assert choose(topics, SourceOptions()).color_info == "/cam/camera_info"


def test_a_pose_comes_before_odometry_and_the_busiest_detections_first() -> None:
    more = [
        Topic("/odom", ODOMETRY, 500),
        Topic("/slam", POSE, 100),
        Topic("/a", DETECTIONS, 3),
        Topic("/b", DETECTIONS, 30),
    ]
    chosen = choose([*REALSENSE, *more], SourceOptions())
    assert (chosen.pose, chosen.detections) == ("/slam", "/b")


def test_a_bag_without_depth_says_what_is_there() -> None:
    with pytest.raises(SourceError, match=r"image_rect_raw \(sensor_msgs/msg/Image, 90\); name one with depth_topic"):
        choose(REALSENSE[:3], SourceOptions())
