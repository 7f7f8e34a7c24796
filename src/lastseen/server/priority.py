"""The robot goes first: while a frame is being taken, questions wait a moment instead of competing with it.

A question may be answered a few milliseconds later; a robot that waits for its acknowledgement loses frames.
"""

from __future__ import annotations

import asyncio
import contextlib

from starlette.types import ASGIApp, Receive, Scope, Send

_FRAMES = "/ingest/"


class RobotFirst:
    """Holds HTTP requests back while frames are on their way in, but never longer than ``patience`` seconds."""

    def __init__(self, app: ASGIApp, *, patience: float) -> None:
        self.app = app
        self.patience = patience
        self._frames = 0
        self._clear = asyncio.Event()
        self._clear.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a frame through at once, and a question when no frame is on its way."""
        if scope["type"] == "http" and scope["path"].startswith(_FRAMES):
            self._frames += 1
            self._clear.clear()
            try:
                await self.app(scope, receive, send)
            finally:
                self._frames -= 1
                if not self._frames:
                    self._clear.set()
            return
        if scope["type"] == "http" and self._frames:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._clear.wait(), self.patience)
        await self.app(scope, receive, send)
