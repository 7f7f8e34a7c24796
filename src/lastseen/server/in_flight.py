"""Which questions are being answered, so that no memory is closed under one.

A file that is followed is opened anew after each change. A question began with the memory of its time and may use
later ones too, so a memory can be closed once every question on its way began after it was replaced.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send


class InFlight:
    """Questions on their way, counted by the turn of the memory in which each began; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turn = 0
        self._begun: Counter[int] = Counter()

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """Count a question while the block runs; the memory is taken from the service inside of it."""
        with self._lock:
            turn = self._turn
            self._begun[turn] += 1
        try:
            yield
        finally:
            with self._lock:
                self._begun[turn] -= 1
                if not self._begun[turn]:
                    del self._begun[turn]

    def turned(self) -> int:
        """Say that another memory has taken the place of the last; returns the number of the turn that ended."""
        with self._lock:
            self._turn += 1
            return self._turn - 1

    def is_over(self, turn: int) -> bool:
        """Whether no question that began in this turn or before it is still on its way."""
        with self._lock:
            return all(begun > turn for begun in self._begun)


class Asking:
    """Counts what is asked over HTTP until the answer is ready: who reads it slowly keeps nothing open."""

    def __init__(self, app: ASGIApp, *, in_flight: InFlight) -> None:
        self.app = app
        self.in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; one with a body changes memory, which a file that is followed refuses."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        with contextlib.ExitStack() as asked:
            asked.enter_context(self.in_flight.question())

            async def sending(message: Message) -> None:
                asked.close()
                await send(message)

            await self.app(scope, receive, sending)
