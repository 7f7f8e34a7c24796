"""The step log: one JSON object per line, equal to the byte for equal input, seed and answers.

Wall-clock figures have no place in it.
"""

from __future__ import annotations

from os import PathLike
from typing import Any

from lastseen.runtime.json_lines import JsonLines


class StepLog(JsonLines):
    """Writes records as they come; without a path it only keeps the last one."""

    def __init__(self, path: str | PathLike[str] | None = None) -> None:
        super().__init__(path)
        self.last: dict[str, Any] | None = None

    def write(self, record: dict[str, Any]) -> None:
        """Append one record; it is in the file when this returns."""
        self.last = record
        self.append(record)
