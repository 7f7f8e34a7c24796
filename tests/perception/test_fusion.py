"""Pieces of frames become things over frames."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.fusion import Fused, Piece, ThingMap

WIDTH = 40
PIXEL = 0.02
"""Metres between the points of neighbouring pixels of the made-up image."""


def _nothing_behind(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.zeros(len(points)), np.ones(len(points))


def _see(
    things: ThingMap, columns: Sequence[int], color: Sequence[float] = (), *, shift: float = 0.0, **piece: float
) -> dict[int, tuple[int, Fused]]:
    """Enter a frame whose columns have these labels; returns by column the new label and its thing."""
    labels = np.tile(np.repeat(np.array(columns, dtype=np.int32), WIDTH // len(columns)), (20, 1))
    rows, cols = np.indices(labels.shape)
    place = np.stack([cols * PIXEL, np.zeros_like(cols), rows * PIXEL], axis=-1)
    world = (place + shift).astype(np.float32)
    rgb = np.zeros((*labels.shape, 3), dtype=np.float32)
    for at, value in enumerate(color):
        rgb[:, at * WIDTH // len(color) : (at + 1) * WIDTH // len(color)] = value
    pieces = {label: Piece(**piece) for label in sorted(set(columns) - {0})}  # type: ignore[arg-type]
    found, named = things.add(labels, pieces, world, rgb, _nothing_behind, usable=labels >= 0)
    width = WIDTH // len(columns)
    return {
        at: (int(found[0, at * width]), named[int(found[0, at * width])]) for at, one in enumerate(columns) if one
    }


def test_a_thing_has_one_number_in_all_frames() -> None:
    things = ThingMap(np.zeros(3))
    numbers = {_see(things, [1, 0])[0][1].number for _ in range(3)}
    assert len(numbers) == 1


def test_pieces_of_one_colour_that_were_seen_as_one_become_one() -> None:
    things = ThingMap(np.zeros(3))
    _see(things, [1, 2])
    for _ in range(3):
        _see(things, [1, 1])
    seen = _see(things, [1, 2])
    assert seen[0] == seen[1]
    assert len(seen[0][1].joined) == 1


def test_two_colours_that_are_seen_apart_half_of_the_time_stay_two() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(4):
        _see(things, [1, 2], [20, 220])
        seen = _see(things, [1, 1], [20, 220])
    assert seen[0][1].number != seen[1][1].number
    assert seen[0][0] != seen[1][0]


def test_a_piece_seen_apart_splits_what_was_one() -> None:
    things = ThingMap(np.zeros(3))
    _see(things, [1, 1], [20, 220])
    for _ in range(4):
        seen = _see(things, [1, 2], [20, 220])
    assert seen[0][1].number != seen[1][1].number


def test_the_box_is_that_of_all_views() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(2):
        _see(things, [1, 1])
    box = _see(things, [1, 0])[0][1].box
    assert box is not None
    assert box[1, 0] - box[0, 0] > 0.6


def test_a_shifted_map_has_the_same_cubes() -> None:
    shift = 0.03125
    here, there = ThingMap(np.full(3, -0.01)), ThingMap(np.full(3, shift - 0.01))
    for _ in range(2):
        box, other = (_see(one, [1, 1], shift=by)[0][1].box for one, by in ((here, 0.0), (there, shift)))
    assert box is not None
    assert other is not None
    assert np.allclose(other, box + shift)


def test_a_flat_upright_piece_that_ends_nowhere_is_a_surface() -> None:
    things, ended = ThingMap(np.zeros(3)), ThingMap(np.zeros(3))
    for _ in range(2):
        open_piece = _see(things, [1, 1], closed=0.1)[0][1]
        whole = _see(ended, [1, 1], closed=1.0)[0][1]
    assert open_piece.surface
    assert not whole.surface


def test_a_bar_goes_with_what_it_touches() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(3):
        _see(things, [0, 2], [20, 220])
    seen = _see(things, [1, 2], [20, 220], bar=True)
    assert seen[0][1].number == seen[1][1].number


def _stack(things: ThingMap, *, upper: int, lower: int) -> tuple[int, int]:
    """See a plate of ``upper`` pixels across on a post of ``lower``, of two colours; returns their numbers."""
    rows, cols = np.indices((20, WIDTH))
    across, level = (cols - WIDTH // 2) * PIXEL, np.zeros(cols.shape)
    plate = np.stack([across, (rows - 10) * PIXEL * upper / 20, level], axis=-1)
    post = np.stack([across, level, -(rows + 1) * PIXEL], axis=-1)
    labels = [
        np.where(np.abs(across) < 0.5 * wide * PIXEL, label, 0).astype(np.int32)
        for label, wide in ((1, upper), (2, lower))
    ]
    image, world = np.concatenate(labels), np.concatenate([plate, post]).astype(np.float32)
    rgb = np.repeat(np.array([20.0, 220.0], dtype=np.float32), 20)[:, None, None] * np.ones((1, WIDTH, 3), np.float32)
    for _ in range(3):
        found, named = things.add(image, {1: Piece(), 2: Piece()}, world, rgb, _nothing_behind, usable=image >= 0)
    return named[int(found[10, WIDTH // 2])].number, named[int(found[30, WIDTH // 2])].number


def test_what_stands_on_something_narrower_is_one_thing_with_it() -> None:
    shade, foot = _stack(ThingMap(np.zeros(3)), upper=30, lower=12)
    assert shade == foot


def test_what_stands_on_something_wider_is_another_thing() -> None:
    cup, box = _stack(ThingMap(np.zeros(3)), upper=12, lower=30)
    assert cup != box


def test_what_touches_nothing_is_settled_at_once() -> None:
    assert _see(ThingMap(np.zeros(3)), [1, 0])[0][1].settled


def test_what_touches_another_has_to_be_shown_by_itself_first() -> None:
    things = ThingMap(np.zeros(3))
    settled = [_see(things, [1, 2], [20, 220])[0][1].settled for _ in range(3)]
    assert settled == [False, False, True]


def test_what_touches_something_larger_of_its_own_colour_is_not_settled() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(6):
        seen = _see(things, [1, 2, 2, 2], [100, 105, 105, 105])
    assert not seen[0][1].settled
    assert seen[1][1].settled


def test_things_of_one_colour_that_do_not_touch_are_settled() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(3):
        seen = _see(things, [1, 0, 2, 2], [100, 0, 105, 105])
    assert seen[0][1].settled


def test_a_piece_that_most_views_do_not_show_is_not_settled() -> None:
    things = ThingMap(np.zeros(3))
    _see(things, [1, 2], [20, 220])
    for _ in range(8):
        _see(things, [0, 2], [20, 220])
    for _ in range(2):
        piece = _see(things, [1, 2], [20, 220])[0][1]
    assert not piece.settled


def test_what_the_camera_sees_through_is_gone() -> None:
    things = ThingMap(np.zeros(3))
    for _ in range(3):
        _see(things, [1, 1])
    labels = np.zeros((20, WIDTH), dtype=np.int32)
    labels[:, :20] = 1
    rows, cols = np.indices(labels.shape)
    world = np.stack([cols * PIXEL, np.zeros_like(cols), rows * PIXEL], axis=-1).astype(np.float32)

    def right_half_is_empty(points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return np.where(points[:, 0] > 20 * PIXEL + 0.05, 3.0, 1.0), np.ones(len(points))

    for _ in range(4):
        rgb = np.zeros((20, WIDTH, 3), np.float32)
        _, named = things.add(labels, {1: Piece()}, world, rgb, right_half_is_empty, usable=labels >= 0)
    box = next(iter(named.values())).box
    assert box is not None
    assert box[1, 0] < 0.5
