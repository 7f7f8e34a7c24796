from __future__ import annotations

import shutil
import struct
import tracemalloc
from pathlib import Path

import pytest

from lastseen.errors import SourceError
from lastseen.sources import open_source
from lastseen.sources.ros.mcap import CHUNK, MAGIC, McapFile
from tests.sources.room import walk
from tests.sources.ros.bags import walk_bag

POSES = walk(12)


def records(data: bytes) -> list[tuple[int, int, int]]:
    """Kind, start and end of the records of a file."""
    found, at = [], len(MAGIC)
    while at + 9 <= len(data) - len(MAGIC):
        kind, length = struct.unpack_from("<BQ", data, at)
        found.append((kind, at, at + 9 + length))
        at += 9 + length
    return found


def chunks(data: bytes) -> list[tuple[int, int]]:
    return [(start, end) for kind, start, end in records(data) if kind == CHUNK]


def frames_of(path: Path) -> int:
    with open_source(path) as source:
        found = len(list(source.frames()))
        assert "cut off after" in source.intake.cut_off
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    data = walk_bag(POSES).write(tmp_path_factory.mktemp("whole")).read_bytes()
    assert len(chunks(data)) >= 2
    return data


@pytest.mark.parametrize("written", [0.0, 0.5])
def test_a_last_chunk_of_zeros_is_a_cut(whole: bytes, written: float, tmp_path: Path) -> None:
    start, end = chunks(whole)[-1]
    reached = start + 60 + int(written * (end - start))
    path = tmp_path / "walk.mcap"
    path.write_bytes(whole[:reached] + bytes(end - reached + 5000))
    found = frames_of(path)
    path.write_bytes(whole[:reached])
    assert found == frames_of(path)
    assert 1 <= found < len(POSES)


def test_a_packed_last_chunk_that_does_not_unpack_is_a_cut(tmp_path: Path) -> None:
    folder = walk_bag(POSES).write(tmp_path, "mcap zstd")
    path = next(folder.glob("*.mcap"))
    data = path.read_bytes()
    start, end = chunks(data)[-1]
    reached = (start + end) // 2
    path.write_bytes(data[:reached] + bytes(end - reached))
    assert 1 <= frames_of(folder) < len(POSES)


def test_private_records_are_stepped_over(whole: bytes, tmp_path: Path) -> None:
    first = chunks(whole)[0][1]
    private = struct.pack("<BQ", 0x80, 7) + b"private"
    path = tmp_path / "walk.mcap"
    path.write_bytes(whole[:first] + private + whole[first : chunks(whole)[-1][1]])
    assert frames_of(path) == len(POSES)


@pytest.mark.parametrize("left", [b"", bytes(4096), MAGIC, MAGIC + b"\x01\x40", MAGIC + bytes(4096)])
def test_a_part_that_never_reached_the_disk_does_not_cost_the_others(
    whole: bytes, left: bytes, tmp_path: Path
) -> None:
    (tmp_path / "walk_0.mcap").write_bytes(whole)
    (tmp_path / "walk_1.mcap").write_bytes(left)
    with open_source(tmp_path) as source:
        assert len(list(source.frames())) == len(POSES)
        assert source.intake.notes == ["walk_1.mcap cannot be read, and is left out"]


def test_a_folder_of_several_recordings_is_refused_by_name(whole: bytes, tmp_path: Path) -> None:
    for name in ("monday.mcap", "tuesday_0.mcap"):
        (tmp_path / name).write_bytes(whole)
    with pytest.raises(SourceError, match=r"several recordings \(monday.mcap, tuesday_0.mcap\)"):
        open_source(tmp_path)


def test_a_file_that_the_metadata_does_not_name_is_no_part(tmp_path: Path) -> None:
    folder = walk_bag(POSES[:2]).write(tmp_path, "mcap")
    part = next(folder.glob("*.mcap"))
    shutil.copy(part, folder / "old_recovered.mcap")
    data = part.read_bytes()
    part.write_bytes(data[: chunks(data)[-1][1]])
    assert frames_of(folder) == 2


@pytest.mark.parametrize("compression", ["zstd", "lz4"])
def test_a_small_file_never_takes_much_memory(compression: str, tmp_path: Path) -> None:
    name = compression.encode()
    if compression == "zstd":
        zstd = pytest.importorskip("backports.zstd")
        bomb = zstd.compress(bytes(64 * 2**20))
    else:
        bomb = pytest.importorskip("lz4.frame").compress(bytes(64 * 2**20))
    head = struct.pack("<QQQII", 0, 1, 1000, 0, len(name)) + name + struct.pack("<Q", len(bomb))
    path = tmp_path / "bomb.mcap"
    path.write_bytes(MAGIC + struct.pack("<BQ", CHUNK, len(head) + len(bomb) + 9) + head + bomb)
    tracemalloc.start()
    try:
        McapFile(path).close()
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
