"""Run by the crash test in a process of its own: upserts without end, and says what is on disk.

``python -m tests.memory.store.crash_writer FILE SEED``; each line ``ack N`` means that batch N was acknowledged.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.memory.store.store import LongTermStore

PER_BATCH = 5


def main(path: Path, seed: int) -> None:
    """Write batches until killed; batch N holds five objects of its own and rewrites a shared one."""
    settings = Settings()
    store, _ = LongTermStore.open(path, settings)
    number = max(0, len(store.table) - 1) // PER_BATCH
    while True:
        fresh = [make_record(1 + number * PER_BATCH + i, seed=seed, dim=32) for i in range(PER_BATCH)]
        shared = make_record(0, seed=seed, dim=32, hits=number + 1)
        store.stage(objects=[*fresh, shared])
        store.commit(float(number), session=None)
        sys.stdout.write(f"ack {number}\n")
        sys.stdout.flush()
        number += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
