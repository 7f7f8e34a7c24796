from __future__ import annotations

import contextlib

import numpy as np
import pytest

from lastseen.config.programs import Homes
from lastseen.sim.floorplan import draw_plan
from lastseen.sim.floorplan.layout import ROOM_SIZES
from lastseen.sim.floorplan.plan import Constraint, FloorPlan, OpeningKind, structure_mesh, walls_between
from lastseen.sim.home import Room
from lastseen.sim.mesh import is_closed
from lastseen.sim.topdown import Raster, solid


def plans(rooms: int, count: int) -> list[FloorPlan]:
    found: list[FloorPlan] = []
    seed = 0
    while len(found) < count:
        with contextlib.suppress(Constraint):
            found.append(draw_plan(rooms, np.random.default_rng([rooms, seed]), settings=Homes()))
        seed += 1
        assert seed < 20 * count, "most attempts should give a plan"
    return found


@pytest.mark.parametrize("rooms", range(4, 13))
def test_rooms_do_not_overlap_and_keep_to_their_sizes(rooms: int, soak: int) -> None:
    for plan in plans(rooms, 10 * soak):
        parts = [(room, part) for room in plan.rooms for part in room.rectangles]
        for index, (room, (x0, y0, x1, y1)) in enumerate(parts):
            assert min(x1 - x0, y1 - y0) >= ROOM_SIZES[room.type].shortest - 0.02
            for _, (a, b, c, d) in parts[:index]:
                assert min(x1, c) - max(x0, a) <= 1e-9 or min(y1, d) - max(y0, b) <= 1e-9


@pytest.mark.parametrize("rooms", range(4, 13))
def test_doors_connect_all_rooms_and_never_through_a_bathroom(rooms: int, soak: int) -> None:
    for plan in plans(rooms, 10 * soak):
        types = {room.id: room.type for room in plan.rooms}
        doors = [plan.walls[o.wall] for o in plan.openings if o.walkable]
        reached: set[int | None] = {plan.rooms[0].id}
        for _ in plan.rooms:
            reached |= {room for wall in doors for room in (wall.low, wall.high) if {wall.low, wall.high} & reached}
        assert reached >= set(types)
        for room, name in types.items():
            if name in ("bathroom", "storage room", "laundry room"):
                assert sum(room in (wall.low, wall.high) for wall in doors) == 1


@pytest.mark.parametrize("rooms", [4, 8, 12])
def test_openings_lie_within_their_walls_and_apart(rooms: int) -> None:
    for plan in plans(rooms, 10):
        for index, wall in enumerate(plan.walls):
            cursor = wall.start + plan.wall_thickness / 2
            for opening in plan.openings_in(index):
                assert opening.start >= cursor
                cursor = opening.end
            assert cursor <= wall.end


def test_there_is_one_front_door_and_it_leads_outside() -> None:
    for plan in plans(8, 10):
        front = [o for o in plan.openings if o.kind is OpeningKind.FRONT_DOOR]
        assert len(front) == 1
        assert None in (plan.walls[front[0].wall].low, plan.walls[front[0].wall].high)


def test_two_rooms_side_by_side_share_one_wall() -> None:
    rooms = (Room(1, "kitchen", ((0, 0, 3, 4),)), Room(2, "bedroom", ((3, 0, 6, 4),)))
    shared = [wall for wall in walls_between(rooms) if None not in (wall.low, wall.high)]
    assert [(wall.along, wall.at, wall.start, wall.end, wall.low, wall.high) for wall in shared] == [
        ("y", 3, 0, 4, 1, 2)
    ]


def test_the_parts_of_one_room_have_no_wall_between_them() -> None:
    room = Room(1, "corridor", ((0, 0, 5, 1), (4, 1, 5, 4)))
    assert all({wall.low, wall.high} == {1, None} for wall in walls_between([room]))
    assert sum(wall.end - wall.start for wall in walls_between([room])) == pytest.approx(18.0)


def test_walls_are_solid_and_doorways_are_open() -> None:
    plan = plans(6, 1)[0]
    mesh = structure_mesh(plan, np.random.default_rng(0), ceiling=True)
    assert is_closed(mesh)
    low, high = mesh.bounds[0, :2] - 0.1, mesh.bounds[1, :2] + 0.1
    raster = Raster(low, high, 50.0)
    picture = solid(mesh, 1.0, raster)
    for opening in plan.openings:
        wall = plan.walls[opening.wall]
        x, y = (opening.middle, wall.at) if wall.along == "x" else (wall.at, opening.middle)
        column, row = (int(value) for value in raster.pixel(x, y))
        assert picture[row, column] != opening.walkable
