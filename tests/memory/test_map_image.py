"""The picture of a memory: what is drawn for what is known, and that it is the same each time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.memory.map_image import draw_memory
from lastseen.memory.memory import Memory
from lastseen.memory.plan_image import DOOR, WALL
from tests.memory.objects.scenes import Room

BEFORE, AFTER = (2.0, -0.6, 0.8), (2.0, 0.9, 0.8)
KNOWN, WRONG, MOVED = (28, 124, 84), (204, 56, 48), (32, 88, 196)
LEGEND = 320


def has(image: np.ndarray, colour: tuple[int, int, int]) -> bool:
    """Whether the plan, left of the legend, has pixels of a colour, as near as smoothing leaves it."""
    return bool((np.abs(image[:, :-LEGEND].astype(int) - colour) <= 12).all(axis=2).any())


@pytest.fixture(scope="module")
def moved() -> Iterator[Memory]:
    """A mug that was carried from one place to another."""
    room = Room()
    room.put("mug", BEFORE)
    with Memory.open(settings=Settings()) as memory:
        for number in range(50):
            if number == 20:
                room.put("mug", AFTER)
            side = 1.2 * ((number % 5) - 2) / 2
            memory.observe(*room.see(number, eye=(0.0, side, 1.4), target=(2.0, 0.1, 0.8), stamp=0.5 * number))
        yield memory


def test_what_moved_has_an_arrow(moved: Memory) -> None:
    assert has(np.asarray(draw_memory(moved)), MOVED)


def test_against_the_truth_what_stands_elsewhere_is_red(moved: Memory) -> None:
    right = np.asarray(draw_memory(moved, truth=[("mug", AFTER[:2])]))
    wrong = np.asarray(draw_memory(moved, truth=[("mug", (0.0, 3.0))]))
    assert has(right, KNOWN)
    assert not has(right, WRONG)
    assert has(wrong, WRONG)


def test_the_same_memory_gives_the_same_picture(moved: Memory) -> None:
    assert draw_memory(moved).tobytes() == draw_memory(moved).tobytes()


def test_an_empty_memory_has_a_picture_too(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "empty.lastseen") as memory:
        assert not has(np.asarray(draw_memory(memory)), KNOWN)


def test_walls_and_doors_are_drawn(moved: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    from lastseen.memory.rooms import Door, FloorPlan, Wall

    plan = FloorPlan(0, (Wall((0.0, 1.0), (3.0, 1.0), 0.2),), (Door((3.0, 1.0), (3.9, 1.0), (0, 1)),))
    monkeypatch.setattr(Memory, "floor_plans", lambda self: [plan])
    image = np.asarray(draw_memory(moved))
    assert has(image, WALL)
    assert has(image, DOOR)
