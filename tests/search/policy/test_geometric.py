"""The geometric policy: its local map, and the walk to a pixel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.action import Action
from lastseen.body import body_points
from lastseen.config.search import Policy
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.goal import StopCheck
from lastseen.search.policy.geometric import GeometricPixelPolicy, LocalMap
from lastseen.search.policy.goal_pixel import GoalPixel, choose_goal_pixel
from tests.search.policy.box_world import BoxWorld


def map_of(world: BoxWorld, *, turns: int = 12) -> LocalMap:
    built = LocalMap(ORIGIN, Policy())
    for turn in range(turns):
        world.pose = Pose2D(0.0, 0.0, turn * math.pi / 6)
        built.add(body_points(world.look()), world.pose)
    return built


def test_walls_are_occupied_and_the_floor_before_them_is_free() -> None:
    built = map_of(BoxWorld(size=3.0))
    wall, floor = built.cell_of(3.05, 0.0), built.cell_of(2.0, 0.0)
    assert wall is not None
    assert floor is not None
    assert built.occupied[wall[0] - 1 : wall[0] + 1, wall[1]].any()
    assert built.free[floor]


def test_what_lies_behind_an_obstacle_stays_unknown() -> None:
    built = map_of(BoxWorld(boxes=[((1.5, -0.5, 0.0), (1.7, 0.5, 2.0))]))
    behind = built.cell_of(2.5, 0.0)
    assert behind is not None
    assert not built.occupied[behind]
    assert not built.free[behind]


def test_a_table_top_above_the_robot_is_no_obstacle() -> None:
    built = map_of(BoxWorld(boxes=[((1.5, -0.5, 1.2), (2.0, 0.5, 1.3))]))
    below = built.cell_of(1.7, 0.0)
    assert below is not None
    assert not built.occupied[below]


def test_the_path_goes_round_an_obstacle_with_room_for_the_robot() -> None:
    built = map_of(BoxWorld(boxes=[((1.5, -0.6, 0.0), (1.8, 0.6, 2.0))]))
    path = built.path(ORIGIN, (3.0, 0.0))
    assert path is not None
    assert math.dist(path[-1], (3.0, 0.0)) < 0.15
    gap = min(np.hypot(max(1.5 - x, 0, x - 1.8), max(-0.6 - y, 0, y - 0.6)) for x, y in path)
    assert gap >= Policy().robot_radius - 0.5 * Policy().cell


def test_a_goal_inside_a_thing_ends_beside_it() -> None:
    built = map_of(BoxWorld(boxes=[((1.5, -0.3, 0.0), (2.1, 0.3, 0.8))]))
    path = built.path(ORIGIN, (1.6, 0.0))
    assert path is not None
    assert 0.9 < path[-1][0] < 1.5


def test_walled_in_there_is_no_path() -> None:
    walls = [
        ((0.6, -0.8, 0.0), (0.8, 0.8, 2.0)),
        ((-0.8, -0.8, 0.0), (-0.6, 0.8, 2.0)),
        ((-0.8, 0.6, 0.0), (0.8, 0.8, 2.0)),
        ((-0.8, -0.8, 0.0), (0.8, -0.6, 2.0)),
    ]
    path = map_of(BoxWorld(boxes=[*walls])).path(ORIGIN, (3.0, 0.0))
    assert path is None or math.dist(path[-1], (3.0, 0.0)) > 2.0


def test_outside_the_map_there_is_no_cell_and_no_path() -> None:
    built = LocalMap(ORIGIN, Policy())
    assert built.cell_of(100.0, 0.0) is None
    assert built.path(Pose2D(100.0, 0.0, 0.0), (0.0, 0.0)) is None


def test_a_bump_is_remembered_ahead_of_the_robot() -> None:
    built = LocalMap(ORIGIN, Policy())
    built.mark_blocked(ORIGIN)
    ahead = built.cell_of(0.28, 0.0)
    assert ahead is not None
    assert built.occupied[ahead]


def test_a_frame_without_any_depth_changes_nothing() -> None:
    built = LocalMap(ORIGIN, Policy())
    built.add(np.full((10, 10, 3), np.nan, np.float32), ORIGIN)
    assert not built.free.any()
    assert not built.occupied.any()


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


def test_a_target_at_a_wall_is_approached_on_this_side_of_it() -> None:
    stand, wall = ((1.5, -0.6, 0.0), (2.0, 0.6, 0.5)), ((2.0, -4.0, 0.0), (2.1, 3.0, 2.0))
    world, policy = BoxWorld(boxes=[stand, wall]), GeometricPixelPolicy()
    policy.see(world.look())
    # the open floor nearest to the back of the stand is behind the wall
    policy.follow(GoalPixel(0, 0, "target", (2.0, 0.0, 0.6)))
    walk(world, policy)
    assert policy.stop_reason == "reached"
    assert world.pose.x > 1.0


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


def test_what_is_too_low_and_close_to_be_seen_is_known_after_a_look_around() -> None:
    # a board of 0.3 m is in the picture from 2 m away, and below it from 0.6 m
    world, policy = BoxWorld(size=6.0, boxes=[((2.6, -0.6, 0.0), (2.7, 0.6, 0.3))]), GeometricPixelPolicy()
    for _ in range(8):
        policy.see(world.look())
        policy.moved(Action.FORWARD, collided=world.step(Action.FORWARD))
    policy.reset()
    policy.see(world.look())
    policy.follow(GoalPixel(0, 0, "floor", (2.0, 0.0, 0.0)))
    actions = walk(world, policy)
    assert policy.stop_reason == "reached"
    assert actions[0] is not Action.FORWARD


def test_a_collision_does_not_move_its_pose() -> None:
    policy = GeometricPixelPolicy()
    policy.moved(Action.FORWARD, collided=True)
    assert policy.pose == ORIGIN
    policy.moved(Action.FORWARD, collided=False)
    assert policy.pose.x == pytest.approx(0.25)


def test_without_a_goal_it_stops() -> None:
    assert GeometricPixelPolicy().act() is Action.STOP
