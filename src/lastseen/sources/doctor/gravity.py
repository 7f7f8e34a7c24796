"""Which way is up: the vertical is estimated freely, so that a world tilted by any angle is seen and corrected.

Re-projection cannot tell the vertical, because a world rotated as a whole explains the images as well. Surfaces that
face up are seen all the time and surfaces that face down hardly ever; and a camera that looks around rotates about
the vertical, so the vertical is the axis that stays put in the image.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lastseen.frame import Frame
from lastseen.geometry import Pose3D, WorldUp
from lastseen.sources.conversion import quarter_turns, up_vector
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import SAME_FIT, Reprojection, View
from lastseen.sources.options import QUARTER_TURNS, SourceOptions

UP_SHARE, UP_GAIN = 0.06, 2.0
"""Share of surface that floors and tables show at least, and how much more of it another axis must carry."""

FACING = float(np.cos(np.radians(12.0)))
"""A surface faces an axis within this angle: a floor under a hand-held camera with a small drift."""

PITCHING = 0.15
"""Radians by which a camera nods anyway: steadier than this is no better."""

LEAN, AXIS, SAME_UP = 6.0, 5.0, 3.0
"""Degrees: a floor leaning more is a fault; a vertical nearer to an axis is that axis; two halves agree within."""

LYING = 30.0
"""Degrees: a world that leans more is not measured badly but given with other axes."""

WATCHED, LEAST_WATCHED = 16, 6
"""Frames of a run from which its vertical is judged, at most and at least."""

PEAKS = 8
"""Directions that most surfaces face, which are tried beside the six axes: floor, walls, tables, slopes."""

AXES = {
    WorldUp.Z: (0.0, 0.0, 1.0),
    WorldUp.Y: (0.0, 1.0, 0.0),
    WorldUp.MINUS_Y: (0.0, -1.0, 0.0),
    WorldUp.MINUS_Z: (0.0, 0.0, -1.0),
    WorldUp.X: (1.0, 0.0, 0.0),
    WorldUp.MINUS_X: (-1.0, 0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Surface:
    """Normals of one view in the world as the source gives it, and the camera's rotation there."""

    normals: NDArray[np.float64]
    rotation: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Upward:
    """The evidence for one direction: share of surface that faces it, and its mean direction in the camera."""

    axis: NDArray[np.float64]
    share: float
    in_camera: NDArray[np.float64]

    @property
    def score(self) -> float:
        """Share of surface, less where the axis wanders in the image or points into it.

        The vertical keeps to one side of the image in every frame; the normal of a wall swings across it as the
        camera looks around, and points along the view when the camera faces the wall.
        """
        across = float(np.hypot(*self.in_camera[:2]))
        length = min(float(np.linalg.norm(self.in_camera)), 1.0)
        # variance of a direction on the sphere, from the length of the mean of its unit vectors
        wander = -2.0 * float(np.log(max(length, 1e-6)))
        return self.share * across**2 / (wander + PITCHING**2)


def judge_up(reprojection: Reprojection, options: SourceOptions) -> list[Check]:
    """The checks "world up axis" and "upright images", in the world as the source gives it."""
    poses = reprojection.poses(options.replaced(world_up=WorldUp.Z.value))
    surfaces = _surfaces(reprojection.views(options), poses)
    given = _evidence(up_vector(options.world_up), surfaces)
    best = _best(surfaces)
    check = _axis_check(best, given, spread=_spread(surfaces, best))
    chosen = best if check.verdict is Verdict.FAULT else given
    return [check, _roll_check(chosen, options, sure=check.verdict is not Verdict.UNSURE)]


def _spread(surfaces: list[Surface], best: Upward) -> float:
    """Degrees between the verticals that the two halves of the frames show."""
    halves = [_best(surfaces[start::2], near=best.axis) for start in (0, 1)]
    return _angle(halves[0].axis, halves[1].axis)


def _surfaces(views: list[View], poses: list[Pose3D]) -> list[Surface]:
    pairs = zip(views, poses, strict=True)
    return [_surface(view.camera.unproject_image(view.depth), pose) for view, pose in pairs]


def _surface(points: NDArray[np.float32], pose: Pose3D) -> Surface:
    return Surface(_normals(points) @ pose.rotation.T, pose.rotation)


def _best(surfaces: list[Surface], *, near: NDArray[np.float64] | None = None) -> Upward:
    """The likeliest vertical; with ``near`` the mean direction of the surfaces that face about there."""
    normals = np.concatenate([surface.normals for surface in surfaces])
    if near is not None:
        return _evidence(_mean_direction(normals, near), surfaces)
    starts = [np.array(axis) for axis in AXES.values()] + _peaks(normals)
    found = [_evidence(_mean_direction(normals, start), surfaces) for start in starts]
    return max(found, key=lambda one: (round(one.score, 9), tuple(one.axis)))


def _peaks(normals: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The directions that most surfaces face, the most frequent first."""
    left = normals[:: max(1, len(normals) // 20_000)]
    # directions spread evenly over the sphere, 4 degrees apart
    number = np.arange(2500) + 0.5
    polar, azimuth = np.arccos(1 - 2 * number / 2500), np.pi * (1 + 5**0.5) * number
    grid = np.stack([np.cos(azimuth) * np.sin(polar), np.sin(azimuth) * np.sin(polar), np.cos(polar)], axis=1)
    cells = np.concatenate([(some @ grid.T).argmax(axis=1) for some in np.array_split(left, 10)])
    found: list[NDArray[np.float64]] = []
    for _ in range(PEAKS):
        if not len(left):
            break
        counts = np.bincount(cells, minlength=len(grid)).astype(np.float64)
        # a surface spreads over the cells around it
        near = grid @ grid[np.argsort(-counts)[:32]].T > FACING
        peak = grid[np.argsort(-counts)[:32]][int((counts @ near).argmax())]
        found.append(_mean_direction(left, peak))
        other = left @ found[-1] <= FACING
        left, cells = left[other], cells[other]
    return found


def _mean_direction(normals: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    axis = start
    for _ in range(3):
        facing = normals[normals @ axis > FACING]
        if not len(facing):
            return axis
        mean = np.median(facing, axis=0)
        axis = mean / np.linalg.norm(mean)
    return axis


def _evidence(axis: NDArray[np.float64], surfaces: list[Surface]) -> Upward:
    facing = sum(int((surface.normals @ axis > FACING).sum()) for surface in surfaces)
    total = sum(len(surface.normals) for surface in surfaces)
    in_camera = np.mean([axis @ surface.rotation for surface in surfaces], axis=0)
    return Upward(axis, facing / max(total, 1), in_camera)


def _angle(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    return float(np.degrees(np.arccos(np.clip(first @ second, -1.0, 1.0))))


def _axis_check(best: Upward, given: Upward, *, spread: float) -> Check:
    name = "world up axis"
    lean = _angle(best.axis, given.axis)
    nearest = min(AXES, key=lambda up: _angle(np.array(AXES[up]), best.axis))
    is_axis = _angle(np.array(AXES[nearest]), best.axis) < AXIS
    value: object = nearest.value if is_axis else [round(float(number), 3) for number in best.axis]
    figure = (
        f"{100 * given.share:.0f} % of surface faces {_text(given.axis)}, {100 * best.share:.0f} % {_text(best.axis)}"
    )
    if best.share < UP_SHARE:
        return Check(name, Verdict.UNSURE, figure, "no floor or table in view: check that the world's z points up")
    if lean < LEAN or (lean > 15.0 and given.score * SAME_FIT > best.score):
        return Check(name, Verdict.OK, f"{100 * given.share:.0f} % of surface faces {_text(given.axis)}")
    # a small lean shares its floor with the true vertical: there the two halves of the frames must agree
    clear = best.score > UP_GAIN * given.score if lean > 15.0 else best.score >= given.score
    if not clear or spread > SAME_UP:
        return Check(name, Verdict.UNSURE, figure, "two directions look like up: look at the map after a run")
    text = f'"{value}"' if is_axis else str(value)
    remedy = f"set world_up = {text} (the floor leans by {lean:.0f} deg)"
    return Check(name, Verdict.FAULT, figure, remedy, {"world_up": value})


def _text(axis: NDArray[np.float64]) -> str:
    nearest = min(AXES, key=lambda up: _angle(np.array(AXES[up]), axis))
    if _angle(np.array(AXES[nearest]), axis) < AXIS:
        return nearest.value
    return f"({axis[0]:.2f}, {axis[1]:.2f}, {axis[2]:.2f})"


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
    figure = f"up is {abs(lean_now):.0f} deg from the top of the image"
    # near a diagonal either turn would do
    if needed == present or abs(abs(lean) % 90.0 - 45.0) < 10.0:
        return Check(name, Verdict.OK, figure)
    rotation = QUARTER_TURNS[needed]
    return Check(name, Verdict.FAULT, figure, f'set image_rotation = "{rotation}"', {"image_rotation": rotation})


def _normals(image: NDArray[np.float32]) -> NDArray[np.float64]:
    """Unit normals of the smooth surface in an image of points, on a coarse grid, facing the camera."""
    step = max(1, image.shape[1] // 80)
    points = image[step // 2 :: step, step // 2 :: step].astype(np.float64)
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


def floor_up(views: list[View], poses: list[Pose3D]) -> NDArray[np.float64] | None:
    """The vertical that some views show, in the world of their poses; None without a floor or table in view."""
    best = _best(_surfaces(views, poses))
    return best.axis if best.share >= UP_SHARE else None


class UprightWatch:
    """Watches the frames of a run for a world that lies on its side, which no later part would notice."""

    def __init__(self) -> None:
        self._surfaces: list[Surface] = []
        self._seen, self._stride = 0, 1

    def observe(self, frame: Frame) -> None:
        """Keep a frame's surface; of a long run some of each part of it."""
        if self._seen % self._stride == 0:
            self._surfaces.append(_surface(frame.points(), frame.T_world_camera))
        self._seen += 1
        if len(self._surfaces) == WATCHED:
            self._surfaces, self._stride = self._surfaces[::2], 2 * self._stride

    @property
    def knows(self) -> bool:
        """Whether enough was seen to judge by."""
        return len(self._surfaces) >= LEAST_WATCHED

    @property
    def is_due(self) -> bool:
        """Whether to judge now, while frames come: ever more rarely, for each time takes as long as some frames."""
        return self.knows and self._seen & (self._seen - 1) == 0

    def note(self) -> str:
        """The fault as a sentence with its remedy; empty where there is none."""
        fault = self.fault()
        remedy = "run it into a new file with the options that lastseen doctor --fix writes"
        return f"the world lies on its side ({fault}): {remedy}" if fault else ""

    def fault(self) -> str:
        """What shows that z does not point up; empty where it may."""
        if not self.knows:
            return ""
        given = np.array(AXES[WorldUp.Z])
        best = _best(self._surfaces)
        check = _axis_check(best, _evidence(given, self._surfaces), spread=_spread(self._surfaces, best))
        return check.figure if check.verdict is Verdict.FAULT and _angle(best.axis, given) > LYING else ""
