"""The colour and the depth camera of a robot as the one pinhole RGB-D camera that everything behind them expects.

Lenses are taken straight, and depth from a camera of its own place is moved to where colour was seen from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_to_opencv
from lastseen.sources.conversion import Box
from lastseen.sources.lens import Lens, Straightener
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake
from lastseen.sources.registering import register_depth, stand_apart
from lastseen.sources.ros import decode


@dataclass(frozen=True, slots=True)
class View:
    """The images of one moment with the intrinsics they have now."""

    rgb: NDArray[np.uint8]
    depth: NDArray[np.generic]
    camera: Intrinsics
    depth_camera: Intrinsics | None


class CameraPair:
    """What two CameraInfos and tf say about the images, made once and used for every pair of images."""

    def __init__(
        self,
        color: Any | None,
        depth: Any | None,
        *,
        names: tuple[str, str],
        options: SourceOptions,
        intake: Intake,
        T_color_depth: Pose3D | None = None,
    ) -> None:
        self._options = options
        if T_color_depth is not None and stand_apart(T_color_depth) and _changed_after_capture(options):
            intake.note(f"{names[1]} is not registered to colour: both are turned or flipped after capture")
            T_color_depth = None
        self.camera, self.lens = _model(color, names[0], options, intake)
        self.depth_camera, self._depth_lens = _model(depth, names[1], options, intake)
        if self.depth_camera == self.camera and T_color_depth is None:
            self.depth_camera = None
        self._T_color_depth = None
        if T_color_depth is not None:
            # tf may name the axes of both cameras otherwise: then their places are told in those axes
            axes = camera_to_opencv(Pose3D.identity(), CameraAxes(options.camera_axes))
            T_color_depth = axes.inverse() @ T_color_depth @ axes
            if stand_apart(T_color_depth):
                self._T_color_depth = T_color_depth

    def straight_box(self, box: Box, size: tuple[int, int]) -> Box | None:
        """A box found in a raw colour image of this size, in the one that leaves here; None where it shows none."""
        return box if self.lens is None else self.lens.box(box, size)

    def view(self, rgb: NDArray[np.uint8], depth: NDArray[np.generic], raw_per_metre: float) -> View:
        """Both images, straight and from one place."""
        camera = self.camera or camera_from_options(rgb.shape, self._options)
        if self.lens is not None:
            rgb = self.lens.color(rgb)
        if self._depth_lens is not None:
            depth = self._depth_lens.depth(depth)
        elif self.depth_camera is None and self.lens is not None and depth.shape == rgb.shape[:2]:
            # registered to the raw colour image, so bent as that one is
            depth = self.lens.depth(depth)
        if self._T_color_depth is None:
            return View(rgb, depth, camera, self.depth_camera)
        height, width = depth.shape
        own = (self.depth_camera or camera).resized(width, height)
        moved, moved_camera = register_depth(
            depth,
            camera=own,
            color_camera=camera.resized(rgb.shape[1], rgb.shape[0]),
            T_color_depth=self._T_color_depth,
            raw_per_metre=self._options.depth_scale or raw_per_metre,
        )
        return View(rgb, moved, camera, moved_camera)


def camera_from_options(shape: tuple[int, ...], options: SourceOptions) -> Intrinsics:
    """Intrinsics for images without a CameraInfo; the principal point is the middle unless it is given."""
    if not (options.fx and options.fy):
        raise SourceError(
            "CameraInfo",
            "no such topic",
            "is missing",
            remedy="set color_info_topic, or fx, fy, cx, cy",
        )
    height, width = shape[:2]
    center = (options.cx or (width - 1) / 2, options.cy or (height - 1) / 2)
    return Intrinsics(options.fx, options.fy, *center, width, height)


def _changed_after_capture(options: SourceOptions) -> bool:
    """Whether the stored images no longer lie as their CameraInfo says."""
    return options.mirrored or options.images_turned != "0"


def _model(
    info: Any | None, name: str, options: SourceOptions, intake: Intake
) -> tuple[Intrinsics | None, Straightener | None]:
    if info is None:
        return None, None
    rectified = "rect" in name.lower()
    try:
        camera = decode.intrinsics(info, rectified=rectified)
    except InvalidValue as error:
        raise SourceError(
            f"CameraInfo of {name}", error.value, error.problem, remedy="calibrate, or set fx, fy, cx, cy"
        ) from error
    if rectified:
        return camera, None
    try:
        lens = Lens.of(*decode.lens(info))
    except SourceError as error:
        intake.note(f"{name} is bent by its lens, and that is not undone: {error}")
        return camera, None
    if lens is not None and _changed_after_capture(options):
        intake.note(f"{name} is bent by its lens, and that is not undone for images turned or flipped after capture")
        return camera, None
    return camera, None if lens is None else Straightener(camera, lens)
