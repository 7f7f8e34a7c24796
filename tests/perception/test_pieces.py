from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.perception.bars import with_bars
from lastseen.perception.pieces import add_color_regions, contacts_of, joined, shapes_of

SPOTS = [(20, 20), (20, 100), (75, 20), (75, 100)]
BLACK, RED, GREEN, BLUE = (20, 20, 20), (200, 30, 30), (30, 180, 30), (30, 30, 200)


def regions(colors: list[tuple[int, int, int]], *, relief: float, skip: bool = False) -> int:
    """How many of the 20-pixel squares on a grey surface at 1 m that stand out by ``relief`` are cut out."""
    rgb: NDArray[np.float32] = np.full((120, 160, 3), 150.0, dtype=np.float32)
    depth = np.ones((120, 160), dtype=np.float32)
    for (top, left), color in zip(SPOTS, colors, strict=False):
        rgb[top : top + 20, left : left + 20] = color
        depth[top : top + 20, left : left + 20] -= np.float32(relief)
    labels = np.ones(depth.shape, dtype=np.int32)
    areas = np.full(depth.shape, (1.0 / 150.0) ** 2, dtype=np.float32)
    found = add_color_regions(labels, rgb, depth, areas=areas, skip=[1] if skip else [])
    return len(np.unique(found)) - 1


def test_things_of_another_colour_that_stand_out_are_cut_out() -> None:
    assert regions([RED, GREEN, BLUE], relief=0.03) == 3


def test_print_and_light_have_no_relief_and_stay_part_of_what_they_lie_on() -> None:
    assert regions([RED, GREEN, BLUE], relief=0.0) == 0
    assert regions([(210, 210, 210)], relief=0.03) == 0


def test_spots_of_one_colour_are_the_print_of_what_they_lie_on() -> None:
    assert regions([BLACK] * 4, relief=0.03) == 0
    assert regions([BLACK] * 3 + [RED], relief=0.03) == 1


@pytest.mark.parametrize("relief", [0.0, 0.03])
def test_surfaces_are_left_whole(relief: float) -> None:
    assert regions([RED], relief=relief, skip=True) == 0


def leaning(*, relief: float, blurred: int = 0) -> int:
    """How many things are cut out of the upper of two pieces, where one leans on it and rests on the lower one.

    Around the thing, depth goes over to the piece's own within ``blurred`` pixels, as smoothed depth does.
    """
    rgb: NDArray[np.float32] = np.full((120, 160, 3), 150.0, dtype=np.float32)
    rgb[40:70, 60:80] = RED
    depth = np.ones((120, 160), dtype=np.float32)
    for ring in range(blurred, -1, -1):
        nearer = np.float32(relief * (1.0 - ring / (blurred + 1)))
        depth[40 - ring : 70, 60 - ring : 80 + ring] = 1.0 - nearer
    labels = np.ones(depth.shape, dtype=np.int32)
    labels[70:] = 2
    areas = np.full(depth.shape, (1.0 / 150.0) ** 2, dtype=np.float32)
    # below and to its left and right lies the other piece: half of what surrounds the thing
    labels[60:, :60] = labels[60:, 80:] = 2
    found = add_color_regions(labels, rgb, depth, areas=areas, skip=[2])
    return len(np.unique(found)) - 2


def test_what_leans_on_a_piece_and_rests_on_another_is_cut_out_where_it_stands_far_out() -> None:
    assert leaning(relief=0.06) == 1
    # half surrounded and hardly nearer, it may as well be another side of the piece
    assert leaning(relief=0.03) == 0


def test_depth_smoothed_over_the_outline_does_not_hide_a_thing() -> None:
    assert leaning(relief=0.06, blurred=2) == 1


@pytest.mark.parametrize(("behind", "ends"), [(1.0, False), (3.0, True)])
def test_what_is_beyond_an_unmeasured_gap_tells_whether_a_region_ends_there(behind: float, ends: bool) -> None:
    """A camera measures nothing beside an edge in front: that shadow is no end of what lies behind it."""
    depth = np.full((40, 60), 2.0, dtype=np.float32)
    depth[:, 34:] = behind
    usable = np.ones(depth.shape, dtype=np.bool_)
    usable[:, 30:34] = False
    labels = np.where(np.arange(60) < 30, 1, 2) * usable
    limit = np.full(depth.shape, 0.05, dtype=np.float32)
    world = np.zeros((*depth.shape, 3), dtype=np.float32)
    contacts = contacts_of(labels.astype(np.int32), depth, np.zeros_like(usable), usable, step=limit, world=world)
    assert contacts.closed[1] == pytest.approx(40 / (2 * 30 + 2 * 40) if ends else 0.0)
    assert contacts.closed[2] == pytest.approx(0.0 if ends else 40 / (2 * 26 + 2 * 40))


Box = tuple[slice, slice]
SEAT: Box = (slice(40, 60), slice(20, 60))
FLOOR: Box = (slice(60, 80), slice(0, 90))


def upright(shape: tuple[int, int] = (80, 90)) -> NDArray[np.float32]:
    """World points of an image whose pixels are centimetres of an upright plane, the highest row on top."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    return np.stack([0.01 * columns, np.full(shape, 2.0), 0.01 * (shape[0] - rows)], axis=-1).astype(np.float32)


def groups(*boxes: Box, floor: bool = False, colors: float = 0.0) -> list[int]:
    """The group of each of two pieces in front of a far wall, with a fold wherever they meet."""
    labels = np.zeros((80, 90), dtype=np.int32)
    for number, box in enumerate(boxes, start=1):
        labels[box] = number
    if floor:
        labels[FLOOR] = 3
    count = int(labels.max()) + 1
    world = upright()
    depth = np.where(labels > 0, 2.0, 3.0).astype(np.float32)
    everywhere = np.ones(depth.shape, dtype=np.bool_)
    contacts = contacts_of(labels, depth, everywhere, everywhere, step=np.full_like(depth, 0.05), world=world)
    means = np.zeros((count, 3))
    means[2] += colors
    shapes = shapes_of(labels, np.arange(count, dtype=np.int32), world)
    planes = np.zeros((int(floor), count))
    found = joined(labels, contacts, means, below=planes, rises=planes + 1.0, pieces=2, shapes=shapes)
    return [int(one) for one in found[1:3]]


def test_a_part_that_another_holds_at_its_side_is_one_with_it() -> None:
    first, second = groups(SEAT, (slice(30, 70), slice(60, 64)))
    assert first == second


def test_what_stands_on_another_with_its_foot_is_a_thing_of_its_own() -> None:
    first, second = groups(SEAT, (slice(20, 40), slice(38, 42)))
    assert first != second


def test_what_stands_beside_another_on_the_same_plane_is_a_thing_of_its_own() -> None:
    first, second = groups(SEAT, (slice(20, 60), slice(60, 64)), floor=True)
    assert first != second


def test_a_part_of_another_colour_is_not_joined() -> None:
    first, second = groups(SEAT, (slice(30, 70), slice(60, 64)), colors=30.0)
    assert first != second


@pytest.mark.parametrize(("gap", "width", "one"), [(0, 4, True), (10, 4, False), (0, 12, False)])
def test_a_bar_belongs_to_what_it_ends_at_in_the_world(gap: int, width: int, one: bool) -> None:
    """Centimetres between a seat and an upright beside it, and how wide that is: a bar has no place of its own."""
    labels = np.zeros((80, 90), dtype=np.int32)
    labels[SEAT] = 1
    labels[10:70, 60 + gap : 60 + gap + width] = 2
    areas = np.full(labels.shape, 1e-4, dtype=np.float32)
    found = with_bars(labels, np.arange(3, dtype=np.int32), upright(), areas, pieces=2)
    assert (found[1] == found[2]) == one
