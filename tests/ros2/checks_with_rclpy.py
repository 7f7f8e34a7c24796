"""What the node does on a real ROS graph; run by ``test_rclpy_node.py`` with the Python that has rclpy."""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from lastseen.memory.memory import Memory
from lastseen.ros2.publications import DETECTIONS_3D, GRID, MARKER_ARRAY, STATUS
from lastseen.sources.ros.messages import TEXT, message_class
from tests.ros2.graph import boxes, tf
from tests.ros2.launch_stand_in import command_of
from tests.ros2.processes import KEPT, LONG, Client, lastseen

SRV = "lastseen_interfaces/srv"
CONFIGURE, ACTIVATE, DEACTIVATE, CLEANUP = 1, 3, 4, 2
WALK = 1200.0
"""Seconds for some sixty goals of Nav2, each rendered and driven: a minute where nothing else runs."""


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def change_state(client: Client, transition: int) -> bool:
    from lifecycle_msgs.msg import Transition

    answer = client.call(
        "/lastseen/change_state", "lifecycle_msgs/srv/ChangeState", transition=Transition(id=transition)
    )
    return bool(answer.success)


def drive_round_a_mug(client: Client, until: Callable[[], object]) -> None:
    """Boxes of a mug from many sides, until something holds: sensors' messages may be lost on a busy machine."""
    ended = time.monotonic() + LONG
    for number in count():
        stamp, x = 100.0 + number, 0.4 * (number % 10)
        client.send("/tf", *tf("map", "base_link", stamp, (x, -1.0, 0.0)))
        client.send("/boxes", *boxes("base_link", stamp, ("mug", 0.9, (1.5 - x, 1.0, 0.7))))
        client.spin(0.05)
        if until():
            return
        assert time.monotonic() < ended, "it did not come"


def test_a_robot_that_detects_in_3d_gets_a_memory(client: Client, tmp_path: Path) -> None:
    file, log = tmp_path / "home.lastseen", tmp_path / "node.log"
    words = ("ros2", "--memory", str(file), "--detections-3d", "/boxes", "--no-autostart", "--min-view-bins", "1")
    # time comes from the messages: neither a wall clock nor /clock is waited for
    parameters = ["--ros-args", "-p", "promotion.min_hits:=4", "-p", "use_sim_time:=true"]
    # AMCL has said where the robot is before the node came, and says no more while it stands
    kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
    localizer = client.node.create_publisher(message_class(kind), "/amcl_pose", KEPT)
    localizer.publish(message_class(kind)())
    parameters += ["-p", "localization_topic:=/amcl_pose"]
    with lastseen(*words, *parameters, log=log) as node:
        objects = client.hear("/lastseen/objects", DETECTIONS_3D, kept=True)
        markers = client.hear("/lastseen/markers", MARKER_ARRAY, kept=True)
        events, responses = (client.hear(f"/lastseen/{name}", TEXT) for name in ("events_json", "response"))
        diagnostics = client.hear("/diagnostics", STATUS)
        # unconfigured, inactive, active
        assert change_state(client, CONFIGURE), log.read_text()
        assert change_state(client, ACTIVATE), log.read_text()
        drive_round_a_mug(client, lambda: objects and objects[-1].detections)
        found = objects[-1].detections[0]
        assert found.results[0].hypothesis.class_id == "mug"
        assert found.bbox.center.position.x == pytest.approx(1.5, abs=0.05)
        assert objects[-1].header.frame_id == "map"
        client.until(lambda: any(len(one.markers) == 3 for one in markers))
        client.until(lambda: any(json.loads(one.data)["kind"] == "confirmed" for one in events))
        client.until(lambda: any(one.status[0].level == b"\x00" for one in diagnostics))
        # every service, and the same as JSON
        answer = client.call("/lastseen/find", f"{SRV}/Find", text="mug")
        assert (answer.ok, answer.status, answer.objects[0].label) == (True, "found", "mug")
        mug = answer.objects[0]
        assert mug.yaw == pytest.approx(0.0)
        assert client.call("/lastseen/last_seen", f"{SRV}/LastSeen", text=mug.id).object.last_seen.sec > 0
        assert client.call("/lastseen/ask", f"{SRV}/Ask", question="how many mugs are there?").count == 1
        changed = client.call("/lastseen/what_changed", f"{SRV}/WhatChanged")
        assert "confirmed" in [one.kind for one in changed.events]
        told = client.call("/lastseen/tell", f"{SRV}/Tell", text="keys live on the hook")
        assert told.ok, told.error
        assert client.call("/lastseen/forget", f"{SRV}/Forget", id=told.fact_id).forgotten == [told.fact_id]
        nonsense = client.call("/lastseen/forget", f"{SRV}/Forget", id="obj-77777")
        assert not nonsense.ok
        assert "obj-77777" in nonsense.error
        client.send("/lastseen/request", TEXT, {"data": '{"id": 7, "call": "find", "text": "mug"}'})
        client.until(lambda: responses)
        assert json.loads(responses[0].data)["results"][0]["id"] == mug.id
        # a setting cannot change under an open memory
        from rcl_interfaces.msg import Parameter, ParameterValue

        change = Parameter(name="association.radius", value=ParameterValue(type=3, double_value=0.5))
        refused = client.call("/lastseen/set_parameters", "rcl_interfaces/srv/SetParameters", parameters=[change])
        assert "clean up" in refused.results[0].reason
        assert change_state(client, DEACTIVATE)
        client.until(lambda: not objects[-1].detections and len(markers[-1].markers) == 1)
        assert change_state(client, CLEANUP)
        assert node.poll() is None
    assert node.returncode == 0, log.read_text()
    with Memory.open(file, read_only=True) as memory:
        assert [one.label for one in memory.objects()] == ["mug"]
        assert memory.settings.promotion.min_hits != 4


def test_a_wrong_parameter_is_one_line_and_the_node_lives_on(client: Client, tmp_path: Path) -> None:
    from rclpy.parameter import Parameter

    log = tmp_path / "node.log"
    words = ("ros2", "--memory", str(tmp_path / "home.lastseen"), "--no-autostart", "--ros-args")
    # a setting, an option of the source, and the node's own; as text "false" would let the robot drive
    wrong = {
        "association.radius": (-1.0, 0.3),
        "source.stall_after": ("soon", 5.0),
        "drive": ("false", False),
        "limits.speed": ("fast", 0.3),
        "limits.keep_out": (["nonsense"], ["0,0 1,1"]),
        "memory": (5, ""),
    }
    with lastseen(*words, "-p", "association.radius:=-1.0", log=log) as node:
        for name, (value, right) in wrong.items():
            set_parameter(client, Parameter(name, value=value))
            assert not change_state(client, CONFIGURE), name
            (line,) = [one for one in log.read_text().splitlines() if one.strip()]
            assert name.rpartition(".")[2].replace("_", "-") in line.replace("_", "-"), line
            os.truncate(log, 0)
            set_parameter(client, Parameter(name, value=right))
        assert change_state(client, CONFIGURE), log.read_text()
        assert node.poll() is None


def set_parameter(client: Client, parameter: Any) -> None:
    done = client.call(
        "/lastseen/set_parameters",
        "rcl_interfaces/srv/SetParameters",
        parameters=[parameter.to_parameter_msg()],
    )
    assert done.results[0].successful, done.results[0].reason


def test_the_command_of_the_launch_file_starts_the_node_in_its_namespace(client: Client, tmp_path: Path) -> None:
    share = Path(sys.prefix) / "share" / "lastseen_interfaces"
    file = share / "launch" / "lastseen.launch.py"
    given = {"memory": str(tmp_path / "home.lastseen"), "namespace": "/robot1"}
    program, *words = command_of(file, Path(sys.prefix), **given)
    assert program == "lastseen"
    with lastseen(*words, log=tmp_path / "node.log"):
        answer = client.call("/robot1/lastseen/find", f"{SRV}/Find", text="mug")
        assert (answer.ok, answer.status) == (True, "not_found"), (tmp_path / "node.log").read_text()
    # what stands in it unless a user says otherwise
    assert "__ns:=/" in command_of(file, Path(sys.prefix))


@pytest.mark.integration
def test_a_camera_on_the_graph_is_remembered_also_after_a_crash(client: Client, tmp_path: Path) -> None:
    file, log = tmp_path / "home.lastseen", tmp_path / "node.log"
    words = ("ros2", "--memory", str(file), "--min-view-bins", "1")
    objects = client.hear("/lastseen/objects", DETECTIONS_3D, kept=True)
    floors = client.hear("/lastseen/floor", GRID, kept=True)
    with lastseen("sim", "ros2", "sim://7", log=tmp_path / "robot.log"):
        with lastseen(*words, log=log) as node:
            client.until(lambda: objects and objects[-1].detections)
            client.until(lambda: floors and {0, 100} <= set(floors[-1].data))
            # written every five seconds of frames, which a busy machine sends late
            client.until(lambda: file.exists() and remembered(file))
            os.kill(node.pid, signal.SIGKILL)
        before = remembered(file)
        objects.clear()
        with lastseen(*words, log=log):
            client.until(lambda: objects and {one.id for one in objects[-1].detections} >= before)


def remembered(file: Path) -> set[str]:
    with Memory.open(file, read_only=True) as memory:
        return {one.id for one in memory.objects()}


class Odometry:
    """Where the simulated robot says it is."""

    def __init__(self, client: Client) -> None:
        self.heard = client.hear("/odom", "nav_msgs/msg/Odometry")
        self.client = client

    def pose(self) -> tuple[float, ...]:
        self.heard.clear()
        self.client.until(lambda: self.heard)
        pose = self.heard[-1].pose.pose
        return tuple(round(float(value), 4) for value in (pose.position.x, pose.position.y, pose.orientation.z))

    def until_moved(self, by: Popen[bytes], log: Path) -> None:
        """Wait until a search moves the robot; one that has ended will not."""
        start = self.pose()

        def moved() -> bool:
            assert by.poll() is None, log.read_text()
            return self.pose() != start

        self.client.until(moved)

    def comes_to_stand(self) -> bool:
        """Whether the robot stands still within ten seconds, and near where it was: a busy machine is slow."""
        start = self.pose()
        for _ in range(10):
            before = self.pose()
            self.client.spin(1.0)
            now = self.pose()
            if now == before:
                return math.dist(start[:2], now[:2]) < 0.3
        return False


def search(*words: str, file: Path) -> tuple[str, ...]:
    # a busy machine sends poses late, which is no reason to stop here
    patient = ("--max-pose-age", "20", "--max-time", str(WALK))
    return ("search", *words, "--memory", str(file), *patient, "--robot")


@pytest.mark.integration
@pytest.mark.timeout(3 * WALK)
def test_a_search_from_the_shell_finds_the_thing_through_nav2(client: Client, tmp_path: Path) -> None:
    file, log = tmp_path / "home.lastseen", tmp_path / "search.log"
    with lastseen("sim", "ros2", "sim://7", log=tmp_path / "robot.log"):
        odometry = Odometry(client)
        start = odometry.pose()
        with lastseen(*search("fridge", file=file), "ros2://", log=log) as dry:
            assert dry.wait(LONG) == 0, log.read_text()
        assert "dry run: it would go to" in log.read_text()
        assert odometry.pose() == start
        with lastseen(*search("fridge", file=file), "ros2://?drive_by=nav2", "--drive", log=log) as walk:
            assert walk.wait(WALK) == 0, log.read_text()
        assert "found after" in log.read_text()
        assert odometry.pose() != start
    with Memory.open(file, read_only=True) as memory:
        assert memory.find("fridge").status == "found"


@pytest.mark.integration
@pytest.mark.parametrize("way", ["goal_pose", "cmd_vel"])
def test_without_nav2_goals_or_velocities_move_the_robot(client: Client, tmp_path: Path, way: str) -> None:
    log = tmp_path / "search.log"
    words = (*search("teapot", file=tmp_path / "home.lastseen"), f"ros2://?drive_by={way}", "--drive", "--steps", "5")
    with lastseen("sim", "ros2", "sim://7", "--no-nav2", log=tmp_path / "robot.log"):
        odometry = Odometry(client)
        start = odometry.pose()
        with lastseen(*words, log=log) as walk:
            assert walk.wait(LONG) == 1, log.read_text()
        assert "not found after 5 steps" in log.read_text()
        assert odometry.pose() != start
        assert odometry.comes_to_stand()


@pytest.mark.integration
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("way", ["nav2", "cmd_vel"])
def test_a_search_that_ends_leaves_the_robot_standing(
    client: Client, tmp_path: Path, signal_: signal.Signals, way: str
) -> None:
    file, log = tmp_path / "home.lastseen", tmp_path / "search.log"
    with lastseen("sim", "ros2", "sim://7", log=tmp_path / "robot.log"):
        odometry = Odometry(client)
        with lastseen(*search("teapot", file=file), f"ros2://?drive_by={way}", "--drive", log=log) as walk:
            odometry.until_moved(walk, log)
            os.kill(walk.pid, signal_)
            walk.wait(LONG)
        assert odometry.comes_to_stand()
    # what was seen is kept, and a search goes on with it
    with Memory.open(file, read_only=True) as memory:
        assert memory.sessions() or signal_ == signal.SIGKILL


@pytest.mark.integration
def test_a_robot_that_dies_ends_the_search_with_one_line(client: Client, tmp_path: Path) -> None:
    file, log = tmp_path / "home.lastseen", tmp_path / "search.log"
    with lastseen("sim", "ros2", "sim://7", log=tmp_path / "robot.log") as robot:
        odometry = Odometry(client)
        with lastseen(*search("teapot", file=file), "ros2://", "--drive", log=log) as walk:
            odometry.until_moved(walk, log)
            os.kill(robot.pid, signal.SIGKILL)
            assert walk.wait(LONG) == 1
    told = [line for line in log.read_text().splitlines() if line.startswith("error: ")]
    assert len(told) == 1
    assert "Traceback" not in log.read_text()


@pytest.mark.integration
def test_the_search_action_gives_feedback_and_is_preempted_and_cancelled(client: Client, tmp_path: Path) -> None:
    from lastseen_interfaces.action import Search
    from rclpy.action import ActionClient

    log, feedback = tmp_path / "node.log", []
    words = ("ros2", "--memory", str(tmp_path / "home.lastseen"), "--drive")
    patient = ("--ros-args", "-p", "limits.pose_age:=20.0")
    with lastseen("sim", "ros2", "sim://7", log=tmp_path / "robot.log"), lastseen(*words, *patient, log=log):
        action = ActionClient(client.node, Search, "/lastseen/search")
        client.until(action.server_is_ready)

        def sent(goal: str, *, drive: bool) -> object:
            future = action.send_goal_async(
                Search.Goal(goal=goal, drive=drive), feedback_callback=lambda one: feedback.append(one.feedback)
            )
            client.until(future.done)
            return future.result()

        def result(handle: object) -> object:
            future = handle.get_result_async()  # type: ignore[attr-defined]
            client.until(future.done)
            return future.result().result

        # the first image takes a while on a busy machine
        diagnostics = client.hear("/diagnostics", STATUS)
        client.until(lambda: any(one.status[0].level == b"\x00" for one in diagnostics))
        planned = result(sent("teapot", drive=False))
        assert planned.status == "dry_run", (planned, log.read_text())  # type: ignore[attr-defined]
        first = sent("teapot", drive=True)
        client.until(lambda: len(feedback) >= 2)
        assert feedback[-1].belief
        second = sent("umbrella", drive=True)
        assert result(first).status == "stopped"  # type: ignore[attr-defined]
        before = len(feedback)
        client.until(lambda: len(feedback) > before)
        cancel = second.cancel_goal_async()  # type: ignore[attr-defined]
        client.until(cancel.done)
        assert "cancelled" in result(second).reason  # type: ignore[attr-defined]
        assert Odometry(client).comes_to_stand()
        # the memory goes on being fed
        assert client.call("/lastseen/ask", f"{SRV}/Ask", question="how many chairs are there?").ok
