"""How much a memory holds and what that takes, by kind: the answer to "why is this file so large?"."""

from __future__ import annotations

from lastseen.memory.objects import ObjectMemory
from lastseen.memory.store.records import STATUSES
from lastseen.memory.store.store import LongTermStore


def measure(store: LongTermStore, working: ObjectMemory, *, sessions: int) -> dict[str, dict[str, int]]:
    """Objects by state, bytes on disk and bytes in RAM, each by kind."""
    status = store.table.columns.status[: len(store.table)]
    counts = {name: int((status == number).sum()) for number, name in enumerate(STATUSES)}
    vectors = sum(4 * len(index) * index.dim for index in (store.main, store.aside) if index is not None)
    columns = working.store
    return {
        "counts": {**counts, "sessions": sessions},
        "disk": store.journal.sizes(),
        "ram": {
            "table": store.table.bytes(),
            "vectors": vectors,
            "working": sum(int(columns.column(name).nbytes) for name in columns.names),
        },
    }
