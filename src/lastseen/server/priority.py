"""The robot goes first: while a frame is being taken, no further question is begun.

A question may be answered a few milliseconds later; a robot that waits for its acknowledgement loses frames. Those
who ask get at least half of the time, however many frames come.
"""

from __future__ import annotations

import asyncio

import anyio.to_thread
from starlette.types import ASGIApp, Receive, Scope, Send

_FRAMES = "/ingest/"


class RobotFirst:
    """Holds back the threads that answer questions while frames are on their way in, ``patience`` seconds at most."""

    def __init__(self, app: ASGIApp, *, readers: int, patience: float) -> None:
        self.app = app
        self.readers = readers
        self.patience = patience
        self._frames = 0
        self._held_since: float | None = None
        self._not_before = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; a frame stops the answering of questions until it is taken."""
        if scope["type"] != "http" or not scope["path"].startswith(_FRAMES):
            await self.app(scope, receive, send)
            return
        self._frames += 1
        self._hold()
        try:
            await self.app(scope, receive, send)
        finally:
            self._frames -= 1
            if not self._frames:
                self._release(anyio.to_thread.current_default_thread_limiter())

    def _hold(self) -> None:
        loop = asyncio.get_running_loop()
        if self._held_since is None and loop.time() >= self._not_before:
            self._held_since = loop.time()
            limiter = anyio.to_thread.current_default_thread_limiter()
            limiter.total_tokens = 0
            # a timer runs outside of any task, where the limiter cannot be looked up
            self._timer = loop.call_later(self.patience, self._release, limiter)

    def _release(self, limiter: anyio.CapacityLimiter) -> None:
        if self._held_since is None:
            return
        now = asyncio.get_running_loop().time()
        self._not_before = now + (now - self._held_since)
        self._held_since = None
        if self._timer is not None:
            self._timer.cancel()
        limiter.total_tokens = self.readers
