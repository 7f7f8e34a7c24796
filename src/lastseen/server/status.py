"""``/health``, ``/stats``, ``/metrics``: how the server does, for people, agents and monitors.

The text that Prometheus reads is a page of lines; writing it here spares a dependency and keeps the label sets
bounded by the routes.
"""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter, Request
from starlette.responses import PlainTextResponse, Response

from lastseen.server import home_schemas
from lastseen.server.middleware import BUCKETS, RequestCounts
from lastseen.server.responses import error_response, errors, json_response
from lastseen.server.security import Access
from lastseen.server.service import Service


def routes(service: Service, access: Access) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["status"], responses=errors(400, 401, 405, 413))

    def health(request: Request) -> Response:
        """Whether all is well; degraded still answers, and tells those with the token why."""
        reasons = service.health()
        if not reasons:
            return json_response({"status": "ok"})
        told = {"reasons": reasons} if access.allows(request.headers) else {}
        return json_response({"status": "degraded", **told})

    for path in ("/healthz", "/health"):
        router.get(path, response_model=home_schemas.Health, operation_id=f"health_{path[1:]}")(health)

    @router.get("/readyz", response_model=home_schemas.Ready, responses=errors(503))
    def ready() -> Response:
        """Whether requests are wanted."""
        return error_response(503, "shutting down") if service.stopping else json_response({"status": "ready"})

    @router.get("/stats", response_model=home_schemas.Stats)
    def stats() -> Response:
        """The figures that are polled."""
        return json_response(service.stats())

    @router.get("/stats/detailed", response_model=home_schemas.DetailedStats, responses=errors(503))
    def detailed() -> Response:
        """The same, and what memory takes on disk and in RAM; costs a pass over the file."""
        measured = service.memory.stats()
        names = ("counts", "disk", "ram", "encoder", "image_encoder", "shared_index")
        return json_response(
            {
                **service.stats(),
                **{name: measured[name] for name in names},
                "waiting": service.memory.store.waiting,
                "events": service.feed.last_event,
            }
        )

    @router.get("/metrics", response_class=PlainTextResponse)
    def metrics() -> Response:
        """The figures as Prometheus reads them."""
        stats = service.stats()
        state = stats["server"]
        values = {
            "objects_confirmed": (stats["confirmed"], "Confirmed objects."),
            "objects_tentative": (stats["tentative"], "Objects not yet confirmed."),
            "objects_missing": (stats["missing"], "Objects whose place was seen empty."),
            "frames_total": (state["frames"], "Frames taken since the start."),
            "upserts_total": (stats["upserts_total"], "Rows written by acknowledged requests."),
            "events_total": (service.feed.last_event, "Events published since the start."),
            "websocket_clients": (state["clients"], "Connected WebSocket clients."),
            "points": (state["points"], "Points of the cloud."),
            "waiting": (service.memory.store.waiting, "Changes not yet on disk."),
            "uptime_seconds": (state["uptime"], "Seconds since the start."),
        }
        lines = [*_request_lines(service.requests), *_value_lines(values)]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    return router


def _request_lines(requests: RequestCounts) -> Iterable[str]:
    counts, buckets, seconds = requests.snapshot()
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


def _value_lines(values: dict[str, tuple[float, str]]) -> Iterable[str]:
    for name, (value, help_text) in values.items():
        yield from _head(f"lastseen_{name}", "counter" if name.endswith("_total") else "gauge", help_text)
        shown = f"{value:.6f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
        yield f"lastseen_{name} {shown}"


def _head(name: str, kind: str, help_text: str) -> Iterable[str]:
    yield f"# HELP {name} {help_text}"
    yield f"# TYPE {name} {kind}"
