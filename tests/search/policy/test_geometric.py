from __future__ import annotations

import pytest

from lastseen.action import Action
from lastseen.config.policy import Policy
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.policy.geometric import GeometricPixelPolicy
from lastseen.search.policy.goal_pixel import GoalPixel, choose_goal_pixel
from lastseen.search.policy.stop_check import StopCheck
from tests.search.policy.box_world import BoxWorld


def walk(world: BoxWorld, policy: GeometricPixelPolicy, *, steps: int = 60) -> list[Action]:
    """Let the policy act in the world until it stops."""
    done: list[Action] = []
    for _ in range(steps):
        policy.see(world.look())
        action = policy.act()
        done.append(action)
        if action is Action.STOP:
            return done
        policy.moved(action, collided=world.step(action))
    raise AssertionError(f"no stop within {steps} steps")


def test_it_walks_to_a_floor_pixel_and_stops() -> None:
    world, policy = BoxWorld(), GeometricPixelPolicy()
    pixel = choose_goal_pixel(world.look(), [], target="mug", goal_flag=False)
    policy.follow(pixel)
    walk(world, policy)
    assert policy.stop_reason == "reached"
    assert world.pose.distance_to(Pose2D(*pixel.point[:2], 0)) <= Policy().waypoint_reached + 0.01


def test_it_walks_round_an_obstacle_without_touching_it() -> None:
    world, policy = BoxWorld(boxes=[((1.6, -0.5, 0.0), (1.9, 0.5, 0.7))]), GeometricPixelPolicy()
    policy.see(world.look())
    policy.follow(GoalPixel(0, 0, "floor", (3.0, 0.0, 0.0)))
    walk(world, policy)
    assert policy.stop_reason == "reached"


def test_it_stops_face_to_face_with_a_target_and_the_stop_is_believed() -> None:
    world = BoxWorld(boxes=[((2.4, 1.0, 0.0), (2.8, 1.4, 0.9))], pose=Pose2D(-1.0, 0.0, 0.2))
    policy, check = GeometricPixelPolicy(), StopCheck("chair")
    policy.follow(choose_goal_pixel(world.look(), world.detect("chair"), target="chair", goal_flag=True))
    for _ in range(40):
        frame = world.look()
        policy.see(frame)
        check.see(frame, world.detect("chair"))
        action = policy.act()
        if action is Action.STOP:
            break
        policy.moved(action, collided=world.step(action))
    assert policy.stop_reason == "reached"
    assert check.believed(within=1.0)


def test_it_gives_up_after_its_actions_as_pixelnav_does() -> None:
    policy = GeometricPixelPolicy(Policy(max_actions=5))
    policy.follow(GoalPixel(0, 0, "floor", (4.0, 0.0, 0.0)))
    assert walk(BoxWorld(size=9.0), policy)[-1] is Action.STOP
    assert policy.stop_reason == "exhausted"


def test_an_unseen_obstacle_ends_the_waypoint_instead_of_the_episode() -> None:
    world, policy = BoxWorld(size=0.6), GeometricPixelPolicy()
    policy.follow(GoalPixel(0, 0, "floor", (4.0, 0.0, 0.0)))
    for _ in range(60):
        action = policy.act()  # blind: it never sees the wall
        if action is Action.STOP:
            break
        policy.moved(action, collided=world.step(action))
    assert policy.stop_reason in {"blocked", "exhausted"}


def test_a_collision_does_not_move_its_pose() -> None:
    policy = GeometricPixelPolicy()
    policy.moved(Action.FORWARD, collided=True)
    assert policy.pose == ORIGIN
    policy.moved(Action.FORWARD, collided=False)
    assert policy.pose.x == pytest.approx(0.25)


def test_without_a_goal_it_stops() -> None:
    assert GeometricPixelPolicy().act() is Action.STOP
