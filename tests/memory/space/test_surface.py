from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.errors import JournalDamaged
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.space.surface import Surface
from tests.memory.objects.scenes import frame_at, seen

WALL = {"eye": (0.0, 0.0, 1.0), "target": (2.0, 0.0, 1.0)}


def frame(number: int, depth: float | NDArray[np.float32], *, gray: int = 120, **where: Any) -> Frame:
    made = frame_at(number, depth=depth, **{**WALL, **where})
    return replace(made, rgb=np.full(made.rgb.shape, gray, dtype=np.uint8))


def points_of(surface: Surface) -> NDArray[np.float32]:
    filled = np.flatnonzero(surface.rgba[: surface.used, 3])
    found: NDArray[np.float32] = surface.xyz[filled]
    return found[np.lexsort(found.T)]


def test_a_wall_becomes_points_on_it() -> None:
    surface = Surface()
    surface.add(frame(0, 2.0))
    assert len(surface) > 500
    assert points_of(surface)[:, 0] == pytest.approx(2.0, abs=1e-3)


def test_seeing_the_same_again_is_nothing_new() -> None:
    surface = Surface()
    for number in range(4):
        surface.add(frame(number, 2.0))
    surface.drain_changed()
    told = surface.newest
    for number in range(4, 8):
        surface.add(frame(number, 2.0))
    assert surface.newest == told
    assert surface.drain_changed() == {}
    surface.add(frame(8, 2.0, gray=250))
    assert surface.newest > told


def test_what_the_camera_looks_through_is_emptied() -> None:
    surface = Surface()
    near = np.full((60, 80), 3.0, dtype=np.float32)
    near[20:40, 30:50] = 1.5
    surface.add(frame(0, near))
    assert (points_of(surface)[:, 0] < 1.6).sum() > 50
    for number in range(1, 5):
        surface.add(frame(number, 3.0))
    assert not (points_of(surface)[:, 0] < 1.6).any()


def test_the_budget_is_kept_and_the_longest_unseen_go_first() -> None:
    surface = Surface(slots=1000)
    for number in range(6):
        eye = (5.0 * number, 0.0, 1.0)
        surface.add(frame(number, 2.0, eye=eye, target=(eye[0] + 2.0, 0.0, 1.0)))
        assert len(surface) <= 1000
    points = points_of(surface)
    assert points[:, 0].max() == pytest.approx(27.0, abs=0.01)
    assert points[:, 0].min() > 10.0


def test_nothing_measured_adds_nothing() -> None:
    surface = Surface()
    surface.add(frame(0, np.nan))
    assert len(surface) == 0


def test_packed_tiles_give_the_same_surface_and_the_same_bytes() -> None:
    surface, again = Surface(), Surface()
    for number in range(3):
        surface.add(frame(number, 2.0 + 0.3 * number, eye=(-1.0, 0.5 * number, 1.0)))
    tiles = surface.drain_changed()
    again.restore(tiles, "home.lastseen")
    assert np.array_equal(points_of(again), points_of(surface))
    assert again.drain_changed() == {}
    # the next frame does to both the same, to the byte
    for each in (surface, again):
        each.add(frame(3, 4.0, eye=(-1.0, 0.0, 1.0)))
    assert surface.drain_changed() == again.drain_changed()


def test_a_damaged_tile_is_named() -> None:
    with pytest.raises(JournalDamaged, match=r"the surface at \(0, 0, 0\) cannot be read"):
        Surface().restore({(0, 0, 0): b"no zlib"}, "home.lastseen")


def walked(path: Path | None, *, settings: Settings | None = None, frames: int = 12) -> Memory:
    """A memory of a wall at x = 2 with something on it, seen from further and further to the side."""
    memory = Memory.open(path, settings=settings or Settings())
    for number in range(frames):
        eye = (0.0, 0.12 * number, 1.0)
        at = frame(number, 2.0, eye=eye, target=(2.0, eye[1], 1.0))
        memory.observe(at, [seen((2.0, 0.0, 1.0), eye=eye, stamp=at.stamp)])
    return memory


def test_a_file_looks_like_the_home_and_knows_the_path(tmp_path: Path) -> None:
    with walked(tmp_path / "home.lastseen") as memory:
        points, path = points_of(memory.space.surface), list(memory.space.path.points)
    assert len(points) > 100
    assert [time for time, *_ in path] == sorted(time for time, *_ in path)
    with Memory.open(tmp_path / "home.lastseen", read_only=True) as again:
        assert np.array_equal(points_of(again.space.surface), points)
        assert again.space.path.points == path
        assert again.stats()["disk"]["surface"] > 0


def test_every_point_knows_when_it_was_first_seen() -> None:
    surface = Surface()
    surface.add(replace(frame(0, 2.0), stamp=3.0))
    before = len(surface)
    surface.add(replace(frame(1, 2.0, eye=(0.0, 5.0, 1.0), target=(2.0, 5.0, 1.0)), stamp=60.0))
    first = surface.first[: surface.used]
    assert (first == 3).sum() == before
    assert (first == 60).sum() == len(surface) - before > 0


def test_what_is_forgotten_is_no_longer_to_be_seen(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with walked(path) as memory:
        mug = memory.objects(include_tentative=True)[0]

        def near(surface: Surface) -> int:
            return int((np.linalg.norm(points_of(surface) - np.array(mug.position), axis=1) < 0.08).sum())

        assert near(memory.space.surface) > 0
        memory.forget(mug.id)
        assert near(memory.space.surface) == 0
    with Memory.open(path, read_only=True) as again:
        assert near(again.space.surface) == 0


def test_a_home_that_must_stay_private_keeps_no_surface(tmp_path: Path) -> None:
    settings = Settings()
    private = replace(settings, store=replace(settings.store, surface=False))
    with walked(tmp_path / "home.lastseen", settings=private) as memory:
        assert len(memory.space.surface) == 0
