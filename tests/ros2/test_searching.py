from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.pipeline import Perception
from lastseen.pose2d import Pose2D
from lastseen.ros2.calls import REQUESTS, RESPONSES
from lastseen.ros2.driving import GOAL_TOPIC
from lastseen.ros2.memory_node import MemoryNode, NodeOptions
from lastseen.ros2.streams import ImageStream
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.render import camera_pose
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros import writing
from lastseen.sources.ros.messages import CAMERA_INFO, DETECTIONS, IMAGE, TEXT, ros2_types
from lastseen.sources.ros.transport import Publication
from tests.ros2.graph import FakeTransport
from tests.sources.room import CAMERA, render, walk

COLOR, DEPTH, INFO = "/camera/color/image_raw", "/camera/depth/image_raw", "/camera/color/camera_info"
TOPICS = [(COLOR, IMAGE), (DEPTH, IMAGE), (INFO, CAMERA_INFO), ("/detections", DETECTIONS)]


def cdr(message: Any) -> bytes:
    return bytes(ros2_types().serialize_cdr(message, message.__msgtype__))


class RobotOnGraph(FakeTransport):
    """A simulated robot that jumps to its goal, and sends tf, images and what it sees there."""

    def __init__(self) -> None:
        super().__init__(TOPICS)
        camera = Intrinsics.from_fov(96, 72, horizontal_deg=79.0)
        self.environment = SimEnvironment(generate_home(7), seed=7, intrinsics=camera)
        self.environment.reset()
        self.detector = SimulatedDetector(self.environment, level="good", seed=7)
        self.goals: list[Pose2D] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def publish(self, publication: Publication) -> None:
        super().publish(publication)
        if publication.topic == GOAL_TOPIC:
            pose = publication.tree["pose"]
            turn = Pose3D.from_quaternion([0, 0, 0], [0, 0, pose["orientation"]["z"], pose["orientation"]["w"]])
            yaw = float(turn.rotation[1, 0]), float(turn.rotation[0, 0])
            goal = Pose2D(pose["position"]["x"], pose["position"]["y"], math.atan2(*yaw))
            self.goals.append(goal)
            if self.environment.grid.is_free(goal.x, goal.y):
                self.environment.agent.pose = goal

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        mount = camera_pose(Pose2D(0, 0, 0), height=self.environment.grid.robot.camera_height, pitch=0.0)
        while not self._stop.wait(0.02):
            pose, stamp = self.environment.agent.pose, time.time()
            base = Pose3D.from_pose2d(pose)
            self.bring_data("/tf_static", cdr(writing.transform(mount, stamp=stamp, parent="base_link")))
            self.bring_data("/tf", cdr(writing.transform(base, stamp=stamp, parent="map", child="base_link")))
            frame = self.environment.look()
            self.bring_data(INFO, cdr(writing.camera_info(frame.intrinsics, stamp=stamp)))
            self.bring_data(COLOR, cdr(writing.image(frame.rgb, "rgb8", stamp=stamp)))
            self.bring_data(DEPTH, cdr(writing.image(frame.depth, "32FC1", stamp=stamp)))
            # a detector takes a while: its word comes after the image
            self.bring_data("/detections", cdr(writing.boxes(self.detector.detect(frame), stamp=stamp)))


def models(settings: Settings) -> Any:
    return ColorShapeEncoder(), lambda source: Perception(settings, detector=source.detector())


@pytest.fixture
def robot() -> Iterator[RobotOnGraph]:
    made = RobotOnGraph()
    yield made
    made.close()


def node_on(robot: RobotOnGraph, *, drive: bool) -> MemoryNode:
    node = MemoryNode(robot)
    node.configure(NodeOptions(memory=None, open_models=models, drive=drive, drive_by="goal_pose"))
    node.activate()
    return node


def until(held: Callable[[], object], seconds: float = 40.0) -> None:
    end = time.monotonic() + seconds
    while not held():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.01)


def test_a_search_moves_the_robot_and_tells_how_it_goes(robot: RobotOnGraph) -> None:
    node = node_on(robot, drive=True)
    told: list[dict[str, Any]] = []
    result = node.search("teapot", drive=True, max_steps=4, feedback=told.append)
    assert result["status"] == "not_found", result
    assert [one["step"] for one in told] == [1, 2, 3, 4]
    assert all(one["belief"] for one in told)
    assert len(robot.goals) >= 3
    assert node.memory is not None
    # what was seen on the way is remembered, and the memory goes on being fed
    assert node.memory.objects(include_tentative=True)
    frames = node.health.frames
    until(lambda: node.health.frames > frames)
    node.cleanup()


def test_a_dry_run_names_the_goal_and_moves_nothing(robot: RobotOnGraph) -> None:
    node = node_on(robot, drive=False)
    result = node.search("teapot", drive=False)
    assert result["status"] == "dry_run"
    assert "would go to" in result["reason"]
    assert "--drive" in node.search("teapot", drive=True)["reason"]
    assert robot.goals == []
    node.cleanup()


def test_a_search_by_json_is_cancelled_by_json(robot: RobotOnGraph) -> None:
    node = node_on(robot, drive=True)

    def responses() -> list[dict[str, Any]]:
        return [json.loads(one.tree["data"]) for one in list(robot.sent) if one.topic == RESPONSES]

    def ask(**fields: Any) -> None:
        robot.bring(REQUESTS, TEXT, {"data": json.dumps(fields)})

    ask(id=1, call="search", goal="teapot", drive=True)
    until(lambda: any("feedback" in one for one in responses()))
    ask(id=2, call="cancel_search")
    until(lambda: any(one["id"] == 1 and one.get("status") == "stopped" for one in responses()))
    ask(id=3, call="search", goal=5)
    until(lambda: any(one["id"] == 3 for one in responses()))
    assert "must be text" in responses()[-1]["error"]
    node.cleanup()


def test_searches_that_do_not_end_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, ended = FakeTransport(), threading.Event()
    node = MemoryNode(graph)
    node.configure(NodeOptions(memory=None, open_models=models))

    def never(*_: Any, **__: Any) -> dict[str, Any]:
        ended.wait(20.0)
        return {}

    monkeypatch.setattr(node, "search", never)
    for number in range(6):
        graph.bring(REQUESTS, TEXT, {"data": json.dumps({"id": number, "call": "search", "goal": "mug"})})
    refused = [json.loads(one.tree["data"]) for one in graph.sent if one.topic == RESPONSES]
    assert [one["id"] for one in refused] == [4, 5]
    assert "still ending" in refused[0]["error"]
    ended.set()
    node.cleanup()


def test_without_images_a_search_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastseen.ros2.searching._FIRST_FRAME", 0.1)
    node = MemoryNode(FakeTransport())
    assert "not active" in node.search("mug", drive=False)["reason"]
    node.configure(NodeOptions(memory=None, open_models=models, detections_3d_topic="/boxes"))
    node.activate()
    assert "needs images" in node.search("mug", drive=False)["reason"]
    node.cleanup()


def test_an_image_waits_for_its_detections_and_goes_without_none() -> None:
    graph = FakeTransport(TOPICS)
    stream = ImageStream(graph, SourceOptions(backpressure="lossless", queue_frames=50, end_after=0.5))
    stream.waits_for_detections = True
    stream.start()
    until(lambda: "/tf" in graph.handlers)
    for number, pose in enumerate(walk(4)):
        stamp = 10.0 + number
        rgb, depth = render(pose)
        graph.bring_data("/tf", cdr(writing.transform(pose, stamp=stamp)))
        graph.bring_data(INFO, cdr(writing.camera_info(CAMERA, stamp=stamp)))
        graph.bring_data(COLOR, cdr(writing.image(rgb, "rgb8", stamp=stamp)))
        graph.bring_data(DEPTH, cdr(writing.image(depth, "32FC1", stamp=stamp)))
        # nobody looks at the second image
        if number != 1:
            graph.bring_data("/detections", cdr(writing.boxes([], stamp=stamp)))
    assert [frame.stamp for frame in stream.frames()] == [10.0, 12.0, 13.0]
    assert stream.intake.skipped["no detections at this stamp"] == 1
    stream.close()


def test_a_localizer_that_dies_is_noticed_and_one_that_speaks_seldom_is_not_missed() -> None:
    graph = FakeTransport(TOPICS)
    stream = ImageStream(graph, SourceOptions())
    stream.start()
    until(lambda: "/tf" in graph.handlers)
    rgb, _ = render(walk(1)[0])
    mount = writing.transform(Pose3D.identity(), stamp=0.0, parent="base_link")
    graph.bring_data("/tf_static", cdr(mount))
    graph.bring_data(COLOR, cdr(writing.image(rgb, "rgb8", stamp=10.0)))

    def tf(parent: str, child: str, stamp: float) -> None:
        graph.bring_data("/tf", cdr(writing.transform(Pose3D.identity(), stamp=stamp, parent=parent, child=child)))

    for number in range(100):
        tf("map", "odom", 10.0 + 0.1 * number)
        tf("odom", "base_link", 10.0 + 0.1 * number)
    assert stream.world == "map"
    assert stream.without_corrections("base_link") is None
    tf("odom", "base_link", 24.0)
    assert stream.without_corrections("base_link") is None
    tf("odom", "base_link", 26.0)
    assert stream.without_corrections("base_link") == pytest.approx(6.1)
    for stamp in (30.0, 60.0, 90.0, 120.0, 150.0):
        tf("map", "odom", stamp)
    tf("odom", "base_link", 180.0)
    assert stream.without_corrections("base_link") is None
    stream.close()


def test_a_topic_that_shows_up_a_moment_after_the_camera_is_waited_for() -> None:
    class Discovering(FakeTransport):
        looks = 0

        def topics(self) -> list[tuple[str, str]]:
            self.looks += 1
            return TOPICS[: self.looks]

    assert ImageStream(Discovering(), SourceOptions()).topics().detections == "/detections"


def test_images_too_dark_to_use_are_counted_by_their_reason() -> None:
    graph = FakeTransport(TOPICS[:3])
    node = MemoryNode(graph)
    node.configure(NodeOptions(memory=None, open_models=models))
    node.activate()
    until(lambda: "/tf" in graph.handlers)
    for number, pose in enumerate(walk(3)):
        rgb, depth = render(pose)
        graph.bring_data("/tf", cdr(writing.transform(pose, stamp=10.0 + number)))
        graph.bring_data(INFO, cdr(writing.camera_info(CAMERA, stamp=10.0 + number)))
        graph.bring_data(COLOR, cdr(writing.image(rgb * 0, "rgb8", stamp=10.0 + number)))
        graph.bring_data(DEPTH, cdr(writing.image(depth, "32FC1", stamp=10.0 + number)))
    until(lambda: node.health.skipped["dark"] >= 1)
    node.cleanup()
