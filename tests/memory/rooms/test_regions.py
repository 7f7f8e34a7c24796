from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.memory.rooms.plan import Plan
from lastseen.memory.rooms.regions import cut
from tests.memory.rooms.plans import Line, outer, plan


def region_at(found: Plan, x: float, y: float) -> int:
    ((i, j),) = found.cells(np.array([[x, y]])).tolist()
    return int(cut(found).labels[i, j])


def two_rooms(start: float, end: float) -> list[Line]:
    """A home of 8 x 4 m with a wall in the middle that is open from ``start`` to ``end``."""
    return [*outer(8, 4), (4, 0, 4, start), (4, end, 4, 4)]


@pytest.mark.parametrize(
    ("start", "end"), [(1.5, 2.3), (0.3, 1.2), (1.0, 2.9)], ids=["door", "door near a corner", "passage"]
)
def test_an_opening_in_a_wall_divides_two_rooms(start: float, end: float) -> None:
    found = cut(plan(two_rooms(start, end), 8, 4))
    assert found.count == 2
    assert len(found.openings) == 1


def test_a_room_that_is_open_over_its_whole_width_is_one_room() -> None:
    assert cut(plan(outer(8, 4), 8, 4)).count == 1


def test_a_wide_opening_is_no_door() -> None:
    assert cut(plan(two_rooms(0.6, 3.4), 8, 4)).count == 1


def test_a_corridor_that_bends_stays_one_and_its_rooms_are_cut_off() -> None:
    # a leg along y = 0 to 1.4 and another along x = 6.6 to 8; a room in the corner, with a door to each leg
    lines = [*outer(8, 6), (0, 1.4, 2.0, 1.4), (2.9, 1.4, 6.6, 1.4), (6.6, 1.4, 6.6, 3.5), (6.6, 4.4, 6.6, 6)]
    found = plan(lines, 8, 6)
    assert cut(found).count == 2
    assert region_at(found, 0.5, 0.7) == region_at(found, 7.3, 5.5) != region_at(found, 3.0, 4.0)


def test_a_passage_wider_than_the_corridor_still_divides_it_from_the_room() -> None:
    found = plan([*outer(8, 6), (0, 1.4, 3.0, 1.4), (4.9, 1.4, 8, 1.4)], 8, 6)
    assert cut(found).count == 2
    assert region_at(found, 0.5, 0.7) == region_at(found, 7.5, 0.7) != region_at(found, 4.0, 4.0)


def test_tall_furniture_divides_no_room() -> None:
    wardrobe: list[Line] = [(1.0, 3.4, 2.8, 4.0), (5.0, 3.4, 6.2, 4.0)]
    assert cut(plan([*outer(8, 4), *wardrobe], 8, 4)).count == 1


def test_a_wall_seen_in_pieces_still_divides_two_rooms() -> None:
    # 0.1 m of wall, then 0.35 m that depth never showed, and so on: nobody walks through that
    pieces: list[Line] = [(4.0, y, 4.0, y + 0.1) for y in np.arange(0.3, 2.0, 0.45).tolist()]
    found = plan([*outer(8, 4), *pieces, (4.0, 2.9, 4.0, 4.0)], 8, 4)
    assert region_at(found, 2.0, 1.0) != region_at(found, 6.0, 1.0)


def test_a_niche_too_small_for_a_room_belongs_to_the_room_it_opens_to() -> None:
    # a closet of one square metre behind a narrow door
    found = plan([*outer(8, 4), (7.0, 2.9, 7.2, 2.9), (7.8, 2.9, 8.0, 2.9), (7.0, 2.9, 7.0, 4.0)], 8, 4)
    assert cut(found).count == 1


@pytest.mark.parametrize("turned", [17.0, -40.0, 90.0])
def test_a_home_that_is_turned_in_the_map_has_the_same_rooms(turned: float) -> None:
    found = plan(two_rooms(1.5, 2.4), 8, 4, turned=turned)
    assert cut(found).count == 2
    angle = math.radians(turned)
    spots = [
        (math.cos(angle) * x - math.sin(angle) * 2.0, math.sin(angle) * x + math.cos(angle) * 2.0) for x in (2, 6)
    ]
    assert region_at(found, *spots[0]) != region_at(found, *spots[1])


def test_points_of_cells_and_cells_of_points_agree() -> None:
    found = plan(two_rooms(1.5, 2.4), 8, 4, turned=17.0)
    cells = np.array([[5, 7], [40, 90]])
    assert found.cells(found.points(cells)).tolist() == cells.tolist()
