"""What all parts of one server share: the memory, what is told to watchers, and how a frame is taken."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lastseen import __version__
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event
from lastseen.memory.places import SpatialMemory
from lastseen.observation import Observation
from lastseen.protocols import Encoder
from lastseen.server.answers import text_of
from lastseen.server.facts import Facts
from lastseen.server.hub import Hub
from lastseen.server.in_flight import InFlight
from lastseen.server.metrics import RequestCounts
from lastseen.server.point_cloud import PointCloud
from lastseen.server.robot_track import RobotTrack
from lastseen.server.whereabouts import whereabouts

_RATE_WINDOW = 5.0
"""Seconds over which the frame rate is told."""


@dataclass(slots=True)
class SourceStatus:
    """How the stream behind the server does: none, waiting, running, following, ended or failed."""

    state: str = "none"
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RobotUpdate:
    """One message about the robot, and how far it tells: the version of the track, and where its path ended."""

    text: str
    version: int
    path: tuple[int, int]


class Service:
    """One memory and everything that is derived from it while it is served."""

    def __init__(self, memory: Memory, *, mode: str = "file", eyes: Encoder | None = None) -> None:
        self.memory = memory
        self.eyes = eyes
        self.settings = memory.settings
        self.mode = mode
        self.facts = Facts(lambda: self.memory)
        self.hub = Hub(self.facts, memory.settings.live)
        self.points = PointCloud(memory.settings.live)
        self.robot = RobotTrack(memory.settings.live)
        self.requests = RequestCounts()
        self.in_flight = InFlight()
        self.source = SourceStatus()
        self.clients = 0
        self.stopping = False
        self.frames = 0
        self.stats_version = 0
        self.stats_text = ""
        self.places_revision = 0
        self.places_text = ""
        self._places_seen: tuple[SpatialMemory, int] | None = None
        self._started = time.monotonic()
        self._stamps: list[float] = []
        self._robot_kept: dict[tuple[int, int] | None, RobotUpdate] = {}
        self._lock = threading.Lock()
        last = memory.last_pose()
        if last is not None:
            self.robot.stand(last.pose, time=last.time, on_path=False)

    def turn_to(self, memory: Memory, events: Sequence[Event]) -> None:
        """Go on with a later state of the same memory, as another process wrote it, and tell what happened."""
        before, last = self.memory.last_pose(), memory.last_pose()
        self.memory = memory
        if last is not None and (before is None or last.time > before.time):
            self.robot.stand(last.pose, time=last.time)
        self.tell(events)

    def take(self, frame: Frame, observations: Sequence[Observation], *, durable: bool = False) -> tuple[Event, ...]:
        """Take one frame into memory and tell those who watch; ``durable`` returns when it is on disk."""
        events = self.memory.observe(frame, observations)
        if durable:
            self.flush()
        self.show(frame)
        self.tell(events)
        return events

    def show(self, frame: Frame) -> None:
        """Let watchers see a frame, whether or not it was looked at for objects."""
        now = self.memory.browse.now
        self.robot.note(frame, time=now)
        self.points.add(frame, time=now)
        with self._lock:
            self.frames += 1
            self._stamps = [*self._stamps[-100:], time.monotonic()]

    def tell(self, events: Sequence[Event]) -> None:
        """Tell watchers what happened to objects."""
        if events:
            self.hub.tell(events)

    def refresh(self, *, stats: bool) -> None:
        """Bring what watchers see up to date; ``stats`` renews the figures too."""
        self.hub.refresh()
        spatial = self.memory.spatial
        if self._places_seen != (spatial, spatial.revision):
            self._places_seen = spatial, spatial.revision
            text = text_of({"type": "places_update", **whereabouts(self.memory)})
            if text != self.places_text:
                self.places_text = text
                self.places_revision += 1
        if stats:
            self.hub.age()
            self.stats_text = text_of({"type": "stats", **self.stats()})
            self.stats_version += 1

    def flush(self) -> None:
        """Put everything on disk."""
        self.memory.flush()

    def robot_pose(self) -> dict[str, Any] | None:
        """The pose of the newest frame, also of an earlier run, and for how many seconds it has been the newest."""
        pose = self.robot.pose
        if pose is None:
            return None
        wall = self.memory.browse.wall(pose["timestamp"])
        age = None if wall is None else round(max(0.0, time.time() - wall), 1)
        return {**pose, "wall_utc": wall, "age": age}

    def robot_since(self, told: tuple[int, int] | None) -> RobotUpdate:
        """What is new of the robot for whoever was told its path up to there; written once for all of them."""
        robot = self.robot
        with self._lock:
            version = robot.version
            kept = self._robot_kept.get(told)
            if kept is None or kept.version != version:
                generation, known = told or (-1, 0)
                reset = generation != robot.generation
                start = 0 if reset else known
                generation, path = robot.generation, robot.path(start=start)
                text = text_of(
                    {
                        "type": "robot_pose",
                        "time": self.memory.browse.now,
                        "robot_pose": self.robot_pose(),
                        "camera": robot.camera,
                        "path": path,
                        "path_reset": reset,
                    }
                )
                kept = RobotUpdate(text, version, (generation, start + len(path)))
                # of older versions nobody asks again
                self._robot_kept = {
                    key: update for key, update in self._robot_kept.items() if update.version == version
                }
                self._robot_kept[told] = kept
            return kept

    def stats(self) -> dict[str, Any]:
        """The figures that people and agents poll."""
        browse = self.memory.browse
        counts = browse.counts()
        return {
            "objects": counts["confirmed"] + counts["tentative"],
            "confirmed": counts["confirmed"],
            "tentative": counts["tentative"],
            "stale": counts["stale"],
            "missing": counts["missing"],
            "removed": counts["removed"],
            "avg_hits": round(counts["avg_hits"], 3),
            "upserts_total": self.memory.store.rows_written,
            "sessions": len(self.memory.sessions()),
            "now": browse.now,
            "stale_after": self.settings.lifecycle.stale_after,
            "robot_pose": self.robot_pose(),
            "forward_clearance": self.robot.clearance,
            "server": self.state(),
        }

    def state(self) -> dict[str, Any]:
        """How the server itself does."""
        return {
            "version": __version__,
            "mode": self.mode,
            "source": self.source.state,
            "source_error": self.source.error,
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
            recent = [stamp for stamp in self._stamps if now - stamp <= _RATE_WINDOW]
        return len(recent) / _RATE_WINDOW

    def health(self) -> list[str]:
        """What is not as it should be, in words; empty when all is well."""
        reasons = []
        if self.source.state == "failed":
            reasons.append(f"the source failed: {self.source.error}")
        if self.stopping:
            reasons.append("shutting down")
        return reasons
