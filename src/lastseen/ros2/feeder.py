"""The thread that brings what comes in to the memory, and hands its frames to a search while one runs.

Nothing ends it but ``stop``: topics that are not there, frames without a pose and clocks that jump are told in
diagnostics and in one line of the log, and waited for.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from lastseen.detection import Box
from lastseen.errors import LastseenError, StampError
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from lastseen.perception.pipeline import Perception
from lastseen.perception.warm_up import warm_up
from lastseen.protocols import Detector
from lastseen.ros2.publications import DETECTIONS_3D, SILENT, Health
from lastseen.ros2.streams import NOT_LOCALIZED, BoxStream, ImageStream, LocalizationGate
from lastseen.sources.base import RecordSource
from lastseen.sources.follow import frames_into
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake
from lastseen.sources.ros.messages import IMAGES, POSE_COVARIANCE
from lastseen.sources.ros.transport import Transport

_log = logging.getLogger(__name__)
RETRY = 2.0
"""Seconds until the graph is looked at again where the camera's topics are not there."""
_JOIN = 5.0
_NOTES = 5
"""Notes and examples that diagnostics show: what went wrong first tells most."""
MakePerception = Callable[[RecordSource], Perception]


class Feeder:
    """Brings frames from a transport into a memory.

    Args:
        memory: The open memory.
        transport: Carries the messages.
        options: The source's options: topics, frames, clocks.
        perception_of: Makes what finds things in the frames of a source.
        health: What diagnostics tell.
        boxes_topic: A Detection3DArray topic that stands in for images; empty for images.
        localization_topic: A PoseWithCovarianceStamped topic whose covariance gates what is written; empty for none.
        gate: The limits of that.
    """

    def __init__(
        self,
        memory: Memory,
        transport: Transport,
        options: SourceOptions,
        perception_of: MakePerception,
        health: Health,
        *,
        boxes_topic: str = "",
        localization_topic: str = "",
        gate: LocalizationGate | None = None,
    ) -> None:
        self.memory, self.transport, self.options, self.health = memory, transport, options, health
        self._perception_of, self._boxes_topic = perception_of, boxes_topic
        self._localization_topic = localization_topic
        self.gate = (gate or LocalizationGate()) if localization_topic else None
        self.stream: ImageStream | None = None
        self.detector: Detector | None = None
        self._perception: Perception | None = None
        self._boxes: BoxStream | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lastseen-feeder", daemon=True)
        self._searching: queue.Queue[Frame] | None = None
        self._told_silent = False
        self._refused: Counter[str] = Counter()
        """Frames that came and were left out here, by reason."""
        self._end_gate: Callable[[], None] | None = None

    @property
    def world(self) -> str:
        """The frame that positions are in; empty until the first frame came."""
        source = self.stream or self._boxes
        return "" if source is None else source.world

    def start(self) -> None:
        """Begin; returns at once."""
        self.health.state = "active"
        self._thread.start()

    def stop(self) -> None:
        """End after the frame in hand, and write what is not yet written."""
        self._stop.set()
        for source in (self.stream, self._boxes):
            if source is not None:
                source.close()
        self._thread.join(_JOIN)
        if self._end_gate is not None:
            self._end_gate()
        self.health.state = "inactive"
        self.memory.flush()

    @contextmanager
    def frames_for_search(self) -> Iterator[Callable[[float], Frame | None]]:
        """Hand frames to a search instead of the memory: a function that gives the next one within some seconds."""
        frames: queue.Queue[Frame] = queue.Queue(maxsize=1)

        def following(timeout: float) -> Frame | None:
            try:
                return frames.get(timeout=timeout)
            except queue.Empty:
                return None

        self._searching = frames
        try:
            yield following
        finally:
            self._searching = None

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                if self._localization_topic and self._end_gate is None:
                    self._end_gate = self.transport.subscribe(
                        self._localization_topic, POSE_COVARIANCE, self._on_localization
                    )
                self._feed()
            except LastseenError as error:
                self._tell(str(error))
            except Exception as error:  # noqa: BLE001
                # a thread's error reaches nobody by itself
                _log.exception("the way in failed")
                self._tell(f"{type(error).__name__}: {error}")
            self._stop.wait(RETRY)

    def _on_localization(self, data: bytes) -> None:
        assert self.gate is not None
        try:
            self.gate.on_message(data)
        except LastseenError as error:
            self._tell(str(error))

    def _tell(self, problem: str) -> None:
        """Log a problem once, and show it in diagnostics until a frame comes."""
        if not self._stop.is_set() and problem != self.health.error:
            _log.error("%s", problem)
            self.health.error = problem

    def _feed(self) -> None:
        topic = self._boxes_topic or self._only_boxes()
        if topic:
            self._feed_boxes(BoxStream(self.transport, topic, self.options))
        else:
            with ImageStream(self.transport, self.options) as stream:
                self._feed_images(stream)

    def _only_boxes(self) -> str:
        """The topic of 3-D boxes where there is one and no image; empty otherwise."""
        known = self.transport.topics()
        boxes = sorted(name for name, kind in known if kind == DETECTIONS_3D)
        return boxes[0] if boxes and not any(kind in IMAGES for _, kind in known) else ""

    def _feed_images(self, stream: ImageStream) -> None:
        self.stream, stream.waiting = stream, self._silent
        # before memory is locked for a frame: what is asked meanwhile is answered
        warm_up()
        perception = self._perception = self._perception_of(stream)
        self.detector = perception.detector
        stream.waits_for_detections = perception.detector is not None and perception.detector is stream.detector()
        for frame, updates, _ in frames_into(self.memory, stream):
            if self._stop.is_set():
                return
            if updates.restarted:
                self._turn_boxes_anew()
            self._count(stream.intake)
            if self._is_refused(frame):
                continue
            searching = self._searching
            if searching is not None:
                _put_newest(searching, frame)
                continue
            perceived = perception.perceive(frame)
            if perceived.refusal is None:
                self._observe(frame, perceived.observations, people=perceived.people)
            else:
                # too dark, blurred, or nothing new: whoever waits for the first object wants to know
                self._refused[str(perceived.refusal)] += 1

    def _feed_boxes(self, stream: BoxStream) -> None:
        self._boxes = stream
        silent = 0.0
        for item in stream.frames():
            if self._stop.is_set():
                return
            self._count(stream.intake)
            if item is None:
                silent += self.options.stall_after
                self._silent(silent)
                continue
            silent = 0.0
            if stream.restarted:
                stream.restarted = False
                self._new_session()
            if not self._is_refused(item[0]):
                self._observe(*item)

    def _is_refused(self, frame: Frame) -> bool:
        """Whether the robot was not localized when the frame was taken; that is counted."""
        if self.gate is None or self.gate.is_open(frame.stamp):
            return False
        self._refused[NOT_LOCALIZED] += 1
        self.health.skipped[NOT_LOCALIZED] = self._refused[NOT_LOCALIZED]
        self.health.notes = (*self.health.notes[: _NOTES - 1], f"{NOT_LOCALIZED}: {self.gate.reason}")
        return True

    def _observe(self, frame: Frame, seen: Sequence[Observation], *, people: Sequence[Box] | None = None) -> None:
        try:
            self.memory.observe(frame, seen, people=people)
        except StampError:
            # the camera's clock began anew while its topics were away
            self._new_session()
            self.memory.observe(frame, seen, people=people)
        self.health.frames += 1
        self.health.silent, self.health.error, self._told_silent = 0.0, "", False

    def _new_session(self) -> None:
        self.memory.new_session(map_id=self.options.map_id or None)
        self._turn_boxes_anew()

    def _turn_boxes_anew(self) -> None:
        """Let the next frame tell the axes of boxes: another session may be in a map that is turned otherwise."""
        if self._perception is not None:
            self._perception.box_yaw = None

    def _count(self, intake: Intake) -> None:
        self.health.dropped = intake.dropped
        self.health.skipped.clear()
        self.health.skipped.update(intake.skipped)
        self.health.skipped.update(self._refused)
        told = [f"{reason}: {example}" for reason, example in sorted(intake.examples.items())]
        self.health.notes = tuple([*intake.notes, *told][-_NOTES:])

    def _silent(self, seconds: float) -> None:
        self.health.silent = seconds
        for source in (self.stream, self._boxes):
            if source is not None:
                self._count(source.intake)
        if seconds >= SILENT and not self._told_silent:
            # diagnostics say so all the time, the terminal once
            self._told_silent = True
            _log.warning("%s", "; ".join([self.health.level()[1], *self.health.notes[:1]]))


def _put_newest(frames: queue.Queue[Frame], frame: Frame) -> None:
    """Let a slow reader find the newest frame, not the oldest."""
    with suppress(queue.Empty):
        frames.get_nowait()
    frames.put_nowait(frame)
