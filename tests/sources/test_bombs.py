"""Small files that unpack to gigabytes: one clear line, and never a gigabyte of memory."""

from __future__ import annotations

import bz2
import importlib
import resource
import sqlite3
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import SourceError
from lastseen.sources import open_source
from lastseen.sources.ros.mcap import CHUNK, FOOTER, HEADER, MAGIC
from lastseen.sources.ros.unpacking import MAX_CHUNK, unpack, zstd
from tests.sources.room import walk, write_recording
from tests.sources.ros.bags import walk_bag

LIMIT = 10**9
HUGE = 5 * 2**28


def zeros(packing: str, size: int = HUGE) -> Any:
    """So many zeros, packed, without holding them."""
    block = bytes(2**24)
    if packing == "zstd":
        packer: Any = zstd().ZstdCompressor(1)
        return b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()
    if packing == "bz2":
        packer = bz2.BZ2Compressor(1)
        # a tenth: bz2 is slow, and the limit is far below
        return b"".join(packer.compress(block) for _ in range(size // len(block) // 10)) + packer.flush()
    packer = importlib.import_module("lz4.frame").LZ4FrameCompressor()
    return packer.begin() + b"".join(packer.compress(block) for _ in range(size // len(block))) + packer.flush()


def record(kind: int, body: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(body)) + body


def mcap(path: Path, chunks: list[tuple[int, bytes, str]]) -> Path:
    """A whole MCAP without statistics: chunks of (stated size, packed data, compression), all of one time."""
    header = record(HEADER, struct.pack("<I", 4) + b"ros2" + struct.pack("<I", 0))
    body = b""
    for size, packed, name in chunks:
        head = struct.pack("<QQQII", 0, 10, size, 0, len(name)) + name.encode() + struct.pack("<Q", len(packed))
        body += record(CHUNK, head + packed)
    path.write_bytes(MAGIC + header + body + record(FOOTER, bytes(20)) + MAGIC)
    return path


def message_chunk(size: int) -> bytes:
    """Records of one chunk: a channel, and a message of zeros."""

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode()

    schema = struct.pack("<H", 1) + text("sensor_msgs/msg/Image") + text("ros2msg") + text("uint8[] data")
    channel = struct.pack("<HH", 0, 1) + text("/camera/image") + text("cdr") + struct.pack("<I", 0)
    message = struct.pack("<HIQQ", 0, 0, 5, 5) + bytes(size)
    return record(3, schema) + record(4, channel) + record(5, message)


def states_little(path: Path) -> Path:
    return mcap(path / "x.mcap", [(1000, zeros("zstd"), "zstd")])


def states_much(path: Path) -> Path:
    return mcap(path / "x.mcap", [(HUGE, zeros("lz4"), "lz4")])


def all_at_once(path: Path) -> Path:
    inside = message_chunk(MAX_CHUNK - 2**12)
    return mcap(path / "x.mcap", [(len(inside), zstd().compress(inside), "zstd")] * 40)


def ros1(packing: str) -> Callable[[Path], Path]:
    """A ROS 1 bag with one chunk, one topic and one message."""

    def fields(**values: bytes) -> bytes:
        lines = [name.encode() + b"=" + value for name, value in values.items()]
        return b"".join(struct.pack("<I", len(line)) + line for line in lines)

    def entry(data: bytes, **header: bytes) -> bytes:
        head = fields(**header)
        return struct.pack("<I", len(head)) + head + struct.pack("<I", len(data)) + data

    def write(path: Path) -> Path:
        number, time = struct.pack("<I", 1), struct.pack("<II", 5, 0)
        zero = struct.pack("<I", 0)
        chunk = entry(zeros(packing), op=b"\x05", compression=packing.encode(), size=struct.pack("<I", HUGE - 1))
        index = entry(time + zero, op=b"\x04", ver=number, conn=zero, count=number)
        magic, size = b"#ROSBAG V2.0\n", 4096
        at = struct.pack("<Q", len(magic) + size + len(chunk) + len(index))
        head = fields(op=b"\x03", index_pos=at, conn_count=number, chunk_count=number)
        room = size - 8 - len(head)
        start = struct.pack("<I", len(head)) + head + struct.pack("<I", room) + b" " * room
        kind = fields(
            topic=b"/camera/image", type=b"sensor_msgs/Image", md5sum=b"0" * 32, message_definition=b"uint8[] data\n"
        )
        connection = entry(kind, op=b"\x07", conn=zero, topic=b"/camera/image")
        where = struct.pack("<Q", len(magic) + size)
        info = entry(
            zero + number, op=b"\x06", ver=number, chunk_pos=where, start_time=time, end_time=time, count=number
        )
        (path / "x.bag").write_bytes(magic + start + chunk + index + connection + info)
        return path / "x.bag"

    return write


def sqlite(path: Path) -> Path:
    folder = walk_bag(walk(3)).write(path, "sqlite3")
    file = next(folder.glob("*.db3"))
    with sqlite3.connect(file) as db:
        db.execute("ALTER TABLE messages RENAME TO old")
        db.execute(
            "CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER, timestamp INTEGER,"
            " data BLOB AS (zeroblob(900000000)))"
        )
        db.execute("INSERT INTO messages SELECT id, topic_id, timestamp FROM old")
    db.close()
    return folder


def packed_messages(path: Path) -> Path:
    folder = walk_bag(walk(3)).write(path, "sqlite3")
    file = next(folder.glob("*.db3"))
    with sqlite3.connect(file) as db:
        db.execute("UPDATE messages SET data = ?", (zeros("zstd"),))
    db.close()
    metadata = folder / "metadata.yaml"
    text = metadata.read_text().replace("compression_format: ''", "compression_format: zstd")
    metadata.write_text(text.replace("compression_mode: ''", "compression_mode: MESSAGE"))
    assert "MESSAGE" in metadata.read_text()
    return folder


def wide_image(path: Path) -> Path:
    """A recording in which two images are of 40,000 x 40,000 pixels, in 2 MB of PNG."""
    folder = write_recording(path / "walk", walk(4))

    def part(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    packer = zlib.compressobj(1)
    packed = b"".join(packer.compress(bytes(40_001 * 1000)) for _ in range(40)) + packer.flush()
    head = part(b"IHDR", struct.pack(">IIBBBBB", 40_000, 40_000, 8, 0, 0, 0, 0))
    for file in sorted((folder / "rgb").iterdir())[:2]:
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + head + part(b"IDAT", packed) + part(b"IEND", b""))
    return folder


BOMBS: dict[str, Callable[[Path], Path]] = {
    "chunk that states little": states_little,
    "chunk that states much": states_much,
    "chunks of one time": all_at_once,
    "bag lz4": ros1("lz4"),
    "bag bz2": ros1("bz2"),
    "values made up by a table": sqlite,
    "packed messages": packed_messages,
    "image of a gigapixel": wide_image,
}


EXAMINE = """
import sys
from lastseen.errors import LastseenError
from lastseen.sources import open_source
from lastseen.sources.doctor import examine

for address in sys.argv[1:]:
    try:
        with open_source(address) as source:
            for _ in source.frames():
                pass
            examine(source)
    except LastseenError as error:
        print(error)
"""
COMMAND = """
import sys
from lastseen.cli.main import main

try:
    main()
except SystemExit as ended:
    assert ended.code in {0, 1, 2, None}, ended
"""
PEAK = """
text = open("/proc/self/status").read()
print(text.partition("VmHWM:")[2].split()[0])
"""


def peak(program: str, arguments: list[str]) -> tuple[int, list[str]]:
    """Largest memory (bytes) of a program of its own, and the lines it printed."""
    if not Path("/proc/self/status").exists():
        pytest.skip("needs Linux: the largest memory of a process is read from /proc")
    command = [sys.executable, "-c", program + PEAK, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr
    *lines, last = ended.stdout.splitlines()
    return 1024 * int(last), lines


@pytest.mark.timeout(400)  # a dozen recordings, one after the other, on a machine that may be busy
def test_reading_and_examining_bombs_stays_below_a_gigabyte(tmp_path: Path) -> None:
    addresses = []
    for number, make in enumerate(BOMBS.values()):
        (tmp_path / str(number)).mkdir()
        addresses.append(str(make(tmp_path / str(number))))
    memory, lines = peak(EXAMINE, addresses)
    assert memory < LIMIT
    # the images are left out of their recording, which is short then but no error
    assert len(lines) >= len(BOMBS) - 1


@pytest.mark.integration
@pytest.mark.parametrize("command", ["doctor", "run"])
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_command_on_a_bomb_stays_below_a_gigabyte(bomb: str, command: str, tmp_path: Path) -> None:
    more = ["--memory", str(tmp_path / "home.lastseen")] if command == "run" else []
    memory, _ = peak(COMMAND, [command, str(BOMBS[bomb](tmp_path)), *more])
    assert memory < LIMIT


@pytest.mark.integration
@pytest.mark.parametrize("command", ["doctor", "run"])
def test_the_largest_images_that_are_taken_stay_below_a_gigabyte(command: str, tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "walk", walk(4))
    for kind, mode in (("rgb", "RGB"), ("depth", "I;16")):
        for file in (folder / kind).iterdir():
            with Image.open(file) as image:
                pixels = np.asarray(image.convert(mode).resize((4096, 2304)))
            Image.fromarray(pixels).save(file)
    more = ["--memory", str(tmp_path / "home.lastseen")] if command == "run" else []
    memory, _ = peak(COMMAND, [command, str(folder), "--set", "rescale_intrinsics=true", *more])
    assert memory < LIMIT


@pytest.mark.parametrize("packing", ["zstd", "lz4", "bz2"])
def test_unpacking_stops_at_the_limit_and_says_so(packing: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(SourceError, match="exceeds 1000000"):
        unpack(zeros(packing, 2**28), packing, limit=1_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_a_bomb_is_one_line_that_names_the_size(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=f"exceeds {MAX_CHUNK}"):
        open_source(states_much(tmp_path))
