from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.planes import MOST_KEPT, Plane, SurfaceMap

UP: NDArray[np.float32] = np.array([0.0, 0.0, 1.0], dtype=np.float32)
WEST: NDArray[np.float32] = np.array([-1.0, 0.0, 0.0], dtype=np.float32)


def corner(*values: float) -> NDArray[np.float64]:
    return np.array(values, dtype=np.float64)


def test_a_wall_grows_over_views() -> None:
    known = SurfaceMap()
    first = known.add(Plane(WEST, -2.0), corner(2, 0, 0), corner(2, 1, 2), area=2.0, thing=False)
    second = known.add(Plane(WEST, -2.02), corner(2, 0.8, 0), corner(2, 3, 2), area=1.0, thing=False)
    assert first is second
    assert first is not None
    assert first.box.tolist() == [[2, 0, 0], [2, 3, 2]]


def test_tables_of_one_height_in_two_rooms_are_two() -> None:
    known = SurfaceMap()
    known.add(Plane(UP, 0.7), corner(0, 0, 0.7), corner(1, 1, 0.7), area=1.0, thing=False)
    known.add(Plane(UP, 0.7), corner(4, 0, 0.7), corner(5, 1, 0.7), area=1.0, thing=False)
    assert len(known.surfaces) == 2


def test_a_shelf_above_a_table_is_another_surface() -> None:
    known = SurfaceMap()
    known.add(Plane(UP, 0.7), corner(0, 0, 0.7), corner(1, 1, 0.7), area=1.0, thing=False)
    known.add(Plane(UP, 0.9), corner(0, 0, 0.9), corner(1, 1, 0.9), area=1.0, thing=False)
    assert len(known.surfaces) == 2


def test_a_small_part_is_only_known_where_a_large_one_was_seen() -> None:
    known = SurfaceMap()
    small = (corner(0.4, 0.4, 0.7), corner(0.6, 0.6, 0.7))
    assert known.add(Plane(UP, 0.7), *small, area=0.04, thing=False) is None
    known.add(Plane(UP, 0.7), corner(0, 0, 0.7), corner(1, 1, 0.7), area=1.0, thing=False)
    assert known.add(Plane(UP, 0.7), *small, area=0.04, thing=False) is known.surfaces[0]


def test_most_views_decide_whether_a_plane_is_a_thing() -> None:
    known = SurfaceMap()
    for thing in (True, False, True):
        bed = known.add(Plane(UP, 0.5), corner(0, 0, 0.5), corner(2, 2, 0.5), area=2.0, thing=thing)
    assert bed is not None
    assert bed.is_thing


def test_only_what_is_as_low_as_a_bed_can_be_soft() -> None:
    known = SurfaceMap()
    assert not known.as_low_as_a_bed(Plane(UP, 0.5))
    known.add(Plane(UP, 0.0), corner(0, 0, 0), corner(4, 4, 0), area=9.0, thing=False)
    assert known.as_low_as_a_bed(Plane(UP, 0.5))
    assert not known.as_low_as_a_bed(Plane(UP, 0.75))


def test_points_on_a_surface_are_told_from_those_beside_it() -> None:
    known = SurfaceMap()
    known.add(Plane(WEST, -2.0), corner(2, 0, 0), corner(2, 1, 2), area=2.0, thing=False)
    points = np.array([[2.01, 0.5, 1.0], [1.8, 0.5, 1.0], [2.0, 5.0, 1.0]], dtype=np.float32)
    free = np.ones((1, 3), dtype=np.bool_)
    known.clear(free, points[np.newaxis], np.full((1, 3), 0.03, np.float32))
    assert free.tolist() == [[False, True, True]]


def test_the_surface_seen_longest_ago_makes_room() -> None:
    known = SurfaceMap()
    for number in range(MOST_KEPT + 1):
        known.begin_frame()
        at = 2.0 * number
        known.add(Plane(UP, 0.7), corner(at, 0, 0.7), corner(at + 1, 1, 0.7), area=1.0, thing=False)
    assert len(known.surfaces) == MOST_KEPT
    assert known.surfaces[0].low[0] == 2.0
