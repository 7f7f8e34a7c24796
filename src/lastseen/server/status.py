"""``/health``, ``/stats``, ``/metrics``: how the server does, for people, agents and monitors.

The text that Prometheus reads is a page of lines; writing it here spares a dependency and keeps the label sets
bounded by the routes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import PlainTextResponse, Response

from lastseen.server.middleware import BUCKETS, RequestCounts
from lastseen.server.responses import error_response, errors, json_response
from lastseen.server.schemas import Clearance, MemoryTime, RobotPose, Wall
from lastseen.server.security import Access
from lastseen.server.service import Service


class ServerState(BaseModel):
    """How the server itself does."""

    version: str
    mode: Literal["file", "source", "demo"]
    source: Literal["none", "waiting", "preparing", "running", "following", "ended", "failed"]
    source_error: str | None
    warning: str | None = Field(description="What is wrong with what is remembered, with the remedy.")
    frames: int
    frame_rate: float
    read_only: bool
    clients: int
    uptime: float
    points: int


class Stats(BaseModel):
    """The figures that people and agents poll."""

    objects: int
    confirmed: int
    tentative: int
    stale: int
    missing: int
    removed: int
    surfaces: int = Field(description="Floor, walls, table tops: confirmed, and not counted as objects.")
    avg_hits: float
    upserts_total: int
    sessions: int
    now: Wall
    now_memory_time: MemoryTime
    stale_after: float = Field(description="Seconds after which an unseen object is stale.")
    robot_pose: RobotPose | None
    forward_clearance: Clearance | None
    server: ServerState


class SharedIndex(BaseModel):
    """The index that several robots share, as this memory reaches it."""

    address: str
    queued: int = Field(description="Changes that wait to be sent.")
    error: str | None = Field(description="Why they wait; they are tried again.")


class DetailedStats(Stats):
    """The same, and bytes on disk and in RAM."""

    counts: dict[str, int]
    disk: dict[str, int]
    ram: dict[str, int]
    encoder: str
    image_encoder: str | None
    shared_index: SharedIndex | None
    waiting: int = Field(description="Changes not yet on disk.")
    events: int = Field(description="Events published since the start.")


class Health(BaseModel):
    """Whether all is well; degraded still answers."""

    status: Literal["ok", "degraded"]
    reasons: list[str] | None = Field(default=None, description="Only for those who show the token.")


class Ready(BaseModel):
    """Requests are wanted."""

    status: Literal["ready"]


def routes(service: Service, access: Access) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["status"], responses=errors(400, 401, 405, 413))

    def health(request: Request) -> Response:
        """Whether all is well; degraded still answers, and tells those with the token why."""
        reasons = service.health()
        if not reasons:
            return json_response({"status": "ok"})
        told = {"reasons": reasons} if access.allows(request) else {}
        return json_response({"status": "degraded", **told})

    for path in ("/healthz", "/health"):
        router.get(path, response_model=Health, operation_id=f"health_{path[1:]}")(health)

    @router.get("/readyz", response_model=Ready, responses=errors(503))
    def ready() -> Response:
        """Whether requests are wanted."""
        return error_response(503, "shutting down") if service.stopping else json_response({"status": "ready"})

    @router.get("/stats", response_model=Stats)
    def stats() -> Response:
        """The figures that are polled."""
        return json_response(service.stats())

    @router.get("/stats/detailed", response_model=DetailedStats, responses=errors(503))
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
