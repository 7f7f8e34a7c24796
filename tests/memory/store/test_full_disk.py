"""A disk that is really full: a small file system in RAM, mounted for the test."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.memory.homes import walk

from lastseen.errors import StorageFull
from lastseen.memory.memory import Memory


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root may mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    made = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if made.returncode:
        pytest.skip(f"a file system cannot be mounted here: {made.stderr.decode().strip()}")
    try:
        yield disk
    finally:
        # lazily, so that it goes also when a failed test still holds a file
        subprocess.run([umount, "--lazy", str(disk)], check=True)


def fill(disk: Path, *, leave: int) -> Path:
    """A file that takes all room but this many bytes."""
    filler = disk / "filler"
    room = os.statvfs(disk)
    filler.write_bytes(bytes(room.f_bavail * room.f_frsize - leave))
    return filler


def see_until_full(memory: Memory) -> None:
    for number in range(4, 60):
        walk(memory, 1, start=number)
        memory.flush()


@pytest.mark.parametrize("leave", [0, 4096, 65536])
def test_a_full_disk_keeps_answering_and_loses_nothing_acknowledged(small_disk: Path, leave: int) -> None:
    file = small_disk / "home.lastseen"
    memory = walk(Memory.open(file), 4)
    memory.flush()
    acknowledged = {state.id: state.hits for state in memory.states()}
    filler = fill(small_disk, leave=leave)
    with pytest.raises(StorageFull):
        see_until_full(memory)
    assert memory.find("red mug").status == "found"
    with Memory.open(file, read_only=True) as reader:
        assert reader.find("red mug").status == "found"
        held = {state.id: state.hits for state in reader.states()}
        assert all(held[object_id] >= hits for object_id, hits in acknowledged.items())
    filler.unlink()
    assert memory.flush() > 0
    known = [(state.id, state.hits) for state in memory.states()]
    memory.close()
    with Memory.open(file) as again:
        assert [(state.id, state.hits) for state in again.states()] == known


def test_a_file_that_cannot_be_made_says_why(small_disk: Path) -> None:
    fill(small_disk, leave=0)
    with pytest.raises(StorageFull, match="the disk is full"):
        Memory.open(small_disk / "home.lastseen")


def test_a_file_on_a_full_disk_can_be_read(small_disk: Path) -> None:
    file = small_disk / "home.lastseen"
    walk(Memory.open(file)).close()
    fill(small_disk, leave=0)
    with Memory.open(file, read_only=True) as reader:
        assert reader.find("red mug").status == "found"
    with pytest.raises(StorageFull, match="the disk is full"):
        Memory.open(file)
