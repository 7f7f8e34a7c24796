"""Running a server until it is told to stop: the socket, the signals, and a memory that is whole at the end."""

from __future__ import annotations

import contextlib
import errno
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import uvicorn

from lastseen.errors import InvalidValue
from lastseen.server.app import create_app
from lastseen.server.security import Access, is_loopback
from lastseen.server.service import Service
from lastseen.server.watcher import MAX_COMMAND

_GRACE = 5
"""Seconds that running requests get when the server stops."""


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


class Running:
    """A bound server; ``serve`` blocks until ``stop`` or a signal."""

    def __init__(
        self,
        service: Service,
        *,
        host: str,
        port: int,
        token: str | None = None,
        insecure: bool = False,
        allowed: tuple[str, ...] = (),
    ) -> None:
        token = token_for(host, given=token, insecure=insecure)
        self._socket = _bind(host, port)
        self.address = Address(host, int(self._socket.getsockname()[1]), token)
        limits = service.settings.server
        access = Access(
            token=token, host=host, port=self.address.port, max_sessions=limits.max_sessions, allowed=allowed
        )
        self.app = create_app(service, access)
        self.service = service
        config = uvicorn.Config(
            self.app,
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=limits.max_connections,
            timeout_graceful_shutdown=_GRACE,
            ws_max_size=4 * MAX_COMMAND,
            ws_per_message_deflate=False,
            lifespan="on",
        )
        self._server = uvicorn.Server(config)

    def serve(self) -> None:
        """Serve until told to stop; what memory holds is on disk when this returns."""
        try:
            with _signals_taken(self.stop), _quick_turns():
                self._server.run(sockets=[self._socket])
        finally:
            self.service.stopping = True
            self._socket.close()
            self.service.memory.flush()

    def stop(self) -> None:
        """Ask for the end; safe from any thread."""
        self.service.stopping = True
        self._server.should_exit = True

    def pending_bytes(self) -> int:
        """Bytes that were written to clients and not yet taken by them."""
        transports = [connection.transport for connection in list(self._server.server_state.connections)]
        return sum(transport.get_write_buffer_size() for transport in transports if transport is not None)

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
def _signals_taken(stop: Callable[[], None]) -> Iterator[None]:
    """Let SIGINT and SIGTERM end the server and nothing more: it raises them again when it is done.

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
        # from here on who connects waits instead of being refused: the address may be told
        bound.listen(128)
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            raise InvalidValue("port", port, "is in use", remedy="give another with --port, or 0 for any") from None
        raise InvalidValue("host", host, f"cannot be bound ({error.strerror})", remedy="see `ip address`") from None
    return bound
