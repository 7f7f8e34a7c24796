from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.memory.objects.boxes import around, corners, in_axes_of, sides, sides_in_axes, turned, vectors_in_axes


def test_a_vector_in_turned_axes_comes_back() -> None:
    vector = np.array([[1.0, 2.0, 3.0]])
    there = vectors_in_axes(vector, 0.7)
    assert there[0, :2] == pytest.approx(turned(1.0, 2.0, 0.7))
    assert vectors_in_axes(there, -0.7) == pytest.approx(vector)


@pytest.mark.parametrize(
    ("degrees", "expected"),
    [
        (0.0, (2.0, 1.0)),
        (6.0, (2.0, 1.0)),
        (90.0, (1.0, 2.0)),
        (-93.0, (1.0, 2.0)),
        (180.0, (2.0, 1.0)),
        (45.0, (3.0 * math.sqrt(0.5), 3.0 * math.sqrt(0.5))),
    ],
)
def test_the_sides_of_a_box_along_other_axes(degrees: float, expected: tuple[float, float]) -> None:
    turn = math.radians(degrees)
    assert sides(2.0, 1.0, turn) == pytest.approx(expected)
    assert sides_in_axes(np.array([2.0, 1.0, 0.5]), turn) == pytest.approx([*expected, 0.5])


def test_boxes_that_are_turned_alike_lie_to_each_other_as_straight_ones_do() -> None:
    xyz, other, extent = np.array([1.0, 1.0, 0.0]), np.array([2.0, 1.5, 0.2]), np.array([0.4, 0.6, 0.2])
    straight = in_axes_of(xyz, 0.0, other, extent, 0.0)
    there = in_axes_of(vectors_in_axes(xyz, -0.5), 0.5, vectors_in_axes(other, -0.5), extent, 0.5)
    assert np.allclose(straight, there)


def test_the_corners_of_a_turned_box_lie_in_the_box_around_it() -> None:
    extent = np.array([2.0, 1.0, 0.5])
    found = corners(np.array([1.0, 2.0, 3.0]), extent, 0.4) - [1.0, 2.0, 3.0]
    assert np.abs(found).max(axis=0) == pytest.approx(around(extent, 0.4) / 2.0)
