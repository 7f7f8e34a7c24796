"""Two memories of one home become one: things met again keep their ids, the rest is added; others are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.memory.merging import Merged, merge_files, take_in
from lastseen.memory.store.salvage import backup
from lastseen.observation import Observation
from tests.memory.homes import Item, stream, walk
from tests.memory.walks_in_frames import HOME, in_frame, look

AWAY = FrameTransform(1.1, 4.0, -2.0, 0.3)
"""Where the second robot's map lies in the first's."""


def remembered(
    path: Path, items: tuple[Item, ...], frame: FrameTransform | None = None, *, date: float = 0.0
) -> Path:
    with Memory.open(path, wall_clock=lambda: date) as memory:
        look(memory, items, frame or FrameTransform())
    return path


def test_things_that_both_hold_become_one_and_the_rest_is_added(tmp_path: Path) -> None:
    kettle = Item("kettle", "white", (5.0, 3.0, 1.0))
    first = remembered(tmp_path / "a.lastseen", HOME, date=1000.0)
    second = remembered(tmp_path / "b.lastseen", (*HOME[:7], kettle), AWAY, date=2000.0)
    base, found, merged = merge_files(first, second, tmp_path / "c.lastseen", Settings())
    assert base == first
    assert found.transform is not None
    assert len(merged.matched) == 7
    assert len(merged.added) == 1
    with Memory.open(first) as one, Memory.open(tmp_path / "c.lastseen") as memory:
        before, objects = one.objects(), memory.objects()
        assert [each.id for each in objects][: len(HOME)] == [each.id for each in before]
        assert len(objects) == len(HOME) + 1
        (found_kettle,) = memory.objects("kettle")
        assert np.allclose(found_kettle.position, kettle.xyz, atol=0.1)
        assert len(memory.sessions()) == 2
        again = memory.object(merged.matched[0][1])
        assert again.hits == 2 * (one.object(again.id).hits or 0) > 0
        assert again.session == 2


def test_floors_and_table_tops_that_both_hold_become_one(tmp_path: Path) -> None:
    paths = tmp_path / "a.lastseen", tmp_path / "b.lastseen"
    for path, frame, date in ((paths[0], FrameTransform(), [1000.0]), (paths[1], AWAY, [2000.0])):
        with Memory.open(path, wall_clock=date.pop) as memory:
            for image, seen in in_frame(with_table(stream(6, HOME)), frame):
                memory.observe(image, seen)
    *_, merged = merge_files(*paths, tmp_path / "c.lastseen", Settings())
    assert merged.added == ()
    with Memory.open(tmp_path / "c.lastseen") as memory:
        (table,) = memory.states(kind="surface")
        assert table.hits == 12
        assert sorted(table.extent) == pytest.approx([0.05, 1.0, 2.0], abs=0.05)


def with_table(seen: Iterator[tuple[Frame, list[Observation]]]) -> Iterator[tuple[Frame, list[Observation]]]:
    """The same frames with a table top in each."""
    for image, things in seen:
        top = np.array([1.0, 1.5, 0.7])
        toward = image.T_world_camera.translation - top
        table = Observation(
            position=top, extent=np.array([2.0, 1.0, 0.05]), view_direction=toward, stamp=image.stamp, kind="surface"
        )
        yield image, [*things, table]


def test_the_new_file_opens_again_and_answers(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME, date=1000.0)
    second = remembered(tmp_path / "b.lastseen", HOME, AWAY, date=2000.0)
    merge_files(first, second, tmp_path / "c.lastseen", Settings())
    with Memory.open(tmp_path / "c.lastseen") as memory:
        hit = memory.find("plant").hits[0]
        assert np.allclose(hit.position, HOME[6].xyz, atol=0.1)
        assert len(memory.space.path) > 0
        kinds = [entry.kind for entry in memory.history(hit.id)]
        assert "merged" in kinds
        assert kinds.count("confirmed") == 2
        walk(memory, items=HOME)
        assert len(memory.objects()) == len(HOME)


def test_the_new_file_has_its_name_only_once_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME, date=1000.0)
    second = remembered(tmp_path / "b.lastseen", HOME, AWAY, date=2000.0)
    out, there = tmp_path / "c.lastseen", list[bool]()

    def cut_off(*given: Any, **options: Any) -> Merged:
        take_in(*given, **options)
        there.append(out.exists())
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("lastseen.memory.merging.take_in", cut_off)
        with pytest.raises(KeyboardInterrupt):
            merge_files(first, second, out, Settings())
    assert there == [False]
    assert not [file for file in tmp_path.iterdir() if "c.lastseen" in file.name]
    merge_files(first, second, out, Settings())


def test_the_map_of_the_older_memory_is_kept_whatever_the_order(tmp_path: Path) -> None:
    newer = remembered(tmp_path / "a.lastseen", HOME, date=2000.0)
    older = remembered(tmp_path / "b.lastseen", HOME, AWAY, date=1000.0)
    base, _, _ = merge_files(newer, older, tmp_path / "c.lastseen", Settings())
    assert base == older


def test_a_memory_of_nothing_but_tentative_things_adds_none(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME)
    with Memory.open(first) as home, Memory.open() as other:
        walk(other, 1, HOME[:1])
        before = [one.id for one in home.objects()]
        merged = take_in(home._writes, other._writes, AWAY, (), later=100.0)
        assert merged.added == ()
        assert [one.id for one in home.objects()] == before


def test_a_different_home_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME)
    rng = np.random.default_rng(3)
    other = tuple(Item(item.label, item.color, tuple(rng.uniform(0.0, 6.0, 3).tolist())) for item in HOME)
    second = remembered(tmp_path / "b.lastseen", other)
    with pytest.raises(InvalidValue, match="nothing was merged"):
        merge_files(first, second, tmp_path / "c.lastseen", Settings())
    assert not (tmp_path / "c.lastseen").exists()


def test_a_memory_and_its_copy_are_not_merged(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME, date=1000.0)
    copy = tmp_path / "copy.lastseen"
    backup(first, copy)
    for other in (first, copy):
        with pytest.raises(InvalidValue, match="would count twice"):
            merge_files(first, other, tmp_path / "c.lastseen", Settings())
    assert not (tmp_path / "c.lastseen").exists()


def test_a_file_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME)
    with pytest.raises(InvalidValue, match="is there already"):
        merge_files(first, first, first, Settings())


def test_the_same_walk_in_a_random_frame_gives_the_same_things_once(tmp_path: Path) -> None:
    first = remembered(tmp_path / "a.lastseen", HOME)
    rng = np.random.default_rng(8)
    frame = FrameTransform(rng.uniform(-3.0, 3.0), *rng.uniform(-10.0, 10.0, 3).tolist())
    second = remembered(tmp_path / "b.lastseen", HOME, frame)
    _, _, merged = merge_files(first, second, tmp_path / "c.lastseen", Settings())
    assert len(merged.matched) == len(HOME)
    assert merged.added == merged.moved == ()
