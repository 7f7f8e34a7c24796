from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.doctor import examine
from lastseen.sources.follow import follow
from lastseen.sources.message import END, pack
from lastseen.sources.zmq_stream import ZmqSource

zmq = pytest.importorskip("zmq")


@pytest.fixture(scope="module")
def walk_frames(tmp_path_factory: pytest.TempPathFactory) -> list[Frame]:
    from tests.sources.room import walk, write_recording

    return list(open_source(write_recording(tmp_path_factory.mktemp("zmq") / "walk", walk(16))).frames())


class Sender:
    """A sender that waits for its reader, so that tests need no sleeps."""

    def __init__(self) -> None:
        self._context = zmq.Context()
        self.socket = self._context.socket(zmq.PUSH)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.port = self.socket.bind_to_random_port("tcp://127.0.0.1")

    def send(self, *messages: list[bytes]) -> None:
        for message in messages:
            self.socket.send_multipart(message)

    def close(self) -> None:
        self.socket.close()
        self._context.term()


@pytest.fixture
def sender() -> Iterator[Sender]:
    made = Sender()
    yield made
    made.close()


def reader(sender: Sender, **options: object) -> ZmqSource:
    settled = {"backpressure": "lossless", "queue_frames": 100, "stall_after": 0.2, "end_after": 5.0, **options}
    opened = open_source(f"zmq://127.0.0.1:{sender.port}", SourceOptions.from_mapping(settled))
    assert isinstance(opened, ZmqSource)
    # a sender that pushes waits until somebody is there
    opened.start()
    return opened


def later(frame: Frame, seconds: float) -> Frame:
    return replace(frame, stamp=frame.stamp + seconds)


def test_frames_come_as_they_were_sent_until_the_end(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender) as source:
        sender.send(*[pack(frame, sequence=frame.id) for frame in walk_frames], [END])
        found = list(source.frames())
    assert [frame.stamp for frame in found] == [frame.stamp for frame in walk_frames]
    assert all((a.rgb == b.rgb).all() for a, b in zip(found, walk_frames, strict=True))
    assert source.live
    assert source.length() is None


def test_a_subscriber_takes_the_latest_and_counts_the_rest(walk_frames: list[Frame]) -> None:
    with zmq.Context() as context, context.socket(zmq.XPUB) as publisher:
        port = publisher.bind_to_random_port("tcp://127.0.0.1")
        options = SourceOptions(queue_frames=2, end_after=5.0)
        with open_source(f"zmq://127.0.0.1:{port}", options) as source:
            assert isinstance(source, ZmqSource)
            source.start()
            # an XPUB hears of its subscriber: from then on nothing is lost on the way
            assert publisher.recv() == b"\x01"
            for frame in walk_frames[:6]:
                publisher.send_multipart(pack(frame, sequence=frame.id))
            publisher.send_multipart([END])
            assert source._thread is not None
            source._thread.join(5.0)
            found = list(source.frames())
        publisher.setsockopt(zmq.LINGER, 0)
    assert [frame.stamp for frame in found] == [frame.stamp for frame in walk_frames[4:6]]
    assert source.intake.dropped == 4


def test_frames_lost_on_the_way_are_counted(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender) as source:
        sender.send(*[pack(walk_frames[index], sequence=number) for index, number in ((0, 0), (1, 1), (2, 7))], [END])
        assert len(list(source.frames())) == 3
    assert source.intake.dropped == 5


def test_detections_come_with_the_frames(sender: Sender, walk_frames: list[Frame]) -> None:
    mug = Detection(box=(1.0, 2.0, 30.0, 40.0), score=0.8, labels={"mug": 0.8})
    with reader(sender) as source:
        sender.send(*[pack(frame, detections=[mug] if frame.id else []) for frame in walk_frames[:2]], [END])
        detector = source.detector()
        assert detector is not None
        found = [detector.detect(frame) for frame in source.frames()]
    assert [[one.label for one in some] for some in found] == [[], ["mug"]]


def test_a_stream_without_detections_has_no_detector(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender) as source:
        sender.send(pack(walk_frames[0]))
        assert source.detector() is None


def test_bad_messages_are_counted_and_survived(sender: Sender, walk_frames: list[Frame]) -> None:
    first, second = pack(walk_frames[0]), pack(walk_frames[1])
    bad: list[list[bytes]] = [
        [b"\x80\x04pickle"],
        [b"{}"],
        [first[0]],
        [first[0], first[1][:100], first[2]],
        [*first, b"more", b"and more"],
        [b"x" * (2**20 + 1)],
    ]
    with reader(sender) as source:
        sender.send(first, *bad, second, [END])
        assert len(list(source.frames())) == 2
    assert sum(source.intake.skipped.values()) == 6
    assert source.intake.skipped["unreadable message"] == 3


def test_a_clock_that_starts_anew_begins_a_session(sender: Sender, walk_frames: list[Frame]) -> None:
    settings = Settings()
    memory = Memory.open(settings=settings, wall_clock=None)
    with reader(sender) as source:
        # overtaken by a little: left out; back by far: began anew
        order = [walk_frames[1], walk_frames[0], walk_frames[2], *[later(frame, -90.0) for frame in walk_frames[3:6]]]
        sender.send(*[pack(frame) for frame in order], [END])
        summary = follow(source, memory, Perception(settings))
    assert summary.restarts == 1
    assert summary.skipped == {"stamp goes backwards": 1}
    assert len(memory.sessions()) == 2
    assert summary.seconds == pytest.approx(0.3)
    assert any("began anew" in note for note in summary.notes)


def test_a_leap_ahead_is_told(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender) as source:
        sender.send(pack(walk_frames[0]), pack(later(walk_frames[1], 1000.0)), [END])
        assert len(list(source.frames())) == 2
    assert any("leaps ahead by 1000.1 s" in note for note in source.intake.notes)


def test_a_silent_stream_stalls_and_then_ends(sender: Sender, walk_frames: list[Frame]) -> None:
    silences: list[float] = []
    with reader(sender, stall_after=0.1, end_after=0.3) as source:
        source.waiting = silences.append
        sender.send(pack(walk_frames[0]))
        assert len(list(source.frames())) == 1
    assert source.intake.stalls == 1
    assert silences == pytest.approx([0.1, 0.2, 0.3])
    assert any("nothing came for" in note for note in source.intake.notes)


def test_a_message_over_the_limit_never_gets_in(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender, max_message_mb=1, end_after=0.5) as source:
        sender.send([b"x" * (2 * 2**20)])
        assert list(source.frames()) == []
    assert source.intake.skipped == {}


def test_the_doctor_samples_a_live_stream(sender: Sender, walk_frames: list[Frame]) -> None:
    with reader(sender) as source:
        # the doctor takes every fifth of a stream of unknown length
        sender.send(*[pack(later(frame, 0.0)) for frame in walk_frames[:9] for _ in range(5)], [END])
        assert examine(source).faults == []


def test_a_sender_that_never_speaks_is_one_clear_error(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lastseen.sources.zmq_stream.FIRST_MESSAGE", 0.1)
    with reader(sender) as source, pytest.raises(SourceError, match="sent nothing"):
        source.detector()


@pytest.mark.parametrize("address", ["zmq://nowhere", "zmq://", "zmq://host:port", "zmq://a b:1"])
def test_a_wrong_address_is_one_clear_error(address: str) -> None:
    with pytest.raises(SourceError, match="host:port"):
        open_source(address)


def test_the_header_is_plain_json(walk_frames: list[Frame]) -> None:
    tree: dict[str, Any] = json.loads(pack(walk_frames[0])[0])
    assert tree["format"] == "lastseen-frame"


def test_a_memory_is_the_same_live_and_recorded(sender: Sender, walk_frames: list[Frame], tmp_path: Path) -> None:
    settings = Settings()
    live = Memory.open(settings=settings, wall_clock=None)
    with reader(sender) as source:
        sender.send(*[pack(frame) for frame in walk_frames[:6]], [END])
        follow(source, live, Perception(settings))
    recorded = Memory.open(settings=settings, wall_clock=None)
    perception = Perception(settings)
    for frame in walk_frames[:6]:
        perceived = perception.perceive(frame)
        if perceived.refusal is None:
            recorded.observe(frame, perceived.observations)
    first, second = (memory.states(include_tentative=True) for memory in (live, recorded))
    assert [one.id for one in first] == [one.id for one in second]
    assert all((a.xyz_world == b.xyz_world).all() for a, b in zip(first, second, strict=True))
