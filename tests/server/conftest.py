"""A real server on a free port of loopback, over a small room that was walked; one for each module."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.server.run import Running, in_background, listen
from lastseen.server.service import Service
from tests.memory.homes import walk


@contextmanager
def serving(
    memory: Memory, *, service: Service | None = None, host: str = "127.0.0.1", token: str | None = None
) -> Iterator[Running]:
    """Serve a memory while the block runs."""
    running = Running(service or Service(memory), listen(host=host, port=0, token=token))
    with in_background(running, wait=time.sleep):
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server over the room of the memory tests: two mugs, a bowl, a chair, a sofa, with pictures."""
    path: Path = tmp_path_factory.mktemp("served") / "home.lastseen"
    with Memory.open(path, settings=Settings()) as memory:
        walk(memory, 8, looks="random")
        memory.flush()
        with serving(memory) as running:
            yield running


@pytest.fixture(autouse=True)
def no_file_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that name no memory file use one of the test's own."""
    monkeypatch.setenv("LASTSEEN_MEMORY", str(tmp_path / "home.lastseen"))
