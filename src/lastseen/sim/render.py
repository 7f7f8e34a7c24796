"""Pictures of a home by ray casting: colour, metric depth and instance ids, with no GPU and no GL.

The cost beyond the ray cast itself is kept to a few lookups per pixel: light is worked out per face and frame (the
angle to a flat face follows from the camera's distance to its plane), textures are one indexed read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.config.programs import Camera
from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, camera_to_opencv
from lastseen.pose2d import Pose2D
from lastseen.sim.home import Home
from lastseen.sim.scene import NO_HIT, Scene
from lastseen.sim.texture import LEVELS, SIZE, SIZE_LOG2, TextureStack

SKY = (200, 214, 228)
_SUN = np.array([0.35, 0.55, 0.76]) / np.linalg.norm([0.35, 0.55, 0.76])
_BAND = 1 << 14
"""Rays handled at once: the arrays between ray cast and colour then stay in the processor's cache."""
_AMBIENT, _SUNLIGHT, _HEADLIGHT = 0.52, 0.27, 0.26
"""Light from everywhere (no corner of a home by day is black), from the sun (tells the faces of a box apart) and from
a lamp on the camera (tells curved surfaces apart); the three add up to about 1 on a lit wall."""
_UNDERSIDE = 0.12
"""Share by which light from everywhere is weaker on faces that look down."""


def camera_pose(pose: Pose2D, *, height: float, pitch: float = 0.0) -> Pose3D:
    """T_world_camera of a camera above a floor pose; ``pitch`` in radians, positive looks up."""
    body = Pose3D.from_pose2d(pose, height=height)
    tilt = Pose3D(np.zeros(3), np.array([0.0, -math.sin(pitch / 2.0), 0.0, math.cos(pitch / 2.0)]))
    return camera_to_opencv(body @ tilt, CameraAxes.ROS_BODY)


def intrinsics_of(camera: Camera) -> Intrinsics:
    """The pinhole camera that the settings describe."""
    return Intrinsics.from_fov(camera.width, camera.height, horizontal_deg=camera.horizontal_fov)


@lru_cache(maxsize=16)
def camera_rays(intrinsics: Intrinsics) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Rays (pixels, 3) in the camera frame, and their lengths; z is 1, so a distance along a ray is a depth."""
    u, v = np.meshgrid(np.arange(intrinsics.width), np.arange(intrinsics.height))
    x, y = (u - intrinsics.cx) / intrinsics.fx, (v - intrinsics.cy) / intrinsics.fy
    rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)
    lengths = np.linalg.norm(rays, axis=1).astype(np.float32)
    narrow = rays.astype(np.float32)
    narrow.flags.writeable = lengths.flags.writeable = False
    return narrow, lengths


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """One rendered image: ``depth`` in metres along z, NaN where nothing; ``ids`` 0 for structure and nothing."""

    rgb: NDArray[np.uint8]
    depth: NDArray[np.float32]
    ids: NDArray[np.int32]


class Renderer:
    """Draws one home; ``changed`` gives the renderer of an edited home and bakes only what was edited.

    A ``scene`` that was made of this home before is shared.

    >>> Renderer(home).render(T_world_camera, intrinsics).depth.shape  # doctest: +SKIP
    (192, 256)
    """

    scene: Scene
    _stack: TextureStack

    def __init__(self, home: Home, *, previous: Renderer | None = None, scene: Scene | None = None) -> None:
        self.home = home
        self.scene = scene or Scene(home, previous=None if previous is None else previous.scene)
        same_textures = previous is not None and previous.home.textures is home.textures
        self._stack = previous._stack if previous is not None and same_textures else TextureStack(home.textures)
        surface = self.scene.surface
        # one row more than faces: the index -1 of a ray that hit nothing reads the sky from it
        self._ids = np.append(surface.ids, np.int32(0))
        self._planes = np.append(surface.planes, np.zeros((1, 4), dtype=np.float32), axis=0)
        self._texels = np.zeros((len(surface.faces) + 1, 8), dtype=np.float32)
        self._texels[:-1, :7] = surface.texels
        self._texels.view(np.int32)[:-1, 7] = surface.textures
        self._colors = np.zeros((len(surface.faces) + 1, 4), dtype=np.float32)
        self._colors[:-1, :3] = surface.colors
        self._colors[-1, :3] = np.array(SKY) / 255.0
        self._sides = np.append(_two_sided_light(surface.planes[:, :3]), [[1.0, 0.0]], axis=0)
        self._sides = self._sides.astype(np.float32)

    def changed(self, home: Home) -> Renderer:
        """The renderer of an edited home; surfaces of things that did not change are not computed again."""
        return Renderer(home, previous=self)

    def render(self, T_world_camera: Pose3D, intrinsics: Intrinsics) -> View:
        """What a camera at this pose sees."""
        rays, lengths = camera_rays(intrinsics)
        count = len(rays)
        rgb = np.empty((count, 3), dtype=np.uint8)
        depth = np.empty(count, dtype=np.float32)
        ids = np.empty(count, dtype=np.int32)
        turn = np.ascontiguousarray(T_world_camera.rotation.T, dtype=np.float32)
        for start in range(0, count, _BAND):
            band = slice(start, min(start + _BAND, count))
            directions = rays[band] @ turn
            origins = np.empty_like(directions)
            for axis in range(3):
                origins[:, axis] = T_world_camera.translation[axis]
            hits = self.scene.cast(origins, directions)
            face = hits["primID"].astype(np.intp)
            light, cosine = self._light(face, hits["tfar"] * lengths[band], T_world_camera.translation)
            texel = self._texel_colors(face, hits, cosine, 1.0 / intrinsics.fx)
            self._paint_into(rgb[band], face, light, texel)
            ids[band] = self._ids.take(face)
            hits["tfar"][face == NO_HIT] = np.nan
            depth[band] = hits["tfar"]
        shape = intrinsics.height, intrinsics.width
        return View(rgb.reshape(*shape, 3), depth.reshape(shape), ids.reshape(shape))

    def _light(
        self, face: NDArray[np.intp], distance: NDArray[np.float32], camera: NDArray[np.float64]
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Light on each hit, and the cosine of the angle at which it is seen."""
        # the angle to a flat face: the camera's distance from its plane over its distance from the hit
        cosine: NDArray[np.float32] = self._planes.take(face, axis=0) @ np.append(camera, 1.0).astype(np.float32)
        cosine /= distance
        sides = self._sides.take(face, axis=0)
        light: NDArray[np.float32] = np.sign(cosine)
        light *= sides[:, 1]
        light += sides[:, 0]
        np.abs(cosine, out=cosine)
        light += np.float32(_HEADLIGHT) * cosine
        return light, cosine

    def _paint_into(
        self, rgb: NDArray[np.uint8], face: NDArray[np.intp], light: NDArray[np.float32], texel: NDArray[np.uint8]
    ) -> None:
        """Write colour times light times texture."""
        colors = self._colors.take(face, axis=0)
        for channel in range(3):
            shade = colors[:, channel] * light
            shade *= texel[:, channel]
            np.minimum(shade, 255.0, out=shade)
            rgb[:, channel] = shade

    def _texel_colors(
        self, face: NDArray[np.intp], hits: dict[str, NDArray[Any]], cosine: NDArray[np.float32], pixel_angle: float
    ) -> NDArray[np.uint8]:
        """Texture colours (pixels, 4): the copy whose texels are about as large as the pixel is taken."""
        rows = self._texels.take(face, axis=0)
        u, v = hits["u"], hits["v"]
        column, row = _texel(rows[:, 0:3], u, v), _texel(rows[:, 3:6], u, v)
        texels_per_pixel = rows[:, 6] * hits["tfar"]
        texels_per_pixel *= np.float32(pixel_angle)
        texels_per_pixel *= texels_per_pixel
        texels_per_pixel /= np.maximum(cosine, np.float32(0.02))
        # half the exponent of a squared float is the whole part of its logarithm: the copy to use
        level = texels_per_pixel.view(np.int32) >> 23
        level -= 127
        level >>= 1
        np.clip(level, 0, LEVELS - 1, out=level)
        wide = np.int32(SIZE_LOG2) - level
        column >>= level
        row >>= level
        index = rows.view(np.int32)[:, 7] << wide
        index += row
        index <<= wide
        index += column
        index += self._stack.starts.take(level)
        texels: NDArray[np.uint32] = self._stack.texels.take(index)
        return texels.view(np.uint8).reshape(-1, 4)


def _texel(steps: NDArray[np.float32], u: NDArray[np.float32], v: NDArray[np.float32]) -> NDArray[np.int32]:
    """The texel number along one axis, within one repeat."""
    coordinate = steps[:, 1] * u
    coordinate += steps[:, 2] * v
    coordinate += steps[:, 0]
    # rounding at a face's edge may fall a hair below 0, where truncation would not be the floor
    np.maximum(coordinate, 0.0, out=coordinate)
    whole = coordinate.astype(np.int32)
    whole &= SIZE - 1
    return whole


def _two_sided_light(normals: NDArray[np.float32]) -> NDArray[np.float32]:
    """Mean of the light on the two sides of each face, and half their difference: scenes mix up front and back."""
    sun = normals @ _SUN.astype(np.float32)
    # light from everywhere is softer from below: undersides are darker than tops
    up = _AMBIENT * _UNDERSIDE * normals[:, 2]
    front = _AMBIENT + up + _SUNLIGHT * np.maximum(sun, 0.0)
    back = _AMBIENT - up + _SUNLIGHT * np.maximum(-sun, 0.0)
    return np.column_stack([(front + back) / 2.0, (front - back) / 2.0]).astype(np.float32)
