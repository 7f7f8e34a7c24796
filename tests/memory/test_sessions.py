"""Sessions: one in the same map agrees, one in another is kept apart until it is aligned, and nothing is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.memory.session_files import align_session, beside, undo_alignment
from lastseen.memory.session_frames import checked_covariance, covariance_of
from lastseen.memory.write_path import WritePath
from tests.memory.homes import ROOM, Item
from tests.memory.walks_in_frames import HOME, house, look

AWAY = FrameTransform(1.1, 4.0, -2.0, 0.3)
"""Where the map of the second session lies in the memory's."""
SAME = FrameTransform()


def states(memory: Memory) -> list[str]:
    return [frame.state for frame in memory.session_frames()]


def places(memory: Memory) -> dict[str, list[float]]:
    return {one.id: [round(value, 6) for value in one.position] for one in memory.objects()}


HOUSE, OTHER = house(1), house(2)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A memory of one session."""
    with Memory.open(tmp_path / "home.lastseen") as memory:
        look(memory, HOME, SAME)
    return tmp_path / "home.lastseen"


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A memory of a house."""
    with Memory.open(tmp_path / "home.lastseen") as memory:
        look(memory, HOUSE, SAME)
    return tmp_path / "home.lastseen"


def test_a_session_in_the_same_map_is_verified_by_what_it_sees(home: Path) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, SAME, count=1)
        assert memory.find("plant").alignment == "unverified"
        look(memory, HOME, SAME, start=1, count=8)
        assert states(memory) == ["first", "verified"]
        answer = memory.find("plant")
        assert (answer.alignment, answer.hits[0].alignment) == ("aligned", "aligned")
        assert len(memory.objects()) == len(HOME)


def test_a_session_in_another_map_is_aligned_and_gives_the_same_things_once(home: Path) -> None:
    with Memory.open(home) as memory:
        before = places(memory)
        look(memory, HOME, AWAY, count=20)
        assert states(memory) == ["first", "aligned"]
        after = places(memory)
        assert after.keys() == before.keys()
        assert all(np.allclose(after[one], before[one], atol=0.1) for one in before)
        assert memory.frame.angle_to(AWAY) < 0.05
        assert memory.find("plant").alignment == "aligned"
        hit = memory.find("plant").hits[0]
        assert hit.session == 2
    with Memory.open(home) as memory:
        assert states(memory) == ["first", "aligned"]
        (frame,) = memory.session_frames()[1:]
        assert frame.transform is not None
        assert frame.covariance is not None
        assert len(frame.pairs) == len(HOME)
        assert [state for state, _, _ in frame.earlier] == ["unverified", "quarantined"]
        assert len(memory.objects()) == len(HOME)


def test_a_session_of_another_home_is_kept_apart_and_the_memory_stays_as_it_was(large: Path) -> None:
    with Memory.open(large) as memory:
        before = places(memory)
        look(memory, OTHER, SAME, count=24)
        assert states(memory) == ["first", "quarantined"]
        assert places(memory) == before
        answer = memory.find("plant", k=3)
        assert answer.hits[0].id.startswith("session-2/")
        assert answer.hits[0].alignment == "aligned"
        assert answer.hits[-1].alignment == "unknown"
        assert memory.object(answer.hits[0].id).label == "plant"
        assert len(memory.current.objects()) == len(OTHER)
        assert (
            "not known yet" in memory.ask("where is the plant?").sentence or memory.ask("where is the plant?").objects
        )
        memory.new_session()
        assert memory.waiting == len(OTHER)
    assert beside(large, "session-2").exists()
    with Memory.open(large, read_only=True) as memory:
        assert places(memory) == before
        assert memory.find("plant").alignment == "unknown"
        assert {one.alignment for one in memory.objects()} == {"unknown"}
    with Memory.open(beside(large, "session-2"), read_only=True) as memory:
        assert len(memory.objects()) == len(OTHER)


def test_what_the_session_wrote_is_taken_back_row_by_row(large: Path) -> None:
    with Memory.open(large, read_only=True) as memory:
        events = len(memory.store.journal.events())
        versions = {one.id: len(memory.store.journal.versions(one.id)) for one in memory.objects()}
    with Memory.open(large) as memory:
        for start in range(24):
            look(memory, OTHER, SAME, start=start, count=1)
            memory.flush()
        assert states(memory) == ["first", "quarantined"]
        assert len(memory.store.journal.events()) == events
        assert {one.id: len(memory.store.journal.versions(one.id)) for one in memory.objects()} == versions
        memory.store.journal.check_structure()


def test_a_few_things_never_keep_a_session_apart(tmp_path: Path) -> None:
    few, elsewhere = ROOM[:4], tuple(Item(one.label, one.color, (one.xyz[0] + 2.0, *one.xyz[1:])) for one in ROOM[:4])
    with Memory.open(tmp_path / "home.lastseen") as memory:
        look(memory, few, SAME, count=12)
        memory.new_session()
        look(memory, elsewhere, SAME, count=70)
        assert states(memory) == ["first", "unverified"]
        assert memory.current is memory


def test_an_id_that_was_stated_before_is_believed_at_once_with_its_transform(home: Path) -> None:
    with Memory.open(home, map_id="upstairs") as memory:
        look(memory, HOME, AWAY, count=20)
        assert states(memory)[-1] == "aligned"
        memory.new_session(map_id="upstairs")
        look(memory, HOME, AWAY, count=1)
        assert states(memory)[-1] == "stated"
        assert len(memory.objects()) == len(HOME)


def test_another_id_puts_a_session_apart_from_its_first_frame(tmp_path: Path) -> None:
    with Memory.open(map_id="flat") as memory:
        look(memory, HOME, SAME)
        memory.new_session(map_id="office")
        look(memory, HOME[:3], AWAY, count=3)
        assert states(memory) == ["first", "quarantined"]
        look(memory, HOME, AWAY, start=3, count=12)
        assert states(memory) == ["first", "aligned"]
        assert len(memory.objects()) == len(HOME)


def test_a_jump_of_the_localizer_is_noticed_as_a_break(home: Path) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, SAME, count=8)
        assert states(memory) == ["first", "verified"]
        look(memory, HOME, FrameTransform(0.0, 60.0, 0.0, 0.0), start=8, count=20)
        assert states(memory) == ["first", "verified", "aligned"]
        assert len(memory.objects()) == len(HOME)


def test_an_empty_session_and_one_of_a_few_frames_change_nothing(home: Path) -> None:
    with Memory.open(home) as memory:
        before = places(memory)
        memory.new_session()
        look(memory, (), SAME, count=12)
        assert states(memory) == ["first", "unverified"]
        assert places(memory) == before


def test_what_people_say_is_not_taken_back(large: Path) -> None:
    with Memory.open(large) as memory:
        look(memory, OTHER, SAME, count=1)
        memory.relabel(memory.find("plant").hits[0].id, "fern")
        look(memory, OTHER, SAME, start=1, count=24)
        assert memory.objects("fern")
        assert memory.current is memory


def test_an_alignment_can_be_undone_and_nothing_is_lost(home: Path) -> None:
    with Memory.open(home) as memory:
        before = places(memory)
        look(memory, HOME, AWAY, count=20)
    kept = undo_alignment(home, 2, lambda path: WritePath(path, Settings(), read_only=False))
    with Memory.open(home) as memory:
        assert states(memory) == ["first", "quarantined"]
        assert places(memory) == before
    with Memory.open(kept, read_only=True) as memory:
        assert states(memory) == ["first", "aligned"]
    with Memory.open(beside(home, "session-2"), read_only=True) as memory:
        assert len(memory.objects()) == len(HOME)
    with pytest.raises(InvalidValue, match="is quarantined"):
        undo_alignment(home, 2, lambda path: WritePath(path, Settings(), read_only=False))


def opened(path: Path) -> WritePath:
    return WritePath(path, Settings(), read_only=False)


def test_an_undo_that_is_cut_off_leaves_the_memory_and_can_be_done_again(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, AWAY, count=20)

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", cut_off)
        with pytest.raises(KeyboardInterrupt):
            undo_alignment(home, 2, opened)
    with Memory.open(home, read_only=True) as memory:
        assert states(memory) == ["first", "aligned"]
    undo_alignment(home, 2, opened)
    with Memory.open(home, read_only=True) as memory:
        assert states(memory) == ["first", "quarantined"]


def test_what_was_undone_before_is_not_overwritten(home: Path) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, AWAY, count=20)
    first = undo_alignment(home, 2, opened)
    align_session(home, 2, opened)
    assert undo_alignment(home, 2, opened) == beside(home, "undone-session-2-2")
    assert first.exists()
    with Memory.open(home) as memory:
        memory.forget(memory.objects()[0].id)
    assert not list(home.parent.glob("*undone*"))


def test_an_alignment_is_not_undone_under_a_reader(home: Path) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, AWAY, count=20)
    with Memory.open(home, read_only=True) as reader:
        reader.objects()
        with pytest.raises(InvalidValue, match="cannot be undone while the file is read; close it first"):
            undo_alignment(home, 2, opened)
        assert states(reader) == ["first", "aligned"]
    undo_alignment(home, 2, opened)


def test_forgetting_leaves_no_copy_from_before_an_alignment(home: Path) -> None:
    with Memory.open(home) as memory:
        look(memory, HOME, AWAY, count=20)
        assert list(home.parent.glob("home.*-session-*")) + list(home.parent.glob("home.session-*"))
        memory.forget(memory.objects()[0].id)
    assert sorted(file.name for file in home.parent.glob("*.lastseen")) == ["home.lastseen"]


@pytest.mark.parametrize("rows", [[[1.0]], np.full((4, 4), np.nan).tolist(), (-np.eye(4)).tolist()])
def test_a_covariance_that_is_none_is_refused(rows: list[list[float]]) -> None:
    with pytest.raises(InvalidValue, match="covariance"):
        checked_covariance(rows)


def test_deviations_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InvalidValue, match="no covariance"):
        covariance_of([0.1, float("inf"), 0.1, 0.1])
