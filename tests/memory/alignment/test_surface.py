"""Surfaces laid on each other: a furnished room is recognised, another and a plain one are not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lastseen.memory.alignment import FrameTransform, Landmarks, align
from lastseen.memory.alignment.surface import SurfacePoints, fits

AWAY = FrameTransform(1.1, 4.0, -2.0, 0.3)


def room(seed: int, *, plain: bool = False) -> SurfacePoints:
    """A floor, two walls and the tops of eight boxes; every 10 cm has a colour of its own, or all have one."""
    rng = np.random.default_rng(seed)
    steps = np.arange(0.0, 3.0, 0.05)
    floor = [(x, y, 0.0) for x in steps for y in steps]
    walls = [(x, 0.0, z) for x in steps for z in steps[:40]] + [(0.0, y, z) for y in steps for z in steps[:40]]
    tops = []
    for x, y, z in rng.uniform((0.3, 0.3, 0.3), (2.4, 2.4, 1.2), (8, 3)).tolist():
        tops += [(x + a, y + b, z) for a in steps[:10] for b in steps[:10]]
    points = np.array(floor + walls + tops)
    patches = rng.integers(0, 255, (40, 40, 40, 3))
    colors = patches[tuple((points // 0.1).astype(int).T)] if not plain else np.full(points.shape, 200)
    return SurfacePoints(points, colors.astype(np.int16))


def seen(surface: SurfacePoints) -> Landmarks:
    """A map that holds no things."""
    return Landmarks([], np.zeros((0, 3)), np.zeros((0, 3)), [], surface=lambda: surface)


def test_a_part_of_a_room_is_found_in_it() -> None:
    whole = room(1)
    left = whole.points[:, 0] < 2.0
    part = SurfacePoints(whole.points[left], whole.colors[left])
    best = fits(part.moved(AWAY.inverse()), whole)[0]
    # of the whole what lies within 30 cm of the part counts too, and the part ends there
    assert best.alike > 0.9
    assert best.transform.angle_to(AWAY) < math.radians(1.0)
    assert np.allclose(best.transform.apply(AWAY.inverse().apply(part.points)), part.points, atol=0.05)


def test_a_room_without_things_is_aligned_by_its_surface() -> None:
    found = align(seen(room(1)).moved(AWAY.inverse()), seen(room(1)))
    assert found.status == "aligned"
    assert "surface" in found.reason


@pytest.mark.parametrize("other", [room(2), room(1, plain=True)], ids=["another", "plain"])
def test_another_room_and_a_plain_one_are_not(other: SurfacePoints) -> None:
    assert align(seen(room(1)).moved(AWAY.inverse()), seen(other)).status == "not_aligned"
    assert align(seen(other).moved(AWAY.inverse()), seen(room(1))).status == "not_aligned"


def test_a_plain_room_is_not_even_told_to_be_itself() -> None:
    plain = room(1, plain=True)
    assert align(seen(plain), seen(plain)).status == "not_aligned"


def test_a_room_that_looks_alike_and_holds_other_things_is_another_room() -> None:
    surface, spots = room(1), np.random.default_rng(1).uniform(0.2, 2.6, (2, 5, 3))

    def holding(name: str, positions: np.ndarray) -> Landmarks:
        ids = [f"obj-{number}" for number in range(5)]
        return Landmarks(ids, positions, np.full((5, 3), 0.2), [{name: 0.9}] * 5, surface=lambda: surface)

    assert align(holding("mug", spots[0]), holding("mug", spots[0])).status == "aligned"
    assert align(holding("mug", spots[0]), holding("book", spots[1])).status == "not_aligned"


def hall(seed: int, *, corners: tuple[tuple[float, float], ...]) -> SurfacePoints:
    """A floor with boxes on it, each of a colour of its own; another seed makes other speckles on the floor."""
    rng = np.random.default_rng(seed)
    floor = rng.uniform((0.0, 0.0, 0.0), (5.0, 5.0, 0.0), (10_000, 3))
    points, colors = [floor], [rng.integers(80, 180, (len(floor), 1)).repeat(3, axis=1)]
    for (x, y), color in zip(corners, ([200, 30, 30], [30, 30, 200]), strict=False):
        box = rng.uniform((x, y, 0.1), (x + 0.8, y + 0.4, 0.6), (1000, 3))
        box[::2, 1], box[1::2, 0] = y, x
        points.append(box)
        colors.append(np.tile(color, (len(box), 1)))
    return SurfacePoints(np.vstack(points), np.vstack(colors).astype(np.int16))


def test_a_speckled_floor_tells_nothing_and_what_stands_on_it_does() -> None:
    session, known = (hall(seed, corners=((1.0, 1.0), (3.5, 2.0))) for seed in (2, 1))
    assert set(known.telling.colors[:, 0].tolist()) == {30, 200}
    found = align(seen(session).moved(AWAY.inverse()), seen(known))
    assert found.transform is not None
    assert found.transform.angle_to(AWAY) < math.radians(1.0)


def test_one_piece_of_furniture_is_not_enough() -> None:
    session, known = (hall(seed, corners=((2.0, 1.0), (2.0, 1.6))) for seed in (2, 1))
    assert align(seen(session), seen(known)).status == "not_aligned"


def test_a_part_of_two_equal_rooms_may_be_of_either() -> None:
    one = room(1)
    other = one.moved(FrameTransform(math.pi / 2.0, 8.0, 0.0, 0.0))
    both = SurfacePoints(np.vstack([one.points, other.points]), np.vstack([one.colors, other.colors]))
    found = align(seen(one).moved(AWAY.inverse()), seen(both))
    assert found.status == "ambiguous"
    assert len(found.candidates) == 2
