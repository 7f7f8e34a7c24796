"""What the witness measures along a path."""

from __future__ import annotations

import pytest

from lastseen.evaluation.witness import path_length, revisited_area
from lastseen.pose2d import Pose2D


def poses(*points: tuple[float, float]) -> list[Pose2D]:
    return [Pose2D(x, y, 0.0) for x, y in points]


def test_the_length_is_that_of_the_poses() -> None:
    assert path_length(poses((0, 0), (3, 4), (3, 4))) == pytest.approx(5.0)
    assert path_length([]) == 0.0


def test_a_way_there_and_back_enters_its_cells_again() -> None:
    there = poses((0.1, 0.1), (0.6, 0.1), (1.1, 0.1))
    assert revisited_area(there, cell=0.5) == 0.0
    assert revisited_area(there + there[1::-1], cell=0.5) == pytest.approx(2 * 0.25)


def test_standing_still_is_no_revisit() -> None:
    assert revisited_area(poses((0.1, 0.1)) * 5, cell=0.5) == 0.0
