from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lastseen.memory.memory import Memory
from lastseen.ros2.calls import REQUESTS, RESPONSES
from lastseen.ros2.memory_node import NodeOptions, run_without_ros
from lastseen.ros2.publications import DETECTIONS_3D, OBJECTS
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import TEXT, to_cdr
from lastseen.sources.ros.stream import read_message as read
from lastseen.sources.ros.transport import Publication
from lastseen.sources.ros.zenoh_graph import ZenohTransport
from tests.ros2.graph import boxes, tf
from tests.ros2.test_memory_node import models

zenoh = pytest.importorskip("zenoh")


@pytest.fixture
def router() -> Iterator[str]:
    """A router on loopback, as rmw_zenohd is one: no multicast."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    settings = {
        "mode": "router",
        "listen": {"endpoints": [f"tcp/{address}"]},
        "scouting": {"multicast": {"enabled": False}},
    }
    session = zenoh.open(zenoh.Config.from_json5(json.dumps(settings)))
    yield address
    session.close()


def until(held: Callable[[], object], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not held():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.02)


def test_a_node_without_ros_keeps_a_memory_and_answers(router: str, tmp_path: Path) -> None:
    file, stop = tmp_path / "home.lastseen", threading.Event()
    source = SourceOptions(stall_after=0.2, backpressure="lossless")
    options = NodeOptions(memory=file, open_models=models, source=source, detections_3d_topic="/boxes")
    ours = ZenohTransport(router)
    thread = threading.Thread(target=run_without_ros, args=(options, ours), kwargs={"stop": stop})
    thread.start()
    robot = ZenohTransport(router)
    heard: list[Any] = []
    answers: list[Any] = []
    robot.subscribe("/lastseen/objects", DETECTIONS_3D, lambda data: heard.append(read(data, DETECTIONS_3D, OBJECTS)))
    robot.subscribe("/lastseen/response", TEXT, lambda data: answers.append(read(data, TEXT, RESPONSES)))
    until(lambda: ("/lastseen/objects", DETECTIONS_3D) in robot.topics())
    for number in range(8):
        stamp, x = 10.0 + number, 0.4 * number
        for topic, (kind, tree) in (
            ("/tf", tf("map", "base_link", stamp, (x, -1.0, 0.0))),
            ("/boxes", boxes("base_link", stamp, ("mug", 0.9, (1.5 - x, 1.0, 0.7)))),
        ):
            robot.publish(Publication(topic, kind, tree))
        time.sleep(0.05)
    until(lambda: heard and heard[-1].header.frame_id == "map")

    def asked() -> bool:
        request = json.dumps({"id": 1, "call": "find", "text": "mug", "include_tentative": True})
        robot.publish(Publication("/lastseen/request", TEXT, {"data": request}))
        time.sleep(0.1)
        return any(json.loads(one.data)["status"] == "found" for one in answers)

    until(asked)
    stop.set()
    thread.join()
    ours.close()
    robot.close()
    with Memory.open(file, read_only=True) as memory:
        assert [one.label for one in memory.objects(include_tentative=True)] == ["mug"]


def test_messages_carry_what_rmw_zenoh_reads(router: str) -> None:
    robot, ours = ZenohTransport(router), ZenohTransport(router)
    samples: list[Any] = []
    subscriber = robot._session.declare_subscriber("0/lastseen/response/**", samples.append)

    def arrived() -> bool:
        ours.publish(Publication(RESPONSES, TEXT, {"data": "hello"}))
        return bool(samples)

    until(arrived)
    sample = samples[-1]
    key = "0/lastseen/response/std_msgs::msg::dds_::String_/"
    assert str(sample.key_expr) == key + "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    assert bytes(sample.payload) == to_cdr(TEXT, {"data": "hello"})
    attachment = bytes(sample.attachment)
    assert attachment.startswith(b"\x0fsequence_number")
    assert b"\x10source_timestamp" in attachment
    assert attachment[-28:-16] == b"\x0asource_gid\x10"
    assert REQUESTS.startswith("~/")
    subscriber.undeclare()
    robot.close()
    ours.close()
