from __future__ import annotations

import threading

import pytest

from lastseen.errors import SourceError
from lastseen.sources.live import FrameQueue, LiveSource
from lastseen.sources.record import Intake


def counted(queue: FrameQueue[int]) -> Intake:
    intake = Intake()
    queue.move_counts(intake)
    return intake


def test_latest_drops_the_oldest_and_counts_it() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=2, lossless=False)
    for number in range(5):
        assert queue.put(number)
    assert [queue.get(0.0), queue.get(0.0), queue.get(0.0)] == [3, 4, None]
    assert counted(queue).dropped == 3
    assert counted(queue).dropped == 0


def test_lossless_makes_the_sender_wait() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=2, lossless=True)
    sender = threading.Thread(target=lambda: [queue.put(number) for number in range(50)])
    sender.start()
    assert [queue.get(5.0) for _ in range(50)] == list(range(50))
    sender.join()
    assert counted(queue).dropped == 0


def test_closing_frees_a_sender_that_waits() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=1, lossless=True)
    queue.put(1)
    said: list[bool] = []
    sender = threading.Thread(target=lambda: said.append(queue.put(2)))
    sender.start()
    queue.close()
    sender.join(5.0)
    assert said == [False]


def test_what_is_there_can_be_taken_before_the_error_shows() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=2, lossless=False)
    queue.put(1)
    queue.close(SourceError("x", 1, "broke", remedy="mend it"))
    assert not queue.ended
    assert queue.get(0.0) == 1
    with pytest.raises(SourceError, match="broke"):
        queue.get(0.0)


def test_problems_are_counted_by_reason() -> None:
    queue: FrameQueue[int] = FrameQueue(capacity=2, lossless=False)
    queue.skip("too large", "first")
    queue.skip("too large", "second")
    intake = counted(queue)
    assert intake.skipped == {"too large": 2}
    assert intake.examples == {"too large": "first"}


class Silent(LiveSource[int]):
    """A stream of nothing, which says whether it was ever received."""

    received = False

    def receive(self, stop: threading.Event) -> None:
        self.received = True
        stop.wait(10.0)

    def decode(self, item: int) -> None:
        return None


def test_what_was_closed_before_it_began_is_not_received() -> None:
    source = Silent("silent://")
    source.close()
    assert list(source.records()) == []
    assert not source.received
