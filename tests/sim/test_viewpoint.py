from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.geometry import Intrinsics
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer, camera_pose
from lastseen.sim.viewpoint import VIEW_DISTANCE, surface_points, viewpoints


@pytest.mark.parametrize("key", range(1, 9))
def test_a_viewpoint_is_near_reachable_and_sees_the_thing(
    home: Home, grid: NavigationGrid, renderer: Renderer, key: int
) -> None:
    thing = home.thing(key)
    poses = viewpoints(grid, thing)
    assert poses
    low, high = thing.box
    camera = Intrinsics.from_fov(96, 96, horizontal_deg=79.0)
    for pose in poses[:: max(1, len(poses) // 5)]:
        assert grid.island_at(pose.x, pose.y) == 1
        gap = np.maximum(np.maximum(low[:2] - [pose.x, pose.y], [pose.x, pose.y] - high[:2]), 0.0)
        assert math.hypot(*gap) <= VIEW_DISTANCE
        down = math.atan2(float(thing.position[2]) - 0.88, math.dist((pose.x, pose.y), thing.position[:2]))
        seen = renderer.render(camera_pose(pose, height=0.88, pitch=down), camera).ids
        assert key in seen


def test_a_thing_behind_a_wall_is_not_seen_through_it(home: Home, grid: NavigationGrid) -> None:
    assert all(pose.x < 4.0 for pose in viewpoints(grid, home.thing(2)))


def test_thinned_viewpoints_are_some_of_all(home: Home, grid: NavigationGrid) -> None:
    every, some = viewpoints(grid, home.thing(1)), viewpoints(grid, home.thing(1), spacing=0.25)
    assert set(some) < set(every)
    assert len(some) < len(every) / 10


def test_surface_points_lie_on_the_box_and_stay_the_same(home: Home) -> None:
    thing = home.thing(3)
    points = surface_points(thing, 64)
    assert ((points >= thing.box[0] - 1e-6) & (points <= thing.box[1] + 1e-6)).all()
    assert np.array_equal(points, surface_points(thing, 64))
