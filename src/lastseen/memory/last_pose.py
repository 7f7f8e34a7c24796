"""Where the camera was last, as one entry of the journal: a robot that was restarted still knows where it stood."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D

META_KEY = "robot.pose"


@dataclass(frozen=True, slots=True)
class LastPose:
    """T_world_camera of the newest frame, and its memory time."""

    pose: Pose3D
    time: float

    def to_meta(self) -> dict[str, str]:
        """The journal's meta entry."""
        body = {
            "xyz": self.pose.translation.tolist(),
            "quaternion_xyzw": self.pose.quaternion.tolist(),
            "time": self.time,
        }
        return {META_KEY: json.dumps(body)}

    @classmethod
    def from_meta(cls, meta: Mapping[str, str]) -> LastPose | None:
        """The pose of a journal; None where it has none, as in files of the first program."""
        if META_KEY not in meta:
            return None
        try:
            body = json.loads(meta[META_KEY])
            return cls(Pose3D.from_quaternion(body["xyz"], body["quaternion_xyzw"]), float(body["time"]))
        except (InvalidValue, ValueError, TypeError, KeyError):
            # a hint for agents, not a fact that other facts stand on: a memory opens without it
            return None
