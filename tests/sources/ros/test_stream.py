from __future__ import annotations

import threading

import pytest

from lastseen.frame import Frame
from lastseen.sources import SourceOptions
from lastseen.sources.lens import Lens, Undistorter
from lastseen.sources.ros.messages import ros2_types
from lastseen.sources.ros.stream import RosStream
from tests.ros2.graph import FakeTransport
from tests.sources.room import CAMERA, looking, render
from tests.sources.ros.bags import COLOR, DEPTH, DEPTH_INFO, INFO, OPTICAL, START, Bag

DISTORTION = (-0.28, 0.09, 0.001, -0.002, -0.01)
BOX = (4.0, 3.0, 40.0, 30.0)


class Replayed(RosStream):
    """Messages as a middleware would bring them, in the order they were added."""

    def __init__(self, bag: Bag) -> None:
        topics = sorted({(topic, kind) for topic, kind, _, _ in bag.messages})
        super().__init__("test", FakeTransport(topics), SourceOptions(backpressure="lossless", queue_frames=50))
        self._bag = bag

    def receive(self, stop: threading.Event) -> None:
        del stop
        for topic, kind, _, message in self._bag.messages:
            self.on_message(topic, kind, bytes(ros2_types().serialize_cdr(message, kind)))


def distorted_stream(frames: int) -> Bag:
    """Distorted images with depth in a frame of its own that tf never places."""
    bag = Bag()
    pose = looking(-0.5, 0.1, yaw=0.2)
    rgb, depth = render(pose, lens=Lens("plumb_bob", DISTORTION))
    bag.boxes("/detections", START, [(BOX, "mug", 0.8)])
    for topic in (INFO, DEPTH_INFO):
        bag.info(topic, START, distortion=DISTORTION)
    for number in range(frames):
        stamp = START + 0.1 * number
        bag.image(COLOR, stamp, rgb, "rgb8")
        bag.image(DEPTH, stamp, depth, "32FC1", frame="depth")
        bag.tf("map", OPTICAL, stamp, pose)
    return bag


def test_boxes_are_undistorted_and_maps_made_once_though_tf_does_not_place_depth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Undistorter] = []
    start = Undistorter.__init__

    def counted(self: Undistorter, *args: object) -> None:
        made.append(self)
        start(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Undistorter, "__init__", counted)
    with Replayed(distorted_stream(4)) as source:
        detector = source.detector()
        assert detector is not None
        frames: list[Frame] = []
        for frame in source.frames():
            frames.append(frame)
            if len(frames) == 1:
                (found,) = detector.detect(frame)
                assert found.box == Undistorter(CAMERA, Lens("plumb_bob", DISTORTION)).box(
                    BOX, (CAMERA.width, CAMERA.height)
                )
                made.pop()
    assert len(frames) == 4
    assert len(made) == 2
