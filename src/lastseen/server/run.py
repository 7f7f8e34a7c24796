"""Running a server until it is told to stop: the socket, the signals, and a memory that is whole at the end."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import cast
from urllib.parse import quote

import uvicorn

from lastseen.errors import InvalidValue
from lastseen.server.app import create_app
from lastseen.server.connections import Connections, TimedProtocol
from lastseen.server.security import Access, check_token, is_loopback
from lastseen.server.service import Service
from lastseen.server.websocket import MAX_COMMAND

_GRACE = 1.0
"""Seconds that running requests and those who read slowly get when the server stops."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is reached; ``token`` is None where none is asked for."""

    host: str
    port: int
    token: str | None

    @property
    def base(self) -> str:
        """The root of all paths."""
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{shown}:{self.port}"

    @property
    def page(self) -> str:
        """What to open in a browser; the token is behind the #, which browsers keep to themselves."""
        return f"{self.base}/viewer/" + (f"#token={quote(self.token, safe='')}" if self.token else "")


def token_for(host: str, *, given: str | None, insecure: bool) -> str | None:
    """The token that an address needs: none on loopback unless given, and elsewhere one made if none was given."""
    if given is not None:
        return given
    if is_loopback(host) or insecure:
        return None
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Listening:
    """An address that is bound: who connects waits until a memory is served there."""

    socket: socket.socket
    address: Address
    access: Access

    def close(self) -> None:
        """Give the address back; may be called twice."""
        self.socket.close()


def listen(
    *,
    host: str,
    port: int,
    token: str | None = None,
    insecure: bool = False,
    allowed: tuple[str, ...] = (),
) -> Listening:
    """Bind an address and check who may ask there, before any memory is opened or made."""
    token = token_for(host, given=token, insecure=insecure)
    check_token(token)
    bound = _bind(host, port)
    address = Address(host, int(bound.getsockname()[1]), token)
    access = Access(token=token, host=host, port=address.port, allowed=allowed)
    return Listening(bound, address, access)


class _Uvicorn(uvicorn.Server):
    """Stops within a second: clients get the close code at once, and one that takes nothing is not waited for."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: once is enough, and impatience does not cut short what takes a moment anyway."""
        del sig, frame
        self._stopping()
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, end what is open, and let the application end."""
        self._stopping()
        timer = asyncio.get_running_loop().call_later(_GRACE, self._abort)
        await super().shutdown(sockets)
        timer.cancel()

    def _abort(self) -> None:
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()


class Running:
    """A bound server; ``serve`` blocks until ``stop`` or a signal."""

    def __init__(self, service: Service, listening: Listening) -> None:
        self._listening = listening
        self.address = listening.address
        connections = Connections(service.settings.server.max_connections)
        self.app = create_app(service, listening.access, connections)
        self.service = service
        config = uvicorn.Config(
            self.app,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            http=cast("type[asyncio.Protocol]", partial(TimedProtocol, connections=connections)),
            timeout_graceful_shutdown=2 * math.ceil(_GRACE),
            ws_max_size=4 * MAX_COMMAND,
            ws_per_message_deflate=False,
            lifespan="on",
        )
        self._server = _Uvicorn(config, self._leave)

    def serve(self) -> None:
        """Serve until told to stop; what memory holds is on disk when this returns."""
        try:
            with _quick_turns():
                self._server.run(sockets=[self._listening.socket])
        finally:
            self._leave()
            self._listening.close()
            self.service.memory.flush()

    def stop(self) -> None:
        """Ask for the end; safe from any thread."""
        self._leave()
        self._server.should_exit = True

    def _leave(self) -> None:
        self.service.stopping = True

    @property
    def started(self) -> bool:
        """Whether requests are answered."""
        return self._server.started


@contextlib.contextmanager
def in_background(running: Running, *, wait: Callable[[float], object]) -> Iterator[Running]:
    """Serve on a thread of its own while the block runs: for tests and notebooks."""
    thread = threading.Thread(target=running.serve, name="lastseen-server")
    thread.start()
    try:
        while not running.started and thread.is_alive():
            wait(0.01)
        yield running
    finally:
        running.stop()
        thread.join()


@contextlib.contextmanager
def signals_taken(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server and nothing more, until the block ends.

    The default answer to SIGTERM would end the process before memory is flushed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, lambda *_: stop()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _quick_turns() -> Iterator[None]:
    """Let threads take turns every millisecond instead of every five: a frame waits for four readers at most."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        # from here on who connects waits instead of being refused: the address may be printed
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidValue("port", port, "is in use", remedy="give another with --port, or 0 for any") from None
        raise InvalidValue("host", host, f"cannot be bound ({error.strerror})", remedy="see `ip address`") from None
    return bound
