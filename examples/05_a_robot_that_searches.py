"""A robot of your own, in one script: observe while somebody drives it, then search from what it remembers.

The robot here is simulated, so that the script runs anywhere; replace ``frames``, ``drive`` and ``detector`` by your
camera, your navigation and your detector, and nothing else changes.

    python examples/05_a_robot_that_searches.py
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

import lastseen
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import SimEnvironment
from lastseen.sim.generate import generate_home

world = SimEnvironment(generate_home(7, rooms=4), seed=7)
detector = SimulatedDetector(world, level="good", seed=7)
newest = world.reset()


def frames() -> Iterator[lastseen.Frame]:
    """Your camera: every frame with its pose in the map that the robot localizes in."""
    while True:
        yield newest


def drive(goal: lastseen.Pose2D) -> Literal["reached", "failed"]:
    """Your navigation: go to a pose, wait until the robot stands, say whether it got there."""
    global newest  # noqa: PLW0603 - a script
    here = newest.floor_pose
    turn = math.remainder(goal.yaw - here.yaw, math.tau)
    if here.distance_to(goal) > 0.1:
        action = lastseen.Action.FORWARD
    else:
        action = lastseen.Action.TURN_LEFT if turn > 0 else lastseen.Action.TURN_RIGHT
    result = world.step(action)
    newest = result.frame
    return "failed" if result.collided else "reached"


memory = lastseen.open(Path(mkdtemp()) / "home.lastseen")


def tell(event: lastseen.Event) -> None:
    """What is worth a line; a robot would act on it."""
    if event.kind == "confirmed":
        print(f"  {event.kind}: {event.evidence.get('label', 'thing')} ({event.object_id})")


memory.subscribe(tell)

print("somebody drives the robot through the home")
for action in tour(world.agent, coverage_stops(world.grid, (world.start.x, world.start.y))):
    newest = world.step(action).frame
    memory.observe(newest, detections=detector.detect(newest))

answer = memory.find("somewhere to sleep")
print(answer.status, answer.reason, [(thing.id, thing.place) for thing in answer.fitting])

robot = lastseen.Robot(frames(), drive, detector=detector)
result = lastseen.Search("bed", robot, memory).run()
print(f"{result.status} after {result.steps} steps and {result.metres:.1f} m: {result.reason}")
memory.close()
