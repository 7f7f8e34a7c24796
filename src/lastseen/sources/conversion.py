"""Sensor frame conversion: the one place where a source's conventions become ours, from a raw record to a ``Frame``.

Rotating an image by quarter turns takes everything along that belongs to it: depth, intrinsics, pose and boxes.
"""

from __future__ import annotations

import json
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.frame import Frame, metric_depth
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord

Scalar = TypeVar("Scalar", bound=np.generic)
Box = tuple[float, float, float, float]

_HALF = float(np.sqrt(0.5))
# the pose of the rotated camera in the original one: about the optical axis, against the image's own rotation
_T_CAMERA_ROTATED = {
    0: Pose3D.identity(),
    1: Pose3D(np.zeros(3), np.array([0.0, 0.0, -_HALF, _HALF])),
    2: Pose3D(np.zeros(3), np.array([0.0, 0.0, 1.0, 0.0])),
    3: Pose3D(np.zeros(3), np.array([0.0, 0.0, _HALF, _HALF])),
}


def to_frame(record: RawRecord, options: SourceOptions, *, frame_id: int) -> Frame:
    """The frame of a record with every option applied; raises ``InvalidValue`` naming what does not fit."""
    camera, depth_camera = cameras(record, options)
    rgb = sensor_image(record.rgb, options)
    metres = metric_depth(sensor_image(record.depth, options), scale=options.depth_scale or record.raw_per_metre)
    if record.confidence is not None and options.min_confidence > 0:
        confidence = sensor_image(record.confidence, options)
        if confidence.shape != metres.shape:
            raise SourceError(
                "confidence", confidence, f"must have the size of depth {metres.shape}", remedy="drop the map"
            )
        metres[confidence < options.min_confidence] = np.nan
    turns = quarter_turns(options.image_rotation)
    return Frame(
        id=frame_id,
        stamp=record.stamp,
        rgb=rotate_image(np.ascontiguousarray(rgb), turns),
        depth=rotate_image(np.ascontiguousarray(metres), turns),
        T_world_camera=rotate_pose(to_pose(record.translation, record.quaternion, options), turns),
        intrinsics=rotate_intrinsics(camera, turns),
        depth_intrinsics=None if depth_camera is None else rotate_intrinsics(depth_camera, turns),
    )


def to_pose(translation: NDArray[np.float64], quaternion: NDArray[np.float64], options: SourceOptions) -> Pose3D:
    """T_world_camera in our conventions of the stored numbers, before any rotation of the image."""
    numbers = np.roll(quaternion, -1) if options.quaternion_order == "wxyz" else quaternion
    pose = Pose3D.from_quaternion(translation, numbers)
    if options.pose_inverted:
        pose = pose.inverse()
    if options.pose_scale != 1.0:
        pose = Pose3D(options.pose_scale * pose.translation, pose.quaternion)
    up = options.world_up
    letter = WorldUp(up) if up in list(WorldUp) else tuple(up_vector(up).tolist())
    return world_to_z_up(camera_to_opencv(pose, CameraAxes(options.camera_axes)), letter)


def up_vector(up: str) -> NDArray[np.float64]:
    """The unit vector that ``world_up`` names: of an axis ("-y"), or of three numbers ("[0.1, 0, 0.99]")."""
    if up.startswith("["):
        vector = np.array(json.loads(up), dtype=np.float64)
        return vector / np.linalg.norm(vector)
    axis = np.zeros(3)
    axis["xyz".index(up[-1])] = -1.0 if up.startswith("-") else 1.0
    return axis


def sensor_image(image: NDArray[Scalar], options: SourceOptions) -> NDArray[Scalar]:
    """The image as the sensor saw it: a flip or rotation done after capture is undone."""
    image = rotate_image(image, -quarter_turns(options.images_turned))
    return image[:, ::-1] if options.mirrored else image


def cameras(record: RawRecord, options: SourceOptions) -> tuple[Intrinsics, Intrinsics | None]:
    """Intrinsics of colour and, where it has its own, of depth, each in the size of its sensor image."""
    rgb_size = _size(record.rgb, options)
    depth_size = _size(record.depth, options)
    given = record.intrinsics
    camera = Intrinsics(
        options.fx or given.fx,
        options.fy or given.fy,
        options.cx or given.cx,
        options.cy or given.cy,
        given.width,
        given.height,
    )
    depth_camera = record.depth_intrinsics
    if options.rescale_intrinsics:
        camera = camera.resized(*rgb_size)
        depth_camera = depth_camera and depth_camera.resized(*depth_size)
    if options.share_view == "color":
        depth_camera = None
    elif options.share_view == "depth" and depth_camera is not None:
        camera = depth_camera.resized(*rgb_size)
    if depth_camera is None and depth_size != rgb_size:
        # no word about depth's own camera: it shows the same view in another size
        depth_camera = camera.resized(*depth_size)
    if depth_camera is None and (options.depth_shift_x or options.depth_shift_y or options.depth_focal_factor != 1.0):
        depth_camera = camera
    for name, one, size in (("camera", camera, rgb_size), ("depth camera", depth_camera, depth_size)):
        if one is not None and (one.width, one.height) != size:
            raise SourceError(
                f"{name} size",
                f"{one.width}x{one.height}",
                f"is not the size of the image, {size[0]}x{size[1]}",
                remedy="set rescale_intrinsics = true if the image was only resized, or run `lastseen doctor`",
            )
    factor = options.focal_factor
    camera = _shifted(camera, factor, 0.0, 0.0)
    if depth_camera is not None:
        own = factor * options.depth_focal_factor
        depth_camera = _shifted(depth_camera, own, options.depth_shift_x, options.depth_shift_y)
    return camera, depth_camera


def camera_from_options(
    options: SourceOptions, size: tuple[int, ...], *, where: str, remedy: str = "set fx, fy (and cx, cy)"
) -> Intrinsics:
    """Intrinsics that the options give for images of (width, height), where ``where`` stores none."""
    width, height = size
    if not (options.fx and options.fy):
        raise SourceError("intrinsics", where, "does not say them", remedy=remedy)
    center = (options.cx or (width - 1) / 2, options.cy or (height - 1) / 2)
    return Intrinsics(options.fx, options.fy, *center, width, height)


def _shifted(camera: Intrinsics, factor: float, right: float, down: float) -> Intrinsics:
    if factor == 1.0 and right == 0.0 and down == 0.0:
        return camera
    return Intrinsics(
        camera.fx * factor, camera.fy * factor, camera.cx + right, camera.cy + down, camera.width, camera.height
    )


def _size(image: NDArray[np.generic], options: SourceOptions) -> tuple[int, int]:
    height, width = image.shape[:2]
    return (height, width) if quarter_turns(options.images_turned) % 2 else (width, height)


def quarter_turns(degrees: str) -> int:
    """Quarter turns clockwise of a text option: "90" is 1."""
    return int(degrees) // 90 % 4


def rotate_image(image: NDArray[Scalar], turns: int) -> NDArray[Scalar]:
    """The image rotated clockwise by quarter turns."""
    return np.ascontiguousarray(np.rot90(image, -turns)) if turns % 4 else image


def rotate_intrinsics(camera: Intrinsics, turns: int) -> Intrinsics:
    """The camera of the image rotated clockwise by quarter turns."""
    for _ in range(turns % 4):
        camera = Intrinsics(
            camera.fy, camera.fx, camera.height - 1 - camera.cy, camera.cx, camera.height, camera.width
        )
    return camera


def rotate_pose(T_world_camera: Pose3D, turns: int) -> Pose3D:
    """The pose of the camera whose image is the old one rotated clockwise."""
    return T_world_camera @ _T_CAMERA_ROTATED[turns % 4] if turns % 4 else T_world_camera


def rotate_box(box: Box, turns: int, *, width: int, height: int) -> Box:
    """A box of an image of this size, in the image rotated clockwise."""
    left, top, right, bottom = box
    for _ in range(turns % 4):
        left, top, right, bottom = height - bottom, left, height - top, right
        width, height = height, width
    return left, top, right, bottom


def mirror_box(box: Box, *, width: int) -> Box:
    """A box in the image flipped left to right."""
    left, top, right, bottom = box
    return width - right, top, width - left, bottom
