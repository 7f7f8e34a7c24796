"""The worker as a process: started with the Python of a Habitat environment, asked over a loopback socket, ended."""

from __future__ import annotations

import hmac
import os
import secrets
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from lastseen.closing import Closes
from lastseen.errors import InvalidValue, LastseenError
from lastseen.evaluation.habitat import worker

_CONNECTS = 60.0
"""Seconds for the worker to connect: an interpreter and numpy from a slow disk."""
_OPENS = 1800.0
"""Seconds to import Habitat, read the episodes of a split and load the first scene."""
_ANSWERS = 600.0
"""Seconds for one action, or for the scene of the next episode."""
_ENDS = 5.0
"""Seconds for the worker to end by itself; Habitat closes its window and its scenes."""
_STRANGERS = 20
"""Connections of others on this machine that are turned away before the start is given up."""
_LAST_LINES = 2000
"""Bytes at the end of the log in which the last line is looked for."""


class WorkerProcess(Closes):
    """One worker; ``ask`` sends a request and waits for its answer.

    >>> with WorkerProcess("env/bin/python", log=Path("habitat.log")) as process:  # doctest: +SKIP
    ...     facts, _ = process.ask("open", config="...", overrides=[])

    Args:
        python: The interpreter of the Habitat environment.
        log: Where everything that Habitat prints is appended.
    """

    def __init__(self, python: str | Path, *, log: Path) -> None:
        self.python, self.log = str(python), log
        greeting = secrets.token_hex(16)
        with socket.create_server(("127.0.0.1", 0)) as server, log.open("ab") as output:
            command = [self.python, str(Path(worker.__file__)), str(server.getsockname()[1])]
            try:
                # the interpreter is the user's own choice
                self._process = subprocess.Popen(  # noqa: S603
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env={**os.environ, worker.GREETING: greeting},
                )
            except OSError as error:
                raise InvalidValue(
                    "--python",
                    self.python,
                    f"cannot be started ({error.strerror})",
                    remedy="give the bin/python of the environment that has habitat-lab",
                ) from error
            try:
                self._socket, self.version = self._accept(server, greeting)
            except BaseException:
                self._end()
                raise

    def ask(self, do: str, *, during: str = "", **fields: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Send one request; returns the answer and its arrays.

        Raises:
            InvalidValue: Habitat refused it; the message has the first line of what it said.
            LastseenError: The worker ended or does not answer; ``during`` says in the middle of what.
        """
        self._socket.settimeout(_OPENS if do == "open" else _ANSWERS)
        try:
            worker.send(self._socket, {"do": do, **fields})
            message, arrays = worker.receive(self._socket)
        except TimeoutError as error:
            raise self._lost("does not answer", during) from error
        except (OSError, EOFError) as error:
            raise self._lost(f"ended ({self._exit()})", during) from error
        except worker.ProtocolError as error:
            raise self._lost(f"said what is no message ({error})", during) from error
        if "error" in message:
            raise InvalidValue(
                "habitat",
                self.python,
                f"{do} failed: {message['error']}",
                remedy=f"see {self.log} for the whole of it",
            )
        return message, arrays

    def close(self) -> None:
        """End the worker; may be called twice."""
        self._socket.close()
        self._end()

    @property
    def pid(self) -> int:
        """The process of the worker."""
        return self._process.pid

    def _accept(self, server: socket.socket, greeting: str) -> tuple[socket.socket, str]:
        """The worker's connection and its Python; others on this machine, who do not know the word, are dropped."""
        server.settimeout(0.1)
        until = time.monotonic() + _CONNECTS
        strangers = 0
        while time.monotonic() < until and strangers < _STRANGERS:
            if self._process.poll() is not None:
                raise self._lost(f"ended before it began ({self._exit()})", "")
            try:
                connection, _ = server.accept()
            except TimeoutError:
                continue
            connection.settimeout(_ENDS)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                hello, _ = worker.receive(connection)
            except (OSError, EOFError, worker.ProtocolError):
                hello = {}
            if hmac.compare_digest(str(hello.get("greeting", "")).encode(), greeting.encode()):
                return connection, str(hello.get("python", "unknown"))
            connection.close()
            strangers += 1
        raise self._lost("did not connect", "")

    def _lost(self, how: str, during: str) -> LastseenError:
        where = f" in {during}" if during else ""
        last = self._last_line()
        said = f": {last}" if last else ""
        return LastseenError(
            f"the Habitat worker ({self.python}) {how}{where}{said}; see {self.log}, then run the same command "
            "again: it goes on"
        )

    def _exit(self) -> str:
        try:
            code = self._process.wait(_ENDS)
        except subprocess.TimeoutExpired:
            return "closed its connection"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _last_line(self) -> str:
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - _LAST_LINES))
            lines = file.read().decode("utf-8", "replace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")

    def _end(self) -> None:
        try:
            self._process.wait(_ENDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
