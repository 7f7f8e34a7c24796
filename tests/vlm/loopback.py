"""A model server of our own on the loopback, so that the real SDKs can be run without a network or a key."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class ModelServer:
    """Answers every POST; ``answers`` are (status, body) in turn, the last one for ever, and requests are kept.

    A body may be a function of the request.
    """

    def __init__(self, first: object, *, path: str = "") -> None:
        self.answers: list[tuple[int, object]] = [(200, first)]
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.delay = 0.0
        self._path = path
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests.append(json.loads(body))
                outer.paths.append(self.path)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                time.sleep(outer.delay)
                status, reply = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if callable(reply):
                    reply = reply(outer.requests[-1])
                data = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    # clients that would wait for seconds before they ask again wait as long as this says
                    self.send_header("retry-after-ms", "1")
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client hung up first: what the test of slowness is about

            def log_message(self, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self._path}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
