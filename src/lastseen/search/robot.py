"""A robot to search with: frames to look at and a function that drives, or the simulator by its address.

The search speaks in steps of 0.25 m and turns of 30 degrees; ``Robot`` turns each into a goal pose in the robot's own
map and leaves how to get there to the robot (Nav2, a velocity controller, a person with a joystick).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, Protocol, cast
from urllib.parse import parse_qsl

from lastseen.action import Action, apply
from lastseen.config import Settings
from lastseen.config.memory import DeadReckoning
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.protocols import Detector, Environment, Source, StepResult
from lastseen.user_function import call_named

Driven = Literal["reached", "failed"]
Drive = Callable[[Pose2D], Driven]
_MOVES = (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT)
_SIM = "sim://"
_SIM_WORDS = {"level": str, "rooms": int, "changes": int, "start": int}


class SearchRobot(Environment, Protocol):
    """An environment that brings its own detector."""

    @property
    def detector(self) -> Detector:
        """Finds things in the frames."""


class Robot:
    """Frames with poses and a ``drive`` function behind ``lastseen.protocols.Environment``.

    Args:
        frames: A source, or any iterable of frames, each with its pose in the map that the robot localizes in.
        drive: Gets a goal pose in that map, blocks until the robot stands still, and returns "reached" or "failed".
            A failure is outcome to the search as a collision; it tries another way.
        detector: Finds things in a frame.
        motion: Step length and turn angle; by default 0.25 m and 30 degrees.
        buffered: Frames dropped after each drive: those a camera took before the robot stopped.

    >>> Robot(camera, lambda goal: nav.go(goal.x, goal.y, goal.yaw), detector=yolo)  # doctest: +SKIP
    """

    def __init__(
        self,
        frames: Source | Iterable[Frame],
        drive: Drive,
        *,
        detector: Detector | None = None,
        motion: DeadReckoning | None = None,
        buffered: int = 0,
    ) -> None:
        if not callable(drive):
            raise InvalidValue("drive", drive, "is not a function", remedy="give a function of a Pose2D")
        if buffered < 0:
            raise InvalidValue("buffered", buffered, "must not be negative", remedy="0 for a source without a queue")
        self.frames, self.drive, self.detector = frames, drive, detector
        self.motion = motion or DeadReckoning()
        self.buffered = buffered
        self.possible_actions = (*_MOVES, Action.STOP)
        """What it can do: it drives, and its camera does not tilt."""
        self._stream: Iterator[Frame] = iter(())
        self._frame: Frame | None = None

    def reset(self) -> Frame:
        """Look from where the robot is: a robot is not carried back to its start."""
        frames = self.frames
        self._stream = frames.frames() if isinstance(frames, Source) else iter(frames)
        return self._next()

    def step(self, action: Action) -> StepResult:
        """Drive one action and look; a drive that failed is outcome as a collision."""
        if self._frame is None:
            raise InvalidValue("action", str(action), "comes before reset", remedy="call reset first")
        if action is Action.STOP:
            return StepResult(self._frame, False)
        if action not in _MOVES:
            raise InvalidValue(
                "action", str(action), "needs a camera that tilts", remedy="use a policy without looks up and down"
            )
        outcome = self.drive(apply(self._frame.floor_pose, action, motion=self.motion))
        if outcome not in ("reached", "failed"):
            raise InvalidValue("drive", outcome, "is no answer", remedy='return "reached" or "failed"')
        for _ in range(self.buffered):
            self._next()
        return StepResult(self._next(), outcome == "failed")

    def _next(self) -> Frame:
        frame = next(self._stream, None)
        if frame is None:
            raise InvalidValue(
                "frames", type(self.frames).__name__, "have come to an end", remedy="use a live source"
            )
        self._frame = frame
        return frame


def open_robot(address: str, settings: Settings | None = None) -> SearchRobot:
    """The robot that an address names.

    ``sim://7`` is a simulated robot in home 7; ``?level=good&rooms=5&changes=2&start=1`` asks for other senses and
    rooms, things moved since, and another start. ``package.module:function`` calls a function of yours, which returns
    a ``Robot`` (or any environment with a ``detector``).
    """
    if address.startswith(_SIM):
        return _simulated(address, settings or Settings())
    module, _, function = address.partition(":")
    if not module or not function or "/" in address:
        raise InvalidValue(
            "robot", address, "is no address of a robot", remedy="give sim://7, or package.module:function"
        )
    robot = call_named("robot", address)
    if not isinstance(robot, Environment):
        problem = f"gave something of type {type(robot).__name__}"
        raise InvalidValue("robot", address, problem, remedy="return a lastseen.Robot with a detector")
    if getattr(robot, "detector", None) is None:
        raise InvalidValue("robot", address, "gave a robot without a detector", remedy="give it one: detector=...")
    return cast("SearchRobot", robot)


def _simulated(address: str, settings: Settings) -> SearchRobot:
    from lastseen.sim.detector import SimulatedDetector
    from lastseen.sim.environment import Senses, SimEnvironment, random_start
    from lastseen.sim.generate import generate_home
    from lastseen.sim.random_change import random_changes
    from lastseen.sim.senses import Level

    text, _, query = address.removeprefix(_SIM).partition("?")
    if not text.isdecimal():
        raise InvalidValue("robot", address, "names no home", remedy="for example sim://7")
    words: dict[str, object] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _SIM_WORDS:
            raise InvalidValue(f"robot {name}", value, "is not known", remedy=f"choose of {', '.join(_SIM_WORDS)}")
        try:
            words[name] = _SIM_WORDS[name](value)
        except ValueError:
            raise InvalidValue(f"robot {name}", value, "is no number", remedy=f"for example {name}=1") from None
    seed, start = int(text), cast("int", words.get("start", int(text)))
    home = generate_home(seed, rooms=cast("int | None", words.get("rooms")), settings=settings.homes)
    changes = cast("int", words.get("changes", 0))
    if changes:
        home, _ = random_changes(home, [float(k) for k in range(changes)], seed=seed, robot=settings.robot)
    level = Level.of(str(words.get("level", "typical")))
    environment = SimEnvironment(
        home, seed=start, senses=Senses(depth=level, pose=level, actuation=level), settings=settings
    )
    environment.start = random_start(environment.grid, seed=start)
    environment.detector = SimulatedDetector(environment, level=level, seed=start)  # type: ignore[attr-defined]
    return cast("SearchRobot", environment)
