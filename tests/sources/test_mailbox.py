from __future__ import annotations

import threading

import pytest

from lastseen.errors import SourceError
from lastseen.sources.mailbox import Mailbox
from lastseen.sources.record import Intake


def counted(box: Mailbox[int]) -> Intake:
    intake = Intake()
    box.tell(intake)
    return intake


def test_latest_drops_the_oldest_and_counts_it() -> None:
    box: Mailbox[int] = Mailbox(capacity=2, lossless=False)
    for number in range(5):
        assert box.put(number)
    assert [box.get(0.0), box.get(0.0), box.get(0.0)] == [3, 4, None]
    assert counted(box).dropped == 3
    assert counted(box).dropped == 0


def test_lossless_makes_the_sender_wait() -> None:
    box: Mailbox[int] = Mailbox(capacity=2, lossless=True)
    sender = threading.Thread(target=lambda: [box.put(number) for number in range(50)])
    sender.start()
    assert [box.get(5.0) for _ in range(50)] == list(range(50))
    sender.join()
    assert counted(box).dropped == 0


def test_closing_frees_a_sender_that_waits() -> None:
    box: Mailbox[int] = Mailbox(capacity=1, lossless=True)
    box.put(1)
    said: list[bool] = []
    sender = threading.Thread(target=lambda: said.append(box.put(2)))
    sender.start()
    box.close()
    sender.join(5.0)
    assert said == [False]


def test_what_is_there_can_be_taken_before_the_error_shows() -> None:
    box: Mailbox[int] = Mailbox(capacity=2, lossless=False)
    box.put(1)
    box.close(SourceError("x", 1, "broke", remedy="mend it"))
    assert not box.ended
    assert box.get(0.0) == 1
    with pytest.raises(SourceError, match="broke"):
        box.get(0.0)


def test_problems_are_counted_by_reason() -> None:
    box: Mailbox[int] = Mailbox(capacity=2, lossless=False)
    box.report("too large", "first")
    box.report("too large", "second")
    intake = counted(box)
    assert intake.skipped == {"too large": 2}
    assert intake.examples == {"too large": "first"}
