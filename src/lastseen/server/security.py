"""Who may ask, and how much and how slowly: every request passes here first, whether REST, WebSocket or MCP.

A browser must not be turned against the home it runs in: the Host must be ours (DNS rebinding), an Origin must be the
page's own, and a POST must say that it is JSON, which no foreign form can. With a token nothing but the page itself
is given without it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections import OrderedDict
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket

from lastseen.config.programs import Server
from lastseen.errors import InvalidValue
from lastseen.server.connections import Connections
from lastseen.server.responses import allowed_methods, error_response

MAX_QUERY = 4096
"""Bytes: a question in words and a dozen parameters."""
MAX_SESSIONS = 64
"""Pages logged in at once; the oldest goes first."""
MIN_TOKEN = 16
"""Characters: shorter ones can be guessed over a network."""
BODY_DEADLINE = 30.0
"""Seconds from a header to the end of its body: the largest one takes as long at 4 Mbit/s."""
SMALL_BODY = 4096
"""Bytes of a body where a few short fields are wanted."""
BODY_LIMITS = {"/session": 1024, "/mcp": 65_536}
"""Bytes of a body by path: a token; an agent's question. Frames have their own, server.max_body."""
BODIES_HELD = 4
"""Largest bodies that may be held at once, by all: frames are taken one by one anyway."""
OPEN_PATHS = ("/", "/viewer", "/session", "/health", "/healthz", "/readyz", "/favicon.ico")
FRAME_PATHS = ("/ingest/frames", "/ingest/observations")
_OPEN_FOLDER = "/viewer/"
_WITH_BODY = ("POST", "PUT", "PATCH")
_POLICY = (
    "default-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; worker-src 'self' blob:; "
    "connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'; object-src 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Sessions:
    """Pages that showed the token; only hashes of what they were given are kept, and all end with the process."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def begin(self) -> str:
        """A new session's secret; the oldest session ends when there are too many."""
        secret = secrets.token_urlsafe(32)
        self._known[_digest(secret)] = None
        while len(self._known) > self._limit:
            self._known.popitem(last=False)
        return secret

    def holds(self, secret: str | None) -> bool:
        """Whether a secret is of a session that goes on."""
        return secret is not None and _digest(secret) in self._known

    def end(self, secret: str | None) -> None:
        """End a session; one that is none is no error."""
        if secret is not None:
            self._known.pop(_digest(secret), None)


class Access:
    """The token, the sessions it opened, and the names this server answers to."""

    def __init__(
        self,
        *,
        token: str | None,
        host: str,
        port: int,
        max_sessions: int = MAX_SESSIONS,
        allowed: Iterable[str] = (),
    ) -> None:
        check_token(token)
        self.token = token
        self.cookie = f"lastseen_session_{port}"
        self.sessions = Sessions(max_sessions)
        self._loopback = is_loopback(host)
        self._names = {"localhost", host.lower(), socket.gethostname().lower(), *(name.lower() for name in allowed)}

    def knows_host(self, value: str | None) -> bool:
        """Whether a Host header names this server; a number cannot be rebound, a name can."""
        name = _host_name(value)
        if name is None:
            return False
        if name in self._names:
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._loopback

    def token_fits(self, given: str | None) -> bool:
        """Compare in a time that tells nothing about the token."""
        if self.token is None:
            return True
        return given is not None and hmac.compare_digest(_digest(given), _digest(self.token))

    def allows(self, request: HTTPConnection) -> bool:
        """Whether a request shows the token or the cookie of a session."""
        if self.token is None:
            return True
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.token_fits(given.strip()):
            return True
        return self.sessions.holds(request.cookies.get(self.cookie))


def check_token(token: str | None) -> None:
    """Refuse a token that could be guessed or not be typed."""
    if token is not None and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable()):
        raise InvalidValue(
            "token",
            f"{len(token)} characters",
            f"must be {MIN_TOKEN} or more plain characters",
            remedy="leave it out to have one made",
        )


class Guard:
    """The middleware that refuses what may not pass, limits what does, and adds the headers of every response."""

    def __init__(self, app: ASGIApp, *, access: Access, settings: Server, connections: Connections) -> None:
        self.app = app
        self.access = access
        self.settings = settings
        self.connections = connections
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        allowed = self.access.allows(request)
        refusal = self._refusal(scope, request.headers, allowed=allowed)
        if refusal is not None:
            status, message = refusal
            if scope["type"] == "websocket":
                # accepted first: a browser shows a page the code of a close, but not of a refused handshake
                socket = WebSocket(scope, receive, send)
                await socket.accept()
                await socket.close(4401 if status == 401 else 1008, message[:120])
                return
            answer = error_response(status, message)
            if status == 401:
                answer.headers["www-authenticate"] = 'Bearer realm="lastseen"'
            await answer(scope, receive, _with_headers(send))
            return
        if allowed:
            self.connections.trust(scope.get("client"))
        if scope["type"] == "websocket":
            await self.app(scope, receive, send)
        elif _takes_body(scope):
            await self._pass_on_with_body(
                scope, receive, _with_headers(send), length=int(request.headers["content-length"])
            )
        else:
            await self.app(scope, receive, _with_headers(send))

    async def _pass_on_with_body(self, scope: Scope, receive: Receive, send: Send, *, length: int) -> None:
        """Read the whole body first, within its deadline and within what all bodies together may take."""
        if self._held + length > BODIES_HELD * self.settings.max_body:
            await error_response(503, "too many bodies at once; try again")(scope, receive, send)
            return
        self._held += length
        try:
            try:
                async with asyncio.timeout(BODY_DEADLINE):
                    body = await Request(scope, receive).body()
            except ClientDisconnect:
                return
            except TimeoutError:
                answer = error_response(408, f"the body did not come within {BODY_DEADLINE:g} s")
                answer.headers["connection"] = "close"
                await answer(scope, receive, send)
                return
            whole = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return whole.pop() if whole else await receive()

            await self.app(scope, replay, send)
        finally:
            self._held -= length

    def _refusal(self, scope: Scope, headers: Headers, *, allowed: bool) -> tuple[int, str] | None:
        host = headers.get("host")
        if not self.access.knows_host(host):
            return 400, "Host is not this server; use its address, or start it with --allow-host NAME"
        origin = headers.get("origin")
        if origin is not None and not _same_origin(origin, host):
            return 400, "Origin is not this server's page; other pages may not ask"
        path, method = scope["path"], scope.get("method", "GET")
        is_page = path in OPEN_PATHS or path.startswith(_OPEN_FOLDER)
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not (is_page and method == "GET"):
            return 400, "another page may not ask this server"
        if len(scope.get("query_string", b"")) > MAX_QUERY:
            return 413, f"the query is longer than {MAX_QUERY} bytes"
        if not is_page and not allowed:
            return 401, "this server wants a token: Authorization: Bearer TOKEN"
        if scope["type"] == "http" and _takes_body(scope):
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind != "application/json":
                return 415, "Content-Type must be application/json"
            length = headers.get("content-length", "")
            # a body in chunks may have any length; one that says its length is held to it by the HTTP parser
            if "transfer-encoding" in headers or not length.isdecimal():
                return 411, "Content-Length must say how long the body is"
            limit = self.settings.max_body if path in FRAME_PATHS else BODY_LIMITS.get(path, SMALL_BODY)
            if len(length) > 12 or int(length) > limit:
                return 413, f"the body is larger than {limit} bytes"
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("cache-control", "no-store")
        await send(message)

    return sending


def _takes_body(scope: Scope) -> bool:
    """Whether a request has a body that some route reads; another method's is answered unread."""
    return scope["method"] in _WITH_BODY and scope["method"] in allowed_methods(scope["app"], scope)


def _same_origin(origin: str, host: str | None) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and host is not None and parts.netloc.lower() == host.lower()


def _host_name(value: str | None) -> str | None:
    """The name in a Host header, without port and brackets."""
    if not value:
        return None
    try:
        return urlsplit(f"//{value}").hostname
    except ValueError:
        return None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
