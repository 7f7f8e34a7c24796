"""The running session: is it in the map of this memory, and what is done with it until that is known.

A session is believed as its poses say, and watched: a small memory of its own sees the same frames and is compared
with what was known before. Where it agrees, nothing happened. Where it differs, everything it wrote is taken back,
and it goes on in a memory file of its own until it is known where that lies; then both become one. See
docs/alignment.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Box, Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.alignment import Alignment, FrameTransform, Landmarks, align, landmarks_of
from lastseen.memory.alignment.aligner import LEAST_MATCHES
from lastseen.memory.alignment.claim import Claim, LookedAt, check_claim
from lastseen.memory.alignment.landmarks import landmarks
from lastseen.memory.merging import Merged, take_in
from lastseen.memory.object import Answer, Known
from lastseen.memory.objects import Event, ObjectState
from lastseen.memory.places.tracker import Step
from lastseen.memory.session_frames import TRUSTED, SessionFrame, covariance_of
from lastseen.memory.store.salvage import backup
from lastseen.memory.write_path import WritePath
from lastseen.observation import Observation

_log = logging.getLogger(__name__)

WATCHED = 60.0
"""Seconds of looking for which a session can be taken back: what has not differed by then goes on unverified."""
CHECKED_EVERY, SEARCHED_EVERY = 0.5, 5.0
"""Seconds of looking between comparisons with the map, and between searches of it for another place."""
JUMP_SPEED, JUMP = 5.0, 1.0
"""Metres a second and metres that a camera never moves between two frames: its localizer did."""
DOUBTFUL = 4.0
"""Nats of evidence below which a robot does not set out by what it remembers: two things at their places are more."""
TELLING = 12
"""Things of a map from which it is worth a look around to check a pose; few of a small one are in view at a time."""
SEEN_TWICE = 2
"""Sightings from which a thing that is not confirmed yet is compared with the map."""
_LOOKED_AROUND = 0.6
"""Metres around a thing in which floor must have been seen for the map to have looked there."""


class Opened(Protocol):
    """A memory as sessions use it."""

    _writes: WritePath

    def observe(
        self,
        frame: Frame,
        observations: Sequence[Observation] | None = None,
        *,
        detections: Sequence[Detection] | None = None,
        step: Step | None = None,
        people: Sequence[Box] | None = None,
    ) -> tuple[Event, ...]:
        """Take one frame."""
        ...

    def states(self, *, include_tentative: bool = False) -> list[ObjectState]:
        """The objects that are there."""
        ...

    def flush(self) -> int:
        """Write what changed."""
        ...

    def close(self) -> None:
        """Release it."""
        ...


M = TypeVar("M", bound=Opened)


@dataclass
class _Watch(Generic[M]):
    """A session under watch: the map from before it, and a memory of what it alone saw."""

    alone: M
    known: Landmarks
    looked_at: LookedAt
    since: float
    checked: float
    searched: float
    evidence: float = 0.0


class Sessions(Generic[M]):
    """The running session of one memory.

    Args:
        home: The memory.
        make: Opens another memory of the same settings at a path, or in RAM.
        reopen: Reads ``home`` anew from its journal, after what a session wrote was taken back.
    """

    def __init__(self, home: M, make: Callable[[Path | None], M], reopen: Callable[[], None]) -> None:
        self._home, self._make, self._reopen = home, make, reopen
        self.enabled = True
        """Whether sessions are watched; one that is kept apart takes its poses as they are."""
        self.map_id: str | None = None
        """What the source of the next session calls its map."""
        self.apart: M | None = None
        """The memory of a session that is in quarantine; None while the session is in this memory's map."""
        self.transform: FrameTransform | None = None
        """From the running session's map to the memory's; None where they are one."""
        self._watch: _Watch[M] | None = None
        self._last: tuple[float, NDArray[np.float64]] | None = None
        self._tried = 0.0
        self._begins = False

    @property
    def prefix(self) -> str:
        """What the ids of the running session begin with while it is in quarantine."""
        return prefix_of(len(self._home._writes.clock.sessions))

    @property
    def known(self) -> Known:
        """Whether the newest session is known to be in this memory's map."""
        frame = self.current
        if frame is None or frame.state in TRUSTED:
            return "aligned"
        return "unverified" if frame.state == "unverified" else "unknown"

    @property
    def current(self) -> SessionFrame | None:
        """The frame of the newest session; None before the first."""
        writes = self._home._writes
        return writes.frames.of(writes.clock.sessions[-1].id) if writes.clock.sessions else None

    def begin(self, frame: Frame) -> None:
        """See whether a frame begins a session, or comes after a jump of the localizer."""
        writes = self._home._writes
        if not self.enabled:
            if writes.clock.current is None:
                number = len(writes.clock.sessions) + 1
                writes.frames.put(SessionFrame(session=number, state="first" if number == 1 else "stated"))
            return
        position = frame.T_world_camera.translation
        if writes.clock.current is None:
            self.transform = None
            self._begin_session(frame)
        elif self._watch is None and self.apart is None and self._jumped(frame.stamp, position):
            _log.warning("the pose jumped at %.1f s: the session is compared with the map anew", frame.stamp)
            self._begin_watch(frame.stamp)
        self._last = frame.stamp, position

    def in_map(
        self, frame: Frame, observations: Sequence[Observation] | None
    ) -> tuple[Frame, Sequence[Observation] | None]:
        """A frame of an aligned session in this memory's map."""
        if self.transform is None:
            return frame, observations
        return _moved(frame, observations, self.transform)

    @property
    def doubtful(self) -> bool:
        """Whether nothing speaks yet for where the running session says it is, and something still may."""
        watch = self._watch
        return watch is not None and len(watch.known) >= TELLING and watch.evidence < DOUBTFUL

    def step_of(self, step: Step | None) -> Step | None:
        """What led to a frame; after a session came into another map, no step of the walk there leads to it."""
        begins, self._begins = self._begins, False
        return Step() if begins and step is not None else step

    def check(self, frame: Frame, observations: Sequence[Observation], step: Step | None) -> None:
        """Let what watches the session see a frame that this memory took, and act on what it finds."""
        watch = self._watch
        if watch is None:
            return
        watch.alone.observe(frame, observations, step=step)
        if frame.stamp - watch.checked < CHECKED_EVERY:
            return
        watch.checked = frame.stamp
        search = frame.stamp - watch.searched >= SEARCHED_EVERY
        watch.searched = frame.stamp if search else watch.searched
        # from one spot nothing is seen from two sides, and so nothing is confirmed: twice seen is enough to compare
        seen = [one for one in watch.alone.states(include_tentative=True) if one.confirmed or one.hits >= SEEN_TWICE]
        sure = np.array([one.confirmed for one in seen], dtype=np.bool_)
        claim = check_claim(landmarks(seen), watch.known, watch.looked_at, sure=sure, search=search)
        watch.evidence = claim.evidence
        if claim.status == "agrees":
            self._note("verified", claim.reason)
            self.settle()
        elif claim.status == "differs":
            self._put_apart(claim, frame.stamp)
        elif frame.stamp - watch.since > WATCHED:
            self.settle()

    def observe_apart(
        self,
        frame: Frame,
        observations: Sequence[Observation] | None,
        *,
        detections: Sequence[Detection] | None,
        step: Step | None,
        people: Sequence[Box] | None,
    ) -> tuple[Event, ...]:
        """Take a frame of a session in quarantine, and see now and then whether it can be aligned."""
        apart, writes = self.apart, self._home._writes
        assert apart is not None
        assert writes.clock.current is not None
        with writes.lock:
            writes.clock.advance(frame.stamp)
        prefix = prefix_of(writes.clock.current.id)
        events = apart.observe(frame, observations, detections=detections, step=step, people=people)
        if frame.stamp - self._tried >= SEARCHED_EVERY:
            self._tried = frame.stamp
            found = align(landmarks_of(apart), landmarks_of(self._home))
            if found.status == "aligned":
                self._join(found)
        later = writes.clock.now - frame.stamp
        return tuple(
            replace(event, object_id=prefix + event.object_id, stamp=event.stamp + later) for event in events
        )

    def settle(self) -> None:
        """End the watch: from now on the session cannot be taken back."""
        if self._watch is not None:
            watch, self._watch = self._watch, None
            self._home._writes.store.journal.keep()
            watch.alone.close()

    def end(self) -> None:
        """End the session: one in quarantine stays in its file."""
        self.settle()
        self.transform, self._last = None, None
        if self.apart is not None:
            apart, self.apart = self.apart, None
            apart.close()

    def _begin_session(self, frame: Frame) -> None:
        writes = self._home._writes
        number, map_id = len(writes.clock.sessions) + 1, self.map_id
        things = self._things()
        stated = None if map_id is None else writes.frames.in_map(map_id)
        made = SessionFrame(session=number, state="unverified", map_id=map_id, time=writes.clock.now)
        if not things:
            writes.frames.put(replace(made, state="first", reason="the memory was empty"))
        elif stated is not None:
            self.transform = stated.transform
            same = replace(made, transform=stated.transform, covariance=stated.covariance)
            writes.frames.put(replace(same, state="stated", reason=f"the map of session {stated.session}"))
        elif map_id is not None and writes.frames.names_maps():
            self._begin_watch(frame.stamp)
            self._put_apart(Claim("differs", f"its source says that its map is {map_id!r}"), frame.stamp)
            return
        else:
            writes.frames.put(made)
        # with fewer things nothing can be told, and a few things are no reason to keep a session apart
        if things >= LEAST_MATCHES:
            self._begin_watch(frame.stamp)

    def _begin_watch(self, stamp: float) -> None:
        writes = self._home._writes
        self._home.flush()
        writes.store.journal.mark()
        known = landmarks_of(self._home)
        self._watch = _Watch(self._make(None), known, _looked_at(writes, known), stamp, stamp, stamp)

    def _jumped(self, stamp: float, position: NDArray[np.float64]) -> bool:
        if self._last is None:
            return False
        before, place = self._last
        gap = float(np.linalg.norm(position - place))
        return gap > JUMP and gap > JUMP_SPEED * max(stamp - before, 0.0) and self._things() >= LEAST_MATCHES

    def _things(self) -> int:
        """How many confirmed objects the memory holds."""
        return len(self._home._writes.objects.listed())

    def _note(self, state: str, reason: str) -> None:
        writes = self._home._writes
        frame = self.current
        if frame is not None and frame.state == "unverified" and state == "verified":
            writes.frames.put(frame.becomes("verified", time=writes.clock.now, reason=reason))

    def _put_apart(self, claim: Claim, stamp: float) -> None:
        """Take back what the session wrote, and let it go on in a memory of its own."""
        watch, self._watch = self._watch, None
        assert watch is not None
        home = self._home
        path, robot = home._writes.store.journal.path, home._writes.settings.store.robot
        taken_back = home._writes.store.journal.take_back()
        self._reopen()
        writes = home._writes
        wall_offset = None
        for session in watch.alone._writes.clock.sessions:
            wall_offset = session.wall_offset
        record = writes.clock.begin(watch.since, robot=robot, wall_offset=wall_offset)
        writes.clock.advance(stamp)
        apart = watch.alone
        file = None
        if path is not None:
            file = _free_name(path, f"session-{record.id}")
            apart.flush()
            apart._writes.store.journal.copy_to(file)
            apart.close()
            apart = self._make(file)
        self.apart, self._tried = apart, stamp
        frame = SessionFrame(session=record.id, state="unverified", map_id=self.map_id, time=record.first)
        # its memory is in the map that it claimed to be in
        where = {"file": None if file is None else file.name, "transform": self.transform}
        writes.frames.put(frame.becomes("quarantined", time=writes.clock.now, reason=claim.reason, **where))
        writes.queue_shared(*taken_back)
        home.flush()
        _log.warning("session %d is kept apart: %s", record.id, claim.reason)
        if claim.alignment is not None and claim.alignment.status == "aligned":
            self._join(claim.alignment)

    def _join(self, found: Alignment) -> None:
        """Take a session that was in quarantine into this memory, now that its place is known."""
        assert self.apart is not None
        writes, frame = self._home._writes, self.current
        assert frame is not None
        self._home.flush()
        self.transform = (self.transform or FrameTransform()).then(found.candidates[0].transform)
        join(writes, self.apart._writes, frame, found)
        self._home.flush()
        writes.space.tracker.end_walk()
        self._begins = True
        apart, self.apart = self.apart, None
        apart.close()
        _log.warning("session %d is aligned: %s", frame.session, found.reason)


def join(home: WritePath, apart: WritePath, frame: SessionFrame, found: Alignment) -> Merged:
    """Take the memory of a session into the one it is a session of; the file from before is kept beside it."""
    best, path = found.candidates[0], home.store.journal.path
    before = None
    if path is not None:
        before = beside(path, f"before-session-{frame.session}")
        drop_undo(path)
        backup(path, before)
    offset = home.clock.sessions[frame.session - 1].clock_offset
    later = offset - (apart.clock.sessions[0].clock_offset if apart.clock.sessions else offset)
    merged = take_in(home, apart, best.transform, best.pairs, later=later)
    home.frames.put(
        frame.becomes(
            "aligned",
            time=home.clock.now,
            reason=found.reason,
            transform=(frame.transform or FrameTransform()).then(best.transform),
            covariance=covariance_of(best.deviations),
            evidence=round(best.score, 3),
            pairs=tuple(merged.matched),
            before=None if before is None else before.name,
        )
    )
    return merged


def align_session(path: Path, session: int, open_writes: Callable[[Path], WritePath]) -> Merged:
    """Try again to align a session in quarantine, now that the memory or the session holds more.

    Raises:
        InvalidValue: The session is not in quarantine, its file is gone, or it still cannot be aligned.
    """
    with open_writes(path) as home:
        frame = home.frames.of(session)
        if frame.state != "quarantined" or session > len(home.clock.sessions):
            problem = f"is {frame.state}" if session <= len(home.clock.sessions) else "is not there"
            raise InvalidValue("session", session, problem, remedy="`lastseen sessions` lists those in quarantine")
        file = path.with_name(frame.file or "")
        if frame.file is None or not file.is_file():
            raise InvalidValue("session", session, f"has no file {file}", remedy="put it beside the memory again")
        with open_writes(file) as apart:
            found = align(landmarks_of(apart.objects), landmarks_of(home.objects))
            if found.status != "aligned":
                status = found.status.replace("_", " ")
                raise InvalidValue("session", session, f"is {status}: {found.reason}", remedy="look around more")
            return join(home, apart, frame, found)


def undo_alignment(path: Path, session: int, open_writes: Callable[[Path], WritePath]) -> Path:
    """Undo the alignment of a session: the file from before it is put back, and the session is in quarantine again.

    Returns where the file is kept as it was until now: nothing is deleted.

    Raises:
        InvalidValue: The session is not aligned, a later one came after it, or the file from before is gone.
    """
    with open_writes(path) as home:
        frame = home.frames.of(session)
        last = home.clock.sessions[-1].id if home.clock.sessions else 0
    if frame.state != "aligned":
        raise InvalidValue(
            "session", session, f"is {frame.state}", remedy="`lastseen sessions` lists what is aligned"
        )
    before = beside(path, f"before-session-{session}")
    if not before.exists():
        raise InvalidValue(
            "session", session, f"cannot be undone: {before} is gone", remedy="forgetting and later alignments end it"
        )
    if last != session:
        raise InvalidValue(
            "session", session, f"is not the newest: {last} came after it", remedy=f"{before} is the memory before it"
        )
    kept = beside(path, f"undone-session-{session}")
    path.replace(kept)
    before.replace(path)
    with open_writes(path) as home:
        was = home.frames.of(session)
        reason = "its alignment was undone"
        home.frames.put(was.becomes("quarantined", time=home.clock.now, reason=reason, before=None))
    return kept


def beside(path: Path, what: str) -> Path:
    """The file of a session beside a memory's: home.lastseen has home.session-7.lastseen."""
    return path.with_name(f"{path.stem}.{what}{path.suffix}")


def _free_name(path: Path, what: str) -> Path:
    """The same, numbered where a run that was cut off left one."""
    file, number = beside(path, what), 2
    while file.exists():
        file, number = beside(path, f"{what}-{number}"), number + 1
    return file


def drop_undo(path: Path) -> None:
    """Delete the copy from before an earlier alignment: only the newest can be undone."""
    for file in path.parent.glob(f"{_escaped(path.stem)}.before-session-*{_escaped(path.suffix)}"):
        file.unlink(missing_ok=True)


def drop_copies(path: Path, frames: Iterable[SessionFrame]) -> None:
    """Delete every file beside a memory that holds what it holds too: what is forgotten would stay in them.

    A session in quarantine is a memory of its own and is kept.
    """
    drop_undo(path)
    for frame in frames:
        copies = [beside(path, f"undone-session-{frame.session}")]
        if frame.state == "aligned" and frame.file is not None:
            copies.append(path.with_name(frame.file))
        for file in copies:
            file.unlink(missing_ok=True)


NOT_FROM_HERE = "That is remembered, but where it is from here is not known yet."


def with_alignment(answer: Answer, known: Known) -> Answer:
    """An answer that says whether its positions are in the map that the newest session is in."""
    if known == "aligned":
        return answer
    hits = tuple(replace(hit, alignment=known) for hit in answer.hits)
    reason = f"{answer.reason} ({NOT_FROM_HERE})" if known == "unknown" and hits else answer.reason
    return replace(answer, hits=hits, reason=reason, alignment=known)


def both(prefix: str, now: Answer, before: Answer) -> Answer:
    """What a session in quarantine sees now, then what was remembered before it and cannot be placed from here."""
    seen = replace(now, hits=tuple(replace(hit, id=prefix + hit.id) for hit in now.hits))
    before = with_alignment(before, "unknown")
    if now.status == "not_found":
        return before if before.status != "not_found" else seen
    if before.status == "not_found":
        return seen
    reason = f"{seen.reason}; {len(before.fitting)} more remembered from before, where from here is not known yet"
    return replace(seen, reason=reason, hits=(*seen.hits, *before.fitting))


def prefix_of(session: int) -> str:
    """What the ids of a session in quarantine begin with."""
    return f"session-{session}/"


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _moved(
    frame: Frame, observations: Sequence[Observation] | None, transform: FrameTransform
) -> tuple[Frame, Sequence[Observation] | None]:
    turned = replace(frame, T_world_camera=transform.pose @ frame.T_world_camera)
    if observations is None:
        return turned, None
    return turned, [
        replace(
            one,
            position=transform.apply(one.position[None])[0],
            extent=transform.turn_boxes(one.extent[None])[0],
            view_direction=transform.turn(one.view_direction[None])[0],
            points=None if one.points is None else transform.apply(one.points.astype(np.float64)).astype(np.float32),
        )
        for one in observations
    ]


def _looked_at(writes: WritePath, known: Landmarks) -> LookedAt:
    """Where the map was looked at until now: floor seen near a point, or a thing where no floor was seen at all."""
    storeys = [(storey.number, storey.floor.copy()) for storey in writes.space.storeys]
    floors, numbers = dict(storeys), writes.space.storeys.numbers
    if not any(floor.evidence.any() for floor in floors.values()):
        return lambda points: np.array(
            [bool((np.linalg.norm(known.positions - point, axis=1) <= 2 * _LOOKED_AROUND).any()) for point in points]
        )

    def looked_at(points: NDArray[np.float64]) -> NDArray[np.bool_]:
        on = numbers(points[:, 2]).tolist()
        return np.array(
            [
                number in floors and floors[number].knows_around(float(x), float(y), radius=_LOOKED_AROUND)
                for number, (x, y, _) in zip(on, points.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )

    return looked_at
