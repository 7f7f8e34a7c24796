"""Power loss and I/O errors: what was acknowledged is there, the file opens, and a running process goes on.

Every write, sync, truncation and deletion that SQLite makes is a point where power may go or the disk may fail, in
commits, checkpoints, a forgetting, when a file is made and when it is closed.
"""

from __future__ import annotations

import itertools
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from tests.memory.store.faulty_disk import Fault, FaultyDisk, PowerLoss
from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.config.memory import Retention
from lastseen.errors import JournalError, JournalForeign, JournalMissing, StorageFull
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.records import CropRecord, EventRecord
from lastseen.memory.store.store import LongTermStore

SETTINGS = Settings(retention=Retention(days=3.5 / 24.0, bytes=0))
"""Batches are an hour apart: history is thinned while it is written."""
HOUR = 3600.0
SECRET = b"a picture of what is forgotten" * 40
PER_BATCH = 3
FORGET_AT = 6
SOME_FAULTS = 40
"""Faults in ``make test``, spread over all calls and ways; ``make soak`` takes every one."""
SMALL_WAL = 8
"""Pages after which SQLite puts the WAL into the file: so that it does within a test."""

Held = list[str]


def batch_of(number: int) -> Batch:
    """Three new objects, one of them with a picture, and the first object seen once more."""
    first = PER_BATCH * number
    records = [make_record(first + i, dim=64) for i in range(PER_BATCH)]
    if number:
        records.append(make_record(0, dim=64, hits=3 + number))
    return Batch(
        time=HOUR * number,
        objects=records,
        events=[EventRecord(HOUR * number, record.id, "appeared") for record in records],
        crops=[CropRecord(f"obj-{first}", HOUR * number, 0.5, SECRET)] if number == 2 else (),
    )


def held_by(journal: Journal) -> Held:
    """The objects with their hits and what is left of history; a damaged file raises."""
    journal.check_structure()
    known = sorted(f"{record.id} {record.hits}" for record in journal.objects())
    return [*known, *(f"{event.object_id} {event.time}" for event in journal.events())]


def two_runs(file: Path, disk: FaultyDisk) -> list[Held]:
    """Make a file, write, forget, close, open it again and go on; returns what it held at each acknowledgement."""
    held: list[Held] = []
    for numbers in (range(10), range(10, 13)):
        with closing(Journal.open(file)) as journal:
            journal._db.execute(f"PRAGMA wal_autocheckpoint = {SMALL_WAL}")
            for number in numbers:
                batch = batch_of(number)
                if number == FORGET_AT:
                    batch = Batch(time=HOUR * number, forgotten=["obj-6"])
                journal.write(batch, settings=SETTINGS)
                held.append(held_by(journal))
                disk.acknowledge(len(held))
    return held


def test_what_was_acknowledged_survives_power_loss(tmp_path: Path, soak: int) -> None:
    disk, points = FaultyDisk(), 100 * soak
    with disk.in_use():
        states: list[Held] = [[], *two_runs(tmp_path / "home", disk)]
    crash_points = np.linspace(0, len(disk.calls), points).astype(int).tolist()
    lost, rng, acknowledged, before, changed = PowerLoss({}), np.random.default_rng(0), 0, 0, 0
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for point in crash_points:
        for call in disk.calls[before:point]:
            lost.take(call)
            acknowledged = call.at if call.what == "ack" else acknowledged
        before = point
        for old in crashed.iterdir():
            old.unlink()
        left = lost.files(rng)
        for name, content in left.items():
            (crashed / name).write_bytes(content)
        with FaultyDisk().in_use(), closing(Journal.open(crashed / "home")) as journal:
            held = held_by(journal)
        assert held in states[acknowledged : acknowledged + 2], f"after call {point}"
        if acknowledged > FORGET_AT:
            assert not any(SECRET[:60] in content for content in left.values()), f"after call {point}"
        changed += left != {name: content for name, content in lost.durable.items() if content is not None}
    # most points lie where something was not synced yet
    assert changed > points // 3


def test_a_reader_opens_what_a_power_loss_left(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with disk.in_use():
        two_runs(tmp_path / "home", disk)
    lost, rng = PowerLoss({}), np.random.default_rng(1)
    for number, call in enumerate(disk.calls):
        lost.take(call)
        if number % 40:
            continue
        folder = tmp_path / f"crashed{number}"
        folder.mkdir()
        for name, content in lost.files(rng).items():
            (folder / name).write_bytes(content)
        acknowledged = any(call.what == "ack" for call in disk.calls[:number])
        early = () if acknowledged else (JournalMissing, JournalForeign)
        with suppress(*early), closing(Journal.open(folder / "home", read_only=True)) as journal:
            held_by(journal)


class Robot:
    """A process that writes to a disk which fails once; it says so, keeps what it holds, and tries again."""

    def __init__(self, file: Path, disk: FaultyDisk) -> None:
        self.file = file
        self.disk = disk
        self.said: list[JournalError] = []

    def run(self) -> None:
        """Write six batches and forget one object; returns when everything is acknowledged."""
        store = self._open()
        for number in range(6):
            batch = batch_of(number)
            store.stage(objects=batch.objects, events=batch.events, crops=batch.crops)
            self._commit(store, HOUR * number)
            if number == 3:
                store.forget(["obj-6"])
                self._commit(store, HOUR * number)
        try:
            store.close()
        except JournalError as error:
            self._heard(error)
            store.close()

    def _open(self) -> LongTermStore:
        try:
            store, _ = LongTermStore.open(self.file, SETTINGS)
        except JournalError as error:
            self._heard(error)
            store, _ = LongTermStore.open(self.file, SETTINGS)
        store.journal._db.execute(f"PRAGMA wal_autocheckpoint = {SMALL_WAL}")
        return store

    def _commit(self, store: LongTermStore, time: float) -> None:
        waiting = store.waiting
        try:
            store.commit(time, session=None)
        except JournalError as error:
            self._heard(error)
            # a forgetting is in the file already when its bytes cannot be wiped yet
            assert store.waiting in (waiting, 0)
            assert len(store.table) == len(store.main or ())
            store.commit(time, session=None)
        assert store.waiting == 0

    def _heard(self, error: JournalError) -> None:
        self.said.append(error)
        self.disk.inject(None)
        assert "\n" not in str(error)
        assert str(error).startswith(f"{self.file}: ")


def faults(calls: int) -> list[Fault]:
    """Every call, failing in every way, once or until the process has noticed."""
    ways = itertools.product(("eio", "full", "short"), (False, True))
    return [Fault(number, how, lasting) for how, lasting in ways for number in range(1, calls + 1)]


def test_a_process_goes_on_after_an_io_error_at_any_call(tmp_path: Path, soak: int) -> None:
    disk = FaultyDisk()
    with disk.in_use():
        disk.inject(Fault(10**9))
        Robot(tmp_path / "whole", disk).run()
        calls = disk.counted
        with closing(Journal.open(tmp_path / "whole", read_only=True)) as journal:
            expected = held_by(journal)
        every = faults(calls)
        chosen = np.linspace(0, len(every) - 1, SOME_FAULTS).astype(int).tolist()
        if soak > 1:
            chosen = list(range(len(every)))
        heard = 0
        for number in chosen:
            fault = every[number]
            file = tmp_path / f"failed{number}"
            robot = Robot(file, disk)
            disk.inject(fault)
            robot.run()
            disk.inject(None)
            assert fault.failed, fault
            with closing(Journal.open(file)) as journal:
                assert held_by(journal) == expected, (fault, robot.said)
            assert SECRET[:60] not in file.read_bytes(), fault
            heard += bool(robot.said)
            for left in tmp_path.glob(f"failed{number}*"):
                left.unlink()
    # some errors meet only what SQLite does again by itself, as putting the WAL into the file
    assert heard > len(chosen) // 2


def test_a_full_disk_is_called_that(tmp_path: Path) -> None:
    disk = FaultyDisk()
    with disk.in_use(), closing(Journal.open(tmp_path / "home")) as journal:
        disk.inject(Fault(1, "short", kinds=frozenset({"write"})))
        with pytest.raises(StorageFull, match="the disk is full; everything acknowledged is safe"):
            journal.write(batch_of(0), settings=SETTINGS)
        disk.inject(None)
        journal.write(batch_of(0), settings=SETTINGS)
        assert len(held_by(journal)) == 2 * PER_BATCH


@pytest.mark.parametrize("kind", ["read", "shm", "open"])
def test_a_disk_that_cannot_be_read_is_called_that(tmp_path: Path, kind: str) -> None:
    disk, file = FaultyDisk(), tmp_path / "home"
    with disk.in_use():
        with closing(Journal.open(file)) as journal:
            journal.write(batch_of(0), settings=SETTINGS)
        for number in range(1, 4):
            disk.inject(Fault(number, lasting=True, kinds=frozenset({kind})))
            said = ""
            try:
                Journal.open(file, read_only=True).close()
            except JournalError as error:
                said = str(error)
            assert "check the disk" in said or not said
            assert "\n" not in said
            disk.inject(None)
            with closing(Journal.open(file, read_only=True)) as journal:
                assert len(held_by(journal)) == 2 * PER_BATCH
