"""The one way in and the one way out: command line, server, agents and the search loop all stand on ``Memory``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from lastseen.config import Settings
from lastseen.errors import NotBuiltYet
from lastseen.frame import Frame, StampOrder
from lastseen.geometry import Pose3D
from lastseen.memory.answer import Answer
from lastseen.memory.objects import Event, ObjectMemory, ObjectState
from lastseen.observation import Observation


class Memory:
    """What a robot saw, where and when.

    Time comes from the frames, never from the wall clock: the same stream gives the same memory.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._order = StampOrder()
        self._pose: Pose3D | None = None
        self._objects = ObjectMemory(self.settings)

    @classmethod
    def open(cls, path: str | Path | None = None, *, settings: Settings | None = None) -> Self:
        """Open a memory; with a path it is durable, without one it ends with the process."""
        if path is not None:
            raise NotBuiltYet(f"a durable memory ({path}) is not built yet; Memory.open() keeps one in RAM")
        return cls(settings)

    def observe(self, frame: Frame, observations: Sequence[Observation]) -> tuple[Event, ...]:
        """Take one frame and the things seen in it, in the order of stamps; returns what happened to objects."""
        self._order.accept(frame.stamp)
        self._pose = frame.T_world_camera
        return self._objects.observe(frame, observations)

    def object(self, object_id: str) -> ObjectState:
        """Everything remembered of one object; an id that is not remembered raises."""
        return self._objects.state(object_id)

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """Objects in the order of their ids; with a label, those most likely called so.

        Proto-objects (tentative) and objects seen to be gone (missing, removed) come only when asked for.
        """
        return self._objects.states(label=label, include_tentative=include_tentative, include_absent=include_absent)

    def pose(self) -> Pose3D | None:
        """Where the camera was in the newest frame; None before the first."""
        return self._pose

    def find(self, text: str, *, k: int = 5) -> Answer:
        """Answer where a thing is, from memory alone; the answer may be ``not_found``, with the reason."""
        raise NotBuiltYet(f"finding {text!r} (at most {k} hits) is not built yet")

    def close(self) -> None:
        """Write what is not yet written and release the file; may be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
