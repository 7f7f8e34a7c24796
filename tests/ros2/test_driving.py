from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from lastseen.errors import InvalidValue
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.ros2.driving import (
    GOAL_SECONDS,
    Driver,
    DryRun,
    GoalTopicMover,
    Limits,
    Moving,
    Stopped,
    VelocityMover,
    distance_to_zone,
    is_at,
    parse_zone,
    parse_zones,
)
from lastseen.sources.ros.messages import to_cdr
from lastseen.sources.ros.transport import Publication


@dataclass
class World:
    """A robot on a plane with a clock of its own; it jumps to its goal a little every period."""

    pose: Pose2D = ORIGIN
    now: float = 100.0
    tf_alive: bool = True
    stuck: bool = False
    goal: Pose2D | None = None
    cancels: list[Pose2D | None] = field(default_factory=list)
    stamp: float = 0.0

    def start(self, goal: Pose2D) -> None:
        self.goal = goal

    def poll(self, pose: Pose2D) -> Moving:
        assert self.goal is not None
        return "reached" if is_at(pose, self.goal) else "moving"

    def cancel(self, pose: Pose2D | None) -> None:
        self.cancels.append(pose)
        self.goal = None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.tf_alive:
            self.stamp = self.now
        if self.goal is not None and not self.stuck:
            share = min(1.0, 0.02 / max(1e-9, self.pose.distance_to(self.goal)))
            x, y = (a + (b - a) * share for a, b in ((self.pose.x, self.goal.x), (self.pose.y, self.goal.y)))
            self.pose = Pose2D(x, y, self.goal.yaw)

    def base(self) -> tuple[Pose2D, float] | None:
        return self.pose, self.stamp

    def driver(self, limits: Limits | None = None, **more: object) -> Driver:
        self.sleep(0.0)
        return Driver(
            self,
            base_pose=self.base,
            camera_in_base=lambda: ORIGIN,
            limits=limits or Limits(),
            clock=lambda: self.now,
            sleep=self.sleep,
            **more,  # type: ignore[arg-type]
        )


AHEAD = Pose2D(0.25, 0.0, 0.0)


def test_a_goal_is_reached_and_the_view_must_be_newer() -> None:
    world = World()
    drive = world.driver()
    assert drive(AHEAD) == "reached"
    assert world.cancels == []
    assert drive.stood_still_at == world.stamp


def test_the_goal_of_the_base_is_the_cameras_less_its_mount() -> None:
    world = World(stuck=True)
    drive = world.driver()
    drive._camera = lambda: Pose2D(0.2, 0.0, 0.0)
    goals: list[Pose2D] = []
    world.start = goals.append  # type: ignore[method-assign, assignment]
    world.poll = lambda pose: "reached"  # type: ignore[method-assign]
    drive(Pose2D(1.0, 0.0, math.pi / 2))
    assert (goals[0].x, goals[0].y) == pytest.approx((1.0, -0.2))


def test_a_goal_that_is_not_reached_in_time_is_cancelled_and_failed() -> None:
    world = World(stuck=True)
    began = world.now
    assert world.driver()(AHEAD) == "failed"
    assert len(world.cancels) == 1
    assert world.now - began == pytest.approx(GOAL_SECONDS, abs=1.0)


def test_a_robot_whose_tf_dies_on_the_way_is_stopped() -> None:
    world = World(stuck=True)
    drive = world.driver()

    def tf_dies(stamp: float) -> str:
        world.tf_alive = False
        return ""

    drive._lost = tf_dies
    with pytest.raises(Stopped, match="no newer pose came"):
        drive(AHEAD)
    assert len(world.cancels) == 1


def test_poses_that_come_seldom_may_be_allowed() -> None:
    world = World()
    drive = world.driver(Limits(pose_age=3.0))
    world.tf_alive = False

    def seldom(seconds: float) -> None:
        World.sleep(world, seconds)
        if world.now - world.stamp > 2.0:
            world.stamp = world.now

    drive._sleep = seldom
    assert drive(AHEAD) == "reached"


def test_without_any_pose_nothing_begins() -> None:
    world = World()
    drive = world.driver()
    drive._base_pose = lambda: None
    with pytest.raises(Stopped, match="tf gives no pose"):
        drive(AHEAD)
    assert world.goal is None


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"lost": lambda stamp: "astray" if stamp > 101.0 else ""}, r"not localized any more \(astray\)"),
        ({"cancelled": lambda: True}, "was cancelled"),
    ],
)
def test_lost_localization_and_cancelling_stop_the_robot(more: dict[str, Callable[..., object]], words: str) -> None:
    world = World(stuck=True)
    with pytest.raises(Stopped, match=words):
        world.driver(**more)(AHEAD)  # type: ignore[arg-type]
    assert world.goal is None


def test_ctrl_c_cancels_the_goal() -> None:
    world = World(stuck=True)

    def poll(pose: Pose2D) -> Moving:
        raise KeyboardInterrupt

    world.poll = poll  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        world.driver()(AHEAD)
    assert len(world.cancels) == 1


def test_time_and_distance_have_an_end() -> None:
    world = World()
    drive = world.driver(Limits(seconds=20.0, distance=1.0))
    assert drive(Pose2D(0.9, 0.0, 0.0)) == "reached"
    assert drive(Pose2D(1.2, 0.0, 0.0)) == "failed"
    assert "from the start" in drive.refused[0]
    world.now += 30.0
    world.sleep(0.0)
    with pytest.raises(Stopped, match="more than 20 s"):
        drive(AHEAD)


def test_a_robot_that_was_carried_off_is_stopped() -> None:
    world = World()
    drive = world.driver(Limits(distance=1.0))
    assert drive(AHEAD) == "reached"
    world.pose = Pose2D(5.0, 0.0, 0.0)
    world.sleep(0.1)
    with pytest.raises(Stopped, match="from its start"):
        drive(AHEAD)


def test_keep_out_zones_are_not_entered_but_may_be_left() -> None:
    limits = Limits(keep_out=(parse_zone("1,-1 2,1"),), margin=0.25)
    assert limits.refusal(ORIGIN, ORIGIN, Pose2D(0.7, 0.0, 0.0)) is None
    assert limits.refusal(ORIGIN, Pose2D(0.7, 0, 0), Pose2D(0.95, 0.0, 0.0)) is not None
    # through the zone though both ends are outside
    assert limits.refusal(ORIGIN, Pose2D(0.5, 0.9, 0), Pose2D(2.5, 0.9, 0.0)) is not None
    assert limits.refusal(ORIGIN, Pose2D(0.9, 0.9, 0), Pose2D(0.65, 0.9, 0.0)) is None
    assert limits.refusal(ORIGIN, Pose2D(1.5, 0, 0), Pose2D(1.5, 0.0, 1.0)) is None
    drive = World().driver(limits)
    assert drive(Pose2D(1.5, 0.0, 0.0)) == "failed"
    assert "keep-out" in drive.refused[0]


def test_a_robot_that_is_led_through_a_keep_out_zone_is_stopped() -> None:
    zone = parse_zone("0.1,-1 0.2,1")
    world = World()
    # the way is planned by Nav2, which knows no zones; the goal alone is not in one
    drive = world.driver(Limits(keep_out=(zone,), margin=0.0))
    world.start = lambda goal: setattr(world, "goal", Pose2D(0.5, 0.0, 0.0))  # type: ignore[method-assign]
    with pytest.raises(Stopped, match="keep-out zone"):
        drive(Pose2D(0.0, 0.25, 0.0))
    assert 0.1 <= world.pose.x < 0.15
    assert len(world.cancels) == 1


def test_a_dry_run_moves_nothing_and_names_the_goal() -> None:
    world = World()
    drive = world.driver()
    drive._mover = None
    with pytest.raises(DryRun, match=r"x 0\.25 m") as ended:
        drive(AHEAD)
    assert ended.value.goal == AHEAD


def test_a_goal_topic_has_no_cancel_so_the_robot_is_sent_to_where_it_is() -> None:
    sent: list[Publication] = []
    mover = GoalTopicMover(sent.append, world=lambda: "map")
    mover.start(AHEAD)
    assert mover.poll(ORIGIN) == "moving"
    assert mover.poll(Pose2D(0.24, 0.01, 0.05)) == "reached"
    mover.cancel(Pose2D(0.1, 0.0, 0.0))
    assert [one.tree["pose"]["position"]["x"] for one in sent] == [0.25, 0.1]
    assert all(to_cdr(one.kind, one.tree) for one in sent)


@pytest.mark.parametrize("goal", [AHEAD, Pose2D(-0.5, 0.4, 2.0), Pose2D(0.0, 0.0, -2.5), Pose2D(0.02, 0.0, 0.0)])
def test_velocities_lead_to_the_goal_within_the_caps(goal: Pose2D) -> None:
    sent: list[Publication] = []
    limits = Limits(speed=0.3, turn_speed=0.8)
    mover = VelocityMover(sent.append, limits)
    mover.start(goal)
    pose = ORIGIN
    for _ in range(600):
        if mover.poll(pose) == "reached":
            break
        forward, turn = sent[-1].tree["linear"]["x"], sent[-1].tree["angular"]["z"]
        assert 0.0 <= forward <= 0.3
        assert abs(turn) <= 0.8
        pose = pose.compose(Pose2D(forward * 0.05, 0.0, turn * 0.05))
    assert is_at(pose, goal)
    assert sent[-1].tree["linear"]["x"] == sent[-1].tree["angular"]["z"] == 0.0


def test_the_watchdog_stops_a_robot_that_nobody_drives_on() -> None:
    stopped = threading.Event()

    def publish(one: Publication) -> None:
        if one.tree["linear"]["x"] == 0.0 and one.tree["angular"]["z"] == 0.0:
            stopped.set()

    mover = VelocityMover(publish, Limits())
    mover.start(AHEAD)
    mover.poll(ORIGIN)
    assert not stopped.is_set()
    assert stopped.wait(5.0)


@pytest.mark.parametrize("text", ["", "1,2", "a,b c,d", "1,2,3 4,5,6", "nan,0 1,1"])
def test_a_zone_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InvalidValue, match="--keep-out"):
        parse_zone(text)


def test_distance_to_a_polygon_is_negative_inside() -> None:
    zone = parse_zone("0,0 2,0 0,2")
    assert distance_to_zone(0.5, 0.5, zone) == pytest.approx(-0.5)
    assert distance_to_zone(2.0, 2.0, zone) == pytest.approx(math.sqrt(2.0))


@pytest.mark.parametrize("value", [0.0, -1, float("nan"), "fast", True, None])
@pytest.mark.parametrize("field_", ["speed", "seconds", "distance"])
def test_limits_that_are_none_are_refused(field_: str, value: Any) -> None:
    with pytest.raises(InvalidValue, match=f"limits.{field_}"):
        Limits(**{field_: value})


@pytest.mark.parametrize("texts", [5, "0,0 1,1", [1.0, 2.0], ["nonsense"]])
def test_zones_that_are_none_are_refused(texts: object) -> None:
    with pytest.raises(InvalidValue, match=r"keep.out"):
        parse_zones(texts)
