from __future__ import annotations

import pytest
from lastseen.memory.sessions import Sessions

from lastseen.config.longterm import Longterm
from lastseen.errors import StampError
from lastseen.memory.longterm.clock import Clock


def sessions(clock: Clock | None = None, *, period: float = 2.0) -> Sessions:
    return Sessions(clock or Clock(), Longterm(upsert_period=period), wall_clock=None)


def test_the_first_frame_begins_a_session_and_an_older_one_is_refused() -> None:
    clock = Clock()
    taking = sessions(clock)
    assert [taking.take(stamp) for stamp in (5.0, 5.5, 5.5)] == [5.0, 5.5, 5.5]
    with pytest.raises(StampError):
        taking.take(5.0)
    assert len(clock.sessions) == 1


def test_after_the_end_stamps_may_start_anew_and_memory_time_goes_on() -> None:
    clock = Clock()
    taking = sessions(clock)
    last = taking.take(100.0)
    taking.end()
    assert taking.take(0.0) > last
    assert len(clock.sessions) == 2


def test_an_upsert_is_due_once_in_a_period() -> None:
    taking = sessions(period=2.0)
    assert [time for time in (10.0, 11.0, 12.0, 13.0, 14.5) if taking.upsert_is_due(time)] == [12.0, 14.5]
