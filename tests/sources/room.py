"""A small room with boxes, ray-cast in numpy, and a way to store a walk through it as a TUM-layout folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.geometry import Intrinsics, Pose3D
from lastseen.sources.lens import Lens

CAMERA = Intrinsics(140.0, 140.0, 79.5, 59.5, 160, 120)
ROOM = np.array([[-3.0, -2.5, 0.0], [3.0, 2.5, 2.6]])
BOXES = np.array(
    [
        [[1.2, -0.4, 0.0], [1.9, 0.5, 0.75]],
        [[-0.3, 1.5, 0.0], [0.6, 2.1, 0.45]],
        [[1.4, -0.1, 0.75], [1.6, 0.1, 0.95]],
        [[-2.4, -2.2, 0.0], [-1.6, -1.4, 1.5]],
        [[0.9, -2.0, 0.0], [1.3, -1.5, 0.9]],
    ]
)


def render(
    pose: Pose3D,
    camera: Intrinsics = CAMERA,
    lens: Lens | None = None,
    *,
    boxes: NDArray[np.float64] = BOXES,
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Colour and depth (metres) of the room with boxes as the camera at this pose sees it, through a lens."""
    pixels = np.stack(np.meshgrid(np.arange(camera.width), np.arange(camera.height)), axis=-1)
    plane = camera.unproject(pixels, np.ones(pixels.shape[:2]))
    if lens is not None:
        plane[..., :2] = lens.undistort(plane[..., :2])
    rays = plane @ pose.rotation.T
    inverse = 1.0 / np.where(np.abs(rays) < 1e-9, 1e-9, rays)
    origin = pose.translation
    depth = np.maximum((ROOM[0] - origin) * inverse, (ROOM[1] - origin) * inverse).min(axis=-1)
    which = np.zeros(depth.shape, dtype=int)
    for number, box in enumerate(boxes, start=1):
        a, b = (box[0] - origin) * inverse, (box[1] - origin) * inverse
        near, far = np.minimum(a, b).max(axis=-1), np.maximum(a, b).min(axis=-1)
        hit = (near < far) & (near > 0.05) & (near < depth)
        depth, which = np.where(hit, near, depth), np.where(hit, number, which)
    points = origin + rays * depth[..., np.newaxis]
    checks = np.floor(points / 0.25 + 1e-6).astype(int).sum(axis=-1) % 2
    rgb = np.empty((*depth.shape, 3), dtype=np.uint8)
    for channel in range(3):
        rgb[..., channel] = 60 + (which * (53 + 31 * channel)) % 150 + 30 * checks
    return rgb, depth.astype(np.float32)


def looking(x: float, y: float, *, yaw: float, height: float = 1.3, pitch: float = -0.25) -> Pose3D:
    """A camera at a place, turned to a yaw and tilted by a pitch (radians; negative looks down)."""
    forward = np.array([math.cos(yaw) * math.cos(pitch), math.sin(yaw) * math.cos(pitch), math.sin(pitch)])
    right = np.array([math.sin(yaw), -math.cos(yaw), 0.0])
    matrix = np.eye(4)
    matrix[:3, :3] = np.stack([right, np.cross(forward, right), forward], axis=1)
    matrix[:3, 3] = (x, y, height)
    return Pose3D.from_matrix(matrix)


def walk(count: int = 16) -> list[Pose3D]:
    """A curve through the room, looking around."""
    return [
        looking(
            -0.8 + 1.6 * math.cos(2.0 * s),
            0.0 + 1.4 * math.sin(2.5 * s),
            yaw=-0.9 + 2.2 * s,
            height=1.3 + 0.15 * math.sin(5 * s),
            pitch=-0.3 + 0.12 * math.sin(7 * s),
        )
        for s in np.linspace(0.0, 1.0, count)
    ]


def write_recording(
    folder: Path,
    poses: Sequence[Pose3D],
    *,
    raw_per_metre: float = 1000.0,
    period: float = 0.1,
    depth_size: tuple[int, int] | None = None,
) -> Path:
    """Store what the camera sees along the poses, in our own conventions."""
    (folder / "rgb").mkdir(parents=True)
    (folder / "depth").mkdir()
    lines: dict[str, list[str]] = {"rgb.txt": [], "depth.txt": [], "groundtruth.txt": []}
    for number, pose in enumerate(poses):
        stamp = f"{100.0 + number * period:.6f}"
        rgb, depth = render(pose)
        if depth_size is not None:
            depth = render(pose, CAMERA.resized(*depth_size))[1]
        Image.fromarray(rgb).save(folder / "rgb" / f"{stamp}.png")
        Image.fromarray(np.round(depth * raw_per_metre).astype(np.uint16)).save(folder / "depth" / f"{stamp}.png")
        lines["rgb.txt"].append(f"{stamp} rgb/{stamp}.png")
        lines["depth.txt"].append(f"{stamp} depth/{stamp}.png")
        numbers = " ".join(f"{value:.9f}" for value in [*pose.translation, *pose.quaternion])
        lines["groundtruth.txt"].append(f"{stamp} {numbers}")
    for name, rows in lines.items():
        (folder / name).write_text("# written by a test\n" + "\n".join(rows) + "\n")
    camera = {key: getattr(CAMERA, key) for key in ("fx", "fy", "cx", "cy", "width", "height")}
    (folder / "camera.json").write_text(json.dumps({**camera, "depth_scale": raw_per_metre}))
    return folder
