"""The conventions of one source: its axes, scales and clocks, so that its data can be converted to ours.

Nearly every "it does not work with my camera" is one of these lines. They are kept per source, not in the settings,
because they describe a recording and not a robot; the doctor finds them and ``save`` writes them next to the data.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastseen.config.section import Section, read_toml, setting, toml_value
from lastseen.errors import SettingsError
from lastseen.geometry import CameraAxes, WorldUp
from lastseen.images import MAX_PIXELS

FILE_NAME = "source.toml"
"""Options in a file of this name inside a recording's folder are read by themselves."""

_CAMERA = {"world_up", "camera_axes", "pose_inverted", "quaternion_order", "depth_scale", "mirrored", "images_turned"}
_CAMERA |= {"image_rotation", "rescale_intrinsics", "fx", "fy", "cx", "cy", "share_view", "focal_factor"}
_CAMERA |= {"map_id", "max_pixels", "depth_shift_x", "depth_shift_y", "poses", "pose_scale", "depth_focal_factor"}
_CLOCKS = {"max_stamp_difference", "max_pose_gap", "pose_delay", "depth_delay"}
_TOPICS = {"color_topic", "depth_topic", "color_info_topic", "depth_info_topic", "pose_topic", "detections_topic"}
_TOPICS |= {"world_frame", "camera_frame", "pose_frame", "odom_frame"}
_TOPICS |= {"jump_correction"}
_STREAM = {"backpressure", "queue_frames", "stall_after", "end_after", "restart_after", "max_message_mb"}

TAKEN = {
    "bag": _CAMERA | _CLOCKS | _TOPICS,
    "layout": _CAMERA | _CLOCKS | {"min_confidence"},
    "oak": _CAMERA | _STREAM,
    "phone": (_CAMERA | _STREAM) - {"max_message_mb"},
    "realsense": _CAMERA | _STREAM,
    "record3d": _CAMERA | _STREAM | {"min_confidence"},
    "ros2": _CAMERA | _CLOCKS | _TOPICS | _STREAM,
    "ros2+zenoh": _CAMERA | _CLOCKS | _TOPICS | _STREAM,
    "sim": _CAMERA,
    "zmq": _CAMERA | _STREAM | {"max_stamp_difference"},
}
"""The options that each kind of source reads, by its scheme; one that is not listed takes them all."""

QUARTER_TURNS = ("0", "90", "180", "270")


@dataclass(frozen=True, kw_only=True)
class SourceOptions(Section):
    """The conventions of a source; the defaults are our own (docs/conventions.md).

    >>> SourceOptions(world_up="y").changed()
    {'world_up': 'y'}
    """

    world_up: str = setting(
        WorldUp.Z.value,
        why="the axis of the source's world that points up, or [x, y, z] for any tilt",
    )
    camera_axes: str = setting(
        CameraAxes.OPENCV.value,
        choices=tuple(axes.value for axes in CameraAxes),
        why="how the source names the camera's axes; ARKit is opengl, a ROS body frame ros_body",
    )
    poses: str = setting(
        "recorded",
        choices=("recorded", "odometry"),
        why="where poses come from: the recording, or the images themselves (docs/sources.md)",
    )
    map_id: str = setting(
        "",
        why="what the poses' map is called: the same name is the same map, another one is kept apart until aligned",
    )
    pose_inverted: bool = setting(False, why="true where the poses are T_camera_world, as COLMAP writes them")
    quaternion_order: str = setting(
        "xyzw", choices=("xyzw", "wxyz"), why="w comes last in ROS and TUM, first in Eigen's and Habitat's output"
    )
    depth_scale: float = setting(
        0.0, unit="raw values per metre", low=0.0, why="0 takes what the recording says about itself"
    )
    pose_scale: float = setting(
        1.0, low=1e-6, high=1e6, why="multiplies the positions of poses: 0.001 where they are in millimetres"
    )
    min_confidence: int = setting(
        1, unit="level", low=0, high=255, why="depth below it is dropped where the source grades depth (ARKit 0-2)"
    )
    mirrored: bool = setting(False, why="true where the stored images are flipped left to right")
    images_turned: str = setting(
        "0",
        unit="deg clockwise",
        choices=QUARTER_TURNS,
        why="how far the stored images were turned after capture, while poses and intrinsics were not",
    )
    image_rotation: str = setting(
        "0",
        unit="deg clockwise",
        choices=QUARTER_TURNS,
        why="how far to turn images, intrinsics and poses together until the image is upright",
    )
    rescale_intrinsics: bool = setting(
        False, why="true where the intrinsics belong to another size of the same image: they are scaled to fit"
    )
    fx: float = setting(0.0, unit="px", low=0.0, why="colour focal length; 0 takes the recording's")
    fy: float = setting(0.0, unit="px", low=0.0, why="colour focal length; 0 takes the recording's")
    cx: float = setting(0.0, unit="px", why="colour principal point; 0 takes the recording's")
    cy: float = setting(0.0, unit="px", why="colour principal point; 0 takes the recording's")
    share_view: str = setting(
        "none",
        choices=("none", "color", "depth"),
        why="whose intrinsics hold for both images, where those of the other are wrong or missing",
    )
    focal_factor: float = setting(
        1.0, low=0.05, high=20.0, why="multiplies both focal lengths of colour and depth: a quick calibration"
    )
    depth_focal_factor: float = setting(
        1.0, low=0.05, high=20.0, why="multiplies the focal lengths of depth alone, where they do not fit colour's"
    )
    depth_shift_x: float = setting(
        0.0, unit="depth px", why="how far the depth image lies to the right of the colour image"
    )
    depth_shift_y: float = setting(0.0, unit="depth px", why="how far the depth image lies below the colour image")
    max_stamp_difference: float = setting(
        0.02, unit="s", low=0.0, why="colour and depth further apart are no pair; 20 ms is usual for 30 Hz sensors"
    )
    max_pose_gap: float = setting(
        0.25, unit="s", low=0.0, why="poses are interpolated across gaps up to this: a slow 4 Hz tracker still works"
    )
    pose_delay: float = setting(
        0.0, unit="s", why="how much later than the images the pose clock runs; it is taken off pose stamps"
    )
    depth_delay: float = setting(
        0.0, unit="s", why="how much later than colour the depth clock runs; it is taken off depth stamps"
    )
    color_topic: str = setting("", why="the topic of colour images; empty takes the likeliest one of its type")
    depth_topic: str = setting("", why="the topic of depth images; empty takes the likeliest one of its type")
    color_info_topic: str = setting("", why="the CameraInfo of colour; empty takes the one beside its images")
    depth_info_topic: str = setting("", why="the CameraInfo of depth; empty takes the one beside its images")
    pose_topic: str = setting(
        "", why="PoseStamped or Odometry topic; empty takes tf where it reaches the camera, and else such a topic"
    )
    detections_topic: str = setting("", why="the Detection2DArray topic; empty takes the only one there is")
    world_frame: str = setting("", why="the tf frame that poses are given in; empty takes the top of the tree")
    camera_frame: str = setting("", why="the tf frame of the camera; empty takes what the images say")
    pose_frame: str = setting(
        "", why="the tf frame whose pose the pose topic gives; empty takes what it says, or the camera itself"
    )
    odom_frame: str = setting(
        "odom", why="the tf frame of odometry: a jump of the link above it corrects past poses (REP 105)"
    )
    jump_correction: str = setting(
        "spread",
        choices=("spread", "whole", "none"),
        why="how a jump corrects past poses: as drift since the last correction, all of them alike, or not at all",
    )
    backpressure: str = setting(
        "latest",
        choices=("latest", "lossless"),
        why="what a live stream does when we are slow: drop the oldest image, or let the sender wait",
    )
    queue_frames: int = setting(
        4, unit="images", low=1, high=1000, why="images that wait at most: more only makes a slow run older"
    )
    stall_after: float = setting(
        2.0, unit="s", low=0.1, why="a live stream silent for so long is said to stall; at 1 Hz two images are lost"
    )
    end_after: float = setting(
        0.0, unit="s", low=0.0, why="a live stream silent for so long has ended; 0 waits for ever"
    )
    restart_after: float = setting(
        1.0,
        unit="s",
        low=0.0,
        why="a live clock that goes back further began anew; less is an image that was overtaken",
    )
    max_message_mb: int = setting(
        64, unit="MiB", low=1, why="a larger message is refused before it is taken in; 4K RGB-D raw has 56 MiB"
    )
    max_pixels: int = setting(
        MAX_PIXELS, unit="px", low=1, why="larger images are refused before decoding; 4K and less are taken"
    )

    def __post_init__(self) -> None:
        given: Any = self.world_up
        if isinstance(given, list | tuple):
            object.__setattr__(self, "world_up", json.dumps([*given]))
        super().__post_init__()
        if self.world_up not in list(WorldUp) and not _is_direction(self.world_up):
            raise SettingsError(
                "source options.world_up",
                self.world_up,
                "is no direction",
                remedy=f"choose from {', '.join(WorldUp)}, or give [x, y, z] that points up",
            )

    def replaced(self, **changes: Any) -> SourceOptions:
        """The same options with some changed."""
        return dataclasses.replace(self, **changes)

    def with_words(self, words: Sequence[str]) -> SourceOptions:
        """The same options with some changed by words such as ``color_topic=/cam/image`` or ``depth_scale=5000``."""
        values: dict[str, Any] = {}
        for word in words:
            name, equals, text = word.partition("=")
            default = getattr(type(self), name, None) if name in self.names() else None
            if not equals:
                raise SettingsError("source option", word, "has no value", remedy="write name=value")
            values[name] = text if default is None or isinstance(default, str) else toml_value(text)
        return self.from_mapping({**self.changed(), **values})

    @classmethod
    def names(cls) -> list[str]:
        """Every option's name, in the order of the declarations."""
        return [field.name for field in dataclasses.fields(cls)]

    def changed(self) -> dict[str, object]:
        """Only what differs from the defaults, by name."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        }

    def check_taken(self, scheme: str) -> None:
        """Refuse an option that a source of this scheme would ignore."""
        taken = TAKEN.get(scheme)
        ignored = [] if taken is None else [name for name in self.changed() if name not in taken]
        if taken is not None and ignored:
            known = [name for name in self.names() if name in taken]
            raise SettingsError(
                f"source options.{ignored[0]}",
                self.changed()[ignored[0]],
                f"means nothing to a {scheme} source",
                remedy=f"it takes {', '.join(known)}",
            )

    def to_toml(self) -> str:
        """The changed options as TOML, each with its reason; empty options give one comment."""
        fields = {field.name: field for field in dataclasses.fields(self)}
        lines = ["# Options of one source: give them with --options, or keep them as source.toml in its folder."]
        for name, value in self.changed().items():
            lines += [f"# {fields[name].metadata['why']}", f"{name} = {_toml(value)}"]
        return "\n".join(lines) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the changed options to a TOML file."""
        try:
            Path(path).write_text(self.to_toml(), encoding="utf-8")
        except OSError as error:
            raise SettingsError(
                "source options", str(path), f"cannot be written ({error.strerror})", remedy="check the folder"
            ) from error

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> SourceOptions:
        """Build from a mapping; an unknown name is an error that suggests the nearest valid one."""
        known = cls.names()
        for name, value in values.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                remedy = f"did you mean {near[0]}?" if near else f"choose from {', '.join(known)}"
                raise SettingsError(f"source options.{name}", value, "is not an option", remedy=remedy)
        return cls(**values)

    @classmethod
    def load(cls, path: str | Path) -> SourceOptions:
        """Read a TOML file of options."""
        return cls.from_mapping(read_toml(Path(path), "source options", remedy='write lines like world_up = "y"'))


def _toml(value: object) -> str:
    """A value in TOML; a direction is kept as text and written as its numbers."""
    return value if isinstance(value, str) and value.startswith("[") else json.dumps(value)


def _is_direction(text: str) -> bool:
    """Whether a text is three numbers in brackets, not all of them 0."""
    try:
        numbers = [float(number) for number in json.loads(text)]
    except (ValueError, TypeError):
        return False
    return len(numbers) == 3 and 1e-6 < math.hypot(*numbers) < math.inf
