"""One JSON object per line, in the file when ``write`` returns: what every log of a run is written with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from lastseen.errors import InvalidValue


class JsonLines:
    """Writes records to a file as they come; without a path it writes nothing.

    ``append`` goes on after what the file holds; a new file is begun otherwise.
    """

    def __init__(self, path: str | PathLike[str] | None = None, *, append: bool = False) -> None:
        self._file: TextIO | None = None
        if path is not None:
            try:
                self._file = Path(path).open("a" if append else "w", encoding="utf-8")  # noqa: SIM115 - closed by close()
            except OSError as error:
                raise InvalidValue(
                    "log file", str(path), f"cannot be written ({error.strerror})", remedy="check the path"
                ) from error

    def append(self, record: Mapping[str, Any]) -> None:
        """Add one line."""
        if self._file is not None:
            # ascii, so that text which is no valid Unicode (a broken label) can be written at all
            self._file.write(json.dumps(record, sort_keys=True, allow_nan=False) + "\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file; may be called twice."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
