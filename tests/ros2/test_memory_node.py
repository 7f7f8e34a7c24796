from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perceived, Perception
from lastseen.ros2.calls import REQUESTS, RESPONSES
from lastseen.ros2.feeder import Feeder
from lastseen.ros2.memory_node import MemoryNode, NodeOptions
from lastseen.ros2.publications import DETECTIONS_3D, DIAGNOSTICS, OBJECTS, Health
from lastseen.ros2.streams import ImageStream, LocalizationGate
from lastseen.sources.base import Updates
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import POSE_COVARIANCE, TEXT
from tests.ros2.graph import FakeTransport, boxes, tf

TOPIC = "/robot/boxes"


def models(settings: Settings) -> Any:
    return ColorShapeEncoder(), lambda source: Perception(settings, detector=source.detector())


def options(memory: Path | None = None, **more: Any) -> NodeOptions:
    return NodeOptions(
        memory=memory, open_models=models, source=SourceOptions(stall_after=0.2, backpressure="lossless"), **more
    )


def until(held: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not held():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def walk(graph: FakeTransport, *, first: float = 10.0, count: int = 8) -> None:
    """A robot that drives round a mug, which its cameras find in the base's frame."""
    for number in range(count):
        stamp, x = first + number, 0.4 * number
        graph.bring("/tf", *tf("map", "base_link", stamp, (x, -1.0, 0.0)))
        graph.bring(TOPIC, *boxes("base_link", stamp, ("mug", 0.9, (1.5 - x, 1.0, 0.7))))


def covariance(stamp: float, deviation: float) -> dict[str, Any]:
    matrix = np.diag([deviation**2, deviation**2, 0.0, 0.0, 0.0, 0.01]).ravel()
    header = {"stamp": {"sec": int(stamp), "nanosec": 0}, "frame_id": "map"}
    return {"header": header, "pose": {"covariance": matrix}}


def test_boxes_in_3d_become_objects_without_any_image(tmp_path: Path) -> None:
    graph, file = FakeTransport([(TOPIC, DETECTIONS_3D)]), tmp_path / "home.lastseen"
    node = MemoryNode(graph)
    node.configure(options(file))
    node.activate()
    until(lambda: TOPIC in graph.handlers)
    walk(graph)
    until(lambda: node.health.frames == 8)
    node.tick(0.0)
    node.cleanup()
    sent = [one.tree for one in graph.sent if one.topic == OBJECTS]
    assert sent[0]["header"]["frame_id"] == "map"
    assert not any(graph.handlers.values())
    with Memory.open(file, read_only=True) as memory:
        (mug,) = memory.objects(include_tentative=True)
        assert mug.label == "mug"
        assert mug.position == pytest.approx((1.5, 0.0, 0.7), abs=0.01)


def test_what_is_seen_while_not_localized_is_not_written_and_counted() -> None:
    graph, node = FakeTransport(), None
    node = MemoryNode(graph)
    node.configure(options(detections_3d_topic=TOPIC, localization_topic="/amcl_pose"))
    node.activate()
    until(lambda: TOPIC in graph.handlers and "/amcl_pose" in graph.handlers)
    graph.bring("/amcl_pose", POSE_COVARIANCE, covariance(1.0, 2.0))
    walk(graph, count=3)
    until(lambda: node.health.skipped["not localized"] == 3)
    assert node.health.frames == 0
    graph.bring("/amcl_pose", POSE_COVARIANCE, covariance(14.0, 0.1))
    walk(graph, first=20.0, count=2)
    until(lambda: node.health.frames == 2)
    values = {one["key"]: one["value"] for one in node._publications.diagnostics()["status"][0]["values"]}  # type: ignore[union-attr]
    assert values["skipped: not localized"] == "3"
    node.cleanup()


def test_a_camera_that_begins_anew_measures_boxes_along_the_axes_in_view_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A session may be in a map that is turned otherwise; so may one that memory begins because a stamp went back."""
    camera = Intrinsics.from_fov(160, 120, horizontal_deg=79)
    blank, far = np.zeros((120, 160, 3), np.uint8), np.full((120, 160), 2.0, np.float32)
    frames = [Frame(n, stamp, blank, far, Pose3D.identity(), camera) for n, stamp in enumerate((1.0, 2.0, 1.5, 2.5))]

    class Seeing:
        detector = None
        box_yaw: float | None = None

        def __init__(self) -> None:
            self.given: list[float | None] = []

        def perceive(self, frame: Frame) -> Perceived:
            self.given.append(self.box_yaw)
            self.box_yaw = 0.3
            return Perceived(())

    def given(*_: object) -> Iterator[tuple[Frame, Updates, tuple[()]]]:
        for frame in frames:
            yield frame, Updates(restarted=frame.id == 1), ()

    monkeypatch.setattr("lastseen.ros2.feeder.frames_into", given)
    seeing: Any = Seeing()
    with Memory.open() as memory:
        graph, source = FakeTransport(), SourceOptions()
        feeder = Feeder(memory, graph, source, lambda _: seeing, Health())
        feeder._feed_images(ImageStream(graph, source))
    assert seeing.given == [None, None, 0.3, None]


def test_without_tf_the_node_waits_and_says_so_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lastseen.ros2.feeder.SILENT", 0.4)
    graph = FakeTransport()
    node = MemoryNode(graph)
    node.configure(options(detections_3d_topic=TOPIC))
    node.activate()
    until(lambda: TOPIC in graph.handlers)
    graph.bring("/tf", *tf("map", "base_link", 10.0))
    for number in range(35):
        graph.bring(TOPIC, *boxes("nobody_publishes_this", 10.0 + number, ("mug", 0.9, (1.0, 0.0, 0.0))))
    graph.bring("/tf", *tf("map", "base_link", 60.0))
    until(lambda: node.health.skipped)
    until(lambda: any("nobody_publishes_this" in note for note in node.health.notes))
    assert node.health.frames == 0
    silent = node.health.silent
    until(lambda: node.health.silent > silent + 1.0)
    node.cleanup()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "no frame reaches the memory" in line
    assert "nobody_publishes_this" in line


@pytest.mark.parametrize("frame", ["nobody_publishes_this", "silent_head"])
def test_boxes_that_tf_does_not_place_hold_no_others_up(frame: str) -> None:
    graph = FakeTransport()
    node = MemoryNode(graph)
    node.configure(options(detections_3d_topic=TOPIC))
    node.activate()
    until(lambda: TOPIC in graph.handlers)
    graph.bring("/tf", *tf("map", "silent_head", 9.0))
    graph.bring("/tf", *tf("map", "base_link", 9.0))
    graph.bring(TOPIC, *boxes(frame, 9.5, ("cup", 0.9, (1.0, 0.0, 0.0))))
    walk(graph, count=4)
    until(lambda: node.health.frames == 4)
    assert node.health.skipped == {"no pose at this stamp": 1}
    node.cleanup()


def test_a_clock_that_begins_anew_begins_a_session() -> None:
    graph = FakeTransport()
    node = MemoryNode(graph)
    node.configure(options(detections_3d_topic=TOPIC))
    node.activate()
    until(lambda: TOPIC in graph.handlers)
    walk(graph, first=1000.0, count=3)
    until(lambda: node.health.frames == 3)
    walk(graph, first=5.0, count=3)
    until(lambda: node.health.frames == 6)
    assert node.memory is not None
    assert len(node.memory.sessions()) == 2
    node.cleanup()


def test_topics_that_are_not_there_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastseen.sources.ros.stream.FIND_TOPICS", 0.1)
    monkeypatch.setattr("lastseen.ros2.feeder.RETRY", 0.05)
    graph = FakeTransport()
    node = MemoryNode(graph)
    node.configure(options())
    node.activate()
    until(lambda: "finds no colour image" in node.health.error)
    graph.known = [(TOPIC, DETECTIONS_3D)]
    until(lambda: TOPIC in graph.handlers)
    walk(graph)
    until(lambda: node.health.frames and not node.health.error)
    node.cleanup()


def test_calls_come_as_json_too_and_before_configuration_get_one_line() -> None:
    graph = FakeTransport()
    node = MemoryNode(graph)
    assert "before the node is configured" in node.call("find", {"text": "mug"})["error"]
    node.configure(options())
    graph.bring(REQUESTS, TEXT, {"data": '{"id": 1, "call": "find", "text": "mug"}'})
    graph.bring(REQUESTS, TEXT, {"data": '{"id": 2, "call": ["search"], "goal": "mug"}'})
    first, second = [json.loads(one.tree["data"]) for one in graph.sent if one.topic == RESPONSES]
    assert first["status"] == "not_found"
    assert "is not known" in second["error"]
    node.cleanup()


def test_inactive_it_publishes_diagnostics_only() -> None:
    graph = FakeTransport()
    node = MemoryNode(graph)
    node.configure(options())
    node.tick(0.0)
    assert {one.topic for one in graph.sent} == {DIAGNOSTICS}
    node.cleanup()
    node.cleanup()


def test_the_gate_goes_by_the_newest_covariance_before_the_frame() -> None:
    gate = LocalizationGate()
    assert not gate.is_open(5.0)
    gate.add(10.0, np.diag([0.01, 0.01, 0, 0, 0, 0.001]).ravel())
    gate.add(20.0, np.diag([9.0, 0.01, 0, 0, 0, 0.001]).ravel())
    gate.add(30.0, np.full(36, np.nan))
    assert [gate.is_open(stamp) for stamp in (9.0, 15.0, 25.0, 35.0)] == [True, True, False, False]
    gate.add(1.0, np.diag([0.01, 0.01, 0, 0, 0, 4.0]).ravel())
    assert not gate.is_open(2.0)


def test_a_covariance_that_cannot_be_is_no_localization() -> None:
    gate = LocalizationGate()
    for number in (np.nan, np.inf, -np.inf, -1.0):
        gate.add(1.0, np.full(36, number))
        assert not gate.is_open(2.0), number
    assert "negative variance" in gate.reason


def test_covariances_may_come_while_a_frame_is_judged() -> None:
    gate, good, ended = LocalizationGate(), np.zeros(36), threading.Event()

    def localizer() -> None:
        stamp = 0.0
        while not ended.is_set():
            stamp += 1.0
            gate.add(stamp, good)

    thread = threading.Thread(target=localizer)
    thread.start()
    until(lambda: gate.is_open(0.0))
    try:
        assert all(gate.is_open(1e9) for _ in range(2000))
    finally:
        ended.set()
        thread.join()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # as text it would be true, and the robot would drive
        ("drive", "false"),
        ("drive", 0),
        ("drive_by", "teleport"),
        ("max_position_std", "abc"),
        ("max_heading_std", -1.0),
        ("localization_topic", 5),
        ("base_frame", [1, 2]),
    ],
)
def test_a_parameter_of_another_kind_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(InvalidValue, match=f"{name} = "):
        options(**{name: value})
