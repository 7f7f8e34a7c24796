"""One client of ``/ws``: what it asked for, and how far it was told. A few numbers, however slowly it reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lastseen.server.answers import text_of
from lastseen.server.service import Service

TOPICS = ("events", "objects", "point_cloud", "robot", "stats")
MAX_COMMAND = 4096
"""Bytes of a client's message."""
MAX_DECIMATION = 64


class BadCommandError(ValueError):
    """A client's message that is not understood; the text says why."""


@dataclass(slots=True)
class _Told:
    """How far a client was told; None: it starts from the full state."""

    objects: int | None = None
    events: int | None = None
    points: int | None = None
    robot: int | None = None
    path: tuple[int, int] | None = None
    places: int | None = None
    stats: int | None = None


@dataclass(slots=True)
class Watcher:
    """The state of one connection."""

    service: Service
    topics: frozenset[str] = frozenset()
    decimation: int = 1
    paused: bool = False
    told: _Told = field(default_factory=_Told)

    def hello(self) -> str:
        """The first message."""
        live = self.service.settings.live
        return text_of(
            {
                "type": "hello",
                "version": 1,
                "topics": list(TOPICS),
                "now": self.service.memory.browse.now,
                "stale_after": self.service.settings.lifecycle.stale_after,
                "point_capacity": live.point_slots,
                "voxel": live.voxel,
                "server": self.service.state(),
            }
        )

    def command(self, text: str) -> str:
        """Do what a client asks and return the answer."""
        if len(text) > MAX_COMMAND:
            raise BadCommandError(f"a message may have {MAX_COMMAND} characters")
        try:
            asked = json.loads(text)
        except (ValueError, RecursionError):
            raise BadCommandError("a message must be JSON") from None
        kind = asked.get("type") if isinstance(asked, dict) else None
        if kind == "ping":
            return text_of({"type": "pong", "now": self.service.memory.browse.now})
        if kind == "subscribe":
            self._subscribe(asked.get("topics"))
        elif kind == "set_decimation":
            self._decimate(asked.get("value"))
        elif kind in ("pause", "resume"):
            self.paused = kind == "pause"
        else:
            known = "subscribe, set_decimation, pause, resume, ping"
            raise BadCommandError(f"type: must be one of {known}")
        return text_of(
            {
                "type": "ack",
                "command": kind,
                "topics": sorted(self.topics),
                "decimation": self.decimation,
                "paused": self.paused,
            }
        )

    def behind(self) -> bool:
        """Whether there is anything to send; cheap enough to ask at every tick."""
        if self.paused or not self.topics:
            return False
        service, told = self.service, self.told
        return any(
            (
                "objects" in self.topics and told.objects != service.hub.newest,
                "events" in self.topics and told.events != service.hub.events_told,
                "point_cloud" in self.topics and told.points != service.points.newest,
                "robot" in self.topics
                and (told.robot != service.robot.version or told.places != service.places_revision),
                "stats" in self.topics and told.stats != service.stats_version,
            )
        )

    def messages(self) -> Iterator[str]:
        """What is new, part by part; what comes later in the walk is as new as the moment it is reached."""
        if "objects" in self.topics:
            yield from self._objects()
        if "events" in self.topics:
            yield from self._events()
        if "robot" in self.topics:
            yield from self._robot()
        if "stats" in self.topics and self.told.stats != self.service.stats_version:
            self.told.stats = self.service.stats_version
            yield self.service.stats_text

    def points(self) -> Iterator[bytes]:
        """What is new of the point cloud, part by part."""
        more = "point_cloud" in self.topics
        while more:
            first = self.told.points is None
            chunk = self.service.points.chunk(self.told.points or 0, decimation=self.decimation, reset=first)
            if chunk is None:
                return
            self.told.points, more = chunk.upto, chunk.more
            yield chunk.body

    def _objects(self) -> Iterator[str]:
        more = True
        while more:
            update = self.service.hub.objects_since(self.told.objects or 0, reset=self.told.objects is None)
            if update is None:
                return
            self.told.objects, more = update.upto, update.more
            yield update.text

    def _events(self) -> Iterator[str]:
        hub = self.service.hub
        first = self.told.events is None
        since = max(0, hub.events_told - hub.settings.events_first) if first else self.told.events or 0
        texts, missed = hub.events_since(since)
        self.told.events = since + missed + len(texts)
        if missed and not first:
            yield text_of({"type": "events_dropped", "count": missed})
        yield from texts

    def _robot(self) -> Iterator[str]:
        if self.told.robot != self.service.robot.version:
            told = self.service.robot_since(self.told.path)
            self.told.robot, self.told.path = told.version, told.path
            yield told.text
        if self.told.places != self.service.places_revision:
            self.told.places = self.service.places_revision
            yield self.service.places_text

    def _subscribe(self, topics: Any) -> None:
        if not isinstance(topics, list) or not all(topic in TOPICS for topic in topics if isinstance(topic, str)):
            raise BadCommandError(f"topics: must be a list of {', '.join(TOPICS)}")
        if not all(isinstance(topic, str) for topic in topics):
            raise BadCommandError("topics: must be a list of text")
        chosen = frozenset(topics)
        for topic in chosen - self.topics:
            if topic == "robot":
                self.told.robot = self.told.path = self.told.places = None
            else:
                setattr(self.told, "points" if topic == "point_cloud" else topic, None)
        self.topics = chosen

    def _decimate(self, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DECIMATION:
            raise BadCommandError(f"value: must be a whole number from 1 to {MAX_DECIMATION}")
        self.decimation, self.told.points = value, None
