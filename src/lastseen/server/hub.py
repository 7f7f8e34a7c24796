"""What those who watch are to be told, kept once for all of them.

Each client remembers a few numbers: how far it was told. What is sent is the newest state after that number, so a
client that reads slowly skips what lies between, and nothing here grows with the number of clients or with time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.serving import Live
from lastseen.memory.objects import Event
from lastseen.memory.objects.store import id_text
from lastseen.server.answers import text_of
from lastseen.server.facts import Facts

_GONE_KEPT = 5000
"""Ids of objects that went, kept for clients that lag; one that lags farther starts anew."""


@dataclass(frozen=True, slots=True)
class Update:
    """One message about objects, the number up to which it tells, and whether there is more."""

    text: str
    upto: int
    more: bool


class Hub:
    """The newest text of every object and the last events, each with a number; safe for several threads."""

    def __init__(self, facts: Facts, settings: Live) -> None:
        self.facts = facts
        self.settings = settings
        self.newest = 0
        self.events_told = 0
        self._lock = threading.Lock()
        self._refreshing = threading.Lock()
        self._revision: int | None = None
        self._numbers: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._objects: OrderedDict[str, tuple[int, str]] = OrderedDict()
        self._gone: OrderedDict[str, int] = OrderedDict()
        self._gone_before = 0
        self._fresh: dict[str, float] = {}
        self._places: dict[str, tuple[object, object]] = {}
        self._places_revision: int | None = None
        self._events: deque[tuple[int, str]] = deque(maxlen=settings.events_kept)
        self._kept: dict[tuple[int, bool], Update] = {}

    def refresh(self) -> bool:
        """Bring in what changed in memory since the last time; says whether anything did."""
        browse = self.facts.memory.browse
        with self._refreshing:
            moved = self._refresh_places()
            if self._revision == browse.revision:
                return moved
            # a file that was replaced by an older one counts from less
            since = self._revision if self._revision is not None and self._revision < browse.revision else 0
            changed = browse.changed(since)
            gone = np.setdiff1d(self._numbers, changed.numbers, assume_unique=True)
            self._take(self.facts.objects(changed.objects), gone)
            self._revision, self._numbers = changed.revision, changed.numbers
            return True

    def _refresh_places(self) -> bool:
        """Tell of objects whose place is another one, though nothing happened to them: an anchor was laid nearer."""
        memory = self.facts.memory
        revision = memory.spatial.revision
        if revision == self._places_revision:
            return False
        self._places_revision = revision
        known = list(self._places.items())
        now = memory.places_at([xyz for _, (xyz, _) in known])
        moved = [object_id for (object_id, (_, place)), found in zip(known, now, strict=True) if place != found]
        if moved:
            self._take(self.facts.objects(memory.browse.states(moved)), np.zeros(0, dtype=np.int64))
        return bool(moved)

    def age(self) -> None:
        """Tell of objects that became stale: nothing happened to them, only time passed."""
        browse = self.facts.memory.browse
        limit = browse.now - self.facts.memory.settings.lifecycle.stale_after
        old = [object_id for object_id, last_seen in self._fresh.items() if last_seen < limit]
        if old:
            with self._refreshing:
                self._take(self.facts.objects(browse.states(old)), np.zeros(0, dtype=np.int64))

    def tell(self, events: Sequence[Event]) -> None:
        """Take what just happened to objects."""
        for facts in self.facts.events(events):
            with self._lock:
                self.events_told += 1
                self._events.append((self.events_told, text_of({**facts, "seq": self.events_told})))

    def objects_since(self, since: int, *, reset: bool) -> Update | None:
        """What differs from what a client was told up to ``since``; None: nothing. ``reset`` starts from nothing."""
        with self._lock:
            if not reset and since >= self.newest:
                return None
            if since < self._gone_before and since > 0:
                since, reset = 0, True
            if (since, reset) not in self._kept:
                self._kept[since, reset] = self._update(since, reset)
            return self._kept[since, reset]

    def events_since(self, since: int) -> tuple[list[str], int]:
        """The events after a number that are still kept, and how many of them are not."""
        with self._lock:
            first = self._events[0][0] if self._events else self.events_told + 1
            missed = max(0, first - 1 - since)
            behind = self.events_told - max(since, first - 1)
            return [self._events[at][1] for at in range(len(self._events) - behind, len(self._events))], missed

    def _take(self, objects: Sequence[dict[str, object]], gone: NDArray[np.int64]) -> None:
        with self._lock:
            for facts in objects:
                key, text = str(facts["id"]), text_of(facts)
                self._places[key] = facts["xyz_world"], facts["place"]
                # a memory that was read anew counts every object as changed
                if key not in self._objects or self._objects[key][1] != text:
                    self.newest += 1
                    self._objects[key] = self.newest, text
                    self._objects.move_to_end(key)
                    self._gone.pop(key, None)
                if facts["state"] == "confirmed":
                    self._fresh[key] = float(str(facts["last_seen"]))
                else:
                    self._fresh.pop(key, None)
            for number in gone.tolist():
                key = id_text(number)
                self.newest += 1
                self._objects.pop(key, None)
                self._fresh.pop(key, None)
                self._places.pop(key, None)
                self._gone[key] = self.newest
            while len(self._gone) > _GONE_KEPT:
                _, self._gone_before = self._gone.popitem(last=False)
            self._kept.clear()

    def _update(self, since: int, reset: bool) -> Update:
        texts: list[str] = []
        upto, more = self.newest, False
        # oldest changes first would walk the whole list: those after the number stand at its end
        newer = []
        for number, text in reversed(self._objects.values()):
            if number <= since:
                break
            newer.append((number, text))
        newer.reverse()
        limit = self.settings.objects_per_message
        if len(newer) > limit:
            newer, more = newer[:limit], True
            upto = newer[-1][0]
        texts = [text for _, text in newer]
        gone = [key for key, number in self._gone.items() if since < number <= upto] if not reset else []
        flags = f'"reset":{_word(reset)},"more":{_word(more)},"now":{text_of(self.facts.memory.browse.now)}'
        text = f'{{"type":"objects_update",{flags},"objects":[{",".join(texts)}],"gone":{text_of(gone)}}}'
        return Update(text, upto, more)


def _word(value: bool) -> str:
    return "true" if value else "false"
