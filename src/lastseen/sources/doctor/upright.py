"""Which way is up: the axis that floors and tables face, and how the image stands against it.

Re-projection cannot tell, because a world turned as a whole explains the images as well. Surfaces that face up are
seen all the time and surfaces that face down hardly ever; and a camera that looks around turns about the vertical,
so the vertical is the axis that stays put in the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.config.doctor import Doctor
from lastseen.geometry import Pose3D, WorldUp
from lastseen.sources.conversion import quarter_turns
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import Reprojection, View
from lastseen.sources.options import QUARTER_TURNS, SourceOptions

AXES = {
    WorldUp.Z: (0.0, 0.0, 1.0),
    WorldUp.Y: (0.0, 1.0, 0.0),
    WorldUp.MINUS_Y: (0.0, -1.0, 0.0),
    WorldUp.MINUS_Z: (0.0, 0.0, -1.0),
    WorldUp.X: (1.0, 0.0, 0.0),
    WorldUp.MINUS_X: (-1.0, 0.0, 0.0),
}
FACING = float(np.cos(np.radians(12.0)))
"""A surface faces an axis within this angle: a floor under a hand-held camera with a small drift."""

PITCHING = 0.15
"""Radians by which a camera nods anyway: steadier than this is no better."""


@dataclass(frozen=True, slots=True)
class Upward:
    """The evidence for one axis: share of surface that faces it, and its mean direction in the camera."""

    up: WorldUp
    share: float
    in_camera: NDArray[np.float64]

    @property
    def score(self) -> float:
        """Share of surface, less where the axis wanders in the image or points into it.

        The vertical keeps to one side of the image in every frame; the normal of a wall swings across it as the
        camera looks around, and points along the view when the camera faces the wall.
        """
        across = float(np.abs(self.in_camera[:2]).max())
        length = min(float(np.linalg.norm(self.in_camera)), 1.0)
        # variance of a direction on the sphere, from the length of the mean of its unit vectors
        wander = -2.0 * float(np.log(max(length, 1e-6)))
        return self.share * across**2 / (wander + PITCHING**2)


def judge_up(reprojection: Reprojection, options: SourceOptions, config: Doctor) -> list[Check]:
    """The checks "world up axis" and "upright images", in the world as the source gives it."""
    poses = reprojection.poses(options.replaced(world_up=WorldUp.Z.value))
    evidence = [_evidence(up, reprojection.views(options), poses) for up in AXES]
    best = max(evidence, key=lambda one: (one.score, one.up))
    given = next(one for one in evidence if one.up == options.world_up)
    checks = [_axis_check(best, given, config)]
    chosen = best if checks[0].verdict is Verdict.FAULT else given
    checks.append(_roll_check(chosen, options, sure=checks[0].verdict is not Verdict.UNSURE))
    return checks


def _axis_check(best: Upward, given: Upward, config: Doctor) -> Check:
    name = "world up axis"
    faces = (f"{100 * one.share:.0f} % of surface faces {one.up.value}" for one in (given, best))
    figure = ", ".join(faces)
    if best.share < config.up_share:
        return Check(name, Verdict.UNSURE, figure, "no floor or table in view: check that the world's z points up")
    if best.up == given.up or given.score * config.same_fit > best.score:
        return Check(name, Verdict.OK, f"{100 * given.share:.0f} % of surface faces {given.up.value}")
    if best.score < config.up_gain * given.score:
        return Check(name, Verdict.UNSURE, figure, "two axes look like up: look at the map after a run")
    return Check(name, Verdict.FAULT, figure, f'set world_up = "{best.up.value}"', {"world_up": best.up.value})


def _roll_check(upward: Upward, options: SourceOptions, *, sure: bool) -> Check:
    name = "upright images"
    x, y = upward.in_camera[0], upward.in_camera[1]
    if np.hypot(x, y) < 0.3 or not sure:
        return Check(name, Verdict.UNSURE, "the image has no clear up", "the camera looks down, or up is not known")
    # image up is -y; an image lying on its side needs as many quarter turns as up is away from there
    lean = float(np.degrees(np.arctan2(-x, -y)))
    needed = round(lean / 90.0) % 4
    present = quarter_turns(options.image_rotation)
    lean_now = (lean - 90.0 * present + 180.0) % 360.0 - 180.0
    if needed == present:
        return Check(name, Verdict.OK, f"up is {abs(lean_now):.0f} deg from the top of the image")
    rotation = QUARTER_TURNS[needed]
    return Check(
        name,
        Verdict.FAULT,
        f"up is {abs(lean_now):.0f} deg from the top of the image",
        f'set image_rotation = "{rotation}"',
        {"image_rotation": rotation},
    )


def _evidence(up: WorldUp, views: list[View], poses: list[Pose3D]) -> Upward:
    axis = np.array(AXES[up])
    facing = total = 0
    directions = []
    for view, pose in zip(views, poses, strict=True):
        in_camera = axis @ pose.rotation
        directions.append(in_camera)
        normals = _normals(view)
        facing += int((normals @ in_camera > FACING).sum())
        total += len(normals)
    return Upward(up, facing / max(total, 1), np.mean(directions, axis=0))


def _normals(view: View) -> NDArray[np.float64]:
    """Unit normals of the smooth surface on a coarse grid, turned towards the camera."""
    step = max(1, view.depth.shape[1] // 80)
    points = view.camera.unproject_image(view.depth)[step // 2 :: step, step // 2 :: step].astype(np.float64)
    across = points[1:-1, 2:] - points[1:-1, :-2]
    down = points[2:, 1:-1] - points[:-2, 1:-1]
    normals = np.cross(down, across)
    length = np.linalg.norm(normals, axis=-1)
    middle = points[1:-1, 1:-1]
    # a step in depth larger than this between neighbours is an edge, not a slope
    limit = 0.12 * middle[..., 2]
    with np.errstate(invalid="ignore"):
        smooth = (length > 0) & (np.abs(across[..., 2]) < limit) & (np.abs(down[..., 2]) < limit)
    unit: NDArray[np.float64] = normals[smooth] / length[smooth][:, np.newaxis]
    away = (unit * middle[smooth]).sum(axis=-1) > 0
    unit[away] *= -1.0
    return unit
