from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from tests.memory.homes import ROOM, Item, walk


@pytest.fixture(scope="module")
def memory() -> Memory:
    return walk(Memory.open(), 8, looks="random")


def test_pages_are_parts_of_the_list(memory: Memory) -> None:
    whole = [state.id for state in memory.objects()]
    page = memory.browse.page(offset=1, limit=2)
    assert page.total == len(whole)
    assert [state.id for state in page.objects] == whole[1:3]
    assert [state.label for state in memory.browse.page(label="sofa").objects] == ["sofa"]


def test_the_past_is_what_was_known_then() -> None:
    memory = walk(Memory.open(), 6)
    walk(memory, 6, [*ROOM, Item("lamp", "white", (5.0, 5.0, 1.0))], start=6)
    assert memory.browse.page(label="lamp").total == 1
    then = memory.browse.past((0, 5.0))
    assert then.total == len(ROOM)
    assert all(state.last_seen <= 5.0 for state in then.objects)
    assert memory.browse.past((0, 5.0), label="lamp").total == 0
    assert memory.browse.past((0, 11.0), label=" Lamp").total == 1
    assert len(memory.browse.past((0, 11.0), offset=2, limit=3).objects) == 3


def test_what_changed_is_told_once() -> None:
    memory = walk(Memory.open(), 6)
    first = memory.browse.changed(0)
    assert len(first.objects) == len(first.numbers) == len(ROOM)
    assert memory.browse.changed(first.revision).objects.tolist() == []
    memory.relabel("obj-1", "throne")
    assert memory.browse.changed(first.revision).objects.tolist() == [1]
    memory.delete("obj-1")
    assert 1 not in memory.browse.changed(first.revision).numbers


def test_labels_are_weighed(memory: Memory) -> None:
    found = memory.browse.labelled(lambda label: {"mug": 0.5, "bowl": 1.0}.get(label, 0.0))
    assert [label for _, _, label in found] == ["bowl", "mug", "mug"]
    assert memory.browse.labelled(lambda label: 0.0) == []


def test_counts_and_positions_agree_with_the_list(memory: Memory) -> None:
    assert memory.browse.counts()["confirmed"] == len(memory.objects())
    ids, places = memory.browse.positions()
    assert ids == [state.id for state in memory.objects()]
    assert places.shape == (len(ids), 3)


def test_pictures_come_newest_first(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory, 8, looks="random")
        memory.flush()
        times = [crop.time for crop in memory.browse.pictures("obj-1")]
        assert times == sorted(times, reverse=True)
        with pytest.raises(InvalidValue, match="obj-99"):
            memory.browse.pictures("obj-99")


def test_memory_time_can_be_named(memory: Memory) -> None:
    assert memory.browse.time((0, 3.5), name="as_of") == 3.5
    assert memory.what_changed((0, 100.0)) == []
    assert len(memory.what_changed(newest=2)) == 2


def test_colours_are_those_people_name(memory: Memory) -> None:
    colors = memory.browse.colors([state.id for state in memory.objects()] + ["obj-99"])
    assert sorted(color for color in colors.values() if color) == ["blue", "blue", "green", "red", "white"]
    assert colors["obj-99"] is None


def test_pages_of_the_past_are_parts_of_it_in_the_order_of_ids() -> None:
    things = [Item("book", "red", (float(n), 0.0, 0.5)) for n in range(12)]
    memory = walk(Memory.open(), 6, things)
    whole = memory.browse.past((0, 5.0), limit=100)
    pages = [memory.browse.past((0, 5.0), offset=start, limit=5) for start in (0, 5, 10)]
    assert [state.id for page in pages for state in page.objects] == [state.id for state in whole.objects]
    assert [state.id for state in whole.objects] == [state.id for state in memory.objects()]
    assert {page.total for page in pages} == {12}
    assert memory.browse.past((0, 5.0), offset=50).total == 12
    assert memory.browse.past((0, 0.0), include_tentative=False).objects == []
