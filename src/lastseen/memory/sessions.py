"""The sessions of a memory as frames make them: each frame's stamp is put in order and becomes memory time."""

from __future__ import annotations

from collections.abc import Callable

from lastseen.config.longterm import Longterm
from lastseen.frame import StampOrder
from lastseen.memory.longterm.clock import Clock


class Sessions:
    """Counts frames into sessions; ``wall_clock`` dates each session for people, None leaves it undated."""

    def __init__(self, clock: Clock, settings: Longterm, *, wall_clock: Callable[[], float] | None) -> None:
        self._clock = clock
        self._settings = settings
        self._wall_clock = wall_clock
        self._order = StampOrder()
        self._last_upsert: float | None = None

    def take(self, stamp: float) -> float:
        """The memory time of the next frame; the first one begins a session, an older one than the last raises."""
        self._order.accept(stamp)
        if self._clock.current is None:
            wall = None if self._wall_clock is None else self._wall_clock() - stamp
            self._clock.begin(stamp, robot=self._settings.robot, wall_offset=wall)
        return self._clock.advance(stamp)

    def upsert_is_due(self, time: float) -> bool:
        """Whether an upsert is due at a memory time; saying so once counts as having done it."""
        if self._last_upsert is None:
            self._last_upsert = time
        if time - self._last_upsert < self._settings.upsert_period:
            return False
        self._last_upsert = time
        return True

    def end(self) -> None:
        """Let the next frame begin a session, from whatever stamp."""
        self._order = StampOrder()
        self._clock.current = None
