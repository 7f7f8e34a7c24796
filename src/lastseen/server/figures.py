"""``/health``, ``/stats``, ``/metrics``: how the server does, for people, agents and monitors."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from lastseen.server.answers import refuse, reply
from lastseen.server.metrics import gauges
from lastseen.server.service import Service


def routes(service: Service) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["figures"])

    def health() -> Response:
        """Whether all is well; degraded still answers."""
        reasons = service.health()
        return reply({"status": "degraded", "reasons": reasons} if reasons else {"status": "ok"})

    router.get("/healthz")(health)
    router.get("/health")(health)

    @router.get("/readyz")
    def ready() -> Response:
        """Whether requests are wanted."""
        return refuse(503, "shutting down") if service.stopping else reply({"status": "ready"})

    @router.get("/stats")
    def stats() -> Response:
        """The figures that are polled."""
        return reply(service.stats())

    @router.get("/stats/detailed")
    def detailed() -> Response:
        """The same, and what memory takes on disk and in RAM; costs a pass over the file."""
        facts = service.memory.stats()
        return reply(
            {
                **service.stats(),
                "counts": facts["counts"],
                "disk": facts["disk"],
                "ram": facts["ram"],
                "encoder": facts["encoder"],
                "image_encoder": facts["image_encoder"],
                "waiting": service.memory.store.waiting,
                "events": service.hub.events_told,
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
            "events_total": (service.hub.events_told, "Events told to watchers."),
            "websocket_clients": (state["clients"], "Connected watchers."),
            "points": (state["points"], "Points of the cloud."),
            "waiting": (service.memory.store.waiting, "Changes not yet on disk."),
            "uptime_seconds": (state["uptime"], "Seconds since the start."),
        }
        lines = [*service.requests.lines(), *gauges(values)]
        return PlainTextResponse("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4")

    return router
