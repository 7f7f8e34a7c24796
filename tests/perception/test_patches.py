from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.perception.patches import add_patches

CAMERA = Intrinsics(300.0, 300.0, 159.5, 119.5, 320, 240)
SPOTS = [(60, 60), (60, 200), (150, 60), (150, 200)]
BLACK, RED, GREEN, BLUE = (20, 20, 20), (200, 30, 30), (30, 180, 30), (30, 30, 200)


def patches(colors: list[tuple[int, int, int]], *, on_a_piece: bool) -> int:
    """How many patches are found of 30-pixel squares at 1 m on a grey surface."""
    rgb: NDArray[np.uint8] = np.full((240, 320, 3), 150, dtype=np.uint8)
    for (top, left), color in zip(SPOTS, colors, strict=False):
        rgb[top : top + 30, left : left + 30] = color
    depth = np.ones((240, 320), dtype=np.float32)
    frame = Frame(0, 0.0, rgb, depth, Pose3D.identity(), CAMERA)
    labels = np.full(depth.shape, int(on_a_piece), dtype=np.int32)
    areas = np.full(depth.shape, (1.0 / 300.0) ** 2, dtype=np.float32)
    found = add_patches(labels, frame, np.ones(depth.shape, dtype=np.bool_), areas)
    return len(np.unique(found[found > int(on_a_piece)]))


@pytest.mark.parametrize("on_a_piece", [True, False])
def test_things_of_several_colours_are_found_wherever_they_lie(on_a_piece: bool) -> None:
    assert patches([RED, GREEN, BLUE], on_a_piece=on_a_piece) == 3


def test_spots_of_one_colour_are_the_print_of_what_they_lie_on() -> None:
    assert patches([BLACK] * 4, on_a_piece=True) == 0
    assert patches([BLACK] * 3 + [RED], on_a_piece=True) == 1


def test_two_of_a_colour_are_no_print_and_neither_are_equal_things_on_a_table() -> None:
    assert patches([BLACK] * 2, on_a_piece=True) == 2
    assert patches([BLACK] * 4, on_a_piece=False) == 4
