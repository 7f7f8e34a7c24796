"""Changes of a memory that do not come from a frame: corrections by people or a mapper, and forgetting.

Whoever subscribed hears of them as of what frames do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from lastseen.errors import InvalidValue
from lastseen.frame import floor_pose
from lastseen.geometry import Pose3D
from lastseen.memory.facts import ID_PREFIX as FACT_PREFIX
from lastseen.memory.facts import Fact
from lastseen.memory.objects import Event
from lastseen.memory.session_files import drop_copies
from lastseen.memory.sessions import Sessions
from lastseen.memory.store.clock import Moment
from lastseen.memory.write_path import Forgotten, WritePath

Subscriber = Callable[[Event], None]


class Corrections:
    """The part of ``Memory`` that corrects, forgets and tells subscribers of events."""

    _writes: WritePath
    _sessions: Sessions
    _subscribers: list[Subscriber]

    def flush(self) -> int:
        """Write everything that changed; it is on disk when this returns. Returns the rows written."""
        return self._writes.flush()

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Call a function with every event of objects from now on; returns what ends it, which may be called twice.

        It is called in the thread that observes or corrects, after the change and before it is written.

        >>> memory.subscribe(lambda event: print(event.kind, event.object_id))  # doctest: +SKIP
        """
        self._subscribers.append(subscriber)
        return lambda: self._subscribers.remove(subscriber) if subscriber in self._subscribers else None

    def _publish(self, events: tuple[Event, ...]) -> tuple[Event, ...]:
        """Tell the subscribers, in the order they came, and give the events back."""
        for subscriber in tuple(self._subscribers):
            for event in events:
                subscriber(event)
        return events

    def settle(self) -> None:
        """Let what the running session wrote stay, whatever is found out about its map."""
        self._sessions.settle()

    def _correct(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Make a change that does not come from a frame, tell the subscribers and write it."""
        events = self._publish(self._writes.correct(change))
        self.flush()
        return events

    def _by_hand(self, change: Callable[[], tuple[Event, ...]]) -> tuple[Event, ...]:
        """Make a change that a person or a search asked for: what they say is not taken back with a session."""
        self.settle()
        return self._correct(change)

    def relabel(self, object_id: str, label: str) -> tuple[Event, ...]:
        """Name an object by hand; later sightings do not change the name."""
        return self._by_hand(lambda: self._writes.objects.relabel(object_id, label))

    def confirm(self, object_id: str) -> tuple[Event, ...]:
        """Vouch for a tentative object: someone went there and saw it. A search does so with what it found."""
        return self._by_hand(lambda: self._writes.objects.confirm(object_id))

    def delete(self, object_id: str) -> tuple[Event, ...]:
        """Drop an object that is none; ``undo`` brings it back, ``forget`` leaves no trace."""
        return self._by_hand(lambda: self._writes.objects.delete(object_id))

    def merge(self, keep: str, lose: str) -> tuple[Event, ...]:
        """Say that two objects are one; the first id stays."""
        return self._by_hand(lambda: self._writes.objects.merge(keep, lose))

    def undo(self) -> tuple[Event, ...]:
        """Take back the last relabel, delete, merge or tell of this session."""

        def undo() -> tuple[Event, ...]:
            events = self._writes.objects.undo()
            change = self._writes.objects.undone
            if change is not None and change.fact is not None:
                self._writes.facts.drop([change.fact])
            for event in events if change is not None and change.what in ("delete", "merge") else ():
                text = f"{event.object_id} was brought back by an undo of {change.what}" if change else ""
                fact = Fact(id="", kind="restored", text=text, time=self._writes.clock.now, provenance="restored")
                self._writes.facts.add(replace(fact, object_id=event.object_id))
            return events

        return self._by_hand(undo)

    def _tell(self, fact: Fact, change: Callable[[int], tuple[str | None, tuple[Event, ...]]]) -> Fact:
        """Keep a fact and make the change of objects that it means, given its number; writes both."""
        kept = fact

        def add() -> tuple[Event, ...]:
            nonlocal kept
            object_id, events = change(int(self._writes.facts.next_id.removeprefix(FACT_PREFIX)))
            kept = self._writes.facts.add(replace(fact, object_id=object_id or fact.object_id))
            return events

        self._by_hand(add)
        return replace(kept, wall=self._writes.clock.wall(kept.time))

    def facts(self) -> list[Fact]:
        """What this memory was told, in that order, with its provenance (docs/telling.md)."""
        with self._writes.lock:
            return [replace(fact, wall=self._writes.clock.wall(fact.time)) for fact in self._writes.facts.all()]

    def correct_poses(self, poses: Mapping[int, Pose3D]) -> tuple[Event, ...]:
        """Take new poses of past frames by frame id (a loop closure); objects seen and anchors made there move."""
        to, apart = self._sessions.transform, self._sessions.apart
        if to is not None:
            poses = {frame_id: to.pose @ pose for frame_id, pose in poses.items()}
        if apart is not None:
            return apart.correct_poses(poses)
        floor = {frame_id: floor_pose(pose) for frame_id, pose in poses.items()}

        def correct() -> tuple[Event, ...]:
            self._writes.space.spatial.correct_poses(floor)
            return self._writes.objects.correct_poses(poses)

        return self._correct(correct)

    def forget(self, object_id: str | None = None, *, before: Moment | None = None) -> Forgotten:
        """Delete one object or fact, or all not seen or told since a time, for good: working memory, file, indexes.

        Facts that name a forgotten object go with it.
        No byte of them is left when this returns, names that nothing else has included, unless ``not_yet`` of the
        answer says what is in the way; then it completes by itself.
        """
        if (object_id is None) == (before is None):
            raise InvalidValue("forget", object_id, "takes an id or a time", remedy="give one of id and before=")
        self.settle()
        if self._writes.store.journal.path is not None:
            frames = [self._writes.frames.of(session.id) for session in self._writes.clock.sessions]
            drop_copies(self._writes.store.journal.path, frames)
        self.flush()
        facts: list[int] = []
        if object_id is not None and object_id.startswith(FACT_PREFIX):
            fact = next((one for one in self.facts() if one.id == object_id), None)
            if fact is None:
                raise InvalidValue("id", object_id, "is not remembered", remedy="`lastseen facts` lists what is")
            # an object that is known by that fact alone goes with it
            told = [] if fact.object_id is None else self._writes.objects.only_told([fact.object_id])
            return self._writes.forget(told, facts=[fact.number])
        if object_id is not None:
            self._writes.objects.state(object_id)
            ids = [object_id]
        else:
            assert before is not None
            time = self._writes.clock.time(before, name="before")
            ids, facts = self._writes.store.table.not_seen_since(time), self._writes.facts.before(time)
        return self._writes.forget(ids, facts=facts)

    def thin(self) -> int:
        """Delete at once the history that ``retention`` does not keep, objects never; returns the rows deleted."""
        self.settle()
        return self._writes.thin()
