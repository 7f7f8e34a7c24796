"""What all live streams share: a receiving thread, explicit backpressure, and survival of what live streams do.

A stream that stalls, leaps in time or begins anew is reported in ``intake`` and goes on; memory stays bounded.
"""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from lastseen.errors import InvalidValue, LastseenError
from lastseen.sources.base import RecordSource
from lastseen.sources.mailbox import Mailbox
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord

T = TypeVar("T")

POLL = 0.1
"""Seconds after which a receiver looks whether it should stop."""

JOIN = 5.0
"""Seconds a receiver is given to stop."""


class LiveSource(RecordSource, Generic[T]):
    """A stream that goes on while it is read; a subclass receives items in a thread and decodes them in the run."""

    live = True

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        super().__init__(address, options)
        self.mailbox: Mailbox[T] = Mailbox(
            capacity=self.options.queue_frames, lossless=self.options.backpressure == "lossless"
        )
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @abstractmethod
    def receive(self, stop: threading.Event) -> None:
        """Put items into the mailbox until told to stop or until the stream ends; runs in a thread of its own."""

    @abstractmethod
    def decode(self, item: T) -> RawRecord | None:
        """The record of an item; what cannot be read raises ``InvalidValue``; None was counted already."""

    def start(self) -> None:
        """Begin to receive; reading does it too."""
        if self._thread is None:
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
            if last is not None and record.stamp - last > self.options.max_leap:
                self.intake.note(f"the clock leaps ahead by {record.stamp - last:.1f} s at {record.stamp:.3f}")
            last = record.stamp
            yield record

    def close(self) -> None:
        """Stop receiving and release sockets."""
        self._stop.set()
        self.mailbox.close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(JOIN)

    def _items(self) -> Iterator[T]:
        silent = 0.0
        while True:
            patience = self.options.stall_after
            if self.options.end_after > 0:
                patience = min(patience, self.options.end_after)
            item = self.mailbox.get(patience)
            self.mailbox.tell(self.intake)
            if item is not None:
                silent = 0.0
                yield item
                continue
            if self.mailbox.ended:
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
            self.mailbox.close(error)
        finally:
            self.mailbox.close()

    def _restarts(self, stamp: float, last: float) -> bool:
        if last - stamp <= self.options.restart_after:
            return False
        self.intake.restarts += 1
        self.intake.note(f"the stream began anew: stamp {stamp:.3f} after {last:.3f}")
        return True
