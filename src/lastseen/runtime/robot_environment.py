"""A real robot behind the same seam as the simulator: a camera to look with and a function that drives.

The search speaks in steps of 0.25 m and turns of 30 degrees; this turns each into a goal pose in the robot's own
map and leaves how to get there to the robot (Nav2, a velocity controller, a person with a joystick).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from lastseen.action import Action, apply
from lastseen.config.moving import DeadReckoning
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.pose2d import Pose2D
from lastseen.protocols import Source, StepResult

Driven = Literal["reached", "failed"]
Drive = Callable[[Pose2D], Driven]
_MOVES = (Action.FORWARD, Action.TURN_LEFT, Action.TURN_RIGHT)


class RobotEnvironment:
    """Implements ``lastseen.protocols.Environment`` on a source of posed frames and a ``drive`` callback.

    ``drive`` gets a goal in the frame of the source's poses, blocks until the robot stands still, and says whether
    it got there. ``buffered`` frames are dropped after each drive: those a camera took before the robot stopped.

    >>> RobotEnvironment(camera, lambda goal: nav.go(goal.x, goal.y, goal.yaw))  # doctest: +SKIP
    """

    def __init__(
        self, source: Source, drive: Drive, *, motion: DeadReckoning | None = None, buffered: int = 0
    ) -> None:
        if buffered < 0:
            raise InvalidValue("buffered", buffered, "must not be negative", remedy="0 for a source without a queue")
        self.source, self.drive = source, drive
        self.motion = motion or DeadReckoning()
        self.buffered = buffered
        self._frames: Iterator[Frame] = iter(())
        self._frame: Frame | None = None

    def reset(self) -> Frame:
        """Look from where the robot is: a robot is not carried back to its start."""
        self._frames = self.source.frames()
        return self._next()

    def step(self, action: Action) -> StepResult:
        """Drive one action and look; a drive that failed is told as a collision."""
        if self._frame is None:
            raise InvalidValue("action", str(action), "comes before reset", remedy="call reset first")
        if action is Action.STOP:
            return StepResult(self._frame, False)
        if action not in _MOVES:
            raise InvalidValue(
                "action", str(action), "needs a camera that tilts", remedy="use a policy without looks up and down"
            )
        told = self.drive(apply(self._frame.floor_pose, action, motion=self.motion))
        if told not in ("reached", "failed"):
            raise InvalidValue("drive", told, "is no answer", remedy='return "reached" or "failed"')
        for _ in range(self.buffered):
            self._next()
        return StepResult(self._next(), told == "failed")

    def _next(self) -> Frame:
        frame = next(self._frames, None)
        if frame is None:
            raise InvalidValue("source", type(self.source).__name__, "has no more frames", remedy="use a live one")
        self._frame = frame
        return frame
