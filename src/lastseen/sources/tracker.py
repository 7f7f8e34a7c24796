"""RGB-D odometry: the pose of each image against a local map of those before it, loops closed at keyframes.

Depth is registered by small_gicp (VGICP on a voxel map), colour by its brightness (photometric.py), and both count by
what they know: before a bare wall depth tells nothing about a motion along it. A frame that does not fit, or that
neither of them places, is lost, never guessed. A place that is seen again corrects the poses since it was first seen,
by their share of the way.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import needs_extra
from lastseen.geometry import Pose3D
from lastseen.sources.photometric import GrayImage, Reference, exp, log

VOXEL, CLOUD = 0.08, 0.03
"""Edges in metres of a voxel of the map and of one in which points of a frame are merged: with
larger ones slow motion is dragged along by the map."""

POINTS = 20_000
"""Points of a depth image that are taken at most, by a grid."""

FARTHEST = 6.0
"""Metres beyond which depth of common sensors is too noisy to register."""

MIN_POINTS = 300
"""Points below which a frame shows too little to be placed."""

KEEP = 60
"""Insertions after which a voxel that no frame touched leaves the map: that is what makes it local."""

MIN_INLIERS = 0.55
"""Share of points that must find their voxel; clean video has 0.9."""

MAX_STEP, MAX_TURN = 0.35, 0.45
"""Metres and radians between two frames of a video: more is a wrong registration."""

MAP_STEP, MAP_TURN = 0.04, 0.05
"""Motion after which a frame is added to the map."""

KEY_STEP, KEY_TURN = 0.35, 0.4
"""Motion after which a frame is kept as a keyframe."""

LOOP_AFTER = 15
"""Keyframes that must lie between two visits of a place."""

LOOP_NEAR, LOOP_DRIFT, LOOP_TURN = 0.6, 0.04, 0.7
"""Metres, share of the way between, and radians within which a place may be the same."""

LOOP_INLIERS, LOOP_CLOSE = 0.6, 0.1
"""Share of points that must fit, and metres at which a point fits, for a place to be the same."""

MISSED, ALIKE = 5, 0.7
"""Frames in a row that may be missed before the camera is looked for elsewhere, and the correlation of images from
which a keyframe may show where it is."""

LOOP_SPREAD, LOOP_AGREE = 0.006, 0.05
"""Metres by which the place may be uncertain, and metres and radians by which colour and depth may disagree."""

LOOP_SAME = 0.01
"""Metres and radians below which a place that is seen again corrects nothing."""

LOOP_ERROR = 0.02
"""Metres by which the points of both visits may differ on average."""


REFERENCE_STEP, REFERENCE_TURN = 0.15, 0.2
"""Motion after which colour is compared with a newer image."""

FLAT, GEOMETRY = 2e-3, 20.0
"""Share of the largest information that depth claims to have about a motion along a bare wall (a point counts a
thousandth there, by the way small_gicp weighs it), and by what the rest counts more: it claims centimetres and is
right to millimetres."""

MAX_SPREAD = 0.03
"""Metres, and radians at the distance of the scene, that a frame may be uncertain by in its weakest direction."""


@dataclass(slots=True)
class _Keyframe:
    number: int
    cloud: Any
    tree: Any
    image: GrayImage
    travelled: float


class Tracker:
    """Poses of depth images in the frame of the first one; ``threads`` is how many cores registration uses."""

    def __init__(self, *, threads: int = 2) -> None:
        with needs_extra("poses from the images", extra="odometry"):
            self._gicp: Any = importlib.import_module("small_gicp")
        self._threads = threads
        self.poses: dict[int, Pose3D] = {}
        """T_world_camera by frame, corrected by every loop."""
        self._travelled: dict[int, float] = {}
        self._keyframes: list[_Keyframe] = []
        self._motion = np.eye(4)
        self._last: NDArray[np.float64] | None = None
        self._last_map: NDArray[np.float64] | None = None
        self._reference: Reference | None = None
        self._reference_pose = np.eye(4)
        self._length = self.spread = 0.0
        self._map: Any = None
        self._missed = 0
        self.loops = self.found_again = 0

    def track(self, number: int, points: NDArray[np.float32], image: GrayImage) -> dict[int, Pose3D] | None:
        """Place a frame by its points (n, 3) in camera axes and its brightness; returns earlier poses that changed.

        None means that it is lost: nothing of it is kept, and the next frame is compared with the same map.
        """
        cloud, tree = self._prepared(points)
        if cloud is None:
            return None
        if self._last is None:
            pose = np.eye(4)
        else:
            found = self._placed(cloud, image, self._last @ self._motion)
            if found is None:
                found = self._placed(cloud, image, self._last)
            if found is None:
                self._missed += 1
                if self._missed <= MISSED or not self._found_again(
                    _Keyframe(number, cloud, tree, image, self._length)
                ):
                    return None
                found = self._last
            self._missed = 0
            pose = found
            self._motion = np.linalg.inv(self._last) @ pose
            self._length += float(np.linalg.norm(self._motion[:3, 3]))
        self._last = pose
        if self._reference is None or _moved(self._reference_pose, pose, REFERENCE_STEP, REFERENCE_TURN):
            self._reference, self._reference_pose = Reference(image), pose
        self.poses[number], self._travelled[number] = Pose3D.from_matrix(pose), self._length
        if self._last_map is None or _moved(self._last_map, pose, MAP_STEP, MAP_TURN):
            self._insert(cloud, pose)
        return self._keep(number, cloud, tree, image) or {}

    def _prepared(self, points: NDArray[np.float32]) -> tuple[Any, Any]:
        near = points[np.isfinite(points[:, 2]) & (points[:, 2] < FARTHEST)]
        near = near[:: max(1, len(near) // POINTS)]
        if len(near) < MIN_POINTS:
            return None, None
        cloud, tree = self._gicp.preprocess_points(
            near.astype(np.float64), downsampling_resolution=CLOUD, num_neighbors=10, num_threads=self._threads
        )
        return (cloud, tree) if cloud.size() >= MIN_POINTS else (None, None)

    def _placed(self, cloud: Any, image: GrayImage, start: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """The pose by colour and depth together; None where they do not fit or leave a direction open."""
        assert self._reference is not None
        assert self._last is not None
        match = self._reference.align(image, np.linalg.inv(self._reference_pose) @ start)
        seen = None if match is None else self._reference_pose @ match.pose
        if seen is not None and _moved(self._last, seen, MAX_STEP, MAX_TURN):
            seen = None
        result = self._gicp.align(
            self._map,
            cloud,
            init_T_target_source=start if seen is None else seen,
            max_correspondence_distance=2 * VOXEL,
            num_threads=self._threads,
            max_iterations=25,
        )
        pose = _rigid(np.array(result.T_target_source))
        if result.num_inliers < MIN_INLIERS * cloud.size() or _moved(self._last, pose, MAX_STEP, MAX_TURN):
            return None
        pose, self.spread = _together(cloud, result, None if match is None else match.information, pose, seen)
        return pose if self.spread < MAX_SPREAD else None

    def _insert(self, cloud: Any, pose: NDArray[np.float64]) -> None:
        if self._map is None:
            self._map = self._gicp.GaussianVoxelMap(VOXEL)
            self._map.set_lru(horizon=KEEP, clear_cycle=10)
        self._map.insert(cloud, pose)
        self._last_map = pose

    def _keep(self, number: int, cloud: Any, tree: Any, image: GrayImage) -> dict[int, Pose3D] | None:
        """Keep a keyframe where the camera has moved on, and look whether it was here before."""
        here = self.poses[number]
        if self._keyframes:
            last = self.poses[self._keyframes[-1].number]
            if last.distance_to(here) < KEY_STEP and last.angle_to(here) < KEY_TURN:
                return None
        self._keyframes.append(_Keyframe(number, cloud, tree, image, self._length))
        return self._close_loop(self._keyframes[-1])

    def _close_loop(self, newest: _Keyframe) -> dict[int, Pose3D] | None:
        here = self.poses[newest.number]
        near = []
        for old in self._keyframes[:-LOOP_AFTER]:
            pose = self.poses[old.number]
            reach = LOOP_NEAR + LOOP_DRIFT * (newest.travelled - old.travelled)
            distance = pose.distance_to(here)
            if distance < reach and pose.angle_to(here) < LOOP_TURN:
                near.append((distance, old.number, old))
        for _, _, old in sorted(near, key=lambda one: one[:2])[:2]:
            T_old_new = self._same_place(old, newest, self.poses[old.number].inverse() @ here)
            if T_old_new is None:
                continue
            pose = self.poses[old.number] @ T_old_new
            if pose.distance_to(here) < LOOP_SAME and pose.angle_to(here) < LOOP_SAME:
                return None
            return self._correct(old, newest, pose)
        return None

    def _found_again(self, frame: _Keyframe) -> bool:
        """Look for the camera in the keyframes that look most like its image; where it is, tracking goes on."""
        alike = [(frame.image.likeness(old.image), old.number, old) for old in self._keyframes]
        for likeness, _, old in sorted(alike, key=lambda one: (-one[0], one[1]))[:2]:
            T_old_new = self._same_place(old, frame, Pose3D.identity()) if likeness > ALIKE else None
            if T_old_new is not None:
                self._last = (self.poses[old.number] @ T_old_new).matrix
                self._reference, self._reference_pose = Reference(frame.image), self._last
                self._rebuild_map(old)
                self.found_again += 1
                return True
        return False

    def _same_place(self, old: _Keyframe, new: _Keyframe, guess: Pose3D) -> Pose3D | None:
        """T_old_new by colour and depth of both visits, where most points of one fit the other and no way is open."""
        match = Reference(old.image).align(new.image, guess.matrix)
        if match is None:
            return None
        start = match.pose
        for reach in (0.3, LOOP_CLOSE):
            result = self._gicp.align(
                old.cloud,
                new.cloud,
                old.tree,
                init_T_target_source=start,
                max_correspondence_distance=reach,
                num_threads=self._threads,
                max_iterations=40,
            )
            start = _rigid(np.array(result.T_target_source))
        if result.num_inliers < LOOP_INLIERS * new.cloud.size():
            return None
        pose, spread = _together(new.cloud, result, match.information, start, match.pose)
        apart = log(np.linalg.inv(start) @ match.pose)
        if spread > LOOP_SPREAD or float(np.abs(apart).max()) > LOOP_AGREE:
            return None
        moved = np.asarray(new.cloud.points())[:, :3] @ pose[:3, :3].T + pose[:3, 3]
        _, squares = old.tree.batch_nearest_neighbor_search(moved, num_threads=self._threads)
        distances = np.sqrt(np.asarray(squares))
        if float(np.median(distances[distances < LOOP_CLOSE])) > LOOP_ERROR + CLOUD / 2:
            return None
        return Pose3D.from_matrix(pose)

    def _correct(self, old: _Keyframe, new: _Keyframe, pose: Pose3D) -> dict[int, Pose3D]:
        """Spread the error over the frames since the old visit, by their share of the way, and begin a new map."""
        correction = pose @ self.poses[new.number].inverse()
        way = max(new.travelled - old.travelled, 1e-6)
        changed: dict[int, Pose3D] = {}
        for number, travelled in self._travelled.items():
            if old.number < number <= new.number:
                share = min(1.0, (travelled - old.travelled) / way)
                changed[number] = Pose3D.identity().interpolate(correction, share) @ self.poses[number]
        self.poses |= changed
        self._last = pose.matrix
        self._reference_pose = correction.matrix @ self._reference_pose
        self._rebuild_map(old)
        self.loops += 1
        return changed

    def _rebuild_map(self, old: _Keyframe) -> None:
        """A map of the keyframes around an old one and of the newest: that of both visits of a place."""
        self._map = self._last_map = None
        for keyframe in [*self._keyframes[max(0, self._keyframes.index(old) - 2) :][:5], *self._keyframes[-3:]]:
            self._insert(keyframe.cloud, self.poses[keyframe.number].matrix)


def _moved(first: NDArray[np.float64], second: NDArray[np.float64], distance: float, angle: float) -> bool:
    step = np.linalg.inv(first) @ second
    turn = np.arccos(np.clip((np.trace(step[:3, :3]) - 1) / 2, -1.0, 1.0))
    return bool(np.linalg.norm(step[:3, 3]) > distance or turn > angle)


def _together(
    cloud: Any,
    result: Any,
    information: NDArray[np.float64] | None,
    pose: NDArray[np.float64],
    seen: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], float]:
    """A pose by depth and one by colour, each counting by what it knows, and how uncertain it is (m) at worst."""
    # a rotation counts by what it moves at the distance of the scene
    distance = float(np.median(np.asarray(cloud.points())[:, 2]))
    scale = np.array([1.0 / distance] * 3 + [1.0] * 3)
    known = _without_flat(np.array(result.H) * np.outer(scale, scale))
    if information is not None and seen is not None:
        more = information * np.outer(scale, scale)
        offset = log(np.linalg.inv(pose) @ seen) / scale
        step = np.linalg.lstsq(known + more, more @ offset, rcond=1e-9)[0]
        pose, known = _rigid(pose @ exp(step * scale)), known + more
    weakest = float(np.linalg.eigvalsh(known)[0])
    return pose, 1.0 / float(np.sqrt(max(weakest, 1e-12)))


def _without_flat(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Information without the directions that depth knows nothing about."""
    values, vectors = np.linalg.eigh(information)
    real = GEOMETRY * np.maximum(values - FLAT * values[-1], 0.0)
    return (vectors * real) @ vectors.T


def _rigid(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """The matrix with its rotation made exact."""
    left, _, right = np.linalg.svd(pose[:3, :3])
    exact = np.eye(4)
    exact[:3, :3], exact[:3, 3] = left @ right, pose[:3, 3]
    return exact
