"""Power loss: writes that were not yet on disk are dropped or torn, what was acknowledged is there, the file opens.

A commit is acknowledged after its WAL frames were synced. So a crash point lies between two acknowledgements: of what
was written to the WAL meanwhile any part may be there, with the sector that was being written torn.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.journal.writer_lock import wal_of

SECTOR = 512
PER_BATCH = 3


def acknowledged_wals(file: Path, batches: int) -> list[bytes]:
    """The bytes of the WAL after each acknowledged batch; the file itself is not written meanwhile."""
    with closing(Journal.open(file)) as journal:
        journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        journal._db.execute("PRAGMA wal_autocheckpoint = 0")
        wals = [wal_of(file).read_bytes()]
        shutil.copyfile(file, file.with_name("before"))
        for number in range(batches):
            objects = [make_record(PER_BATCH * number + i, dim=64) for i in range(PER_BATCH)]
            journal.write(Batch(time=float(number), objects=objects), settings=Settings())
            wals.append(wal_of(file).read_bytes())
    return wals


def torn(rng: np.random.Generator, before: bytes, after: bytes) -> bytes:
    """What may be left of a WAL that was being written: some sectors, dropped in between too, the last one torn."""
    end = int(rng.integers(len(before), len(after) + 1))
    left = bytearray(after[:end])
    for start in range(len(before), end - SECTOR, SECTOR):
        if rng.random() < 0.1:
            left[start : start + SECTOR] = bytes(SECTOR)
    tail = max(len(before), end - int(rng.integers(SECTOR)))
    left[tail:] = rng.bytes(len(left) - tail)
    return bytes(left)


@pytest.mark.parametrize("points", [20, pytest.param(100, marks=pytest.mark.integration)])
def test_what_was_acknowledged_survives_a_torn_wal(tmp_path: Path, soak: int, points: int) -> None:
    wals, rng = acknowledged_wals(tmp_path / "home", 12), np.random.default_rng(0)
    crashed, kept = tmp_path / "crashed", 0
    for point in range(points * soak):
        number = point % (len(wals) - 1)
        shutil.copyfile(tmp_path / "before", crashed)
        wal_of(crashed).write_bytes(torn(rng, wals[number], wals[number + 1]))
        with closing(Journal.open(crashed)) as journal:
            journal.check_structure()
            held = [record.id for record in journal.objects()]
        assert held in (
            [f"obj-{i}" for i in range(PER_BATCH * number)],
            [f"obj-{i}" for i in range(PER_BATCH * (number + 1))],
        )
        kept += len(held) > PER_BATCH * number
    # some batches arrived whole before the cut, most did not
    assert kept < points * soak // 2
