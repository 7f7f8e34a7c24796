"""What feeds a served memory while it is served: a source that is followed, or a simulated home that is walked."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

from lastseen.errors import LastseenError
from lastseen.perception.pipeline import Perception
from lastseen.server.service import Service
from lastseen.sources.base import RecordSource

_log = logging.getLogger(__name__)


class Runner(ABC):
    """A thread that takes frames into a service until they end or it is stopped."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastseen-source", daemon=True)

    def start(self) -> None:
        """Begin."""
        self.service.source.state = "running"
        self._thread.start()

    def stop(self) -> None:
        """End after the frame in hand; what was taken is flushed when the memory closes."""
        self.stopped.set()
        if self._thread.is_alive():
            self._thread.join(timeout=30.0)

    @abstractmethod
    def feed(self) -> None:
        """Take frames until they end or ``stopped`` is set."""

    def _run(self) -> None:
        status = self.service.source
        try:
            self.feed()
        except LastseenError as error:
            status.error, status.state = str(error), "failed"
            _log.error("the source failed: %s", error)
        except Exception as error:  # noqa: BLE001
            # a thread's error reaches nobody by itself: health and page must tell it
            status.error, status.state = f"{type(error).__name__}: {error}", "failed"
            _log.exception("the source failed")
        else:
            status.state = "ended"


class SourceRunner(Runner):
    """Follows a source: a recording at the pace it was made, a live stream as it comes."""

    def __init__(self, service: Service, source: RecordSource, perception: Perception) -> None:
        super().__init__(service)
        self.source = source
        self.perception = perception

    def feed(self) -> None:
        """Take every frame through perception into memory."""
        last: float | None = None
        for frame in self.source.frames():
            if self.stopped.is_set():
                return
            perceived = self.perception.perceive(frame)
            if perceived.refusal is None:
                self.service.take(frame, perceived.observations)
            else:
                self.service.show(frame)
            if not self.source.live and last is not None:
                # a pause in a recording need not be sat through
                self.stopped.wait(min(max(0.0, frame.stamp - last), 1.0))
            last = frame.stamp
        self.service.flush()


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
            if self.stopped.wait(self.service.settings.live.demo_pace):
                return
