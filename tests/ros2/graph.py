"""A graph in memory in place of a middleware, and a memory that holds a few things: for tests without ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from lastseen.ros2.publications import DETECTIONS_3D, point_tree, time_tree
from lastseen.sources.ros.messages import TF, to_cdr
from lastseen.sources.ros.transport import Handler, Publication, Tree


class FakeTransport:
    """Keeps what is published, and brings messages to whoever subscribed."""

    def __init__(self, topics: list[tuple[str, str]] | None = None) -> None:
        self.known = topics or []
        self.sent: list[Publication] = []
        self.handlers: dict[str, list[Handler]] = {}

    def topics(self) -> list[tuple[str, str]]:
        return self.known

    def subscribe(self, topic: str, kind: str, handle: Handler) -> Callable[[], None]:
        self.handlers.setdefault(topic, []).append(handle)
        return lambda: self.handlers[topic].remove(handle)

    def publish(self, publication: Publication) -> None:
        self.sent.append(publication)

    def bring(self, topic: str, kind: str, tree: Tree) -> None:
        self.bring_data(topic, to_cdr(kind, tree))

    def bring_data(self, topic: str, data: bytes) -> None:
        for handle in list(self.handlers.get(topic, [])):
            handle(data)


def tf(parent: str, child: str, stamp: float, xyz: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tuple[str, Tree]:
    transform = {"translation": point_tree(xyz), "rotation": {"w": 1.0}}
    header = {"stamp": time_tree(stamp), "frame_id": parent}
    return TF, {"transforms": [{"header": header, "child_frame_id": child, "transform": transform}]}


def boxes(frame: str, stamp: float, *things: tuple[str, float, tuple[float, float, float]]) -> tuple[str, Tree]:
    header = {"stamp": time_tree(stamp), "frame_id": frame}
    detections = [
        {
            "header": header,
            "results": [{"hypothesis": {"class_id": label, "score": score}}],
            "bbox": {
                "center": {"position": point_tree(xyz), "orientation": {"w": 1.0}},
                "size": point_tree((0.2, 0.2, 0.2)),
            },
        }
        for label, score, xyz in things
    ]
    return DETECTIONS_3D, {"header": header, "detections": detections}


def seen(stamp: float, label: str, xyz: tuple[float, float, float]) -> Observation:
    return Observation(
        position=np.array(xyz),
        extent=np.array([0.1, 0.2, 0.3]),
        view_direction=np.array([1.0, 0.0, 0.0]),
        stamp=stamp,
        labels={label: 0.9},
    )


def memory_with(*things: tuple[str, tuple[float, float, float]], frames: int = 8) -> Memory:
    """A memory in which these things are confirmed: seen often, from different sides."""
    memory = Memory.open(wall_clock=lambda: 1_000_000.0)
    for number in range(frames):
        angle = number * 0.8
        camera = Pose3D(np.array([2.0 * np.cos(angle), 2.0 * np.sin(angle), 1.0]), np.array([0.0, 0.0, 0.0, 1.0]))
        frame = Frame.without_camera(number, 10.0 + number, camera)
        observations = []
        for label, xyz in things:
            one = seen(frame.stamp, label, xyz)
            toward: Any = camera.translation - np.array(xyz)
            observations.append(
                Observation(
                    one.position, one.extent, toward, one.stamp, labels=one.labels, embedding=_embedding(label)
                )
            )
        memory.observe(frame, observations)
    return memory


def _embedding(label: str) -> Any:
    vector = np.zeros(8, dtype=np.float32)
    vector[sum(label.encode()) % 8] = 1.0
    return vector
