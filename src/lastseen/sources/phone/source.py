"""``phone://``: frames that a page in a phone's browser sends (WebXR: camera image, depth and pose).

Without an address the page is served to the home network, over TLS; on loopback (``phone://127.0.0.1:8443`` and
``adb reverse``) without, because localhost needs none. The address holds a token that opens one page, once; what that
page is given to come back with ends with the process. One phone sends at a time.
"""

from __future__ import annotations

import hashlib
import hmac
import importlib.resources
import ipaddress
import json
import re
import secrets
import socket
import ssl
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from lastseen.errors import MissingExtra, SourceError, needs_extra
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.sources.live import POLL, LiveSource
from lastseen.sources.message import MAX_HEADER, unpack
from lastseen.sources.options import SourceOptions
from lastseen.sources.phone.certificate import make_certificate
from lastseen.sources.record import RawRecord

PORT = 8443
"""Where the page is served unless the address says otherwise."""

HELLO = 10.0
"""Seconds that a page has to show its token."""

MAX_PAGES, MAX_MESSAGE = 4, 8 * 2**20
"""Pages that may wait with their token at once, and bytes of a message: a frame of the page has 200 kB."""

MAX_CONNECTIONS, MAX_FROM_ONE = 48, 16
"""Connections at once, in all and from one address: each is a thread, and has ten seconds to say what it wants."""

TOLD_EVERY = 10
"""Frames after which the page is told how many came."""

REFUSED, BUSY = 4401, 4409
"""Codes of a closed socket: the token is not good, another phone sends."""

_PAGES = {"/": ("page.html", "text/html"), "/page.js": ("page.js", "text/javascript")}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "frame-ancestors 'none'; form-action 'none'; object-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class PhoneSource(LiveSource[list[bytes]]):
    """Frames that one phone's page sends; ``greeting`` says how to open it."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        # ARKit's and ARCore's conventions are WebXR's: y up, the camera looks along -z
        given = options or SourceOptions()
        super().__init__(
            f"phone://{address}",
            given.replaced(world_up=WorldUp.Y.value, camera_axes=CameraAxes.OPENGL.value),
        )
        if find_spec("websockets") is None:
            raise MissingExtra("a phone's page", extra="phone")
        self.host, port = _split(address)
        loopback = ipaddress.ip_address(self.host).is_loopback
        self._context: ssl.SSLContext | None = None
        self.certificate = b""
        if not loopback:
            self._context, self.certificate = make_certificate(self.host)
        self._token: str | None = secrets.token_urlsafe(24)
        self._session: str | None = None
        self._sending = threading.Lock()
        self._strangers = Strangers()
        self._listening = _bind(self.host, port)
        self.port = int(self._listening.getsockname()[1])

    @property
    def url(self) -> str:
        """What to open on the phone; the token is behind the #, which browsers keep to themselves."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        kind = "http" if self._context is None else "https"
        return f"{kind}://{host}:{self.port}/#token={self._token}"

    @property
    def greeting(self) -> str:
        """The address as text and as a QR code, and how to know that it is this server."""
        lines = [f"phone: {self.url}"]
        if self._context is None:
            lines.append(f"  on the phone's cable first: adb reverse tcp:{self.port} tcp:{self.port}")
            return "\n".join(lines)
        digest = hashlib.sha256(self.certificate).hexdigest().upper()
        lines.append("  the browser warns of an unknown certificate; its SHA-256 fingerprint must be")
        lines.append("  " + ":".join(digest[at : at + 2] for at in range(0, 64, 2)))
        return "\n".join([*lines, *_qr_code(self.url)])

    def receive(self, stop: threading.Event) -> None:
        """Serve the page and take frames until it is stopped."""
        from websockets.sync.server import serve

        server = serve(
            self._handle,
            sock=self._listening,
            ssl=self._context,
            process_request=self._answer,
            max_size=MAX_MESSAGE,
            compression=None,
            server_header=None,
        )
        server.handler = self._strangers.limited(server.handler)
        serving = threading.Thread(target=server.serve_forever, name=f"{self.address} page", daemon=True)
        serving.start()
        while not stop.wait(POLL) and serving.is_alive():
            pass
        server.shutdown()
        serving.join()
        if not stop.is_set():
            # websockets ends without a word where no connection can be taken any more
            raise SourceError("phone address", self.address, "is served no more", remedy="check `ulimit -n`")

    def decode(self, item: list[bytes]) -> RawRecord:
        """The record of a message."""
        return unpack(item, max_pixels=self.options.max_pixels)[0]

    def close(self) -> None:
        """Stop, and give the address back."""
        super().close()
        self._listening.close()

    def _answer(self, connection: Any, request: Any) -> Any:
        """The page and its script; a socket is let through where it comes from our page."""
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        def response(status: int, reason: str, body: bytes, kind: str) -> Response:
            headers = Headers({**_HEADERS, "Content-Type": f"{kind}; charset=utf-8"})
            headers["Content-Length"], headers["Connection"] = str(len(body)), "close"
            return Response(status, reason, headers, body)

        del connection
        host = request.headers.get("Host", "")
        if not _is_number_or_local(host):
            # a name can be made to lead here by another page
            return response(400, "Bad Request", b"use the address that lastseen has printed\n", "text/plain")
        path = urlsplit(request.path).path
        if path == "/frames":
            if urlsplit(request.headers.get("Origin", "")).netloc != host:
                return response(403, "Forbidden", b"another page may not send here\n", "text/plain")
            return None
        if path not in _PAGES:
            return response(404, "Not Found", b"there is only one page here: /\n", "text/plain")
        name, kind = _PAGES[path]
        body = importlib.resources.files("lastseen.sources.phone").joinpath(name).read_bytes()
        return response(200, "OK", body, kind)

    def _handle(self, connection: Any) -> None:
        """One page: first its token, then frames; each is taken or counted with what is wrong about it."""
        from websockets.exceptions import ConnectionClosed

        try:
            with self._strangers.waiting(connection):
                hello = connection.recv(timeout=HELLO)
            session = self._session_of(hello)
            if session is None:
                connection.close(REFUSED, "this address was used already, or is of an earlier start")
                return
            if not self._sending.acquire(blocking=False):
                connection.close(BUSY, "another phone is sending")
                return
        except (ConnectionClosed, TimeoutError):
            return
        try:
            connection.send(json.dumps({"session": session, "received": 0}))
            for count, message in enumerate(connection, start=1):
                if not self._take(message):
                    return
                if count % TOLD_EVERY == 0:
                    connection.send(json.dumps({"received": count}))
        except ConnectionClosed:
            pass
        finally:
            self._sending.release()

    def _session_of(self, hello: Any) -> str | None:
        """The secret of the page that says hello: a new one for the token, its own when it comes back."""
        try:
            tree = json.loads(hello) if isinstance(hello, str) and len(hello) < MAX_HEADER else {}
        except (ValueError, RecursionError):
            return None
        if not isinstance(tree, dict):
            return None
        if self._session is not None and _same(tree.get("session"), self._session):
            return self._session
        if self._token is not None and _same(tree.get("token"), self._token):
            self._token, self._session = None, secrets.token_urlsafe(24)
            return self._session
        return None

    def _take(self, message: str | bytes) -> bool:
        """Pass a message on as its three parts; False when nobody reads any more."""
        parts = _parts(message) if isinstance(message, bytes) else None
        if parts is None:
            self.queue.skip("unreadable message", f"{len(message)} of it are no header, colour and depth")
            return True
        return self.queue.put(parts)


class Strangers:
    """Keeps those who have shown no token from taking the place of the one who has it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Counter[str] = Counter()
        self._waiting: list[Any] = []

    def limited(self, handle: Callable[[socket.socket, Any], None]) -> Callable[[socket.socket, Any], None]:
        """What handles a connection, for so many at once; the others are closed."""

        def taken(connection: socket.socket, address: Any) -> None:
            host = str(address[0])
            with self._lock:
                too_many = self._open.total() >= MAX_CONNECTIONS or self._open[host] >= MAX_FROM_ONE
                self._open[host] += not too_many
            if too_many:
                connection.close()
                return
            try:
                handle(connection, address)
            finally:
                with self._lock:
                    self._open[host] -= 1
                    self._open += Counter()

        return taken

    @contextmanager
    def waiting(self, connection: Any) -> Iterator[None]:
        """While a page has not shown its token: of too many the one that waits longest goes, for a page is quick."""
        with self._lock:
            self._waiting.append(connection)
            oldest = self._waiting.pop(0) if len(self._waiting) > MAX_PAGES else None
        if oldest is not None:
            with suppress(OSError):
                oldest.socket.shutdown(socket.SHUT_RDWR)
        try:
            yield
        finally:
            with self._lock, suppress(ValueError):
                self._waiting.remove(connection)


def _parts(message: bytes) -> list[bytes] | None:
    """Header, colour and depth of one message: two lengths (little endian), then the three."""
    if len(message) < 8:
        return None
    header, color = struct.unpack_from("<II", message)
    if header > MAX_HEADER or 8 + header + color > len(message):
        return None
    return [message[8 : 8 + header], message[8 + header : 8 + header + color], message[8 + header + color :]]


def _same(given: object, secret: str) -> bool:
    # JSON may hold halves of characters, which have no bytes
    return isinstance(given, str) and hmac.compare_digest(given.encode(errors="replace"), secret.encode())


def _is_number_or_local(host: str) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def _split(address: str) -> tuple[str, int]:
    """Host and port; without a host the address of this machine in its network."""
    found = re.fullmatch(r"(?P<host>[\d.]+|\[[\da-fA-F:]+\]|localhost)?(?::(?P<port>\d{1,5}))?", address)
    host = (found["host"] or "").strip("[]") if found else ""
    host = "127.0.0.1" if host == "localhost" else host
    try:
        port = int(found["port"] or PORT) if found else -1
        if host:
            ipaddress.ip_address(host)
    except ValueError:
        port = -1
    if not 0 <= port <= 65535:
        raise SourceError(
            "phone address", address, "is no address:port", remedy="phone:// or phone://192.168.1.5:8443"
        )
    return host or _network_address(), port


def _network_address() -> str:
    """The address that this machine has in its network; nothing is sent to find it."""
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError as error:
            raise SourceError(
                "phone address", "", f"cannot be found ({error.strerror})", remedy="join a network, or use a cable"
            ) from error


def _bind(host: str, port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(8)
    except OSError as error:
        listening.close()
        raise SourceError(
            "phone address", f"{host}:{port}", f"cannot be had ({error.strerror})", remedy="give another port"
        ) from error
    return listening


def _qr_code(text: str) -> list[str]:
    """The lines of a QR code for a terminal; none where the package for it is missing."""
    with needs_extra("a QR code", extra="phone"):
        import segno
    rows = [list(row) for row in segno.make(text, error="l").matrix_iter(border=2)]
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    # two rows of modules a line; a light module is a filled block, for terminals are dark
    blocks = {(0, 0): "█", (0, 1): "▀", (1, 0): "▄", (1, 1): " "}
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(blocks[int(up), int(down)] for up, down in zip(*pair, strict=True)) for pair in pairs]
