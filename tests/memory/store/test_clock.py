from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.memory.store.clock import Clock


def two_sessions() -> Clock:
    clock = Clock()
    clock.begin(100.0, robot="r", wall_offset=1_000_000.0)
    clock.advance(160.0)
    clock.begin(0.0, robot="r", wall_offset=2_000_000.0)
    clock.advance(10.0)
    return clock


def test_a_clock_that_starts_again_goes_on_where_memory_stands() -> None:
    clock = two_sessions()
    assert [session.clock_offset for session in clock.sessions] == [0.0, 161.0]
    assert clock.time((1, 130.0), name="t") == 130.0
    assert clock.time((2, 5.0), name="t") == 166.0
    assert clock.stamp(166.0) == 5.0


def test_a_bare_number_is_a_stamp_of_the_newest_session() -> None:
    assert two_sessions().time(5.0, name="t") == 166.0


def test_a_clock_that_goes_on_is_not_shifted() -> None:
    clock = Clock()
    clock.begin(1.0, robot="r", wall_offset=None)
    clock.advance(9.0)
    assert clock.begin(9.5, robot="r", wall_offset=None).clock_offset == 0.0


def test_a_date_finds_its_session() -> None:
    clock = two_sessions()
    assert clock.time(datetime.fromtimestamp(1_000_120.0, tz=UTC), name="t") == 120.0
    assert clock.time(datetime.fromtimestamp(2_000_004.0, tz=UTC), name="t") == 165.0
    assert clock.wall(165.0) == datetime.fromtimestamp(2_000_004.0, tz=UTC)


@pytest.mark.parametrize("moment", [(9, 1.0), float("nan"), datetime(2026, 1, 1), "yesterday"])
def test_what_is_no_time_is_refused(moment: object) -> None:
    with pytest.raises(InvalidValue, match="since"):
        two_sessions().time(moment, name="since")  # type: ignore[arg-type]


@given(st.lists(st.lists(st.floats(0, 1e6), min_size=1, max_size=5).map(sorted), min_size=1, max_size=6))
def test_memory_time_never_runs_backwards(sessions: list[list[float]]) -> None:
    clock, last = Clock(), float("-inf")
    for stamps in sessions:
        clock.begin(stamps[0], robot="r", wall_offset=None)
        for stamp in stamps:
            time = clock.advance(stamp)
            assert time >= last
            last = time


def test_a_session_is_not_dated_before_the_one_before_it_was_over() -> None:
    clock = Clock()
    clock.begin(0.0, robot="r", wall_offset=clock.wall_offset(0.0, 1_000_000.0))
    clock.advance(60.0)
    # a recording of a minute was played in ten seconds
    clock.begin(0.0, robot="r", wall_offset=clock.wall_offset(0.0, 1_000_010.0))
    assert clock.wall(clock.now) == datetime.fromtimestamp(1_000_061.0, tz=UTC)
    clock.advance(60.0)
    assert clock.wall_offset(5.0, 1_000_500.0) == 1_000_495.0


def test_a_clock_that_was_wrong_does_not_date_what_comes_after_it() -> None:
    clock = Clock()
    clock.begin(0.0, robot="r", wall_offset=9_000_000.0)
    clock.advance(60.0)
    assert clock.wall_offset(0.0, 1_000_000.0) == 1_000_000.0
