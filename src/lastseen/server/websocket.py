"""``/ws``: one task listens to a client, one sends to it; a shared pulse tells all that something may be new."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import anyio.to_thread
from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect

from lastseen.server.answers import text_of
from lastseen.server.service import Service
from lastseen.server.watcher import BadCommandError, Watcher

MAX_MISTAKES = 20
"""Messages that were not understood before a client is sent away."""
GOING_AWAY, REFUSED, TRY_LATER = 1012, 1008, 1013

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Pulse:
    """Keeps the hub current while somebody watches, and wakes the watchers."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._beat = asyncio.Event()
        # watchers do not stand in one line with those who ask
        self._line = anyio.CapacityLimiter(2)

    async def aside(self, work: Callable[[], _T]) -> _T:
        """Do something off the event loop."""

        def counted() -> _T:
            with self.service.in_flight.question():
                return work()

        return await anyio.to_thread.run_sync(counted, limiter=self._line)

    async def run(self) -> None:
        """Beat until cancelled."""
        live, service = self.service.settings.live, self.service
        until_stats = 0.0
        while True:
            if service.clients:
                until_stats -= live.tick
                try:
                    await self.aside(partial(service.refresh, stats=until_stats <= 0.0))
                except Exception:  # noqa: BLE001
                    # one bad round must not end the pulse of all; it is logged and tried again
                    _log.exception("what watchers see could not be renewed")
                if until_stats <= 0.0:
                    until_stats = live.stats_period
                self.wake()
            await asyncio.sleep(live.tick)

    def wake(self) -> None:
        """Let every watcher look whether there is something for it."""
        beat, self._beat = self._beat, asyncio.Event()
        beat.set()

    async def next(self) -> None:
        """Wait for the next beat."""
        await self._beat.wait()


def routes(service: Service, pulse: Pulse) -> APIRouter:
    """The route over one service."""
    router = APIRouter()

    @router.websocket("/ws")
    async def watch(socket: WebSocket) -> None:
        """Tell a client what is new until it goes."""
        await socket.accept()
        if service.stopping:
            await socket.close(GOING_AWAY, "the server is going down")
            return
        if service.clients >= service.settings.server.max_clients:
            await socket.close(TRY_LATER, "too many clients")
            return
        service.clients += 1
        try:
            await _serve(socket, service, pulse)
        finally:
            service.clients -= 1

    return router


async def _serve(socket: WebSocket, service: Service, pulse: Pulse) -> None:
    watcher, turn = Watcher(service), asyncio.Lock()
    tasks = [
        asyncio.create_task(_listen(socket, watcher, turn, service)),
        asyncio.create_task(_tell(socket, watcher, turn, service, pulse)),
    ]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    expected = (asyncio.CancelledError, WebSocketDisconnect, TimeoutError, RuntimeError, OSError)
    for result in results:
        if isinstance(result, Exception) and not isinstance(result, expected):
            _log.error("a watcher failed", exc_info=result)
    code, reason = (GOING_AWAY, "the server is going down") if service.stopping else (REFUSED, "closed")
    with contextlib.suppress(RuntimeError, OSError, WebSocketDisconnect):
        await asyncio.wait_for(socket.close(code, reason), 1.0)


async def _listen(socket: WebSocket, watcher: Watcher, turn: asyncio.Lock, service: Service) -> None:
    mistakes = 0
    await _send(socket, watcher.hello(), turn, service)
    while mistakes < MAX_MISTAKES:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        try:
            if message.get("text") is None:
                raise BadCommandError("a message must be text")
            answer = watcher.command(message["text"])
        except BadCommandError as error:
            mistakes += 1
            answer = text_of({"type": "error", "error": "invalid", "message": str(error)})
        await _send(socket, answer, turn, service)


async def _tell(socket: WebSocket, watcher: Watcher, turn: asyncio.Lock, service: Service, pulse: Pulse) -> None:
    while not service.stopping:
        if watcher.behind():
            for text in watcher.messages():
                await _send(socket, text, turn, service)
                if watcher.paused:
                    break
            # the cloud waits for frames that are being drawn into it: not on the event loop
            points = watcher.points()
            while not watcher.paused and (body := await pulse.aside(partial(next, points, None))) is not None:
                await _send(socket, body, turn, service)
        await pulse.next()


async def _send(socket: WebSocket, message: str | bytes, turn: asyncio.Lock, service: Service) -> None:
    """Send one message; whoever takes nothing for too long is let go."""
    async with asyncio.timeout(service.settings.live.send_timeout), turn:
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(message)
