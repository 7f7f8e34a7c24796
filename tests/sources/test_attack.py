"""Hostile and broken input of the streams: ROS 1 bags, ZeroMQ without an end, clocks that are wrong once."""

from __future__ import annotations

import itertools
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rosbags.rosbag1 import Writer as Writer1

from lastseen.errors import LastseenError
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.base import RecordSource
from lastseen.sources.message import END, pack
from lastseen.sources.record import RawRecord
from tests.sources.room import walk, write_recording
from tests.sources.ros.bags import walk_bag

FAR = 1e9
MIB = 2**20


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_recording(tmp_path_factory.mktemp("attack") / "walk", walk(8))


def broken(rng: np.random.Generator, content: bytes) -> bytes:
    """A file with some bytes changed, a piece cut out or doubled, or its end missing."""
    changed, at = bytearray(content), int(rng.integers(len(content)))
    way = int(rng.integers(4))
    if way == 0:
        for place in rng.integers(0, len(content), int(rng.integers(1, 40))).tolist():
            changed[place] = int(rng.integers(256))
    elif way == 1:
        # where sizes and counts stand: in headers, near the beginning and the end
        place = int(
            rng.choice([rng.integers(13, 300), rng.integers(4096, 4600), len(content) - rng.integers(4, 900)])
        )
        changed[place : place + 4] = rng.choice([b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff", bytes(4)])
    elif way == 2:
        del changed[at : at + int(rng.integers(1, 5000))]
    else:
        del changed[at:]
    return bytes(changed)


@pytest.mark.parametrize("packing", ["none", "lz4", "bz2"])
def test_a_broken_ros_1_bag_gives_frames_or_one_clear_line(
    tmp_path: Path, packing: str, soak: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if packing != "none":
        made = Writer1.__init__

        def packed(self: Writer1, path: Path) -> None:
            made(self, path)
            self.set_compression(Writer1.CompressionFormat[packing.upper()])

        monkeypatch.setattr(Writer1, "__init__", packed)
    content = walk_bag(walk(3), ros1=True).write(tmp_path, "ros1").read_bytes()
    rng, said = np.random.default_rng(0), list[str]()
    for number in range(30 * soak):
        file = tmp_path / f"{number}.bag"
        file.write_bytes(broken(rng, content))
        try:
            with open_source(file) as source:
                assert len(list(source.frames())) <= 3
        except LastseenError as error:
            said.append(str(error))
        file.unlink()
    assert said
    assert not [line for line in said if "\n" in line]


class Misdated(RecordSource):
    """A recording with other stamps; ``live`` says how it is read."""

    def __init__(self, recorded: Path, change: Callable[[list[float]], Sequence[float]], *, live: bool) -> None:
        super().__init__("misdated")
        self._recorded, self._change = recorded, change
        self.live = live

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        found = list(open_source(self._recorded).records())
        for record, stamp in zip(found, self._change([each.stamp for each in found]), strict=True):
            yield replace(record, stamp=stamp)


def one_wrong(at: int, by: float) -> Callable[[list[float]], list[float]]:
    return lambda stamps: [stamp + (by if number == at else 0.0) for number, stamp in enumerate(stamps)]


@pytest.mark.parametrize("at", [1, 4, 6])
@pytest.mark.parametrize("by", [FAR, -FAR, 61.0, 1e300])
def test_one_wrong_stamp_costs_one_frame(recording: Path, at: int, by: float) -> None:
    source = Misdated(recording, one_wrong(at, by), live=False)
    frames = list(source.frames())
    assert len(frames) == 7
    assert sum(source.intake.skipped.values()) == 1
    assert all(one.stamp <= other.stamp for one, other in itertools.pairwise(frames))


def test_one_wrong_stamp_in_a_live_stream_costs_one_frame(recording: Path) -> None:
    source = Misdated(recording, lambda stamps: [*stamps[:3], stamps[3] + FAR, *stamps[4:]], live=True)
    assert len(list(source.frames())) == 7
    assert dict(source.intake.skipped) == {"stamp leaps ahead": 1}


def test_a_clock_that_leaps_and_stays_there_is_believed(recording: Path) -> None:
    source = Misdated(recording, lambda stamps: [*stamps[:4], *(stamp + FAR for stamp in stamps[4:])], live=False)
    assert len(list(source.frames())) == 8


def test_a_recording_with_minutes_between_frames_keeps_them_all(recording: Path) -> None:
    source = Misdated(recording, lambda stamps: [300.0 * number for number in range(len(stamps))], live=False)
    assert len(list(source.frames())) == 8


class Endless:
    """A sender that speaks ZeroMQ by itself: its first message never ends, the second connection is well behaved."""

    def __init__(self, message: list[bytes]) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._listening.settimeout(20)
        self.port = int(self._listening.getsockname()[1])
        self._message = message
        self.sent = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._thread.join(20)
        self._listening.close()

    def _run(self) -> None:
        try:
            with self._accept() as link:
                for _ in range(32):
                    link.sendall(struct.pack(">BQ", 3, MIB) + bytes(MIB))
                    self.sent += MIB
                # until the other side has had enough
                link.recv(1)
        except OSError:
            pass
        with self._accept() as link:
            for parts in (self._message, [END]):
                for number, part in enumerate(parts):
                    link.sendall(struct.pack(">BQ", 2 | (number < len(parts) - 1), len(part)) + part)
            link.recv(1)

    def _accept(self) -> socket.socket:
        link = self._listening.accept()[0]
        link.settimeout(20)
        link.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00NULL" + bytes(16 + 1 + 31))
        ready = b"\x05READY\x0bSocket-Type\x00\x00\x00\x04PUSH"
        link.sendall(bytes([4, len(ready)]) + ready)
        head = b""
        while len(head) < 64 + 2:
            head += link.recv(64 + 2 - len(head))
        rest = head[65]
        while rest:
            rest -= len(link.recv(rest))
        return link


def test_a_zeromq_message_without_an_end_is_given_up_and_the_next_connection_read(recording: Path) -> None:
    pytest.importorskip("zmq")
    frame = next(iter(open_source(recording).frames()))
    sender = Endless(pack(frame))
    options = {"backpressure": "lossless", "max_message_mb": 1, "end_after": 20.0}
    with open_source(f"zmq://127.0.0.1:{sender.port}", SourceOptions.from_mapping(options)) as source:
        frames = list(source.frames())
        skipped = dict(source.intake.skipped)
    sender.close()
    assert len(frames) == 1
    assert skipped == {"unreadable message": 1}
    assert sender.sent > 3 * MIB


def test_hostile_zeromq_headers_are_skipped(recording: Path, soak: int) -> None:
    from lastseen.sources.message import unpack

    rng, frame = np.random.default_rng(0), next(iter(open_source(recording).frames()))
    header, *images = pack(frame)
    hostile: list[object] = [
        None,
        True,
        -1,
        0,
        1e308,
        float("nan"),
        "x" * 1000,
        [],
        {},
        [[]],
        2**70,
        "\x00",
        {"a": {}},
    ]
    said: list[str] = []
    for _ in range(200 * soak):
        tree = json.loads(header)
        name = str(rng.choice(sorted(tree)))
        value = hostile[int(rng.integers(len(hostile)))]
        if isinstance(tree[name], dict) and rng.random() < 0.7:
            tree[name][str(rng.choice(sorted(tree[name])))] = value
        else:
            tree[name] = value
        try:
            unpack([json.dumps(tree).encode(), *images], max_pixels=10**7)
        except LastseenError as error:
            said.append(str(error))
    assert not [line for line in said if "\n" in line]
