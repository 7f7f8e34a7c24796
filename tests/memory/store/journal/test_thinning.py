"""Retention: the oldest history goes, objects stay, and the file stops growing."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.memory.homes import stream
from tests.memory.store.records import make_record
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.config import Settings
from lastseen.config.memory import Retention, Store
from lastseen.errors import InvalidValue, JournalMissing
from lastseen.memory.memory import Memory
from lastseen.memory.store.journal import Batch, Journal, thinning
from lastseen.memory.store.records import CropRecord, EventRecord

DAY = 86_400.0
OBJECTS = 3


def settings_of(*, days: float = 0.0, most: int = 0) -> Settings:
    return Settings(retention=Retention(days=days, bytes=most), store=Store(keep_crops=100))


def batch_of(day: int) -> Batch:
    """Every object moved, with an event and a picture; the best picture of each is that of day 1."""
    time = DAY * day
    records = [make_record(i, xyz=(float(day), float(i), 0.0), last_seen=time) for i in range(OBJECTS)]
    return Batch(
        time=time,
        objects=records,
        events=[EventRecord(time, record.id, "moved", {"day": day}) for record in records],
        crops=[CropRecord(record.id, time, 0.9 if day == 1 else 0.5, b"%d" % day * 500) for record in records],
        turned=dict.fromkeys([record.id for record in records], time),
    )


def write_days(journal: Journal, days: range, settings: Settings) -> None:
    for day in days:
        journal.write(batch_of(day), settings=settings)


def days_of(journal: Journal) -> dict[str, list[int]]:
    """The days that are left of events, versions and pictures of one object."""
    return {
        "events": [int(event.time / DAY) for event in journal.events(object_id="obj-1")],
        "versions": [int(version.time / DAY) for version in journal.versions("obj-1")],
        "crops": sorted(int(crop.time / DAY) for crop in journal.crops("obj-1")),
    }


def test_what_is_older_than_days_goes_and_objects_stay() -> None:
    with closing(Journal.open(None)) as journal:
        write_days(journal, range(1, 11), settings_of(days=4.5))
        left = days_of(journal)
        assert left["events"] == [6, 7, 8, 9, 10]
        # the version of day 5 was true when the kept history begins; the best picture stays
        assert left["versions"] == [5, 6, 7, 8, 9, 10]
        assert left["crops"] == [1, 6, 7, 8, 9, 10]
        assert journal.count() == OBJECTS


def test_the_past_within_the_kept_history_is_as_it_was_and_before_it_refused() -> None:
    with closing(Journal.open(None)) as journal, closing(Journal.open(None)) as whole:
        write_days(journal, range(1, 11), settings_of(days=4.5))
        write_days(whole, range(1, 11), settings_of())
        for day in (5.5, 5.9, 6.0, 8.5, 10.0):
            assert [v.xyz for v in journal.as_of(DAY * day)] == [v.xyz for v in whole.as_of(DAY * day)]
        with pytest.raises(InvalidValue, match="the history that was kept begins"):
            journal.as_of(DAY * 5.4)
        assert whole.history_from == float("-inf")


def test_nothing_goes_where_nothing_is_too_old_or_too_much() -> None:
    with closing(Journal.open(None)) as journal:
        write_days(journal, range(1, 6), settings_of(days=30.0, most=10_000_000))
        assert days_of(journal)["events"] == [1, 2, 3, 4, 5]
        assert journal.as_of(0.0) == []


def test_history_is_kept_within_bytes() -> None:
    with closing(Journal.open(None)) as journal:
        write_days(journal, range(1, 61), settings_of(most=30_000))
        left = days_of(journal)
        assert left["events"][-1] == 60
        assert 5 < len(left["events"]) < 30
        assert left["events"] == list(range(left["events"][0], 61))
        assert sum(len(crop.jpeg) for i in range(OBJECTS) for crop in journal.crops(f"obj-{i}")) < 30_000
        assert journal.count() == OBJECTS


def test_a_file_stops_growing(tmp_path: Path) -> None:
    sizes = []
    with closing(Journal.open(tmp_path / "home")) as journal:
        for part in range(3):
            write_days(journal, range(1 + 60 * part, 61 + 60 * part), settings_of(most=60_000))
            journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            sizes.append((tmp_path / "home").stat().st_size)
    assert sizes[2] <= sizes[0] * 1.1


def test_a_commit_deletes_in_steps_and_goes_on_until_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "_STEP", 4)
    with closing(Journal.open(None)) as journal:
        write_days(journal, range(1, 11), settings_of())
        counts = []
        for second in range(12):
            journal.write(Batch(time=DAY * 11 + second), settings=settings_of(days=0.5))
            counts.append(len(journal.events()))
    assert counts[0] == 3 * 10 - 4
    assert counts[-1] == 1


def test_thinning_at_once_makes_the_file_smaller(tmp_path: Path) -> None:
    file = tmp_path / "home"
    with closing(Journal.open(file)) as journal:
        write_days(journal, range(1, 101), settings_of())
    before = file.stat().st_size
    with closing(Journal.open(file)) as journal:
        assert journal.thin(DAY * 100, Retention(days=2.0, bytes=0)) > 600
        assert journal.thin(DAY * 100, Retention(days=2.0, bytes=0)) == 0
    assert file.stat().st_size < before / 2
    with closing(Journal.open(file)) as journal:
        journal.check_structure()
        assert days_of(journal)["events"] == [98, 99, 100]


def test_the_newest_event_stays_so_that_numbers_go_on() -> None:
    with closing(Journal.open(None)) as journal:
        journal.write(batch_of(1), settings=settings_of())
        last = journal.last_event()
        journal.write(Batch(time=DAY * 50), settings=settings_of(days=1.0))
        assert journal.last_event() == last
        journal.write(batch_of(51), settings=settings_of(days=1.0))
        assert journal.last_event() == last + OBJECTS


def test_a_memory_is_thinned_by_a_command(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with Memory.open(file) as memory:
        for day in range(1, 4):
            for frame, observations in stream(6, start=6 * day):
                memory.observe(replace(frame, stamp=DAY * day + frame.stamp), observations)
            memory.new_session()
        objects, events = len(memory.objects()), len(memory.store.journal.events())
    thinned = CliRunner().invoke(app, ["thin", str(file), "--days", "1.5"])
    assert thinned.exit_code == 0
    assert "rows of history" in thinned.output
    with Memory.open(file) as memory:
        assert len(memory.objects()) == objects
        assert memory.store.journal.history_from > DAY
        assert len(memory.store.journal.events()) < events
        assert memory.find("red mug").status == "found"
    with pytest.raises(JournalMissing, match="does not exist"):
        CliRunner().invoke(app, ["thin", str(tmp_path / "missing.lastseen")], catch_exceptions=False)
    assert not (tmp_path / "missing.lastseen").exists()
