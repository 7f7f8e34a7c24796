"""One real Milvus server for all tests that need it."""

from __future__ import annotations

import fcntl
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.store.milvus_server import MilvusServer
from tests.memory.store.namespace import Namespace


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    pytest.importorskip("milvus", reason="pip install milvus==2.3.5 for the server's binary")
    # one server at a time, however many test processes there are: each takes a core and half a gigabyte
    with (Path(tempfile.gettempdir()) / "lastseen-milvus-tests.lock").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        namespace = Namespace.make()
        running = MilvusServer(tmp_path_factory.mktemp("milvus"), namespace)
        try:
            running.start(limit=300.0)
            yield running
        finally:
            running.kill()
            if namespace is not None:
                namespace.close()
