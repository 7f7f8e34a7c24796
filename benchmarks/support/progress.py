"""A line that is overwritten while a benchmark works: for people at a terminal, and silent in a log."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Replace the line of progress; nothing where nobody watches."""
    if sys.stderr.isatty():
        print(f"  {text}".ljust(78), end="\r", file=sys.stderr, flush=True)
