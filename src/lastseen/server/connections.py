"""Who holds a connection, and for how long: strangers must not keep those out who may ask.

A connection belongs to a stranger until a request on it was allowed (with the token, where there is one). Strangers
have deadlines and at most half of all connections; where they have too many, their oldest one is closed, so a new
connection always finds room and one that shows the token at once keeps it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_DEADLINE = 10.0
"""Seconds from the first byte of a request, or from connecting, to the end of its header: slow networks need one."""
STRANGERS_PER_ADDRESS = 128
"""Connections of strangers from one address: a browser opens six, a house behind one address some dozens."""

Client = tuple[str, int]


@dataclass(slots=True)
class _Connection:
    transport: asyncio.Transport
    is_stranger: bool = True


class Connections:
    """All open connections, oldest first; used on the event loop only."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._open: OrderedDict[Client, _Connection] = OrderedDict()

    def add(self, client: Client, transport: asyncio.Transport) -> None:
        """Take a new connection; where there is no room a stranger's oldest one is closed, or else this one."""
        for known in [known for known, one in self._open.items() if one.transport.is_closing()]:
            del self._open[known]
        strangers = [known for known, one in self._open.items() if one.is_stranger]
        neighbours = [known for known in strangers if known[0] == client[0]]
        if len(neighbours) >= STRANGERS_PER_ADDRESS:
            self._close(neighbours[0])
        elif len(strangers) >= self.limit // 2:
            self._close(strangers[0])
        elif len(self._open) >= self.limit:
            if not strangers:
                transport.abort()
                return
            self._close(strangers[0])
        self._open[client] = _Connection(transport)

    def remove(self, client: Client) -> None:
        """Forget a connection that ended."""
        self._open.pop(client, None)

    def trust(self, client: Client | None) -> None:
        """Say that a request of this connection was allowed: it is no stranger's, and is not closed for room."""
        known = None if client is None else self._open.get(client)
        if known is not None:
            known.is_stranger = False

    def __len__(self) -> int:
        return len(self._open)

    def _close(self, client: Client) -> None:
        self._open.pop(client).transport.abort()


class TimedProtocol(H11Protocol):
    """HTTP that closes a connection whose request header does not come in time, and counts it while it is open."""

    def __init__(self, *args: Any, connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection and wait for its first request."""
        super().connection_made(transport)
        if self.client is not None:
            self._connections.add(self.client, transport)
        self._await_header()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._header_came()
        if self.client is not None:
            self._connections.remove(self.client)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; those outside of a request that is being answered begin, or go on with, a header."""
        super().data_received(data)
        answering = self.cycle is not None and not self.cycle.response_complete
        # an upgraded connection is another protocol's, which has deadlines of its own
        upgraded = self.transport.get_protocol() is not self
        if answering or upgraded:
            self._header_came()
        elif self._deadline is None:
            self._await_header()

    def on_response_complete(self) -> None:
        """Leave an idle connection to the time limit of keep-alive."""
        self._header_came()
        super().on_response_complete()

    def _await_header(self) -> None:
        self._deadline = self.loop.call_later(HEADER_DEADLINE, self.transport.abort)

    def _header_came(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
