"""Finding the depth image that belongs to each colour image while both arrive, with a bounded wait.

A pair is made when nothing nearer can come any more: depth as late as the image has arrived, or the stream ended.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_DEPTH, Intake

T = TypeVar("T")

MAX_WAITING = 64
"""Images of a kind that wait for their partner at most: two seconds at 30 Hz."""

HALF_MICROSECOND = 5e-7
"""Seconds forgiven between two stamps: rounding of a stamp to binary and back."""


@dataclass(frozen=True, slots=True)
class Waiting(Generic[T]):
    """An image that waits, as bytes or as a message."""

    stamp: float
    item: T
    size: int


@dataclass(frozen=True, slots=True)
class Pair(Generic[T]):
    """A colour image and its depth image."""

    color: Waiting[T]
    depth: Waiting[T]


class Pairs(Generic[T]):
    """Colour and depth as they come, out in pairs by colour stamp; what waits is limited in number and bytes."""

    def __init__(self, options: SourceOptions, intake: Intake, *, max_bytes: int) -> None:
        self._options = options
        self._intake = intake
        self._max_bytes = max_bytes
        self._colors: list[Waiting[T]] = []
        self._depths: list[Waiting[T]] = []

    def color(self, stamp: float, item: T, size: int) -> Iterator[Pair[T]]:
        """Take a colour image."""
        insort(self._colors, Waiting(stamp, item, size), key=_stamp)
        return self._settle(ended=False)

    def depth(self, stamp: float, item: T, size: int) -> Iterator[Pair[T]]:
        """Take a depth image; its stamp is put on the clock of colour."""
        insort(self._depths, Waiting(stamp - self._options.depth_delay, item, size), key=_stamp)
        return self._settle(ended=False)

    def end(self) -> Iterator[Pair[T]]:
        """Settle everything that still waits."""
        return self._settle(ended=True)

    def _settle(self, *, ended: bool) -> Iterator[Pair[T]]:
        while self._colors:
            head = self._colors[0]
            best = self._nearest(head.stamp)
            newest = self._depths[-1].stamp if self._depths else None
            exact = best is not None and best.stamp == head.stamp
            if not (ended or exact or (newest is not None and newest >= head.stamp) or self._full()):
                return
            del self._colors[0]
            if best is None or abs(best.stamp - head.stamp) > self._reach():
                away = "none" if best is None else f"nearest is {abs(best.stamp - head.stamp):.3f} s away"
                self._intake.skip(NO_DEPTH, f"stamp {head.stamp:.6f}: {away}")
            else:
                yield Pair(head, best)
            self._forget(self._colors[0].stamp if self._colors else head.stamp)
        # depth without colour must not pile up
        while self._full():
            del self._depths[0]

    def _nearest(self, stamp: float) -> Waiting[T] | None:
        right = bisect_left(self._depths, stamp, key=_stamp)
        near = self._depths[max(0, right - 1) : right + 1]
        return min(near, key=lambda one: (abs(one.stamp - stamp), one.stamp), default=None)

    def _forget(self, stamp: float) -> None:
        """Drop depth that is too old for the next colour image, but for one: two images may share it."""
        keep = bisect_left(self._depths, stamp - self._reach(), key=_stamp)
        del self._depths[: min(keep, len(self._depths) - 1)]

    def _full(self) -> bool:
        many = max(len(self._colors), len(self._depths)) > MAX_WAITING
        waiting = sum(one.size for one in self._colors) + sum(one.size for one in self._depths)
        return many or (waiting > self._max_bytes and len(self._colors) + len(self._depths) > 1)

    def _reach(self) -> float:
        return self._options.max_stamp_difference + HALF_MICROSECOND


def _stamp(waiting: Waiting[T]) -> float:
    return waiting.stamp
