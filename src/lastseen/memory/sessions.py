"""The running session: is it in the map of this memory, and what is done with it until that is known.

A session is believed as its poses say, and watched: a small memory of its own sees the same frames and is compared
with what was known before. Where it agrees, nothing happened. Where it differs, everything it wrote is taken back,
and it goes on in a memory file of its own until it is known where that lies; then both become one. See
docs/alignment.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lastseen.box_axes import quarter
from lastseen.detection import Box, Detection
from lastseen.frame import Frame
from lastseen.memory.alignment import Alignment, FrameTransform, Landmarks, align, landmarks_of
from lastseen.memory.alignment.aligner import LEAST_MATCHES, MOST_POINTS, judge
from lastseen.memory.alignment.claim import Claim
from lastseen.memory.objects import Event
from lastseen.memory.places.tracker import Step
from lastseen.memory.session_files import free_name, join
from lastseen.memory.session_frames import SessionFrame
from lastseen.memory.session_watch import COMPARED_EVERY, SEARCHED_EVERY, Watch
from lastseen.observation import Observation

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory

_log = logging.getLogger(__name__)

JUMP_SPEED, JUMP = 5.0, 1.0
"""Metres a second and metres that a camera never moves between two frames: its localizer did."""


class Sessions:
    """The running session of one memory.

    Args:
        home: The memory.
        make: Opens another memory of the same settings at a path, or in RAM.
        reopen: Reads ``home`` anew from its journal, after what a session wrote was taken back.
    """

    def __init__(self, home: Memory, make: Callable[[Path | None], Memory], reopen: Callable[[], None]) -> None:
        self._home, self._make, self._reopen = home, make, reopen
        self.enabled = True
        """Whether sessions are watched; one that is kept apart takes its poses as they are."""
        self.map_id: str | None = None
        """What the source of the next session calls its map."""
        self.apart: Memory | None = None
        """The memory of a session that is in quarantine; None while the session is in this memory's map."""
        self.transform: FrameTransform | None = None
        """From the running session's map to the memory's; None where they are one."""
        self._watch: Watch | None = None
        self._last: tuple[float, NDArray[np.float64]] | None = None
        self._tried = self._compared = 0.0
        self._begins = False
        self.waiting = 0
        """Confirmed things of the last session that ended in quarantine."""

    @property
    def prefix(self) -> str:
        """What the ids of the running session begin with while it is in quarantine."""
        return prefix_of(len(self._home._writes.clock.sessions))

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
    def pose_uncertain(self) -> bool:
        """Whether nothing speaks yet for where the running session says it is, and something still may."""
        return self._watch is not None and self._watch.pose_uncertain

    def step_of(self, step: Step | None) -> Step | None:
        """What led to a frame; after a session came into another map, no step of the walk there leads to it."""
        begins, self._begins = self._begins, False
        return Step() if begins and step is not None else step

    def check(self, frame: Frame, observations: Sequence[Observation], step: Step | None) -> None:
        """Let what watches the session see a frame that this memory took, and act on what it finds."""
        watch = self._watch
        if watch is None:
            return
        claim = watch.see(frame, observations, step)
        if claim is not None:
            self._act_on(claim, frame.stamp)
        if self._watch is watch and watch.is_over(frame.stamp):
            self.settle()

    def _act_on(self, claim: Claim, stamp: float) -> None:
        if claim.status == "agrees":
            self._note("verified", claim.reason)
            self.settle()
        elif claim.status == "differs":
            self._put_apart(claim, stamp)

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
            with_surface = frame.stamp - self._compared >= COMPARED_EVERY
            self._compared = frame.stamp if with_surface else self._compared
            self._try_to_join(apart, with_surface=with_surface)
        later = writes.clock.now - frame.stamp
        return tuple(
            replace(event, object_id=prefix + event.object_id, stamp=event.stamp + later) for event in events
        )

    def _try_to_join(self, apart: Memory, *, with_surface: bool) -> None:
        session, known = (landmarks_of(one, one._writes.space) for one in (apart, self._home))
        found = align(session if with_surface else session.without_surface(), known)
        if found.status == "aligned":
            self._join(found)

    def settle(self) -> None:
        """End the watch: from now on the session cannot be taken back."""
        if self._watch is not None:
            watch, self._watch = self._watch, None
            self._home._writes.store.journal.release()
            watch.alone.close()

    def end(self) -> None:
        """End the session: one that is short is compared once more, and one in quarantine stays in its file."""
        if self._watch is not None and self._last is not None:
            self._act_on(self._watch.last_check(), self._last[0])
        elif self.apart is not None:
            self._try_to_join(self.apart, with_surface=True)
        self.settle()
        self.transform, self._last = None, None
        if self.apart is not None:
            apart, self.apart = self.apart, None
            self.waiting = len(apart.states())
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
        # with fewer things only the surface can tell, and a few things are no reason to keep a session apart
        if things >= LEAST_MATCHES or (things and 0 < self._surface_size() <= MOST_POINTS):
            self._begin_watch(frame.stamp)

    def _begin_watch(self, stamp: float) -> None:
        writes = self._home._writes
        self._home.flush()
        writes.store.journal.savepoint()
        self._watch = Watch(self._home, self._make(None), since=stamp)

    def _jumped(self, stamp: float, position: NDArray[np.float64]) -> bool:
        if self._last is None:
            return False
        before, place = self._last
        gap = float(np.linalg.norm(position - place))
        return gap > JUMP and gap > JUMP_SPEED * max(stamp - before, 0.0) and self._things() >= LEAST_MATCHES

    def _things(self) -> int:
        """How many confirmed objects the memory holds."""
        return len(self._home._writes.objects.listed())

    def _surface_size(self) -> int:
        """How many points the memory's surface has; 0 where it keeps none."""
        space = self._home._writes.space
        return len(space.surface) if space.keeps_surface else 0

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
        taken_back = home._writes.store.journal.roll_back()
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
            file = free_name(path, f"session-{record.id}")
            apart.flush()
            apart._writes.store.journal.copy_to(file)
            apart.close()
            apart = self._make(file)
            # the same things go on in the same frames: what they are called by is not in the file
            apart._writes.objects.tracks = watch.alone._writes.objects.tracks
        apart.box_yaw = home.box_yaw
        self.apart, self._tried, self._compared = apart, stamp, stamp
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
        join(
            writes,
            self.apart._writes,
            frame,
            _of_confirmed(found, landmarks_of(self.apart), landmarks_of(self._home)),
        )
        self._home.flush()
        writes.space.tracker.end_walk()
        self._begins = True
        apart, self.apart = self.apart, None
        if apart.box_yaw is not None:
            self._home.box_yaw = quarter(apart.box_yaw + found.candidates[0].transform.yaw)
        apart.close()
        _log.warning("session %d is aligned: %s", frame.session, found.reason)


def prefix_of(session: int) -> str:
    """What the ids of a session in quarantine begin with."""
    return f"session-{session}/"


def _of_confirmed(found: Alignment, session: Landmarks, known: Landmarks) -> Alignment:
    """The same place with the pairs of confirmed things alone: others helped to find it, and are not taken in."""
    best = found.candidates[0]
    pairs = judge(best.transform, session, known).pairs if len(session) and len(known) else ()
    return replace(found, candidates=(replace(best, pairs=pairs),))


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
            view_direction=transform.turn(one.view_direction[None])[0],
            points=None if one.points is None else transform.apply(one.points.astype(np.float64)).astype(np.float32),
            yaw=one.yaw + transform.yaw,
        )
        for one in observations
    ]
