"""The newest state of every object and the last events, as text ready to be sent, kept once for all subscribers.

Each subscriber keeps a cursor: the number up to which it was sent. It gets the newest state after that number, so one
that reads slowly skips what lies between, and nothing here grows with the number of subscribers or with time.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event, ObjectState
from lastseen.memory.objects.columns import id_text
from lastseen.server.queries import now_json
from lastseen.server.responses import json_text
from lastseen.server.serializers import events_json, listed_objects

_EVENTS_KEPT = 500
"""Events that a subscriber may miss before it is told so."""
_OBJECTS_AT_ONCE = 1000
"""Objects that are described before any of them is sent: a fraction of a second's work."""
_OBJECTS_PER_MESSAGE = 1000
"""About half a megabyte, below the limit of common clients."""
_GONE_KEPT = 5000
"""Ids of objects that went, kept for subscribers that lag; one that lags farther starts anew."""


@dataclass(frozen=True, slots=True)
class Update:
    """One message about objects, the cursor after it, and whether there is more."""

    text: str
    cursor: int
    more: bool


@dataclass(slots=True)
class _Sent:
    """What was last published of an object; ``fresh`` says that time alone can make it stale."""

    number: int
    text: str
    position: list[float]
    place: tuple[int, str] | None
    last_seen: float
    fresh: bool


class Feed:
    """Numbered updates of objects and events; ``current`` gives the memory, which a followed file replaces."""

    def __init__(self, current: Callable[[], Memory]) -> None:
        self.newest = 0
        self.last_event = 0
        self._current = current
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._revision: int | None = None
        self._rooms: list[tuple[int, str, float]] | None = None
        self._numbers: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._objects: OrderedDict[str, _Sent] = OrderedDict()
        self._in_order: list[_Sent] | None = None
        self._unfinished = False
        self._gone: OrderedDict[str, int] = OrderedDict()
        self._gone_before = 0
        self._events: deque[tuple[int, str]] = deque(maxlen=_EVENTS_KEPT)
        self._updates: dict[tuple[int, bool], Update] = {}

    def refresh(self, published: Callable[[], object] | None = None) -> bool:
        """Bring in what changed in memory since the last time; says whether anything did.

        ``published`` is called after each part of it: a large memory takes seconds, and its first objects none.
        """
        memory = self._current()
        with self._refreshing:
            moved = self._refresh_places(memory)
            revision = memory.browse.revision
            if self._revision == revision:
                return moved
            # a file that was replaced by an older one counts from less
            since = self._revision if self._revision is not None and self._revision < revision else 0
            changed = memory.browse.changed(since)
            gone = np.setdiff1d(self._numbers, changed.numbers, assume_unique=True)
            waiting = [id_text(number) for number in changed.objects.tolist()]
            for first in range(0, len(waiting), _OBJECTS_AT_ONCE):
                # of a first filling every part has something new: whoever is sent the last one has all
                self._unfinished = self._revision is None and first + _OBJECTS_AT_ONCE < len(waiting)
                self._take(memory, memory.browse.states(waiting[first : first + _OBJECTS_AT_ONCE]))
                if published is not None:
                    published()
            self._take(memory, (), gone=map(id_text, gone.tolist()))
            self._revision, self._numbers = changed.revision, changed.numbers
            return True

    def refresh_stale(self) -> None:
        """Publish objects that became stale: nothing happened to them, only time passed."""
        memory = self._current()
        limit = memory.browse.now - memory.settings.lifecycle.stale_after
        with self._lock:
            old = [key for key, sent in self._objects.items() if sent.fresh and sent.last_seen < limit]
        if old:
            with self._refreshing:
                self._take(memory, memory.browse.states(old))

    def publish(self, events: Sequence[Event]) -> None:
        """Take what just happened to objects."""
        for event in events_json(self._current(), events):
            with self._lock:
                self.last_event += 1
                self._events.append((self.last_event, json_text({**event, "seq": self.last_event})))

    def objects_since(self, cursor: int, *, reset: bool) -> Update | None:
        """What changed after a cursor; None: nothing, or nothing is known yet. ``reset`` starts from nothing."""
        with self._lock:
            if not reset and cursor >= self.newest:
                return None
            if self._revision is None and not self._objects:
                # a home is not called empty before anybody has looked
                return None
            if 0 < cursor < self._gone_before:
                cursor, reset = 0, True
            if (cursor, reset) not in self._updates:
                self._updates[cursor, reset] = self._update(cursor, reset)
            return self._updates[cursor, reset]

    def events_since(self, cursor: int) -> tuple[list[str], int]:
        """The events after a cursor that are still kept, and how many of them are not."""
        with self._lock:
            first = self._events[0][0] if self._events else self.last_event + 1
            missed = max(0, first - 1 - cursor)
            behind = self.last_event - max(cursor, first - 1)
            return [self._events[at][1] for at in range(len(self._events) - behind, len(self._events))], missed

    def _refresh_places(self, memory: Memory) -> bool:
        """Publish objects whose room is another one or named anew, though nothing happened to them."""
        rooms = [(room.id, room.name, room.area) for room in memory.rooms()]
        if rooms == self._rooms:
            return False
        self._rooms = rooms
        with self._lock:
            known = [(key, sent.position, sent.place) for key, sent in self._objects.items()]
        now = memory.room_at([position for _, position, _ in known], [key for key, _, _ in known])
        moved = [
            key
            for (key, _, place), room in zip(known, now, strict=True)
            if place != (None if room is None else (room.id, room.name))
        ]
        if moved:
            self._take(memory, memory.browse.states(moved))
        return bool(moved)

    def _take(self, memory: Memory, states: Sequence[ObjectState], *, gone: Iterable[str] = ()) -> None:
        described = listed_objects(memory, states)
        with self._lock:
            for one in described:
                key = str(one["id"])
                # an age grows by itself: with it every object would change with every frame
                del one["age"]
                text, before = json_text(one), self._objects.get(key)
                # a memory that was read anew counts every object as changed
                if before is None or before.text != text:
                    self.newest += 1
                    self._objects[key] = _Sent(
                        self.newest,
                        text,
                        one["position"],
                        None if one["place_id"] is None else (one["place_id"], one["place"]),
                        one["last_seen_memory_time"],
                        one["state"] == "confirmed",
                    )
                    self._objects.move_to_end(key)
                    self._gone.pop(key, None)
            for key in gone:
                self.newest += 1
                self._objects.pop(key, None)
                self._gone[key] = self.newest
            while len(self._gone) > _GONE_KEPT:
                _, self._gone_before = self._gone.popitem(last=False)
            self._updates.clear()
            self._in_order = None

    def _newer(self, cursor: int, *, most: int) -> list[_Sent]:
        """What was published after a cursor, oldest first."""
        if self.newest - cursor > most:
            # somebody who starts is far behind for many messages: each finds its place in a list of all
            if self._in_order is None:
                self._in_order = list(self._objects.values())
            first = bisect_right(self._in_order, cursor, key=lambda sent: sent.number)
            return self._in_order[first : first + most]
        newer: list[_Sent] = []
        # what changed last stands at the end: walking from there reads no more than is sent
        for sent in reversed(self._objects.values()):
            if sent.number <= cursor:
                break
            newer.append(sent)
        newer.reverse()
        return newer

    def _update(self, cursor: int, reset: bool) -> Update:
        limit, upto = _OBJECTS_PER_MESSAGE, self.newest
        newer = self._newer(cursor, most=limit + 1)
        more = len(newer) > limit
        if more:
            newer = newer[:limit]
            upto = newer[-1].number
        gone = [] if reset else [key for key, number in self._gone.items() if cursor < number <= upto]
        follows = more or self._unfinished
        head = {"type": "objects_update", "reset": reset, "more": follows, **now_json(self._current()), "gone": gone}
        objects = ",".join(sent.text for sent in newer)
        return Update(f'{json_text(head)[:-1]},"objects":[{objects}]}}', upto, more)
