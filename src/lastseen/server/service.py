"""What all parts of one server share: the memory, what subscribers are sent, and how a frame is taken."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lastseen import __version__
from lastseen.detection import Box
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event
from lastseen.memory.places import SpatialMemory
from lastseen.memory.rooms import Room
from lastseen.protocols import Encoder
from lastseen.server.feed import Feed
from lastseen.server.middleware import InFlight, RequestCounts
from lastseen.server.point_cloud import PointCloud
from lastseen.server.queries import now_json
from lastseen.server.responses import json_text
from lastseen.server.robot_track import RobotTrack
from lastseen.server.serializers import Json, iso, places_json

if TYPE_CHECKING:
    from lastseen.perception.pipeline import Perceived
    from lastseen.server.searching import ServedSearch

_RATE_WINDOW = 5.0
"""Seconds over which the frame rate is counted."""
_VIEWS_KEPT = 4
"""Frames that pages were told of and may ask the image of: several pages, each a little behind."""
_compiling = threading.Lock()
_compiled = False


def compile_once() -> None:
    """Compile what taking a frame or a correction needs, once per process: up to a minute on a new machine.

    Memory compiles at the first call, under the lock that questions wait for; whoever changes a served memory calls
    this before, so that pages are answered meanwhile.
    """
    global _compiled  # noqa: PLW0603
    with _compiling:
        if not _compiled:
            from lastseen.perception.warm_up import warm_up

            warm_up()
            _compiled = True


@dataclass(slots=True)
class SourceStatus:
    """How the stream behind the server does: none, waiting, preparing, running, following, ended or failed."""

    state: str = "none"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RobotUpdate:
    """One message about the robot, the version of the track it is of, and the cursor after its path."""

    text: str
    version: int
    path: tuple[int, int]


@dataclass(frozen=True, slots=True)
class LiveView:
    """A frame and its memory time, the objects that were seen in it, and where people are in the image."""

    number: int
    frame: Frame
    time: float
    ids: tuple[str | None, ...]
    people: tuple[Box, ...] | None


class Service:
    """One memory and everything that is derived from it while it is served.

    ``image_encoder`` is the open encoder of the memory's embeddings, where there is one.
    """

    def __init__(self, memory: Memory, *, mode: str = "file", image_encoder: Encoder | None = None) -> None:
        self.memory = memory
        self.image_encoder = image_encoder
        self.settings = memory.settings
        self.mode = mode
        self.feed = Feed(lambda: self.memory)
        memory.space.keeps_surface = True
        memory.space.keeps_keyframes = self.settings.store.keyframes != "never"
        self.points = PointCloud(memory.space.surface)
        self.robot = RobotTrack(memory.space.path.points)
        self._space = memory.space
        self.requests = RequestCounts()
        self.in_flight = InFlight()
        self.source = SourceStatus()
        self.clients = 0
        self.stopping = False
        self.allow_reset = False
        self.view: LiveView | None = None
        self._views_told: deque[LiveView] = deque(maxlen=_VIEWS_KEPT)
        self.search: ServedSearch | None = None
        self.frames = 0
        self.stats_version = 0
        self.stats_text = ""
        self.places_revision = 0
        self.places_text = ""
        self._places_sent: tuple[SpatialMemory, int, tuple[Room, ...]] | None = None
        self._started = time.monotonic()
        self._frame_times: deque[float] = deque(maxlen=100)
        self._robot_updates: dict[tuple[int, int] | None, RobotUpdate] = {}
        self._lock = threading.Lock()
        last = memory.last_pose()
        if last is not None:
            self.robot.set_pose(last.pose, time=last.time, on_path=False)

    def replace_memory(self, memory: Memory, events: Sequence[Event]) -> None:
        """Go on with a later state of the same memory, as another process wrote it, and publish what happened."""
        before, last = self.memory.last_pose(), memory.last_pose()
        self.memory = memory
        self._follow_space()
        if last is not None and (before is None or last.time > before.time):
            self.robot.set_pose(last.pose, time=last.time)
        self.publish(events)

    def observe(self, frame: Frame, perceived: Perceived, *, durable: bool = False) -> tuple[Event, ...]:
        """Take what was seen in a frame, and publish what happened; ``durable`` returns when it is on disk.

        A frame that perception refused is shown, and not taken.
        """
        if perceived.refusal is not None:
            self._show_refused(frame)
            return ()
        self._prepare()
        events = self.memory.observe(frame, perceived.observations, people=perceived.people)
        if durable:
            self.flush()
        if self.memory.space is not self._space:
            # what a session of another map had written was taken back
            self._follow_space()
        self.show(self.memory.in_map(frame), people=perceived.people)
        if self.memory.current is self.memory:
            self.publish(events)
        return events

    def _prepare(self) -> None:
        """Compile before the first frame; meanwhile the page says why nothing is there yet."""
        if _compiled:
            return
        before, self.source.state = self.source.state, "preparing"
        try:
            compile_once()
        finally:
            self.source.state = before

    def _follow_space(self) -> None:
        self._space = self.memory.space
        self.points.replace(self._space.surface)
        self.robot.restart(self._space.path.points)

    def show(self, frame: Frame, *, people: tuple[Box, ...] | None = None) -> None:
        """Let the robot and its image be seen, whether or not memory took the frame; ``people`` are blanked."""
        self._count(frame)
        self.view = LiveView(self.frames, frame, self.memory.browse.now, self.memory.matched, people)

    def _show_refused(self, frame: Frame) -> None:
        """Show a frame in which nothing was looked for; its image only where people are not blanked anyway."""
        self._count(frame)
        if self.view is None or self.view.people is None:
            self.view = LiveView(self.frames, frame, self.memory.browse.now, (), None)

    def _count(self, frame: Frame) -> None:
        self.robot.add(frame, time=self.memory.browse.now)
        with self._lock:
            self.frames += 1
            self._frame_times.append(time.monotonic())

    def tell_view(self) -> LiveView | None:
        """The newest view, of whose image somebody is told: it is kept until people were told of a few others."""
        view = self.view
        if view is not None and view not in self._views_told:
            self._views_told.append(view)
        return view

    def view_of(self, number: int | None) -> LiveView | None:
        """The view of this number where it is still kept, else the newest."""
        return next((view for view in tuple(self._views_told) if view.number == number), self.view)

    def publish(self, events: Sequence[Event]) -> None:
        """Let subscribers know what happened to objects."""
        if events:
            self.feed.publish(events)

    def refresh(self, *, stats: bool, published: Callable[[], object] | None = None) -> None:
        """Bring what subscribers are sent up to date; ``stats`` renews the figures too.

        ``published`` is called whenever a part of it can be sent.
        """
        if stats:
            # figures need no rooms and no descriptions, which take long where they are first made
            self.stats_text = json_text({"type": "stats", **self.stats()})
            self.stats_version += 1
            if published is not None:
                published()
        self.feed.refresh(published)
        spatial = self.memory.spatial
        sent = spatial, spatial.revision, tuple(self.memory.rooms())
        if self._places_sent != sent:
            self._places_sent = sent
            text = json_text({"type": "places_update", **places_json(self.memory)})
            if text != self.places_text:
                self.places_text = text
                self.places_revision += 1
        if stats:
            self.feed.refresh_stale()

    def flush(self) -> None:
        """Put everything on disk."""
        self.memory.flush()

    def robot_pose(self) -> Json | None:
        """The pose of the newest frame, also of an earlier run, and for how many seconds it has been the newest."""
        pose = self.robot.pose
        if pose is None:
            return None
        wall = self.memory.browse.clock.wall(pose["timestamp"])
        age = None if wall is None else round(max(0.0, time.time() - wall.timestamp()), 1)
        return {**pose, "time": iso(wall), "memory_time": pose["timestamp"], "age": age}

    def robot_since(self, cursor: tuple[int, int] | None) -> RobotUpdate:
        """What is new of the robot after a point of its path; written once for all who are at the same point."""
        robot = self.robot
        with self._lock:
            version = robot.version
            kept = self._robot_updates.get(cursor)
            if kept is None or kept.version != version:
                generation, known = cursor or (-1, 0)
                reset = generation != robot.generation
                start = 0 if reset else known
                generation, path = robot.generation, robot.path(start=start)
                text = json_text(
                    {
                        "type": "robot_pose",
                        **now_json(self.memory),
                        "robot_pose": self.robot_pose(),
                        "camera": robot.camera,
                        "path": path,
                        "path_reset": reset,
                    }
                )
                kept = RobotUpdate(text, version, (generation, start + len(path)))
                # nobody asks for older versions again
                self._robot_updates = {
                    key: update for key, update in self._robot_updates.items() if update.version == version
                }
                self._robot_updates[cursor] = kept
            return kept

    def stats(self) -> Json:
        """The figures that people and agents poll."""
        counts = self.memory.browse.counts()
        return {
            "objects": counts["confirmed"] + counts["tentative"],
            **counts,
            "avg_hits": round(counts["avg_hits"], 3),
            "upserts_total": self.memory.store.rows_written,
            "sessions": len(self.memory.sessions()),
            **now_json(self.memory),
            "stale_after": self.settings.lifecycle.stale_after,
            "robot_pose": self.robot_pose(),
            "forward_clearance": self.robot.clearance,
            "server": self.state(),
        }

    def state(self) -> Json:
        """How the server itself does."""
        return {
            "version": __version__,
            "mode": self.mode,
            "source": self.source.state,
            "source_error": self.source.error,
            "warning": self.memory.store.warning or None,
            "frames": self.frames,
            "frame_rate": round(self.frame_rate(), 2),
            "read_only": self.memory.read_only,
            "clients": self.clients,
            "uptime": round(time.monotonic() - self._started, 1),
            "points": len(self.points),
        }

    def frame_rate(self) -> float:
        """Frames a second, lately."""
        now = time.monotonic()
        with self._lock:
            return sum(now - taken <= _RATE_WINDOW for taken in self._frame_times) / _RATE_WINDOW

    def health(self) -> list[str]:
        """What is not as it should be, in words; empty when all is well."""
        reasons = []
        if self.source.state == "failed":
            reasons.append(f"the source failed: {self.source.error}")
        outbox = self.memory.shared.outbox
        if outbox is not None and outbox.last_error is not None:
            reasons.append(f"what was written waits for the shared index: {outbox.last_error}")
        if self.stopping:
            reasons.append("shutting down")
        return reasons
