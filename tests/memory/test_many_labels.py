"""A detector that makes up a new name for every sighting does not fill the memory with names."""

from __future__ import annotations

from pathlib import Path

from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.memory.objects.labels import MOST_UNUSED, LabelTable
from lastseen.memory.store.table import ObjectTable
from tests.memory.homes import ROOM, Item, walk
from tests.memory.store.records import make_record


def test_names_that_no_object_has_are_dropped(tmp_path: Path) -> None:
    with walk(Memory.open(tmp_path / "home.lastseen"), 6) as memory:
        table = memory._writes.objects.store.labels
        for number in range(MOST_UNUSED - 1 - len(table.names)):
            table.id_of(f"made up {number}")
        walk(memory, 1, (*ROOM, Item("lamp", "white", (3.0, 3.0, 0.5))), start=10)
        assert not any(name.startswith("made up") for name in table.names)
        assert memory.find("sofa").status == "found"
        memory.flush()
        known = [(state.id, state.label_scores) for state in memory.states(include_tentative=True)]
    with Memory.open(tmp_path / "home.lastseen", settings=Settings()) as again:
        assert [(state.id, state.label_scores) for state in again.states(include_tentative=True)] == known


def test_spellings_are_not_kept_without_end() -> None:
    table = LabelTable()
    for number in range(6 * MOST_UNUSED):
        table.id_of("mug" + " " * (number % 100) + "\t" * (number // 100))
    assert table.names == ["", "mug"]
    assert len(table._seen) <= 4 * MOST_UNUSED + 1


def test_the_searched_table_drops_them_too() -> None:
    table = ObjectTable()
    for number in range(3 * MOST_UNUSED):
        table.upsert(["obj-1"], [make_record(1, label_scores={f"made up {number}": 1.0})])
    assert len(table.label_names) <= MOST_UNUSED + 1
    assert table.label(0) == f"made up {3 * MOST_UNUSED - 1}"
