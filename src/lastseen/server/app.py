"""The application: routes, live events and MCP over one service, behind one guard."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

import anyio.to_thread
from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from lastseen import __version__
from lastseen.errors import MissingExtra
from lastseen.server import camera, corrections, ingest, page, rest, rtsm, searching, status, websocket
from lastseen.server.connections import Connections
from lastseen.server.middleware import CountRequests, KeepMemoryOpen, RobotFirst
from lastseen.server.responses import error_response, install_error_handlers
from lastseen.server.security import Access, Guard
from lastseen.server.service import Service


def create_app(service: Service, access: Access, connections: Connections) -> FastAPI:
    """An ASGI application; whoever runs it opens and closes the memory."""
    ticker, limits = websocket.Ticker(service), service.settings.server
    agent_routes, agents = _agents(service)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        anyio.to_thread.current_default_thread_limiter().total_tokens = limits.readers
        ticking = asyncio.create_task(ticker.run())
        try:
            async with agents():
                yield
        finally:
            service.stopping = True
            ticker.wake()
            ticking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ticking

    app = FastAPI(
        title="lastseen",
        version=__version__,
        description="What a robot saw, where and when.",
        lifespan=lifespan,
        # the usual pages load scripts from elsewhere
        docs_url=None,
        redoc_url=None,
        middleware=[
            Middleware(CountRequests, counts=service.requests, stopping=lambda: service.stopping),
            Middleware(Guard, access=access, settings=limits, connections=connections),
            Middleware(KeepMemoryOpen, in_flight=service.in_flight),
            Middleware(RobotFirst, readers=limits.readers, patience=limits.patience),
        ],
    )
    install_error_handlers(app)
    for part in (rest, camera, corrections, ingest):
        app.include_router(part.routes(service))
    app.include_router(searching.routes(service, has_token=access.token is not None))
    app.include_router(rtsm.routes(service, access))
    app.include_router(status.routes(service, access))
    app.include_router(page.routes(access))
    app.include_router(websocket.routes(service, ticker))
    app.router.routes.extend(agent_routes)
    page.mount(app)
    return app


def _agents(service: Service) -> tuple[list[BaseRoute], Callable[[], AbstractAsyncContextManager[None]]]:
    """The routes of MCP and what must run beside them; where the extra is not installed, one that says so."""
    if find_spec("mcp") is None:
        return [Route("/mcp", _not_installed, methods=["GET", "POST", "DELETE"])], contextlib.nullcontext
    from mcp.server.transport_security import TransportSecuritySettings

    from lastseen.server.mcp_server import create_mcp

    server = create_mcp(lambda: service)
    # the guard has checked Host, Origin and token already; without sessions nothing is kept between questions
    served = server.streamable_http_app(
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return [Route("/mcp", _no_stream, methods=["GET", "DELETE"]), *served.routes], server.session_manager.run


async def _not_installed(_: Request) -> Response:
    return error_response(501, str(MissingExtra("MCP over HTTP", extra="mcp")))


async def _no_stream(_: Request) -> Response:
    """Without sessions there is nothing to stream and nothing to end; MCP's clients know this answer."""
    answer = error_response(405, "POST questions here: without sessions there is no stream")
    answer.headers["allow"] = "POST"
    return answer
