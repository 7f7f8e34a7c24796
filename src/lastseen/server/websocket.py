"""``/ws``: for each client one task listens and one sends what is new to its subscription."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from fastapi import APIRouter
from starlette.websockets import WebSocket, WebSocketDisconnect

from lastseen.memory.space.surface import SLOTS, VOXEL
from lastseen.server.queries import now_json
from lastseen.server.responses import json_text
from lastseen.server.service import Service

TOPICS = ("events", "objects", "point_cloud", "robot", "stats")
MAX_CLIENTS = 128
"""WebSocket clients at once: each costs a task and a socket buffer."""
MAX_COMMAND = 4096
"""Bytes of a client's message."""
MAX_MISTAKES = 20
"""Messages that were not understood before a client is sent away."""
MAX_DECIMATION = 64
_FIRST_EVENTS = 100
"""Past events that a new subscriber is sent: enough to fill a page's list."""
_TICK = 0.2
"""Seconds between updates: five a second look fluent and cost little."""
_STATS_PERIOD = 1.0
"""Seconds between figures, which people read."""
_GOING_AWAY, _REFUSED, _TRY_LATER = 1012, 1008, 1013
"""Codes of closing a WebSocket."""

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class BadCommandError(ValueError):
    """A client's message that is not understood; the text says why."""


@dataclass(slots=True)
class _Cursors:
    """Up to where a client was sent each part; None: it starts from the full state."""

    objects: int | None = None
    events: int | None = None
    points: int | None = None
    robot: int | None = None
    path: tuple[int, int] | None = None
    places: int | None = None
    stats: int | None = None


@dataclass(slots=True)
class Subscription:
    """What one client asked for, and up to where it was sent: a few numbers, however slowly it reads.

    One that never subscribed (``chose`` is false) is sent all objects whenever one changed: clients of rtsm say
    nothing and replace what they have.
    """

    service: Service
    topics: frozenset[str] = frozenset({"objects"})
    chose: bool = False
    decimation: int = 1
    paused: bool = False
    cursors: _Cursors = field(default_factory=_Cursors)

    def hello(self) -> str:
        """The first message."""
        return json_text(
            {
                "type": "hello",
                "version": 1,
                "topics": list(TOPICS),
                **now_json(self.service.memory),
                "stale_after": self.service.settings.lifecycle.stale_after,
                "point_capacity": SLOTS,
                "voxel": VOXEL,
                "server": self.service.state(),
            }
        )

    def command(self, text: str) -> str:
        """Do what a client asks and return the answer."""
        if len(text) > MAX_COMMAND:
            raise BadCommandError(f"a message may have {MAX_COMMAND} characters")
        try:
            asked = json.loads(text)
        except (ValueError, RecursionError):
            raise BadCommandError("a message must be JSON") from None
        # rtsm's clients say cmd
        kind = asked.get("type", asked.get("cmd")) if isinstance(asked, dict) else None
        if kind == "ping":
            return json_text({"type": "pong", **now_json(self.service.memory)})
        if kind == "subscribe":
            self._subscribe(asked.get("topics"))
        elif kind == "set_decimation":
            self._decimate(asked.get("value"))
        elif kind in ("pause", "resume"):
            self.paused = kind == "pause"
        else:
            raise BadCommandError("type: must be one of subscribe, set_decimation, pause, resume, ping")
        return json_text(
            {
                "type": "ack",
                "command": kind,
                "topics": sorted(self.topics),
                "decimation": self.decimation,
                "paused": self.paused,
            }
        )

    def is_behind(self) -> bool:
        """Whether there is anything to send; cheap enough to ask at every tick."""
        if self.paused or not self.topics:
            return False
        service, at = self.service, self.cursors
        return any(
            (
                "objects" in self.topics and at.objects != service.feed.newest,
                "events" in self.topics and at.events != service.feed.last_event,
                "point_cloud" in self.topics and at.points != service.points.newest,
                "robot" in self.topics
                and (at.robot != service.robot.version or at.places != service.places_revision),
                "stats" in self.topics and at.stats != service.stats_version,
            )
        )

    def messages(self) -> Iterator[str]:
        """What is new, message by message, each as new as when it is reached."""
        if "objects" in self.topics:
            yield from self._objects()
        if "events" in self.topics:
            yield from self._events()
        if "robot" in self.topics:
            yield from self._robot()
        # where this is the first round there are no figures or places yet; objects do not wait for them
        if "stats" in self.topics and self.service.stats_version and self.cursors.stats != self.service.stats_version:
            self.cursors.stats = self.service.stats_version
            yield self.service.stats_text

    def points(self) -> Iterator[bytes]:
        """What is new of the point cloud, message by message."""
        more = "point_cloud" in self.topics
        while more:
            first = self.cursors.points is None
            chunk = self.service.points.chunk(self.cursors.points or 0, decimation=self.decimation, reset=first)
            if chunk is None:
                return
            self.cursors.points, more = chunk.upto, chunk.more
            yield chunk.body

    def _objects(self) -> Iterator[str]:
        more = True
        if not self.chose and self.cursors.objects != self.service.feed.newest:
            self.cursors.objects = None
        while more:
            first = self.cursors.objects is None
            update = self.service.feed.objects_since(self.cursors.objects or 0, reset=first)
            if update is None:
                return
            self.cursors.objects, more = update.cursor, update.more
            yield update.text

    def _events(self) -> Iterator[str]:
        feed = self.service.feed
        first = self.cursors.events is None
        since = max(0, feed.last_event - _FIRST_EVENTS) if first else self.cursors.events or 0
        texts, missed = feed.events_since(since)
        self.cursors.events = since + missed + len(texts)
        if missed and not first:
            yield json_text({"type": "events_dropped", "count": missed})
        yield from texts

    def _robot(self) -> Iterator[str]:
        if self.cursors.robot != self.service.robot.version:
            update = self.service.robot_since(self.cursors.path)
            self.cursors.robot, self.cursors.path = update.version, update.path
            yield update.text
        if self.service.places_revision and self.cursors.places != self.service.places_revision:
            self.cursors.places = self.service.places_revision
            yield self.service.places_text

    def _subscribe(self, topics: Any) -> None:
        if not isinstance(topics, list) or not all(isinstance(topic, str) and topic in TOPICS for topic in topics):
            raise BadCommandError(f"topics: must be a list of {', '.join(TOPICS)}")
        chosen = frozenset(topics)
        for topic in chosen - (self.topics if self.chose else frozenset()):
            if topic == "robot":
                self.cursors.robot = self.cursors.path = self.cursors.places = None
            else:
                setattr(self.cursors, "points" if topic == "point_cloud" else topic, None)
        self.topics, self.chose = chosen, True

    def _decimate(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DECIMATION:
            raise BadCommandError(f"value: must be a whole number from 1 to {MAX_DECIMATION}")
        self.decimation, self.cursors.points = value, None


class Ticker:
    """Refreshes what subscribers are sent while there are any, and wakes their tasks."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self._tick = asyncio.Event()
        # subscribers have threads of their own: they do not wait for those who ask
        self._threads = anyio.CapacityLimiter(2)

    async def in_thread(self, work: Callable[[], _T]) -> _T:
        """Do something off the event loop."""

        def counted() -> _T:
            with self.service.in_flight.question():
                return work()

        return await anyio.to_thread.run_sync(counted, limiter=self._threads)

    async def run(self) -> None:
        """Tick until cancelled."""
        service = self.service
        next_stats = time.monotonic()
        wake_here = partial(asyncio.get_running_loop().call_soon_threadsafe, self.wake)
        while True:
            if service.clients:
                # by the clock: where rounds take long, figures come with each
                now = time.monotonic()
                stats_due = now >= next_stats
                if stats_due:
                    next_stats = now + _STATS_PERIOD - 0.5 * _TICK
                try:
                    refresh = partial(service.refresh, stats=stats_due, published=wake_here)
                    await self.in_thread(refresh)
                except Exception:  # noqa: BLE001
                    # one bad round must not end the updates of all; it is logged and tried again
                    _log.exception("what subscribers are sent could not be refreshed")
                self.wake()
            await asyncio.sleep(_TICK)

    def wake(self) -> None:
        """Let every subscriber's task look whether there is something to send."""
        tick, self._tick = self._tick, asyncio.Event()
        tick.set()

    async def next(self) -> None:
        """Wait for the next tick."""
        await self._tick.wait()


def routes(service: Service, ticker: Ticker) -> APIRouter:
    """The route over one service."""
    router = APIRouter()

    @router.websocket("/ws")
    async def subscribe(socket: WebSocket) -> None:
        """Send a client what is new until it goes."""
        await socket.accept()
        if service.stopping:
            await socket.close(_GOING_AWAY, "the server is going down")
            return
        if service.clients >= MAX_CLIENTS:
            await socket.close(_TRY_LATER, "too many clients")
            return
        service.clients += 1
        try:
            await _serve(socket, service, ticker)
        finally:
            service.clients -= 1

    return router


async def _serve(socket: WebSocket, service: Service, ticker: Ticker) -> None:
    subscription, turn = Subscription(service), asyncio.Lock()
    tasks = [
        asyncio.create_task(_listen(socket, subscription, turn, service)),
        asyncio.create_task(_push(socket, subscription, turn, service, ticker)),
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
            _log.error("a WebSocket client's task failed", exc_info=result)
    code, reason = (_GOING_AWAY, "the server is going down") if service.stopping else (_REFUSED, "closed")
    with contextlib.suppress(RuntimeError, OSError, WebSocketDisconnect):
        await asyncio.wait_for(socket.close(code, reason), 1.0)


async def _listen(socket: WebSocket, subscription: Subscription, turn: asyncio.Lock, service: Service) -> None:
    mistakes = 0
    await _send(socket, subscription.hello(), turn, service)
    while mistakes < MAX_MISTAKES:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        try:
            if message.get("text") is None:
                raise BadCommandError("a message must be text")
            answer = subscription.command(message["text"])
        except BadCommandError as error:
            mistakes += 1
            answer = json_text({"type": "error", "error": "invalid", "message": str(error)})
        await _send(socket, answer, turn, service)


async def _push(
    socket: WebSocket, subscription: Subscription, turn: asyncio.Lock, service: Service, ticker: Ticker
) -> None:
    # whoever subscribes at once is spared the state that it did not ask for
    await ticker.next()
    while not service.stopping:
        if subscription.is_behind():
            # the cloud waits for frames that are being drawn into it: not on the event loop
            points = subscription.points()
            for text in subscription.messages():
                await _send(socket, text, turn, service)
                if subscription.paused:
                    break
                # in turn, so that the home is seen before the last of very many objects has come
                if body := await ticker.in_thread(partial(next, points, None)):
                    await _send(socket, body, turn, service)
            while not subscription.paused and (body := await ticker.in_thread(partial(next, points, None))):
                await _send(socket, body, turn, service)
        await ticker.next()


async def _send(socket: WebSocket, message: str | bytes, turn: asyncio.Lock, service: Service) -> None:
    """Send one message; a client that takes nothing for too long is let go."""
    async with asyncio.timeout(service.settings.live.send_timeout), turn:
        if isinstance(message, bytes):
            await socket.send_bytes(message)
        else:
            await socket.send_text(message)
