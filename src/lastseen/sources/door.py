"""The one place where a source's conventions become ours: from a raw record and options to a ``Frame``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.frame import Frame, metric_depth
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_to_opencv, world_to_z_up
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord
from lastseen.sources.turning import Scalar, quarter_turns, turn_image, turn_intrinsics, turn_pose


def to_frame(record: RawRecord, options: SourceOptions, *, frame_id: int) -> Frame:
    """Apply every option to one record; raises ``InvalidValue`` naming what does not fit."""
    camera, depth_camera = cameras(record, options)
    rgb = stored_image(record.rgb, options)
    metres = metric_depth(stored_image(record.depth, options), scale=options.depth_scale or record.raw_per_metre)
    if record.confidence is not None and options.min_confidence > 0:
        confidence = stored_image(record.confidence, options)
        if confidence.shape != metres.shape:
            raise SourceError(
                "confidence", confidence, f"must have the size of depth {metres.shape}", remedy="drop the map"
            )
        metres[confidence < options.min_confidence] = np.nan
    turns = quarter_turns(options.image_rotation)
    return Frame(
        id=frame_id,
        stamp=record.stamp,
        rgb=turn_image(np.ascontiguousarray(rgb), turns),
        depth=turn_image(np.ascontiguousarray(metres), turns),
        T_world_camera=turn_pose(to_pose(record.translation, record.quaternion, options), turns),
        intrinsics=turn_intrinsics(camera, turns),
        depth_intrinsics=None if depth_camera is None else turn_intrinsics(depth_camera, turns),
    )


def to_pose(translation: NDArray[np.float64], quaternion: NDArray[np.float64], options: SourceOptions) -> Pose3D:
    """T_world_camera in our conventions of the stored numbers, before any turn of the image."""
    numbers = np.roll(quaternion, -1) if options.quaternion_order == "wxyz" else quaternion
    pose = Pose3D.from_quaternion(translation, numbers)
    if options.pose_inverted:
        pose = pose.inverse()
    return world_to_z_up(camera_to_opencv(pose, CameraAxes(options.camera_axes)), WorldUp(options.world_up))


def stored_image(image: NDArray[Scalar], options: SourceOptions) -> NDArray[Scalar]:
    """The image as the sensor saw it: a flip or turn done after capture is undone."""
    image = turn_image(image, -quarter_turns(options.images_turned))
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
    if depth_camera is None and (options.depth_shift_x or options.depth_shift_y):
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
        depth_camera = _shifted(depth_camera, factor, options.depth_shift_x, options.depth_shift_y)
    return camera, depth_camera


def _shifted(camera: Intrinsics, factor: float, right: float, down: float) -> Intrinsics:
    if factor == 1.0 and right == 0.0 and down == 0.0:
        return camera
    return Intrinsics(
        camera.fx * factor, camera.fy * factor, camera.cx + right, camera.cy + down, camera.width, camera.height
    )


def _size(image: NDArray[np.generic], options: SourceOptions) -> tuple[int, int]:
    height, width = image.shape[:2]
    return (height, width) if quarter_turns(options.images_turned) % 2 else (width, height)
