from __future__ import annotations

import numpy as np

from lastseen.memory.rooms.room_map import outline


def area(corners: np.ndarray) -> float:
    x, y = corners.T
    return float((x * np.roll(y, -1) - y * np.roll(x, -1)).sum() / 2)


def test_a_block_has_four_corners_counter_clockwise() -> None:
    mask = np.zeros((6, 8), dtype=bool)
    mask[1:4, 2:7] = True
    corners = outline(mask)
    assert sorted(map(tuple, corners.tolist())) == [(0.5, 1.5), (0.5, 6.5), (3.5, 1.5), (3.5, 6.5)]
    assert area(corners) == 15.0


def test_holes_and_smaller_parts_are_left_out() -> None:
    mask = np.zeros((20, 20), dtype=bool)
    mask[2:18, 2:18] = True
    mask[8:10, 8:10] = False
    mask[0, 19] = True
    assert area(outline(mask)) == 256.0


def test_a_ragged_border_is_smoothed_and_an_empty_mask_has_none() -> None:
    mask = np.zeros((40, 40), dtype=bool)
    mask[5:35, 5:35] = True
    mask[4, 6:30:2] = True
    assert len(outline(mask)) < 8
    assert len(outline(np.zeros((3, 3), dtype=bool))) == 0
