from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Lifecycle
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.objects import ObjectMemory, Rows
from lastseen.memory.objects.snapshot import room
from lastseen.observation import Observation


def stream(seed: int, count: int = 60) -> list[tuple[Frame, list[Observation]]]:
    """Thirty things on a line, seen noisily from a camera that walks along, with tentative objects that expire."""
    rng = np.random.default_rng(seed)
    frames = []
    for number in range(count):
        eye = (0.0, 0.2 * number - 3.0, 1.2)
        frame = frame_at(number, stamp=2.0 * number, eye=eye, target=(2.0, eye[1], 0.8))
        things = [
            seen(
                np.array([2.0, 0.4 * thing - 4.0, 0.8]) + rng.normal(0, 0.02, 3),
                eye=eye,
                embedding=None if thing % 5 == 0 else unit(thing) + rng.normal(0, 0.05, 16).astype(np.float32),
                labels={f"thing {thing % 7}": 0.5 + 0.5 * rng.random()},
                points=rng.normal(0, 0.03, (12, 3)).astype(np.float32)
                + np.array([2, 0.4 * thing - 4, 0.8], dtype=np.float32),
            )
            for thing in range(20)
            if abs(0.4 * thing - 4.0 - eye[1]) < 1.5 and rng.random() < 0.8
        ]
        noise = [seen(rng.uniform([1, -4, 0.2], [3, 4, 2.0])) for _ in range(int(rng.integers(0, 3)))]
        frames.append((frame, things + noise))
    return frames


def same(one: Rows, other: Rows) -> bool:
    return (
        one.columns.keys() == other.columns.keys()
        and all(one.columns[name].tobytes() == other.columns[name].tobytes() for name in one.columns)
        and (one.labels, one.dim, one.next_seq, one.now, one.frame_id)
        == (other.labels, other.dim, other.next_seq, other.now, other.frame_id)
    )


@pytest.mark.parametrize("half", [1, 20, 45])
def test_a_restored_memory_goes_on_as_the_one_that_was_written(half: int) -> None:
    frames = stream(7)
    through, first, second = ObjectMemory(), ObjectMemory(), ObjectMemory()
    told = [through.observe(*frame) for frame in frames]
    for frame in frames[:half]:
        first.observe(*frame)
    second.restore(first.export_rows())
    assert same(first.export_rows(), second.export_rows())
    assert [second.observe(*frame) for frame in frames[half:]] == told[half:]
    assert same(through.export_rows(), second.export_rows())
    assert through.export_rows().version == second.export_rows().version


def test_changes_since_an_export_bring_a_copy_up_to_date() -> None:
    memory = ObjectMemory()
    kept: dict[int, dict[str, bytes]] = {}
    version, largest = 0, 0
    for frame in stream(3):
        memory.observe(*frame)
        if frame[0].id % 4:
            continue
        rows = memory.export_rows(version)
        version, largest = rows.version, max(largest, len(rows))
        for index, number in enumerate(rows.columns["seq"].tolist()):
            kept[number] = {name: column[index].tobytes() for name, column in rows.columns.items()}
        for number in rows.gone:
            kept.pop(number, None)
        full = memory.export_rows()
        whole = {
            number: {name: column[index].tobytes() for name, column in full.columns.items()}
            for index, number in enumerate(full.columns["seq"].tolist())
        }
        assert kept == whole
    assert largest < len(memory)


def test_nothing_new_is_an_empty_export() -> None:
    memory = ObjectMemory()
    for frame in stream(3, 10):
        memory.observe(*frame)
    assert len(memory.export_rows(memory.export_rows().version)) == 0


def test_an_empty_memory_can_be_written_and_restored() -> None:
    memory = ObjectMemory()
    memory.restore(ObjectMemory().export_rows())
    assert len(memory) == 0


def test_only_an_empty_memory_is_restored_into() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1])])
    with pytest.raises(InvalidValue, match="is not empty"):
        memory.restore(memory.export_rows())


def test_rows_of_other_settings_are_refused() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1], embedding=unit(1))])
    other = ObjectMemory(Settings(lifecycle=Lifecycle(gallery_size=2)))
    with pytest.raises(InvalidValue, match=r"rows\.gallery"):
        other.restore(memory.export_rows())


def test_columns_filled_in_place_restore_to_the_same_memory() -> None:
    first, second = ObjectMemory(), ObjectMemory()
    frames = stream(5, 30)
    for frame in frames[:20]:
        first.observe(*frame)
    rows = first.export_rows()
    given = room(second.store, len(rows), rows.dim)
    for name, column in given.items():
        column[:] = rows.columns[name]
    second.restore(replace(rows, columns=given))
    del given
    assert same(first.export_rows(), second.export_rows())
    assert [second.observe(*frame) for frame in frames[20:]] == [first.observe(*frame) for frame in frames[20:]]


@pytest.mark.parametrize(("name", "count"), [("n_points", 65), ("n_points", -1), ("gallery_n", 5), ("ring_n", -1)])
def test_counts_that_no_row_has_room_for_are_refused(name: str, count: int) -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1], embedding=unit(1))])
    rows = memory.export_rows()
    rows.columns[name] = np.full_like(rows.columns[name], count)
    with pytest.raises(InvalidValue, match=f"rows.{name}"):
        ObjectMemory().restore(rows)


def test_what_goes_is_told_only_to_whoever_holds_a_copy() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1])])
    memory.forget(["obj-1"])
    assert not memory.store.deleted
    memory.observe(frame_at(1), [seen([2, 0, 1])])
    version = memory.export_rows().version
    memory.forget(["obj-2"])
    assert memory.export_rows(since=version).gone == (2,)
