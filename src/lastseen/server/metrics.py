"""Counts of what the server did, in the text format that Prometheus reads.

The format is a page of lines; writing it by hand spares a dependency and keeps the label sets bounded by the routes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: upper bounds of the histogram's buckets."""


class RequestCounts:
    """Requests by route, method and status, and how long they took; safe for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: dict[tuple[str, str, int], int] = {}
        self._buckets = [0] * (len(BUCKETS) + 1)
        self._seconds = 0.0

    def add(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        place = next((i for i, bound in enumerate(BUCKETS) if seconds <= bound), len(BUCKETS))
        with self._lock:
            key = (route, method, status)
            self._count[key] = self._count.get(key, 0) + 1
            self._buckets[place] += 1
            self._seconds += seconds

    def lines(self) -> Iterable[str]:
        """The counts as Prometheus reads them."""
        with self._lock:
            counts, buckets, seconds = dict(self._count), list(self._buckets), self._seconds
        yield from _head("lastseen_http_requests_total", "counter", "Requests answered.")
        for (route, method, status), count in sorted(counts.items()):
            yield f'lastseen_http_requests_total{{route="{route}",method="{method}",status="{status}"}} {count}'
        yield from _head("lastseen_http_request_seconds", "histogram", "Time from request to answer.")
        total = 0
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), buckets, strict=True):
            total += count
            yield f'lastseen_http_request_seconds_bucket{{le="{bound}"}} {total}'
        yield f"lastseen_http_request_seconds_sum {seconds:.6f}"
        yield f"lastseen_http_request_seconds_count {total}"


class Counting:
    """Counts every HTTP request by the route that answered it; unknown paths share one name."""

    def __init__(self, app: ASGIApp, *, counts: RequestCounts) -> None:
        self.app = app
        self.counts = counts

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
        finally:
            route = getattr(scope.get("route"), "path", None) or "other"
            method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE", "HEAD") else "other"
            self.counts.add(route, method, status, time.perf_counter() - started)


def gauges(values: dict[str, tuple[float, str]]) -> Iterable[str]:
    """Plain figures by name, each with its help text."""
    for name, (value, help_text) in values.items():
        kind = "counter" if name.endswith("_total") else "gauge"
        yield from _head(f"lastseen_{name}", kind, help_text)
        yield f"lastseen_{name} {_number(value)}"


def _head(name: str, kind: str, help_text: str) -> Iterable[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"


def _number(value: Any) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
