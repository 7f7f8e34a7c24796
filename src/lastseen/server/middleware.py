"""What every request passes besides the guard: counting, keeping its memory open, and letting robots go first."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator

import anyio.to_thread
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: upper bounds of the buckets of the histogram of request times."""
_INGEST = "/ingest/"


class RequestCounts:
    """Requests by route, method and status, and how long they took; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: dict[tuple[str, str, int], int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        bucket = next((i for i, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))
        with self._lock:
            key = (route, method, status)
            self._count[key] = self._count.get(key, 0) + 1
            self._buckets[bucket] += 1
            self._seconds += seconds

    def snapshot(self) -> tuple[dict[tuple[str, str, int], int], list[int], float]:
        """Counts by (route, method, status), counts by bucket, and the sum of seconds."""
        with self._lock:
            return dict(self._count), list(self._buckets), self._seconds


class CountRequests:
    """Counts every HTTP request by the route that answered it; unknown paths share one name."""

    def __init__(self, app: ASGIApp, *, counts: RequestCounts, stopping: Callable[[], bool]) -> None:
        self.app = app
        self.counts = counts
        self.stopping = stopping

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and count it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, sending)
        except asyncio.CancelledError:
            # a server that goes down waits no longer: no failure, and no traceback for whoever stopped it
            if not self.stopping():
                raise
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE", "HEAD") else "other"
            self.counts.add(route, method, status, time.perf_counter() - started)


class InFlight:
    """Questions being answered, counted by the generation of the memory in which each began.

    A followed file is opened anew after each change. A question may use the memory of its beginning and later ones,
    so a memory can be closed once every question in flight began after it was replaced. Safe for several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._generation = 0
        self._begun: Counter[int] = Counter()

    @contextlib.contextmanager
    def question(self) -> Iterator[None]:
        """Count a question while the block runs; the memory is taken from the service inside of it."""
        with self._lock:
            generation = self._generation
            self._begun[generation] += 1
        try:
            yield
        finally:
            with self._lock:
                self._begun[generation] -= 1
                if not self._begun[generation]:
                    del self._begun[generation]

    def next_generation(self) -> int:
        """Say that another memory has replaced the last; returns the number of the generation that ended."""
        with self._lock:
            self._generation += 1
            return self._generation - 1

    def is_over(self, generation: int) -> bool:
        """Whether no question that began in this generation or before it is still in flight."""
        with self._lock:
            return all(begun > generation for begun in self._begun)


class KeepMemoryOpen:
    """Counts questions over HTTP until the answer is ready: a client that reads it slowly keeps no memory open."""

    def __init__(self, app: ASGIApp, *, in_flight: InFlight) -> None:
        self.app = app
        self.in_flight = in_flight

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; one with a body changes memory, which a followed file refuses."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        with contextlib.ExitStack() as asked:
            asked.enter_context(self.in_flight.question())

            async def sending(message: Message) -> None:
                asked.close()
                await send(message)

            await self.app(scope, receive, sending)


class RobotFirst:
    """Starts no further question while a robot's frame is being taken, for ``patience`` seconds at most.

    A question may be answered a few milliseconds later; a robot that waits for its acknowledgement loses frames.
    Questions get at least half of the time, however many frames come.
    """

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
        if scope["type"] != "http" or not scope["path"].startswith(_INGEST):
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
