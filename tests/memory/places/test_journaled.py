from __future__ import annotations

from pathlib import Path

from lastseen.action import Action
from lastseen.memory.memory import Memory
from lastseen.memory.places import SpatialMemory


def walk(spatial: SpatialMemory, steps: int) -> None:
    for _ in range(steps):
        if spatial.needs_scene_analysis:
            spatial.scene_analyzed("kitchen", ["stove"], "A kitchen.")
        spatial.step(Action.FORWARD)


def test_a_memory_file_remembers_where_the_robot_has_been(tmp_path: Path) -> None:
    whole = SpatialMemory()
    walk(whole, 30)
    for steps in (12, 18):
        with Memory.open(tmp_path / "home.lastseen") as memory:
            walk(memory.spatial, steps)
    with Memory.open(tmp_path / "home.lastseen", read_only=True) as memory:
        assert memory.spatial.to_dict() == whole.to_dict()
        assert [place.place_type for place in memory.places()] == ["kitchen"]


def test_nothing_new_is_nothing_to_write(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory.spatial, 3)
        memory.spatial.saw(["mug"])
        memory.flush()
        memory.spatial.saw(["mug"])
        assert memory.flush() == 0


def test_a_memory_without_a_file_has_places_too() -> None:
    with Memory.open() as memory:
        assert memory.places() == []
        walk(memory.spatial, 1)
        assert len(memory.places()) == 1
