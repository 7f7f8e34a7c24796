from __future__ import annotations

import math
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lastseen.body import body_points
from lastseen.config.search import Policy
from lastseen.errors import JournalDamaged
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.space.floor import TILE, FloorGrid
from lastseen.pose2d import ORIGIN, Pose2D
from tests.memory.objects.scenes import CAMERA, frame_at

CELL = 0.2
SETTINGS = Policy(cell=CELL)


def hall(number: int = 0, *, x: float = 0.0, wall: float = 3.0, yaw: float = 0.0) -> Frame:
    """A frame that looks along a floor at a wall so many metres ahead, from a camera 1.2 m high."""
    rows = np.arange(CAMERA.height)[:, None] + np.zeros((1, CAMERA.width))
    down = (rows - CAMERA.cy) / CAMERA.fy
    with np.errstate(divide="ignore"):
        floor = np.where(down > 0, 1.2 / np.maximum(down, 1e-9), np.inf)
    depth = np.minimum(floor, wall).astype(np.float32)
    eye = (x, 0.0, 1.2)
    return frame_at(number, eye=eye, target=(x + math.cos(yaw), math.sin(yaw), 1.2), depth=depth)


def seen_floor(*xs: float) -> FloorGrid:
    grid = FloorGrid(SETTINGS)
    for x in xs:
        grid.add(body_points(hall(x=x)), Pose2D(x, 0.0, 0.0))
    return grid


def state(grid: FloorGrid, x: float, y: float) -> str:
    cell = grid.cell_of(x, y)
    if cell is None or not (grid.free[cell] or grid.occupied[cell]):
        return "unknown"
    return "free" if grid.free[cell] else "occupied"


def test_floor_that_is_looked_over_is_free_a_wall_is_occupied_and_the_rest_is_unknown() -> None:
    grid = seen_floor(0.0)
    assert state(grid, 1.0, 0.0) == "free"
    assert state(grid, 3.0, 0.0) == "occupied"
    assert [state(grid, x, 0.0) for x in (4.0, -1.0, 500.0)] == ["unknown"] * 3


def test_it_grows_over_tiles_and_keeps_what_it_held() -> None:
    grid = seen_floor(0.0)
    before = grid.free.sum()
    grid.add(body_points(hall(x=-40.0)), Pose2D(-40.0, 0.0, 0.0))
    assert state(grid, -39.0, 0.0) == "free"
    assert state(grid, 1.0, 0.0) == "free"
    assert grid.free.sum() == 2 * before
    assert all(side % TILE == 0 for side in grid.free.shape)


def test_only_tiles_that_changed_are_handed_over_and_once() -> None:
    grid = seen_floor(0.0)
    first = grid.drain_changed()
    assert grid.drain_changed() == {}
    grid.add(body_points(hall(x=-40.0)), Pose2D(-40.0, 0.0, 0.0))
    assert first.keys().isdisjoint(grid.drain_changed())


def test_what_is_stored_is_restored_equal() -> None:
    grid, again = seen_floor(0.0, -40.0, 30.0), FloorGrid(SETTINGS)
    again.restore(grid.drain_changed())
    assert (again.free == grid.free).all()
    assert (again.occupied == grid.occupied).all()
    assert (again.blocked == grid.blocked).all()
    assert again.point_of((0, 0)) == grid.point_of((0, 0))
    assert again.drain_changed() == {}


def test_a_grid_that_was_restored_goes_on_like_the_one_it_was_written_from() -> None:
    grid, again = seen_floor(0.0), FloorGrid(SETTINGS)
    again.restore(grid.drain_changed())
    for one in (grid, again):
        one.add(body_points(hall(x=12.0)), Pose2D(12.0, 0.0, 0.3))
    assert grid.drain_changed() == again.drain_changed()


@pytest.mark.parametrize("body", [b"", b"no zlib", zlib.compress(bytes(TILE)), zlib.compress(bytes(TILE * TILE + 1))])
def test_a_damaged_tile_is_named(body: bytes) -> None:
    with pytest.raises(JournalDamaged, match=r"floor tile \(2, -1\)"):
        FloorGrid(SETTINGS).restore({(2, -1): body}, "home.lastseen")


def test_a_tile_that_unpacks_to_gigabytes_is_refused_before_it_does() -> None:
    bomb = zlib.compress(bytes(64_000_000))
    with pytest.raises(JournalDamaged, match="another size"):
        FloorGrid(SETTINGS).restore({(0, 0): bomb}, "home.lastseen")


@pytest.mark.parametrize("number", [2**62, -(2**63), 2**31])
def test_absurd_tile_numbers_are_refused(number: int) -> None:
    body = zlib.compress(bytes(TILE * TILE))
    with pytest.raises(JournalDamaged, match="floor tile"):
        FloorGrid(SETTINGS).restore({(0, 0): body, (number, 0): body}, "home.lastseen")


def test_tiles_too_far_apart_are_refused() -> None:
    body = zlib.compress(bytes(TILE * TILE))
    with pytest.raises(JournalDamaged, match="cells wide"):
        FloorGrid(SETTINGS).restore({(0, 0): body, (100, 0): body}, "home.lastseen")


@pytest.mark.parametrize("x", [1e9, -1e12, 1e300])
def test_a_pose_that_is_nowhere_maps_nothing_and_breaks_nothing(x: float) -> None:
    grid = seen_floor(0.0)
    before, points = grid.free.sum(), body_points(hall())
    grid.add(points, Pose2D(x, 0.0, 0.0))
    grid.mark_blocked(Pose2D(0.0, x, 0.0))
    assert grid.free.sum() == before


def test_beyond_the_largest_map_nothing_is_mapped() -> None:
    grid = seen_floor(0.0)
    grid.drain_changed()
    grid.add(body_points(hall()), Pose2D(5000.0, 0.0, 0.0))
    assert state(grid, 5001.0, 0.0) == "unknown"
    assert grid.drain_changed() == {}


def test_far_from_the_origin_a_map_is_as_good_as_at_it() -> None:
    grid = FloorGrid(SETTINGS)
    grid.add(body_points(hall()), Pose2D(450_000.0, 5_400_000.0, 0.0))
    assert state(grid, 450_001.0, 5_400_000.0) == "free"
    assert grid.free.shape < (3 * TILE, 3 * TILE)


def test_a_bump_is_occupied_ahead_of_the_robot() -> None:
    grid = FloorGrid(SETTINGS)
    grid.mark_blocked(ORIGIN)
    ahead = SETTINGS.robot_radius + CELL
    assert state(grid, ahead, 0.0) == "occupied"
    assert len(grid.drain_changed()) == 1


def test_a_memory_keeps_its_floor_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        memory.observe(hall(), [])
        assert state(memory.floor, 1.0, 0.0) == "free"
    with Memory.open(path, read_only=True) as again:
        assert (again.floor.free == memory.floor.free).all()
        assert (again.floor.occupied == memory.floor.occupied).all()
    with closing(sqlite3.connect(path)) as other, other:
        i, j = other.execute("SELECT i, j FROM floor").fetchone()
        other.execute("UPDATE floor SET body = x'00' WHERE i = ? AND j = ?", (i, j))
    with pytest.raises(JournalDamaged, match=f"the row of floor 0, {i}, {j} does not match its checksum"):
        Memory.open(path)


def test_a_camera_that_stands_still_is_looked_at_once(tmp_path: Path) -> None:
    memory = Memory.open()
    memory.observe(hall(0), [])
    revision = memory.floor.revision
    memory.observe(hall(1, x=0.01), [])
    assert memory.floor.revision == revision
    memory.observe(hall(2, x=0.2), [])
    memory.observe(hall(3, x=0.2, yaw=0.5), [])
    assert memory.floor.revision > revision + 1


def test_without_depth_nothing_is_known() -> None:
    memory = Memory.open()
    memory.observe(frame_at(0), [])
    assert memory.floor.free.size == 0


def test_a_grid_of_another_map_is_turned_into_this_one_without_holes() -> None:
    origin = Pose2D(1.0, -2.0, 0.6)
    here, there = FloorGrid(SETTINGS), seen_floor(0.0)
    here.take_in(there, origin)
    for x in np.arange(0.4, 2.4, 0.1):
        at = origin.compose(Pose2D(float(x), 0.0, 0.0))
        assert state(here, at.x, at.y) == "free"
    wall = origin.compose(Pose2D(3.0, 0.0, 0.0))
    assert "occupied" in {state(here, wall.x + dx, wall.y + dy) for dx in (-CELL, 0, CELL) for dy in (-CELL, 0, CELL)}
    assert here.drain_changed()


def test_a_coarse_grid_begins_with_what_a_finer_one_knows() -> None:
    fine = FloorGrid(Policy(cell=0.1))
    for _ in range(2):
        fine.add(body_points(hall()), ORIGIN)
    coarse = FloorGrid(SETTINGS, origin=Pose2D(0.05, -0.03, 0.0), window=6.0)
    coarse.begin_with(fine)
    ahead, wall, behind = (coarse.cell_of(*point) for point in ((2.0, 0.0), (3.05, 0.0), (-2.0, 0.0)))
    assert ahead is not None
    assert wall is not None
    assert behind is not None
    assert coarse.free[ahead]
    assert coarse.occupied[wall]
    assert coarse.evidence[behind] == 0


def test_a_grid_that_knows_nothing_leaves_another_empty() -> None:
    coarse = FloorGrid(Policy(), window=2.0)
    coarse.begin_with(FloorGrid(Policy()))
    assert not coarse.evidence.any()
