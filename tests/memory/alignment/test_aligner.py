"""Where a session lies in a map: found, refused or ambiguous, and always why."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.errors import InvalidValue
from lastseen.memory.alignment import FrameTransform, Landmarks, align

NAMES = ("chair", "table", "sofa", "lamp", "plant", "mug", "book", "bed", "sink", "stove", "mirror", "clock")


def room(seed: int, count: int = 30, size: float = 8.0) -> Landmarks:
    """Things strewn over a square of ``size`` metres."""
    rng = np.random.default_rng(seed)
    positions = rng.uniform((0.0, 0.0, 0.2), (size, size, 1.2), (count, 3))
    extents = rng.uniform(0.1, 1.0, (count, 3))
    return landmarks(positions, extents, rng.choice(NAMES, count).tolist())


def landmarks(positions: NDArray[np.float64], extents: NDArray[np.float64], names: Sequence[str]) -> Landmarks:
    return Landmarks([f"obj-{n}" for n in range(len(names))], positions, extents, [{name: 0.9} for name in names])


def visit(
    known: Landmarks, frame: FrameTransform, *, seed: int = 1, keep: float = 0.8, moved: float = 0.3
) -> Landmarks:
    """A later visit in a frame of its own: some things missed, some moved, all a little off."""
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.random(len(known)) < keep)
    positions = known.positions[kept] + rng.normal(0.0, 0.07, (len(kept), 3))
    away = rng.random(len(kept)) < moved
    positions[away, :2] += rng.uniform(-4.0, 4.0, (int(away.sum()), 2))
    return Landmarks(
        [known.ids[row] for row in kept.tolist()],
        frame.inverse().apply(positions),
        known.extents[kept],
        [known.labels[row] for row in kept.tolist()],
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_second_visit_in_another_frame_is_aligned(seed: int) -> None:
    known, frame = room(seed), FrameTransform(0.7 * seed - 2.0, 3.0 - seed, 2.0, 0.4)
    session = visit(known, frame, seed=seed)
    found = align(session, known)
    assert found.status == "aligned", found.reason
    assert found.transform is not None
    assert found.transform.angle_to(frame) < math.radians(3.0)
    offs = np.linalg.norm(found.transform.apply(session.positions) - frame.apply(session.positions), axis=1)
    assert float(offs.max()) < 0.15
    right = sum(one == other for one, other in found.candidates[0].pairs)
    assert right >= 0.9 * len(found.candidates[0].pairs)


@pytest.mark.parametrize("seed", range(6))
def test_another_home_is_not(seed: int) -> None:
    found = align(room(100 + seed), room(seed))
    assert (found.status, found.transform) == ("not_aligned", None)
    assert "evidence" in found.reason or "met again" in found.reason


def test_the_same_things_set_differently_are_another_home() -> None:
    known = room(0)
    order = np.random.default_rng(3).permutation(len(known))
    session = Landmarks(known.ids, known.positions[order], known.extents, known.labels)
    assert align(session, known).status == "not_aligned"


def test_a_mirrored_room_is_another_one() -> None:
    known = room(2)
    mirrored = Landmarks(known.ids, known.positions * (-1.0, 1.0, 1.0), known.extents, known.labels)
    assert align(mirrored, known).status == "not_aligned"


@pytest.mark.parametrize("known", [14, 13, 12], ids=["all", "one unseen in the other", "two unseen in the other"])
def test_twin_rooms_are_said_to_be_two(known: int) -> None:
    one = room(4, 14, 4.0)
    shift = np.array([10.0, 0.0, 0.0])
    twins = landmarks(
        np.concatenate([one.positions, one.positions[:known] + shift]),
        np.concatenate([one.extents, one.extents[:known]]),
        [next(iter(labels)) for labels in (*one.labels, *one.labels[:known])],
    )
    found = align(visit(one, FrameTransform(1.0, 2.0, 3.0), keep=1.0, moved=0.0), twins)
    assert found.status == "ambiguous"
    assert found.transform is None
    assert len(found.candidates) == 2
    apart = found.candidates[0].transform.x - found.candidates[1].transform.x
    assert abs(abs(apart) - 10.0) < 0.3


@pytest.mark.parametrize(
    ("mine", "theirs", "whose"), [(0, 10, "the session"), (3, 10, "the session"), (10, 2, "the map")]
)
def test_too_few_things_tell_nothing(mine: int, theirs: int, whose: str) -> None:
    found = align(room(0, mine), room(0, theirs))
    assert (found.status, found.candidates) == ("not_aligned", ())
    assert found.reason == f"{whose} holds {min(mine, theirs)} things, 4 are needed to tell"


def test_things_without_names_are_told_by_their_looks() -> None:
    known, frame = room(5), FrameTransform(-1.0, 1.0, -2.0)
    session = visit(known, frame, moved=0.1)
    looks = np.random.default_rng(9).normal(size=(len(known), 32)).astype(np.float32)
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    rows = [known.ids.index(one) for one in session.ids]
    nameless = [
        Landmarks(each.ids, each.positions, each.extents, [{}] * len(each), vectors)
        for each, vectors in ((session, looks[rows]), (known, looks))
    ]
    found = align(*nameless)
    assert found.status == "aligned", found.reason
    assert found.transform is not None
    assert found.transform.angle_to(frame) < math.radians(3.0)


def test_the_same_maps_get_the_same_answer() -> None:
    known = room(6)
    session = visit(known, FrameTransform(2.0, 1.0, 1.0))
    assert align(session, known) == align(session, known)


def test_a_transform_goes_there_and_back() -> None:
    points = room(7).positions
    there = FrameTransform(2.5, 1.0, -3.0, 0.5)
    assert np.allclose(there.inverse().apply(there.apply(points)), points)
    assert FrameTransform.fit(points, there.apply(points), np.ones(len(points))).angle_to(there) < 1e-9


def test_a_position_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidValue, match="positions"):
        Landmarks(["obj-1"], np.array([[np.nan, 0.0, 0.0]]), np.ones((1, 3)), [{}])
