from __future__ import annotations

from pathlib import Path

import pytest

from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.errors import StampError
from lastseen.memory.memory import Memory
from tests.memory.objects.scenes import frame_at


def test_the_first_frame_begins_a_session_and_an_older_one_is_refused() -> None:
    memory, times = Memory.open(wall_clock=None), []
    for number, stamp in enumerate((5.0, 5.5, 5.5)):
        memory.observe(frame_at(number, stamp=stamp), [])
        times.append(memory.sessions()[-1].last)
    assert times == [5.0, 5.5, 5.5]
    with pytest.raises(StampError):
        memory.observe(frame_at(3, stamp=5.0), [])
    assert len(memory.sessions()) == 1


def test_after_the_end_stamps_may_start_anew_and_memory_time_goes_on() -> None:
    memory = Memory.open(wall_clock=None)
    memory.observe(frame_at(0, stamp=100.0), [])
    last = memory.sessions()[-1].last
    memory.new_session()
    memory.observe(frame_at(0, stamp=0.0), [])
    assert memory.sessions()[-1].last > last
    assert len(memory.sessions()) == 2


def test_an_upsert_is_due_once_in_a_period(tmp_path: Path) -> None:
    settings = Settings(store=Store(upsert_period=2.0))
    memory, written = Memory.open(tmp_path / "home.lastseen", settings=settings), []
    for number, stamp in enumerate((10.0, 11.0, 12.0, 13.0, 14.5)):
        before = memory.store.rows_written
        memory.observe(frame_at(number, stamp=stamp), [])
        if memory.store.rows_written > before:
            written.append(stamp)
    assert written == [12.0, 14.5]
