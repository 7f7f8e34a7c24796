"""Searches in the tiny home with perfect senses: a robot, a visit that fills a memory, and things moved meanwhile."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from lastseen.action import apply
from lastseen.config import settings_from_mapping
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import SimEnvironment
from lastseen.sim.home import Home
from tests.sim.tiny import tiny_home

SETTINGS = settings_from_mapping(
    {"camera": {"width": 96, "height": 72}, "store": {"store_crops": False}, "search": {"max_steps": 150}}
)
START = Pose2D(2.5, 3.2, 3.1)
"""In the kitchen, looking away from the door."""


class TinyRobot(SimEnvironment):
    """A simulated robot in the tiny home that brings its detector, and counts the frames it gave."""

    def __init__(self, home: Home | None = None, *, start: Pose2D = START, seed: int = 0) -> None:
        super().__init__(home or tiny_home(), start=start, seed=seed, settings=SETTINGS)
        self.detector = SimulatedDetector(self, level="perfect", seed=seed)


def visit(memory: Memory, home: Home | None = None) -> None:
    """Tour the home once and observe what is seen on the way."""
    robot = TinyRobot(home)
    frame, last = robot.reset(), robot.start
    memory.observe(frame, detections=robot.detector.detect(frame))
    for action in tour(robot.agent, coverage_stops(robot.grid, (robot.start.x, robot.start.y))):
        there = apply(robot.agent.pose, action, motion=robot.agent.motion)
        if abs(wrap_angle(there.yaw - last.yaw)) > math.radians(45.0) or there.distance_to(last) > 0.7:
            frame, last = robot.step(action).frame, there
            memory.observe(frame, detections=robot.detector.detect(frame))
        else:
            robot.skip(action)
    memory.new_session()


def with_thing_at(home: Home, key: int, x: float, y: float, z: float, **changed: Any) -> Home:
    """The home with one thing moved."""
    thing = home.thing(key)
    pose = Pose3D.from_pose2d(Pose2D(x, y, 0.0), height=z)
    return replace(home, things={**home.things, key: replace(thing, pose=pose, **changed)})
