"""Small worlds for the tests: a camera that looks at a point, and observations of things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.observation import OBJECT, Observation

CAMERA = Intrinsics.from_fov(80, 60, horizontal_deg=79.0)


def look(eye: Sequence[float], target: Sequence[float]) -> Pose3D:
    """The pose of a camera at ``eye`` that looks at ``target``, upright."""
    forward = np.subtract(target, eye).astype(np.float64)
    forward /= np.linalg.norm(forward)
    right = np.cross(forward, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    matrix = np.eye(4)
    matrix[:3, :3] = np.column_stack([right, np.cross(forward, right), forward])
    matrix[:3, 3] = eye
    return Pose3D.from_matrix(matrix)


def frame_at(
    number: int,
    *,
    stamp: float | None = None,
    eye: Sequence[float] = (0.0, 0.0, 1.2),
    target: Sequence[float] = (2.0, 0.0, 0.8),
    depth: float | NDArray[np.float32] = np.nan,
) -> Frame:
    """A grey image from ``eye`` toward ``target``; without a depth nothing was measured."""
    values = np.full((CAMERA.height, CAMERA.width), depth, dtype=np.float32) if np.isscalar(depth) else depth
    return Frame(
        number,
        float(number) if stamp is None else stamp,
        np.zeros((CAMERA.height, CAMERA.width, 3), dtype=np.uint8),
        np.array(values, dtype=np.float32),
        look(eye, target),
        CAMERA,
    )


def unit(seed: int, dim: int = 16) -> NDArray[np.float32]:
    """A random look."""
    vector = np.random.default_rng(seed).normal(size=dim)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def seen(
    xyz: ArrayLike,
    *,
    eye: Sequence[float] = (0.0, 0.0, 1.2),
    stamp: float = 0.0,
    labels: Mapping[str, float] | None = None,
    embedding: NDArray[np.float32] | None = None,
    size: float | Sequence[float] = 0.1,
    sigma: float = 0.02,
    quality: float = 1.0,
    points: NDArray[np.float32] | None = None,
    crop: bytes | None = None,
    kind: str = OBJECT,
) -> Observation:
    """One thing at ``xyz`` seen from ``eye``."""
    extent = np.full(3, size) if np.isscalar(size) else np.array(size)
    return Observation(
        position=np.array(xyz, dtype=np.float64),
        extent=extent.astype(np.float64),
        view_direction=np.subtract(eye, xyz).astype(np.float64),
        stamp=stamp,
        labels=labels or {},
        embedding=embedding,
        points=points,
        sigma=sigma,
        quality=quality,
        crop=crop,
        kind=kind,
    )


class Room:
    """Boxes before a far wall: renders depth and what a perfect observer would say of each box."""

    def __init__(self, wall: float = 6.0) -> None:
        self.wall = wall
        self.boxes: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def put(self, name: str, xyz: Sequence[float], size: float | Sequence[float] = 0.2) -> None:
        """Place a box, or move it."""
        extent = np.full(3, size) if np.isscalar(size) else np.array(size)
        self.boxes[name] = (np.array(xyz, dtype=np.float64), extent.astype(np.float64))

    def take(self, name: str) -> None:
        """Carry a box away."""
        del self.boxes[name]

    def see(
        self,
        number: int,
        *,
        eye: Sequence[float] = (0.0, 0.0, 1.2),
        target: Sequence[float] = (2.0, 0.0, 0.8),
        stamp: float | None = None,
        unseen: Sequence[str] = (),
        looks: bool = True,
    ) -> tuple[Frame, list[Observation]]:
        """A frame and the observations of the boxes in it, without those the detector misses."""
        pose = look(eye, target)
        pixels = np.stack(np.meshgrid(np.arange(CAMERA.width), np.arange(CAMERA.height)), axis=-1)
        rays = CAMERA.unproject(pixels, np.ones(pixels.shape[:2])) @ pose.rotation.T
        depth = np.full(pixels.shape[:2], self.wall)
        owner = np.full(pixels.shape[:2], -1)
        for index, (xyz, extent) in enumerate(self.boxes.values()):
            with np.errstate(divide="ignore"):
                near = (xyz - 0.5 * extent - pose.translation) / rays
                far = (xyz + 0.5 * extent - pose.translation) / rays
            enter = np.minimum(near, far).max(axis=-1)
            leave = np.maximum(near, far).min(axis=-1)
            hit = (enter < leave) & (enter > 0.05) & (enter < depth)
            depth[hit], owner[hit] = enter[hit], index
        frame = frame_at(number, stamp=stamp, eye=eye, target=target, depth=depth.astype(np.float32))
        return frame, [
            self._observation(name, frame, rays[owner == index] * depth[owner == index][:, None], looks=looks)
            for index, name in enumerate(self.boxes)
            if name not in unseen and (owner == index).sum() >= 4
        ]

    def _observation(self, name: str, frame: Frame, rays: NDArray[np.float64], *, looks: bool) -> Observation:
        points = (rays + frame.T_world_camera.translation).astype(np.float32)
        xyz, extent = self.boxes[name]
        kind = name.split("/", maxsplit=1)[0]
        return seen(
            xyz,
            eye=frame.T_world_camera.translation.tolist(),
            stamp=frame.stamp,
            labels={kind: 0.9},
            embedding=unit(sum(map(ord, kind))) if looks else None,
            size=extent.tolist(),
            points=points[np.arange(min(64, len(points))) * len(points) // min(64, len(points))],
        )
