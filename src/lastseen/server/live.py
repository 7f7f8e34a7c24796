"""What feeds a served memory while it is served: a source that is followed, or a simulated home that is walked."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

from lastseen.errors import LastseenError
from lastseen.frame import Frame
from lastseen.perception.pipeline import Perception
from lastseen.server.service import Service
from lastseen.sources.base import RecordSource

_log = logging.getLogger(__name__)
_JOIN = 1.5
"""Seconds that the frame in hand gets when the server stops; what was taken before it is flushed either way."""

_DEMO_PACE = 0.25
"""Seconds per frame of the demo: its robot at twice its pace sees a flat in two minutes."""


class Runner(ABC):
    """A thread that takes frames into a service until they end or it is stopped."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastseen-source", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.service.source.state = "waiting"
        self._thread.start()

    def stop(self) -> None:
        """End after the frame in hand; what was taken is flushed when the memory closes."""
        self.stopped.set()
        self.interrupt()
        if self._thread.is_alive():
            self._thread.join(timeout=_JOIN)

    @abstractmethod
    def feed(self) -> None:
        """Take frames until they end or ``stopped`` is set."""

    def interrupt(self) -> None:
        """Wake a thread that waits for something; by default none does for long."""
        return

    def _run(self) -> None:
        status = self.service.source
        try:
            self.feed()
        except LastseenError as error:
            if not self.stopped.is_set():
                status.error, status.state = str(error), "failed"
                _log.error("the source failed: %s", error)
        except Exception as error:  # noqa: BLE001
            # a thread's error reaches nobody by itself: health and page must tell it
            if not self.stopped.is_set():
                status.error, status.state = f"{type(error).__name__}: {error}", "failed"
                _log.exception("the source failed")
        else:
            status.state = "ended"


class SourceRunner(Runner):
    """Follows a source: a recording at the pace it was made, a live stream as it comes.

    The source is opened on the runner's thread: one that keeps us waiting keeps nobody from asking the memory.
    """

    def __init__(self, service: Service, opening: Callable[[], tuple[RecordSource, Perception]]) -> None:
        super().__init__(service)
        self._opening = opening
        self._source: RecordSource | None = None

    def feed(self) -> None:
        """Take every frame through perception into memory."""
        source, perception = self._opening()
        with source:
            self._source = source
            if self.stopped.is_set():
                return
            source.waiting = self._silent
            self._follow(source, perception)

    def interrupt(self) -> None:
        """Close a live stream, which may be waiting for its next frame."""
        if self._source is not None and self._source.live:
            self._source.close()

    def _follow(self, source: RecordSource, perception: Perception) -> None:
        service, memory = self.service, self.service.memory
        last: Frame | None = None
        for frame in source.frames():
            if self.stopped.is_set():
                return
            updates = source.updates()
            if updates.restarted:
                memory.new_session()
            if updates.poses:
                service.publish(memory.correct_poses(updates.poses))
            if not source.live and last is not None:
                # a pause in a recording need not be sat through
                self.stopped.wait(min(max(0.0, frame.stamp - last.stamp), 1.0))
            perceived = perception.perceive(frame)
            if perceived.refusal is None:
                service.observe(frame, perceived.observations)
            else:
                service.show(frame)
            service.source.state, last = "running", frame
        service.flush()

    def _silent(self, seconds: float) -> None:
        if self.service.source.state == "running":
            self.service.source.state = "waiting"
            _log.warning("nothing came from the source for %.0f s; waiting", seconds)


class DemoRunner(Runner):
    """Walks a simulated home again and again, while its household moves things."""

    def __init__(self, service: Service, *, seed: int) -> None:
        super().__init__(service)
        self.seed = seed

    def feed(self) -> None:
        """Walk until stopped."""
        from lastseen.server.demo import Demo

        demo = Demo(self.service, seed=self.seed)
        for _ in demo.walk():
            self.service.source.state = "running"
            if self.stopped.wait(_DEMO_PACE):
                return
