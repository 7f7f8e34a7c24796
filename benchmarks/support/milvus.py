"""A real Milvus server beside memory, where the extra and the server's package are installed."""

from __future__ import annotations

import fcntl
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from lastseen.memory.store.milvus import MilvusIndex
from support.objects import DIM
from support.progress import say

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
from tests.memory.store.milvus_server import MilvusServer
from tests.memory.store.namespace import Namespace

__all__ = ["MilvusServer", "filled_milvus", "running_milvus", "running_server"]


@contextmanager
def running_milvus() -> Iterator[str | None]:
    """The address of a server for as long as it is needed; None where it cannot be had."""
    with running_server() as server:
        yield None if server is None else server.address


@contextmanager
def running_server() -> Iterator[MilvusServer | None]:
    """A server for as long as it is needed; None where it cannot be had."""
    missing = [name for name in ("pymilvus", "milvus") if find_spec(name) is None]
    if missing:
        print(f"Milvus FLAT is left out: {' and '.join(missing)} not installed (pip install lastseen[milvus] milvus)")
        yield None
        return
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        (Path(tempfile.gettempdir()) / "lastseen-milvus-tests.lock").open("w") as turn,
    ):
        say("waiting for other Milvus servers to end")
        fcntl.flock(turn, fcntl.LOCK_EX)
        say("starting Milvus")
        namespace = Namespace.make()
        server = MilvusServer(Path(folder), namespace)
        try:
            server.start()
            yield server
        finally:
            server.kill()
            if namespace is not None:
                namespace.close()


def filled_milvus(address: str, vectors: np.ndarray) -> MilvusIndex:
    """A FLAT collection of these vectors."""
    index = MilvusIndex(f"milvus://{address}/search_{len(vectors)}", DIM, timeout=120.0)
    for first in range(0, len(vectors), 2000):
        say(f"filling Milvus: {first:,} of {len(vectors):,}")
        some = vectors[first : first + 2000]
        index.upsert([f"obj-{first + i}" for i in range(len(some))], some)
    return index
