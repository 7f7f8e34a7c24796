"""The command line as a test calls it: in this process for its exit code, or as a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lastseen.cli.main import main


def call(*words: object) -> int:
    """The exit code of a command that runs in this process; what it prints goes to ``capsys``."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return int(ended.value.code or 0)


def lastseen(*words: object) -> subprocess.CompletedProcess[str]:
    """A command that ran as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "lastseen.cli.main", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
