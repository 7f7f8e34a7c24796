"""What holds a file, a socket or a process, and lets go of it at the end of a ``with`` block."""

from __future__ import annotations

from typing import Self


class Closes:
    """Is closed when the block ends, whatever happened in it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of what is held."""
        raise NotImplementedError
