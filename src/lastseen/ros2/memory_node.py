"""The node without its middleware: opens the memory, feeds it, publishes it and answers calls, state by state."""

from __future__ import annotations

import json
import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from lastseen.protocols import Encoder
from lastseen.ros2.calls import REQUESTS, RESPONSES, answer_request, call, checked, parsed_request
from lastseen.ros2.driving import Limits, Mover
from lastseen.ros2.feeder import Feeder, MakePerception
from lastseen.ros2.publications import Health, Publications
from lastseen.ros2.robot import WAYS, open_mover
from lastseen.ros2.searching import Feedback, Searching
from lastseen.ros2.streams import MAX_HEADING_STD, MAX_POSITION_STD, ROBOT_FRAME, LocalizationGate
from lastseen.sources.options import SourceOptions
from lastseen.sources.ros.messages import TEXT
from lastseen.sources.ros.stream import read_message
from lastseen.sources.ros.transport import Publication, Transport, Tree

_log = logging.getLogger(__name__)
_SEARCH_CALLS: dict[str, dict[str, type]] = {
    "search": {"goal": str, "drive": bool, "max_steps": int},
    "cancel_search": {},
}
TICK = 0.1
"""Seconds between looks at what is due to be published."""
_MOST_SEARCHES = 4
"""Searches whose threads may live at once: one walks, the others were preempted and are ending."""


class OpenModels(Protocol):
    """Opens the models of perception for some settings: the image encoder, and what makes a source's perception."""

    def __call__(self, settings: Settings) -> tuple[Encoder, MakePerception]:
        """Open them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """How a node runs.

    Args:
        memory: The memory file; None for one that ends with the process.
        settings: See ``lastseen config``.
        source: Topics, frames and clocks of the camera.
        detections_3d_topic: Boxes in 3-D in place of images; empty: only where the graph has no image.
        localization_topic: A PoseWithCovarianceStamped whose covariance gates what is written; empty for no gate.
        max_position_std: Metres of standard deviation up to which the robot counts as localized.
        max_heading_std: Radians of the same.
        drive: Whether a search may move the robot; otherwise it is a dry run.
        drive_by: What moves it: auto, nav2, goal_pose or cmd_vel.
        base_frame: The robot's own frame, which goals are for.
        limits: What a search may do with it.
        open_models: Opens what finds and describes things.
    """

    memory: Path | None
    open_models: OpenModels
    settings: Settings = field(default_factory=Settings)
    source: SourceOptions = field(default_factory=SourceOptions)
    detections_3d_topic: str = ""
    localization_topic: str = ""
    max_position_std: float = MAX_POSITION_STD
    max_heading_std: float = MAX_HEADING_STD
    drive: bool = False
    drive_by: str = "auto"
    base_frame: str = ROBOT_FRAME
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        # parameters come with any type: the text "false" must not mean that the robot may drive
        for one in fields(self):
            value, default = getattr(self, one.name), one.default
            if isinstance(default, float):
                is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
                if not is_number or value <= 0:
                    raise InvalidValue(one.name, value, "must be a positive number", remedy=f"for example {default}")
            elif isinstance(default, bool | str) and type(value) is not type(default):
                kind = "text" if isinstance(default, str) else "true or false"
                raise InvalidValue(one.name, value, f"must be {kind}", remedy="see docs/ros2.md")
        if self.drive_by not in WAYS:
            raise InvalidValue("drive_by", self.drive_by, "is no way", remedy=f"choose of {', '.join(WAYS)}")


class MemoryNode:
    """One memory on the graph: ``configure``, ``activate``, ``tick`` often, ``deactivate``, ``cleanup``."""

    def __init__(self, transport: Transport, *, name: str = "lastseen", node: Any = None) -> None:
        self.transport, self.name, self._node = transport, name, node
        self.health = Health(state="unconfigured")
        self.memory: Memory | None = None
        self.feeder: Feeder | None = None
        self.options: NodeOptions | None = None
        self._searching: Searching | None = None
        self._cancel_search = threading.Event()
        self._searches: list[threading.Thread] = []
        self._publications: Publications | None = None
        self._perception_of: MakePerception | None = None
        self._end_requests: Callable[[], None] | None = None

    def configure(self, options: NodeOptions) -> None:
        """Open the models and the memory; calls are answered from now on."""
        encoder, self._perception_of = options.open_models(options.settings)
        self.options = options
        self.memory = Memory.open(options.memory, settings=options.settings, image_encoder=encoder)
        self._publications = Publications(self.memory, self.health, node=self.name)
        self._end_requests = self.transport.subscribe(REQUESTS, TEXT, self._on_request)
        self.health.state = "inactive"

    def activate(self) -> None:
        """Begin to read the robot's topics and to publish."""
        options, memory, perception_of = self.options, self.memory, self._perception_of
        assert options is not None
        assert memory is not None
        assert perception_of is not None
        self.feeder = Feeder(
            memory,
            self.transport,
            options.source,
            perception_of,
            self.health,
            boxes_topic=options.detections_3d_topic,
            localization_topic=options.localization_topic,
            gate=LocalizationGate(max_position_std=options.max_position_std, max_heading_std=options.max_heading_std),
        )
        self._searching = Searching(self.feeder, options.limits, base_frame=options.base_frame)
        self.feeder.start()

    def search(
        self,
        goal: str,
        *,
        drive: bool,
        max_steps: int = 0,
        feedback: Feedback = lambda _: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Tree:
        """Search for a goal; moves the robot where both the call and the node say ``drive``."""
        options, searching = self.options, self._searching
        if searching is None or options is None:
            return {"status": "stopped", "reason": "the node is not active; activate it first"}
        if drive and not options.drive:
            return {"status": "stopped", "reason": "the node may not drive; start it with --drive"}

        def open_mover_in(world: str) -> Mover:
            return open_mover(self.transport, self._node, options.drive_by, options.limits, world=world)

        mover = open_mover_in if drive else None
        return searching.run(goal, mover, max_steps=max_steps, feedback=feedback, cancelled=cancelled)

    def tick(self, now: float | None = None) -> None:
        """Publish what is due; diagnostics also while inactive."""
        publications = self._publications
        if publications is None:
            return
        if self.feeder is not None and self.feeder.world:
            publications.world = self.feeder.world
        for one in publications.due(time.monotonic() if now is None else now):
            if self.feeder is not None or one.topic.startswith("/"):
                self.transport.publish(one)

    def deactivate(self) -> None:
        """Stop reading, write what is not yet written, and clear displays."""
        self._cancel_search.set()
        if self._searching is not None:
            self._searching.end()
            self._searching = None
        if self.feeder is not None:
            self.feeder.stop()
            self.feeder = None
        if self._publications is not None:
            for one in self._publications.cleared():
                self.transport.publish(one)

    def cleanup(self) -> None:
        """Close the memory; may be called in any state, and twice."""
        if self.feeder is not None:
            self.deactivate()
        if self._end_requests is not None:
            self._end_requests()
        self._end_requests = None
        if self._publications is not None:
            self._publications.close()
        if self.memory is not None:
            self.memory.close()
        self.memory = self._publications = None
        self.health = Health(state="unconfigured")

    def call(self, name: str, request: Mapping[str, Any]) -> Tree:
        """Answer a call; one line where the node cannot."""
        if self.memory is None:
            error = InvalidValue("call", name, "comes before the node is configured", remedy="configure it first")
            return {"ok": False, "error": str(error)}
        try:
            return call(self.memory, name, request)
        except Exception as error:  # noqa: BLE001
            # whoever asked gets a line, and the node lives on
            _log.exception("%s failed", name)
            return {"ok": False, "error": f"{name} failed: {type(error).__name__}: {error}"}

    def _on_request(self, data: bytes) -> None:
        text = str(read_message(data, TEXT, REQUESTS).data)
        with suppress(InvalidValue):
            head, request = parsed_request(text)
            if head["call"] in _SEARCH_CALLS:
                self._on_search(head, request)
                return
        self._respond(answer_request(text, self.call))

    def _on_search(self, head: Tree, request: Tree) -> None:
        """Search in a thread of its own: feedback comes in responses of the same id, and the result in the last."""
        try:
            checked(head["call"], request, _SEARCH_CALLS)
        except InvalidValue as error:
            self._respond(json.dumps({**head, "ok": False, "error": str(error)}))
            return
        self._cancel_search.set()
        if head["call"] == "cancel_search":
            self._respond(json.dumps({**head, "ok": True, "error": ""}))
            return
        self._searches = [one for one in self._searches if one.is_alive()]
        if len(self._searches) >= _MOST_SEARCHES:
            reason = f"search: {len(self._searches)} searches before it are still ending; ask again later"
            self._respond(json.dumps({**head, "ok": False, "error": reason}))
            return
        cancel = self._cancel_search = threading.Event()

        def run() -> None:
            result = self.search(
                request["goal"],
                drive=request.get("drive", False),
                max_steps=request.get("max_steps", 0),
                feedback=lambda tree: self._respond(json.dumps({**head, "feedback": tree})),
                cancelled=cancel.is_set,
            )
            self._respond(json.dumps({**head, "ok": True, "error": "", **result}))

        thread = threading.Thread(target=run, name="lastseen-search", daemon=True)
        self._searches.append(thread)
        thread.start()

    def _respond(self, text: str) -> None:
        self.transport.publish(Publication(RESPONSES, TEXT, {"data": text}))


def run_without_ros(options: NodeOptions, transport: Transport, *, stop: threading.Event | None = None) -> None:
    """Run a node until Ctrl-C or ``stop``; what was seen is on disk when this returns."""
    node = MemoryNode(transport)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    stop = stop or threading.Event()
    try:
        node.configure(options)
        node.activate()
        while not stop.wait(TICK):
            node.tick()
    except KeyboardInterrupt:
        pass
    finally:
        node.cleanup()
