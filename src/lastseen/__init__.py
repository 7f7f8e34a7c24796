"""lastseen: a robot's memory of what it saw, where and when, and the search that uses it.

    from lastseen import Memory

Names load on first use: importing a small part of the package does not pay for the rest.
"""

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
    from lastseen.observation import Observation as Observation
    from lastseen.pose2d import Pose2D as Pose2D

__version__ = "0.1.0"

_EXPORTS = {
    "Action": "lastseen.action",
    "Detection": "lastseen.detection",
    "Frame": "lastseen.frame",
    "Intrinsics": "lastseen.geometry",
    "LastseenError": "lastseen.errors",
    "Memory": "lastseen.memory.memory",
    "Observation": "lastseen.observation",
    "Pose2D": "lastseen.pose2d",
    "Pose3D": "lastseen.geometry",
    "Settings": "lastseen.config",
}

__all__ = [
    "Action",
    "Detection",
    "Frame",
    "Intrinsics",
    "LastseenError",
    "Memory",
    "Observation",
    "Pose2D",
    "Pose3D",
    "Settings",
]

__getattr__ = lazy_exports(__name__, _EXPORTS)
