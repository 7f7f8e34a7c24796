"""Memory time: one clock that never runs backwards, over sessions whose frames may each start from zero.

Within the session's own clock a time is a stamp; people may also give a date and time, or name the session.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from lastseen.errors import InvalidValue
from lastseen.memory.store.records import SessionRecord

Moment = float | tuple[int, float] | datetime
"""A stamp of the newest session, a (session, stamp) pair, or a date and time with its zone.

Session 0 stands for memory's own clock, which runs through all of them.
"""

PAUSE = 1.0
"""Seconds that a pause of unknown length counts for at least, so that two sessions never share a moment."""


class Clock:
    """The sessions of a memory and the time they share; ``pause`` is what a pause of unknown length counts for."""

    def __init__(self, sessions: Sequence[SessionRecord] = (), *, pause: float = PAUSE) -> None:
        self.sessions = list(sessions)
        self._pause = max(pause, PAUSE)
        self.current: SessionRecord | None = None

    @property
    def now(self) -> float:
        """Memory time of the newest frame; 0 before the first."""
        return self.sessions[-1].last if self.sessions else 0.0

    def begin(self, stamp: float, *, robot: str, wall_offset: float | None) -> SessionRecord:
        """Start a session at its first frame; a clock that starts again goes on where memory time stands."""
        last = self.sessions[-1] if self.sessions else None
        offset, time = 0.0, stamp
        if last is not None:
            goes_on = stamp >= last.stamp(last.last)
            offset = last.clock_offset if goes_on else last.last + self._pause - stamp
            time = max(stamp + offset, last.last)
        self.current = SessionRecord(len(self.sessions) + 1, robot, offset, wall_offset, time, time)
        self.sessions.append(self.current)
        return self.current

    def wall_offset(self, stamp: float, now: float) -> float:
        """The offset that dates a session which begins at ``stamp``: now, but not before the last one was over.

        A recording is played faster than it was made, so by its own clock it ends later than its playing did: by no
        more than all that is remembered lasted. More than that is a clock that was wrong, and is not followed.
        """
        ended = None if not self.sessions else self.wall(self.sessions[-1].last)
        late = 0.0 if ended is None else ended.timestamp() + PAUSE - now
        return now - stamp + (late if 0.0 < late <= self.now - self.sessions[0].first + PAUSE else 0.0)

    def advance(self, stamp: float) -> float:
        """The memory time of a frame of the current session."""
        assert self.current is not None
        # never before the last frame, also where adding the offset rounds down
        time = max(stamp + self.current.clock_offset, self.current.last)
        self.current = self.sessions[-1] = replace(self.current, last=time)
        return time

    def time(self, moment: Moment, *, name: str) -> float:
        """The memory time of a moment as people give it."""
        if isinstance(moment, datetime):
            return self._from_wall(moment, name)
        if isinstance(moment, tuple):
            number, stamp = moment
            if number == 0 and math.isfinite(stamp):
                return float(stamp)
            found = next((session for session in self.sessions if session.id == number), None)
            if found is None:
                known = f"1 to {len(self.sessions)}" if self.sessions else "none"
                raise InvalidValue(name, moment, "names an unknown session", remedy=f"sessions are {known}")
            return float(stamp) + found.clock_offset
        if isinstance(moment, bool) or not isinstance(moment, int | float) or not math.isfinite(moment):
            raise InvalidValue(
                name, moment, "is no time", remedy="give a stamp, a (session, stamp) pair or a datetime with zone"
            )
        return float(moment) + (self.sessions[-1].clock_offset if self.sessions else 0.0)

    def session_at(self, time: float) -> SessionRecord | None:
        """The session in which a memory time lies: the last that had begun."""
        begun = [session for session in self.sessions if session.first <= time]
        return begun[-1] if begun else (self.sessions[0] if self.sessions else None)

    def stamp(self, time: float) -> float:
        """The frame's own stamp at a memory time."""
        session = self.session_at(time)
        return time if session is None else session.stamp(time)

    def wall(self, time: float) -> datetime | None:
        """The date and time at a memory time, where it is known."""
        session = self.session_at(time)
        if session is None or session.wall_offset is None:
            return None
        return datetime.fromtimestamp(session.stamp(time) + session.wall_offset, tz=UTC)

    def _from_wall(self, moment: datetime, name: str) -> float:
        if moment.tzinfo is None:
            raise InvalidValue(name, moment, "has no time zone", remedy="for example datetime.now(timezone.utc)")
        dated = [session for session in self.sessions if session.wall_offset is not None]
        if not dated:
            raise InvalidValue(name, moment, "cannot be placed: no session knows its date", remedy="give a stamp")
        seconds = moment.timestamp()
        begun = [s for s in dated if s.stamp(s.first) + (s.wall_offset or 0.0) <= seconds] or dated[:1]
        session = begun[-1]
        return seconds - (session.wall_offset or 0.0) + session.clock_offset
