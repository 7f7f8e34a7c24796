"""What all live streams share: a receiving thread and a bounded queue with explicit backpressure.

A stream that stalls, leaps in time or begins anew is reported in ``intake`` and goes on.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from lastseen.errors import InvalidValue, LastseenError
from lastseen.sources.base import MAX_LEAP, RecordSource
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord

T = TypeVar("T")

POLL = 0.1
"""Seconds after which a receiver looks whether it should stop."""

JOIN = 5.0
"""Seconds a receiver is given to stop."""


class FrameQueue(Generic[T]):
    """A bounded queue between the receiving and the reading thread.

    ``latest`` drops the oldest item when it is full, ``lossless`` makes the receiver wait. What the receiving thread
    drops or cannot read is counted here, by reason, until the reading thread moves it to its intake.
    """

    def __init__(self, *, capacity: int, lossless: bool) -> None:
        self._items: deque[T] = deque()
        self._capacity = capacity
        self._lossless = lossless
        self._changed = threading.Condition()
        self._closed = False
        self._counts = Intake()
        self._error: Exception | None = None

    def put(self, item: T) -> bool:
        """Add an item; False when the queue was closed meanwhile."""
        with self._changed:
            while self._lossless and len(self._items) >= self._capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            if len(self._items) >= self._capacity:
                self._items.popleft()
                self._counts.dropped += 1
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self, timeout: float) -> T | None:
        """Remove and return the oldest item; None after ``timeout`` seconds or when nothing will come any more."""
        with self._changed:
            item = self._oldest(timeout)
            if item is not None:
                self._items.popleft()
                self._changed.notify_all()
            return item

    def peek(self, timeout: float) -> T | None:
        """The oldest item, which stays; None after ``timeout`` seconds."""
        with self._changed:
            return self._oldest(timeout)

    def close(self, error: Exception | None = None) -> None:
        """Let nothing more in; once the queue is empty, ``error`` is raised where there is one."""
        with self._changed:
            self._closed = True
            self._error = self._error or error
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """Whether nothing is there and nothing will come."""
        with self._changed:
            return self._closed and not self._items

    def count_lost(self, count: int) -> None:
        """Count items that were lost before they got here."""
        with self._changed:
            self._counts.dropped += count

    def skip(self, reason: str, example: str) -> None:
        """Count a message that could not become an item."""
        with self._changed:
            self._counts.skip(reason, example)

    def move_counts(self, intake: Intake) -> None:
        """Add what was counted to an intake and start from zero."""
        with self._changed:
            counts, self._counts = self._counts, Intake()
        intake.dropped += counts.dropped
        intake.skipped.update(counts.skipped)
        intake.examples = {**counts.examples, **intake.examples}

    def _oldest(self, timeout: float) -> T | None:
        self._changed.wait_for(lambda: bool(self._items) or self._closed, timeout)
        if not self._items and self._error is not None:
            raise self._error
        return self._items[0] if self._items else None


class LiveSource(RecordSource, Generic[T]):
    """A stream that goes on while it is read; a subclass receives items in a thread and decodes them in the run."""

    live = True

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(address, options)
        self.queue: FrameQueue[T] = FrameQueue(
            capacity=self.options.queue_frames, lossless=self.options.backpressure == "lossless"
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    @abstractmethod
    def receive(self, stop: threading.Event) -> None:
        """Put items into the queue until ``stop`` is set or the stream ends; runs in a thread of its own."""

    @abstractmethod
    def decode(self, item: T) -> RawRecord | None:
        """The record of an item; what cannot be read raises ``InvalidValue``; None was counted already."""

    def start(self) -> None:
        """Begin to receive; reading does it too. What was closed is not opened again."""
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._receive, name=self.address, daemon=True)
                self._thread.start()

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield records as they come; ends when the stream does."""
        self.start()
        self.intake = Intake()
        last: float | None = None
        for number, item in enumerate(self._items()):
            if wanted is not None and not wanted(number):
                continue
            try:
                record = self.decode(item)
            except InvalidValue as error:
                self.intake.skip(f"unreadable {error.field.split()[0]}", str(error))
                continue
            if record is None:
                continue
            if last is not None and record.stamp - last > MAX_LEAP:
                self.intake.note(f"the clock leaps ahead by {record.stamp - last:.1f} s at {record.stamp:.3f}")
            last = record.stamp
            yield record

    def close(self) -> None:
        """Stop receiving and release sockets."""
        # another thread may be about to start it
        with self._starting:
            self._stop.set()
        self.queue.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN)

    def _items(self) -> Iterator[T]:
        silent = 0.0
        while True:
            patience = self.options.stall_after
            if self.options.end_after > 0:
                patience = min(patience, self.options.end_after)
            item = self.queue.get(patience)
            self.queue.move_counts(self.intake)
            if item is not None:
                silent = 0.0
                yield item
                continue
            if self.queue.ended:
                return
            if silent == 0.0 and patience >= self.options.stall_after:
                self.intake.stalls += 1
            silent += patience
            if self.waiting is not None:
                self.waiting(silent)
            if 0 < self.options.end_after <= silent:
                self.intake.note(f"the stream ended: nothing came for {silent:.1f} s")
                return

    def _receive(self) -> None:
        try:
            self.receive(self._stop)
        except LastseenError as error:
            self.queue.close(error)
        finally:
            self.queue.close()

    def _restarts(self, stamp: float, last: float) -> bool:
        if last - stamp <= self.options.restart_after:
            return False
        self.intake.restarts += 1
        self.intake.note(f"the stream began anew: stamp {stamp:.3f} after {last:.3f}")
        return True
