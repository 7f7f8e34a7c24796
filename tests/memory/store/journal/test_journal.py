from __future__ import annotations

import dataclasses
import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.memory.store.records import make_record, same

from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.errors import JournalLocked, JournalMissing, JournalReadOnly, StorageFull
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.records import CropRecord, EventRecord, SessionRecord

SETTINGS = Settings()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "home.lastseen"


def test_what_was_written_is_read_back(file: Path) -> None:
    records = [make_record(1, colors=np.ones(11, np.float32)), make_record(2, dim=None)]
    journal = Journal.open(file)
    journal.write(Batch(time=5.0, objects=records), settings=SETTINGS)
    journal.close()
    again = list(Journal.open(file, read_only=True).objects())
    assert len(again) == 2
    assert all(same(one, other) for one, other in zip(records, again, strict=True))


def test_a_memory_without_a_path_keeps_the_same_tables_in_ram() -> None:
    journal = Journal.open(None)
    journal.write(Batch(time=5.0, objects=[make_record(1)]), settings=SETTINGS)
    assert same(next(journal.objects()), make_record(1))


def test_a_commit_is_durable_by_setting(file: Path) -> None:
    journal = Journal.open(file)
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_unchanged_object_is_not_written_again(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=5.0, objects=[make_record(1)]), settings=SETTINGS)
    assert journal.write(Batch(time=10.0, objects=[make_record(1)]), settings=SETTINGS) == 0


def test_also_not_after_reopening(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=5.0, objects=[make_record(1)]), settings=SETTINGS)
    journal.close()
    journal = Journal.open(file)
    assert journal.write(Batch(time=10.0, objects=[make_record(1)]), settings=SETTINGS) == 0


def test_a_mere_sighting_writes_one_row_and_no_vector(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=5.0, objects=[make_record(1)]), settings=SETTINGS)
    seen = make_record(1, last_seen=9.0, hits=4)
    assert journal.write(Batch(time=10.0, objects=[seen]), settings=SETTINGS) == 1


def test_each_position_and_status_becomes_a_version(file: Path) -> None:
    journal = Journal.open(file)
    origin = (0.0, 0.0, 0.0)
    seen = make_record(1, last_seen=4.0)
    moved = make_record(1, last_seen=9.0, xyz=origin)
    missing = make_record(1, last_seen=9.0, xyz=origin, state="missing")
    journal.write(Batch(time=5.0, objects=[seen]), settings=SETTINGS)
    journal.write(Batch(time=10.0, objects=[moved]), settings=SETTINGS)
    journal.write(Batch(time=15.0, objects=[missing], turned={"obj-1": 13.0}), settings=SETTINGS)
    assert [version.time for version in journal.versions("obj-1")] == [4.0, 9.0, 13.0]
    assert [(version.xyz, version.state) for version in journal.as_of(12.0)] == [(origin, "confirmed")]
    assert journal.as_of(3.9) == []


def test_versions_and_crops_are_limited(file: Path) -> None:
    settings = Settings(store=Store(keep_versions=2, keep_crops=1))
    journal = Journal.open(file)
    for time in range(5):
        journal.write(
            Batch(
                time=float(time),
                objects=[make_record(1, xyz=(float(time), 0.0, 0.0), last_seen=float(time))],
                crops=[CropRecord("obj-1", float(time), 1.0 - time / 10, b"jpeg")],
            ),
            settings=settings,
        )
    assert [version.time for version in journal.versions("obj-1")] == [3.0, 4.0]
    assert [crop.quality for crop in journal.crops("obj-1")] == [1.0]


def test_pictures_are_left_out_where_a_home_must_stay_private(file: Path) -> None:
    settings = Settings(store=Store(store_crops=False))
    journal = Journal.open(file)
    crop = CropRecord("obj-1", 1.0, 1.0, b"jpeg")
    journal.write(Batch(time=1.0, objects=[make_record(1)], crops=[crop]), settings=settings)
    assert journal.crops("obj-1") == []


def test_sessions_events_places_and_meta_come_back(file: Path) -> None:
    session = SessionRecord(1, "robot", 0.0, 1.7e9, 0.0, 9.0)
    event = EventRecord(3.0, "obj-1", "moved", {"from": [0, 0, 0]})
    journal = Journal.open(file)
    bodies = {"places": {1: '{"type": "kitchen"}'}, "anchors": {4: '{"tags": ["mug"]}'}}
    journal.write(Batch(time=9.0, events=[event], session=session, meta={"a": "b"}, bodies=bodies), settings=SETTINGS)
    journal.close()
    again = Journal.open(file, read_only=True)
    assert again.sessions() == [session]
    assert again.events() == [event]
    assert again.events(since=3.1) == []
    assert again.places() == {"places": [{"type": "kitchen"}], "anchors": [{"tags": ["mug"]}]}
    assert again.meta() == {"a": "b"}


def test_a_second_writer_is_refused_and_told_who_holds_it(file: Path) -> None:
    journal = Journal.open(file)
    with pytest.raises(JournalLocked, match=f"process {os.getpid()} is writing"):
        Journal.open(file)
    journal.close()
    Journal.open(file).close()


def test_another_process_is_refused_too(file: Path) -> None:
    journal = Journal.open(file)
    code = f"from lastseen.memory.store.journal import Journal; Journal.open({str(file)!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "JournalLocked" in done.stderr
    journal.close()


def test_readers_see_what_is_committed_while_it_is_written(file: Path) -> None:
    journal = Journal.open(file)
    reader = Journal.open(file, read_only=True)
    for number in range(3):
        journal.write(Batch(time=5.0, objects=[make_record(number)]), settings=SETTINGS)
        assert len(list(reader.objects())) == number + 1


def test_a_reader_cannot_write(file: Path) -> None:
    Journal.open(file).close()
    with pytest.raises(JournalReadOnly, match="opened for reading"):
        Journal.open(file, read_only=True).write(Batch(time=1.0), settings=SETTINGS)


def test_reading_what_is_not_there_makes_no_file(file: Path) -> None:
    with pytest.raises(JournalMissing, match="does not exist"):
        Journal.open(file, read_only=True)
    assert not file.exists()


def test_a_full_disk_loses_nothing_acknowledged_and_can_be_tried_again(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=1.0, objects=[make_record(1)]), settings=SETTINGS)
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages + 2}")
    many = [make_record(number, dim=512) for number in range(2, 80)]
    with pytest.raises(StorageFull, match="free some space"):
        journal.write(Batch(time=2.0, objects=many), settings=SETTINGS)
    assert [record.id for record in journal.objects()] == ["obj-1"]
    journal._db.execute("PRAGMA max_page_count = 1000000")
    journal.write(Batch(time=2.0, objects=many), settings=SETTINGS)
    assert len(list(journal.objects())) == 79


def test_what_is_forgotten_leaves_no_bytes_behind(file: Path) -> None:
    secret = make_record(1, label_scores={"verysecretlabel": 1.0}, working=b"verysecretstate")
    journal = Journal.open(file)
    event = EventRecord(1.0, "obj-1", "appeared", {"note": "verysecretevent"})
    crop = CropRecord("obj-1", 1.0, 1.0, b"verysecretcrop")
    journal.write(Batch(time=1.0, objects=[secret, make_record(2)], events=[event], crops=[crop]), settings=SETTINGS)
    journal.write(Batch(time=1.0, forgotten=["obj-1"]), settings=SETTINGS)
    journal.close()
    assert all(b"verysecret" not in path.read_bytes() for path in file.parent.iterdir())
    assert [record.id for record in Journal.open(file).objects()] == ["obj-2"]


def test_also_not_where_sqlite_moved_rows_between_pages(file: Path) -> None:
    # overwriting what is deleted is not enough here: a copy of it stays where the row once was
    rng = random.Random(27)
    with closing(Journal.open(file)) as journal:
        for step in range(30):
            objects, events = [], []
            for number in rng.sample(range(1, 200), 40):
                name = "verysecret" if number == 100 else f"label{number}"
                state = (name + " ").encode() * rng.randint(1, 250)
                objects.append(make_record(number, label_scores={name: 1.0}, working=state, hits=step, dim=None))
                events.append(EventRecord(float(step), f"obj-{number}", "moved", {name: "x" * rng.randint(0, 300)}))
            journal.write(Batch(time=float(step), objects=objects, events=events), settings=SETTINGS)
        journal.write(Batch(time=30.0, forgotten=["obj-100"]), settings=SETTINGS)
        assert journal.not_wiped is None
    assert b"verysecret" not in file.read_bytes()


def test_the_outbox_keeps_order_until_sent(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=1.0, objects=[make_record(1), make_record(2)]), settings=SETTINGS, outbox=True)
    journal.write(Batch(time=2.0, removed=["obj-1"]), settings=SETTINGS, outbox=True)
    assert [(key, op) for _, key, op in journal.queued()] == [
        ("obj-1", "upsert"),
        ("obj-2", "upsert"),
        ("obj-1", "remove"),
    ]
    journal.sent(journal.queued()[1][0])
    assert [op for _, _, op in journal.queued()] == ["remove"]


def test_a_failed_batch_leaves_no_trace(file: Path) -> None:
    journal = Journal.open(file)
    broken = dataclasses.replace(make_record(2), hits="many")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="many"):
        journal.write(Batch(time=1.0, objects=[make_record(1), broken]), settings=SETTINGS)
    assert list(journal.objects()) == []
    journal.write(Batch(time=1.0, objects=[make_record(1)]), settings=SETTINGS)


def test_sizes_name_every_kind(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=1.0, objects=[make_record(1)]), settings=SETTINGS)
    sizes = journal.sizes()
    assert sizes["file"] >= sizes["objects"] + sizes["embeddings"] > 0


def test_the_file_is_plain_sqlite(file: Path) -> None:
    journal = Journal.open(file)
    journal.write(Batch(time=1.0, objects=[make_record(1)]), settings=SETTINGS)
    journal.close()
    assert sqlite3.connect(file).execute("SELECT label FROM objects").fetchall() == [("chair",)]


def test_a_negative_zero_is_no_damage(file: Path) -> None:
    record = make_record(1, xyz=(-0.0, 0.0, 1.0), first_seen=-0.0, last_seen=-0.0)
    batch = Batch(time=-0.0, objects=[record], events=[EventRecord(-0.0, "obj-1", "moved")])
    with closing(Journal.open(file)) as journal:
        journal.write(batch, settings=SETTINGS)
        assert [found.xyz for found in journal.objects()] == [(0.0, 0.0, 1.0)]
        assert len(journal.versions("obj-1")) == len(journal.events()) == 1
