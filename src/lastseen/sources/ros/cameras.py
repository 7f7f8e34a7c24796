"""The colour and the depth camera of a robot as the one pinhole RGB-D camera that everything behind them expects.

Images are undistorted, and depth from a camera of its own place is registered to where colour was seen from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, SourceError
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_to_opencv
from lastseen.sources.conversion import Box, camera_from_options
from lastseen.sources.lens import Lens, Undistorter
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import BEYOND_LENS, Intake, RawRecord
from lastseen.sources.ros import messages
from lastseen.sources.ros.pairs import Pair
from lastseen.sources.ros.transforms import TransformTree

SAME_PLACE = 1e-4
"""Metres and radians below which two cameras count as one: less than a hundredth of a pixel."""


UNPLACED_DEPTH = (
    "depth is in frame {depth}, colour in {color}, and tf does not say how they stand: they are taken as one; "
    "record /tf_static, or name depth that is registered to colour with depth_topic"
)
"""Noted where depth cannot be registered."""


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
        if T_color_depth is not None and _stand_apart(T_color_depth) and _changed_after_capture(options):
            intake.note(f"{names[1]} is not registered to colour: both are turned or flipped after capture")
            T_color_depth = None
        self.camera, self.lens = _model(color, names[0], options, intake)
        self.depth_camera, self._depth_lens = _model(depth, names[1], options, intake)
        if self.depth_camera == self.camera and T_color_depth is None:
            self.depth_camera = None
        self._T_color_depth = None
        if T_color_depth is not None:
            # tf may name the axes of both cameras otherwise: then their places are given in those axes
            axes = camera_to_opencv(Pose3D.identity(), CameraAxes(options.camera_axes))
            T_color_depth = axes.inverse() @ T_color_depth @ axes
            if _stand_apart(T_color_depth):
                self._T_color_depth = T_color_depth

    def undistort_box(self, box: Box, size: tuple[int, int], intake: Intake) -> Box | None:
        """A box of a raw colour image of this (width, height) in the undistorted one; one outside it is counted."""
        found = box if self.lens is None else self.lens.box(box, size)
        if found is None:
            intake.skip(BEYOND_LENS, f"box {box}")
        return found

    def record(
        self,
        pair: Pair[Any],
        rgb: NDArray[np.uint8],
        depth: NDArray[np.generic],
        raw_per_metre: float,
        *,
        pose: Pose3D,
    ) -> RawRecord:
        """The record of a pair of images, undistorted and from one place; ``pair`` gives their stamps."""
        camera, depth_camera = self.camera, self.depth_camera
        if camera is None:
            remedy = "set color_info_topic, or fx, fy, cx, cy"
            camera = camera_from_options(self._options, rgb.shape[1::-1], where="CameraInfo", remedy=remedy)
        if self.lens is not None:
            rgb = self.lens.color(rgb)
        if self._depth_lens is not None:
            depth = self._depth_lens.depth(depth)
        elif depth_camera is None and self.lens is not None and depth.shape == rgb.shape[:2]:
            # registered to the raw colour image, so distorted as that one is
            depth = self.lens.depth(depth)
        if self._T_color_depth is not None:
            depth, depth_camera = register_depth(
                depth,
                camera=(depth_camera or camera).resized(depth.shape[1], depth.shape[0]),
                color_camera=camera.resized(rgb.shape[1], rgb.shape[0]),
                T_color_depth=self._T_color_depth,
                raw_per_metre=self._options.depth_scale or raw_per_metre,
            )
        return RawRecord(
            stamp=pair.color.stamp,
            rgb=rgb,
            depth=depth,
            raw_per_metre=raw_per_metre,
            translation=pose.translation,
            quaternion=pose.quaternion,
            intrinsics=camera,
            depth_intrinsics=depth_camera,
            depth_stamp=pair.depth.stamp + self._options.depth_delay,
            pose_stamp=pair.color.stamp,
        )


def color_frame_in(tree: TransformTree, frame: str, options: SourceOptions) -> str:
    """The frame that depth is placed against: the one colour names, where tf knows it.

    Colour and depth name their frames alike, rightly or wrongly. ``camera_frame`` corrects the pose alone, and stands
    in here only where tf does not know what colour names.
    """
    return frame if frame in tree.frames() else options.camera_frame or frame


def _stand_apart(T_color_depth: Pose3D) -> bool:
    """Whether two cameras are so far apart that depth must be registered."""
    moved = float(np.linalg.norm(T_color_depth.translation))
    return max(moved, T_color_depth.angle_to(Pose3D.identity())) > SAME_PLACE


def register_depth(
    depth: NDArray[np.generic],
    *,
    camera: Intrinsics,
    color_camera: Intrinsics,
    T_color_depth: Pose3D,
    raw_per_metre: float,
) -> tuple[NDArray[np.generic], Intrinsics]:
    """Depth as seen from the colour camera, in the same raw values, and its intrinsics there.

    It shows the view of the colour image in as many pixels as depth has to give. Each point covers the four pixels
    around it, so that no wall shows through cracks between points; of several points the nearest counts.
    """
    scale = min(1.0, camera.fx / color_camera.fx, camera.fy / color_camera.fy)
    target = color_camera.resized(
        max(1, round(color_camera.width * scale)), max(1, round(color_camera.height * scale))
    )
    # float32 keeps a hundredth of a millimetre at room distances, at half the time
    z = depth.astype(np.float32) / np.float32(raw_per_metre)
    z[~(z > 0.0)] = np.nan
    points = camera.unproject_image(z).reshape(-1, 3)
    points = points[np.isfinite(points[:, 2])]
    moved = points @ T_color_depth.rotation.T.astype(np.float32) + T_color_depth.translation.astype(np.float32)
    moved = moved[moved[:, 2] > 0.0]
    z = moved[:, 2]
    u = target.fx * moved[:, 0] / z + target.cx
    v = target.fy * moved[:, 1] / z + target.cy
    inside = (u > -1.0) & (u < target.width) & (v > -1.0) & (v < target.height)
    column, row, z = np.floor(u[inside]).astype(np.int64), np.floor(v[inside]).astype(np.int64), z[inside]
    # a rim of one pixel takes what falls beside the image
    wide = target.width + 2
    nearest = np.full((target.height + 2) * wide, np.inf, dtype=np.float32)
    at = (row + 1) * wide + column + 1
    for step in (0, 1, wide, wide + 1):
        np.minimum.at(nearest, at + step, z)
    seen = nearest.reshape(target.height + 2, wide)[1:-1, 1:-1]
    raw = np.where(np.isfinite(seen), seen, 0.0) * np.float32(raw_per_metre)
    if depth.dtype.kind in "ui":
        raw = np.minimum(np.rint(raw), float(2 ** (8 * depth.dtype.itemsize) - 1))
    return raw.astype(depth.dtype), target


def _changed_after_capture(options: SourceOptions) -> bool:
    """Whether the stored images were rotated or flipped, so that their CameraInfo no longer fits."""
    return options.mirrored or options.images_turned != "0"


def _model(
    info: Any | None, name: str, options: SourceOptions, intake: Intake
) -> tuple[Intrinsics | None, Undistorter | None]:
    if info is None:
        return None, None
    rectified = "rect" in name.lower()
    try:
        camera = messages.intrinsics(info, rectified=rectified)
    except InvalidValue as error:
        raise SourceError(
            f"CameraInfo of {name}", error.value, error.problem, remedy="calibrate, or set fx, fy, cx, cy"
        ) from error
    if rectified:
        return camera, None
    try:
        lens = Lens.of(*messages.lens(info))
    except SourceError as error:
        intake.note(f"{name} is distorted by its lens, and that is not undone: {error}")
        return camera, None
    if lens is not None and _changed_after_capture(options):
        intake.note(
            f"{name} is distorted by its lens, and that is not undone for images turned or flipped after capture"
        )
        return camera, None
    return camera, None if lens is None else Undistorter(camera, lens)
