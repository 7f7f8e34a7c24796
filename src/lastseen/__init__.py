"""lastseen: a robot's memory of what it saw, where and when, and the search that uses it.

    import lastseen

    memory = lastseen.open("home.lastseen")
    answer = memory.find("red mug")
    result = lastseen.Search("red mug", robot, memory).run()

Names load on first use: importing a small part of the package does not pay for the rest.
"""

from os import PathLike
from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.action import Action as Action
    from lastseen.config import Settings as Settings
    from lastseen.detection import Detection as Detection
    from lastseen.errors import LastseenError as LastseenError
    from lastseen.frame import Frame as Frame
    from lastseen.geometry import Intrinsics as Intrinsics
    from lastseen.geometry import Pose3D as Pose3D
    from lastseen.memory.memory import Memory as Memory
    from lastseen.memory.object import Answer as Answer
    from lastseen.memory.object import Object as Object
    from lastseen.memory.objects import Event as Event
    from lastseen.memory.places.tracker import Step as Step
    from lastseen.observation import Observation as Observation
    from lastseen.pose2d import Pose2D as Pose2D
    from lastseen.search.loop import SearchResult as SearchResult
    from lastseen.search.robot import Robot as Robot
    from lastseen.search.search import Search as Search
    from lastseen.sources import open_source as open_source

if TYPE_CHECKING:
    from typing import Unpack

    from lastseen.memory.memory import Options

__version__ = "0.2.0"

_EXPORTS = {
    "Action": "lastseen.action",
    "Answer": "lastseen.memory.object",
    "Detection": "lastseen.detection",
    "Event": "lastseen.memory.objects",
    "Frame": "lastseen.frame",
    "Intrinsics": "lastseen.geometry",
    "LastseenError": "lastseen.errors",
    "Memory": "lastseen.memory.memory",
    "Object": "lastseen.memory.object",
    "Observation": "lastseen.observation",
    "Pose2D": "lastseen.pose2d",
    "Pose3D": "lastseen.geometry",
    "Robot": "lastseen.search.robot",
    "Search": "lastseen.search.search",
    "SearchResult": "lastseen.search.loop",
    "Settings": "lastseen.config",
    "Step": "lastseen.memory.places.tracker",
    "open_source": "lastseen.sources",
}

__all__ = [
    "Action",
    "Answer",
    "Detection",
    "Event",
    "Frame",
    "Intrinsics",
    "LastseenError",
    "Memory",
    "Object",
    "Observation",
    "Pose2D",
    "Pose3D",
    "Robot",
    "Search",
    "SearchResult",
    "Settings",
    "Step",
    "open",
    "open_source",
]


def open(path: str | PathLike[str] | None = None, **options: "Unpack[Options]") -> "Memory":  # noqa: A001 - as users expect it
    """Open a memory; with a path it is durable, without one it ends with the process.

    Options are those of ``Memory``.
    """
    from pathlib import Path

    from lastseen.memory.memory import Memory

    return Memory.open(None if path is None else Path(path), **options)


__getattr__ = lazy_exports(__name__, _EXPORTS)
