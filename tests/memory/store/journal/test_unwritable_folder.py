"""A reader sees all that is committed, also where nothing can be written beside the file."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.memory.store.records import make_record

from lastseen.config import Settings
from lastseen.errors import JournalError
from lastseen.memory.store.journal import Batch, Journal
from lastseen.memory.store.journal.opening import copy_with_wal
from lastseen.memory.store.journal.writer_lock import wal_of

NOBODY = 65534


def put(journal: Journal, *numbers: int) -> None:
    journal.write(Batch(time=1.0, objects=[make_record(number) for number in numbers]), settings=Settings())


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Let nobody write into a folder for a while: by a mount for root, whom permissions do not hold, else by them."""
    if os.geteuid() != 0:
        folder.chmod(0o555)
        yield
        folder.chmod(0o755)
        return
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None:
        pytest.skip("root cannot be kept from writing without mount")
    for words in (["--bind", str(folder), str(folder)], ["-o", "remount,ro,bind", str(folder)]):
        if subprocess.run([mount, *words], check=False, capture_output=True).returncode:
            pytest.skip("a folder cannot be mounted read-only here")
    try:
        yield
    finally:
        subprocess.run([umount, "--lazy", str(folder)], check=True)


@pytest.fixture
def left_behind(tmp_path: Path) -> Path:
    """A file of 8 objects as a robot leaves it that loses power: some are in the file, the rest is in the WAL."""
    whole, folder = tmp_path / "whole", tmp_path / "left"
    whole.mkdir()
    folder.mkdir()
    with closing(Journal.open(whole / "home.lastseen")) as journal:
        put(journal, 0, 1, 2)
        journal._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        put(journal, 3, 4, 5, 6, 7)
        for name in ("home.lastseen", "home.lastseen-wal"):
            shutil.copyfile(whole / name, folder / name)
    return folder / "home.lastseen"


def test_the_wal_is_read_where_nothing_can_be_written(left_behind: Path) -> None:
    with unwritable(left_behind.parent), closing(Journal.open(left_behind, read_only=True)) as journal:
        assert journal.count() == 8


def test_also_when_all_is_in_the_wal(tmp_path: Path) -> None:
    (tmp_path / "left").mkdir()
    with closing(Journal.open(tmp_path / "home.lastseen")) as journal:
        put(journal, *range(8))
        for name in ("home.lastseen", "home.lastseen-wal"):
            shutil.copyfile(tmp_path / name, tmp_path / "left" / name)
    file = tmp_path / "left" / "home.lastseen"
    with unwritable(file.parent), closing(Journal.open(file, read_only=True)) as journal:
        assert journal.count() == 8


def test_a_helper_file_of_a_dead_writer_does_not_mislead(left_behind: Path) -> None:
    left_behind.with_name("home.lastseen-shm").write_bytes(bytes(32768))
    with unwritable(left_behind.parent), closing(Journal.open(left_behind, read_only=True)) as journal:
        assert journal.count() == 8


def test_a_closed_file_is_read_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    with closing(Journal.open(folder / "home.lastseen")) as journal:
        put(journal, 1, 2)
    with unwritable(folder), closing(Journal.open(folder / "home.lastseen", read_only=True)) as journal:
        assert journal.count() == 2
        assert sorted(path.name for path in folder.iterdir()) == ["home.lastseen"]


def test_a_live_writer_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "live"
    folder.mkdir()
    with closing(Journal.open(folder / "home.lastseen")) as journal:
        put(journal, 1, 2)
        with unwritable(folder), closing(Journal.open(folder / "home.lastseen", read_only=True)) as reader:
            assert reader.count() == 2


def test_the_copy_is_private_and_a_dead_reader_leaves_nothing(
    left_behind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare, copyfile, modes = tmp_path / "spare", shutil.copyfile, []
    spare.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spare))

    def copy(one: Path, other: Path) -> None:
        modes.append(other.parent.stat().st_mode & 0o077)
        copyfile(one, other)

    monkeypatch.setattr(shutil, "copyfile", copy)
    with unwritable(left_behind.parent), closing(Journal.open(left_behind, read_only=True)) as journal:
        assert list(spare.iterdir()) == []
        assert journal.count() == 8
    assert modes == [0, 0]


@pytest.mark.parametrize("with_wal", [True, False])
def test_a_reader_of_a_copy_is_told_of_changes(left_behind: Path, *, with_wal: bool) -> None:
    if not with_wal:
        Journal.open(left_behind).close()
    with unwritable(left_behind.parent):
        journal = Journal.open(left_behind, read_only=True)
    with closing(journal):
        assert not journal.written_since()
        with closing(Journal.open(left_behind)) as writer:
            put(writer, 9)
        assert journal.written_since()


def test_no_room_for_a_copy_is_an_error_and_no_empty_memory(
    left_behind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with (
        unwritable(left_behind.parent),
        pytest.raises(JournalError, match=r"home.lastseen-wal.*No space left.*set TMPDIR"),
    ):
        Journal.open(left_behind, read_only=True)


@pytest.mark.parametrize("times", [1, 1000])
def test_a_copy_is_of_one_moment(
    left_behind: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    left, copyfile, target = [times], shutil.copyfile, tmp_path / "target"
    target.mkdir()

    def copy_and_write(one: Path, other: Path) -> None:
        copyfile(one, other)
        if left[0]:
            left[0] -= 1
            with wal_of(left_behind).open("ab") as wal:
                wal.write(b"more")

    monkeypatch.setattr(shutil, "copyfile", copy_and_write)
    if times == 1:
        copy = copy_with_wal(left_behind, target)
        assert wal_of(copy).read_bytes() == wal_of(left_behind).read_bytes()
    else:
        with pytest.raises(JournalError, match="is being written"):
            copy_with_wal(left_behind, target)


def as_nobody(file: Path, *, read_only: bool = True) -> str:
    """What a user without rights gets who opens a file: the number of objects, or the error."""
    if os.geteuid() != 0:
        pytest.skip("only root may become another user")
    os.seteuid(NOBODY)
    try:
        with closing(Journal.open(file, read_only=read_only)) as journal:
            return str(journal.count())
    except JournalError as error:
        return str(error)
    finally:
        os.seteuid(0)


@pytest.fixture
def public(left_behind: Path) -> Iterator[Path]:
    """The same file in a folder that everybody may enter and only its owner may write."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(left_behind.parent, folder, dirs_exist_ok=True)
        Path(folder).chmod(0o755)
        yield Path(folder) / left_behind.name


def test_a_user_who_may_only_read_sees_all(public: Path) -> None:
    assert as_nobody(public) == "8"


def test_also_where_the_helper_file_may_not_be_read(public: Path) -> None:
    public.with_name("home.lastseen-shm").write_bytes(bytes(32768))
    public.with_name("home.lastseen-shm").chmod(0o600)
    assert as_nobody(public) == "8"


def test_a_wal_that_may_not_be_read_is_an_error_and_no_empty_memory(public: Path) -> None:
    public.with_name("home.lastseen-wal").chmod(0o600)
    assert "what was written last is in home.lastseen-wal" in as_nobody(public)


def test_a_file_that_may_not_be_read_says_so(public: Path) -> None:
    Journal.open(public).close()
    public.chmod(0o600)
    assert "check the disk and that this user may use file and folder" in as_nobody(public)


def test_a_folder_that_may_not_be_entered_says_so(public: Path) -> None:
    public.parent.chmod(0o700)
    assert "allow this user to enter its folder" in as_nobody(public)


@pytest.mark.parametrize("with_wal", [True, False])
def test_a_writer_who_may_not_write_the_folder_is_told(public: Path, *, with_wal: bool) -> None:
    if not with_wal:
        Journal.open(public).close()
    public.chmod(0o666)
    before = public.read_bytes()
    assert "folder" in as_nobody(public, read_only=False)
    assert public.read_bytes() == before


def test_a_second_name_of_a_file_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    link = tmp_path / "link"
    with closing(Journal.open(tmp_path / "home.lastseen")) as journal:
        put(journal, 1)
        link.hardlink_to(tmp_path / "home.lastseen")
        with pytest.raises(JournalError, match="by another name"):
            Journal.open(link, read_only=True)
