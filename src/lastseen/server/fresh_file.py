"""A memory file that another process may be writing: read again when it has changed."""

from __future__ import annotations

import threading
from pathlib import Path

from lastseen.config import Settings
from lastseen.memory.facade import Memory
from lastseen.server.service import Service

_Mark = tuple[tuple[int, int], ...]


class FreshFile:
    """Gives the service over the newest state of a file; opened for reading only."""

    def __init__(self, path: Path, settings: Settings) -> None:
        self.path = path
        self.settings = settings
        self._lock = threading.Lock()
        self._mark = self._changed()
        self._service = self._open()
        self._before: Service | None = None

    def service(self) -> Service:
        """The service over what the file holds now."""
        mark = self._changed()
        with self._lock:
            if mark != self._mark:
                if self._before is not None:
                    self._before.memory.close()
                # a question may still be on its way through the last one: it is closed a change later
                self._mark, self._before, self._service = mark, self._service, self._open()
            return self._service

    def close(self) -> None:
        """Release the file."""
        for service in (self._before, self._service):
            if service is not None:
                service.memory.close()

    def _open(self) -> Service:
        return Service(Memory.open(self.path, settings=self.settings, read_only=True))

    def _changed(self) -> _Mark:
        """Size and time of the file and of what SQLite keeps beside it."""
        found = []
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                stat = path.stat()
            except FileNotFoundError:
                continue
            found.append((stat.st_mtime_ns, stat.st_size))
        return tuple(found)
