"""What stands between a thread that receives and a run that may be slower: bounded, and open about what it drops."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import Generic, TypeVar

from lastseen.sources.record import Intake

T = TypeVar("T")


class Mailbox(Generic[T]):
    """A short queue: ``latest`` drops the oldest when it is full, ``lossless`` makes the receiver wait.

    Problems that the receiving thread meets are kept here too, by reason, until the reading thread takes them.
    """

    def __init__(self, *, capacity: int, lossless: bool) -> None:
        self._items: deque[T] = deque()
        self._capacity = capacity
        self._lossless = lossless
        self._changed = threading.Condition()
        self._closed = False
        self._dropped = 0
        self._problems: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._error: Exception | None = None

    def put(self, item: T) -> bool:
        """Add an item; False when the box was closed meanwhile."""
        with self._changed:
            while self._lossless and len(self._items) >= self._capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            if len(self._items) >= self._capacity:
                self._items.popleft()
                self._dropped += 1
            self._items.append(item)
            self._changed.notify_all()
            return True

    def get(self, timeout: float) -> T | None:
        """The oldest item; None after the timeout or when nothing will come any more."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._items) or self._closed, timeout)
            if not self._items:
                if self._error is not None:
                    raise self._error
                return None
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def peek(self, timeout: float) -> T | None:
        """The oldest item without taking it; None after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._items) or self._closed, timeout)
            if not self._items and self._error is not None:
                raise self._error
            return self._items[0] if self._items else None

    def close(self, error: Exception | None = None) -> None:
        """Let nothing more in; what is there can still be taken, then ``error`` is raised where there is one."""
        with self._changed:
            self._closed = True
            self._error = self._error or error
            self._changed.notify_all()

    @property
    def ended(self) -> bool:
        """Whether nothing is there and nothing will come."""
        with self._changed:
            return self._closed and not self._items

    def lose(self, count: int = 1) -> None:
        """Count items that were lost before they got here."""
        with self._changed:
            self._dropped += count

    def report(self, reason: str, example: str) -> None:
        """Count a message that was no item."""
        with self._changed:
            self._problems[reason] += 1
            self._examples.setdefault(reason, example)

    def tell(self, intake: Intake) -> None:
        """Move what was counted to an intake."""
        with self._changed:
            intake.dropped += self._dropped
            intake.skipped.update(self._problems)
            for reason, example in self._examples.items():
                intake.examples.setdefault(reason, example)
            self._dropped = 0
            self._problems.clear()
            self._examples.clear()
