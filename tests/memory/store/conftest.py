"""One real Milvus server for all tests of a process that need it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.memory.store.milvus_server import MilvusServer
from tests.memory.store.namespace import Namespace


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusServer]:
    pytest.importorskip("milvus", reason="pip install milvus==2.3.5 for the server's binary")
    namespace = Namespace.make()
    running = MilvusServer(tmp_path_factory.mktemp("milvus"), namespace)
    try:
        running.start()
        yield running
    finally:
        running.kill()
        if namespace is not None:
            namespace.close()
