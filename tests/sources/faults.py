"""Known faults for a TUM-layout recording, to see that the doctor finds them.

Each fault is one that real recordings arrive with. Images are linked, not copied, unless the fault is in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.transform import Rotation

from lastseen.geometry import CameraAxes, Intrinsics, Pose3D, WorldUp, camera_from_opencv, world_from_z_up
from lastseen.sources.conversion import rotate_image, rotate_intrinsics, rotate_pose
from lastseen.sources.layouts.tum import Listing, read_listing, read_trajectory
from lastseen.sources.record import Intake, Trajectory


@dataclass(slots=True)
class Recording:
    """The parts of a recording that a fault changes, before they are written."""

    folder: Path
    rgb: list[tuple[str, str]]
    depth: list[tuple[str, str]]
    confidence: list[tuple[str, str]]
    poses: Trajectory
    camera: dict[str, Any]
    change_rgb: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    change_depth: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    keep: int | None = None

    def move(self, change: Callable[[Pose3D], Pose3D]) -> None:
        """Apply a change to every pose."""
        moved = [change(pose) for pose in self.pose_list()]
        self.poses = Trajectory(
            self.poses.stamps,
            np.array([pose.translation for pose in moved]),
            np.array([pose.quaternion for pose in moved]),
        )

    def pose_list(self) -> list[Pose3D]:
        """The poses as stored, read in our own order."""
        return [
            Pose3D(translation, quaternion / np.linalg.norm(quaternion))
            for translation, quaternion in zip(self.poses.translations, self.poses.quaternions, strict=True)
        ]

    def change_images(self, change: Callable[[NDArray[Any]], NDArray[Any]]) -> None:
        """Apply one change to colour, depth and confidence."""
        self.change_rgb = self.change_depth = change

    def intrinsics(self, change: Callable[[Intrinsics], Intrinsics]) -> None:
        """Apply a change to every set of intrinsics in camera.json."""
        for tree in [self.camera, self.camera.get("depth")]:
            if isinstance(tree, dict) and "fx" in tree:
                keys = ("fx", "fy", "cx", "cy", "width", "height")
                changed = change(Intrinsics(*(tree[key] for key in keys)))
                tree.update({key: getattr(changed, key) for key in keys})


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault: what it does, and which of the doctor's checks may name it."""

    apply: Callable[[Recording], None]
    named_by: tuple[str, ...]
    why: str = field(default="")


def copy_with_fault(folder: str | Path, out: str | Path, fault: str) -> Path:
    """Write a copy of a recording with one fault of ``FAULTS`` into a new folder."""
    recording = _read(Path(folder))
    FAULTS[fault].apply(recording)
    _write(recording, Path(out))
    return Path(out)


def _inverted(recording: Recording) -> None:
    recording.move(Pose3D.inverse)


def _axes(axes: CameraAxes) -> Callable[[Recording], None]:
    return lambda recording: recording.move(lambda pose: camera_from_opencv(pose, axes))


def _world(up: WorldUp) -> Callable[[Recording], None]:
    return lambda recording: recording.move(lambda pose: world_from_z_up(pose, up))


def _wxyz(recording: Recording) -> None:
    poses = recording.poses
    recording.poses = Trajectory(poses.stamps, poses.translations, np.roll(poses.quaternions, 1, axis=1))


def _scale(change: Callable[[float], float]) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        trees = [recording.camera, recording.camera.get("depth")]
        for tree in trees:
            if isinstance(tree, dict) and "depth_scale" in tree:
                tree["depth_scale"] = change(float(tree["depth_scale"]))

    return apply


def _focal(factor: float) -> Callable[[Recording], None]:
    return lambda recording: recording.intrinsics(
        lambda camera: Intrinsics(
            camera.fx * factor, camera.fy * factor, camera.cx, camera.cy, camera.width, camera.height
        )
    )


def _other_size(recording: Recording) -> None:
    recording.intrinsics(lambda camera: camera.resized(2 * camera.width, 2 * camera.height))


def _depth_camera(recording: Recording) -> None:
    own = dict(recording.camera.get("depth", recording.camera))
    recording.camera["depth"] = {**own, "fx": own["fx"] * 1.4, "fy": own["fy"] * 1.4}


def _shifted(recording: Recording) -> None:
    def shift(image: NDArray[Any]) -> NDArray[Any]:
        return np.roll(image, round(image.shape[1] * 0.04), axis=1)

    recording.change_depth = shift


def _shuffled(recording: Recording) -> None:
    order = np.random.default_rng(1).permutation(len(recording.rgb))
    recording.rgb = [recording.rgb[index] for index in order]


def _late_poses(recording: Recording) -> None:
    poses = recording.poses
    recording.poses = Trajectory(poses.stamps + 0.3, poses.translations, poses.quaternions)


def _late_depth(recording: Recording) -> None:
    recording.depth = [(f"{float(stamp) + 0.45:.6f}", name) for stamp, name in recording.depth]
    recording.confidence = [(f"{float(stamp) + 0.45:.6f}", name) for stamp, name in recording.confidence]


def _jump(recording: Recording) -> None:
    step = Pose3D.from_quaternion([0.4, -0.3, 0.1], [0.0, 0.0, np.sin(0.2), np.cos(0.2)])
    middle = float(recording.poses.stamps[len(recording.poses.stamps) // 2])
    stamps = iter(recording.poses.stamps)
    recording.move(lambda pose: step @ pose if next(stamps) >= middle else pose)


def _stuck(recording: Recording) -> None:
    first = recording.pose_list()[0]
    recording.move(lambda _: first)


def _short(recording: Recording) -> None:
    recording.keep = 3


def _no_depth(recording: Recording) -> None:
    recording.change_depth = np.zeros_like


def _mirrored(recording: Recording) -> None:
    recording.change_images(lambda image: image[:, ::-1])


def _turned(turns: int) -> Callable[[Recording], None]:
    return lambda recording: recording.change_images(lambda image: rotate_image(image, turns))


def _sideways(turns: int) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        recording.change_images(lambda image: rotate_image(image, turns))
        recording.intrinsics(lambda camera: rotate_intrinsics(camera, turns))
        recording.move(lambda pose: rotate_pose(pose, turns))

    return apply


def _tilted(degrees: float, *axis: float) -> Callable[[Recording], None]:
    turn = Rotation.from_rotvec(np.radians(degrees) * np.array(axis) / np.linalg.norm(axis)).as_quat()
    return lambda recording: recording.move(lambda pose: Pose3D.from_quaternion([0, 0, 0], turn) @ pose)


def _pose_scale(factor: float) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        poses = recording.poses
        recording.poses = Trajectory(poses.stamps, factor * poses.translations, poses.quaternions)

    return apply


def _noisy(metres: float, degrees: float) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        chance = np.random.default_rng(3)

        def shake(pose: Pose3D) -> Pose3D:
            turn = Rotation.from_rotvec(np.radians(chance.normal(0, degrees, 3))).as_quat()
            return pose @ Pose3D.from_quaternion(chance.normal(0, metres, 3), turn)

        # at the stamps of the images: between dense poses interpolation would smooth it away
        stamps = np.array([float(stamp) for stamp, _ in recording.rgb])
        found = [recording.poses.at(stamp, max_gap=10.0) for stamp in stamps]
        known = [(stamp, one) for stamp, one in zip(stamps, found, strict=True) if one is not None]
        recording.poses = Trajectory(
            np.array([stamp for stamp, _ in known]),
            np.array([one.translation for _, one in known]),
            np.array([one.quaternion for _, one in known]),
        )
        recording.move(shake)

    return apply


def _drifting(metres: float, degrees: float) -> Callable[[Recording], None]:
    """Poses that drift by so much over the recording, evenly."""

    def apply(recording: Recording) -> None:
        stamps = iter(np.linspace(0.0, 1.0, len(recording.poses.stamps)))

        def drift(pose: Pose3D) -> Pose3D:
            share = next(stamps)
            turn = Rotation.from_rotvec([0, 0, np.radians(degrees) * share]).as_quat()
            return Pose3D.from_quaternion([metres * share, -metres * share, 0.5 * metres * share], turn) @ pose

        recording.move(drift)

    return apply


def _center(right: float, down: float) -> Callable[[Recording], None]:
    return lambda recording: recording.intrinsics(
        lambda camera: Intrinsics(
            camera.fx,
            camera.fy,
            camera.cx + right * camera.width,
            camera.cy + down * camera.height,
            camera.width,
            camera.height,
        )
    )


def _depth_focal(factor: float) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        own = dict(recording.camera.get("depth", recording.camera))
        own.pop("depth", None)
        recording.camera["depth"] = {**own, "fx": own["fx"] * factor, "fy": own["fy"] * factor}

    return apply


def _color_focal(factor: float) -> Callable[[Recording], None]:
    def apply(recording: Recording) -> None:
        own = dict(recording.camera.get("depth", recording.camera))
        own.pop("depth", None)
        recording.camera |= {"fx": recording.camera["fx"] * factor, "fy": recording.camera["fy"] * factor}
        recording.camera["depth"] = own

    return apply


def _stretched(factor: float) -> Callable[[Recording], None]:
    """Depth values off by a factor, while their stated unit is right."""
    return lambda recording: setattr(
        recording, "change_depth", lambda image: np.round(image * factor).astype(image.dtype)
    )


def _half_depth(recording: Recording) -> None:
    recording.change_depth = lambda image: np.where(np.arange(image.shape[1]) % 8 < 7, 0, image).astype(image.dtype)


FAULTS: dict[str, Fault] = {
    "world tilted 12": Fault(_tilted(12, 1.0, 0.2, 0.0), ("world up axis",)),
    "world tilted 27": Fault(_tilted(27, 1.0, 0.5, 0.0), ("world up axis",)),
    "world tilted 60": Fault(_tilted(60, 0.3, 1.0, 0.0), ("world up axis",)),
    "world z down": Fault(_world(WorldUp.MINUS_Z), ("world up axis", "upright images")),
    "poses in millimetres": Fault(_pose_scale(1000.0), ("pose scale", "depth scale", "pose jumps")),
    "poses doubled": Fault(_pose_scale(2.0), ("pose scale", "depth scale")),
    "poses halved": Fault(_pose_scale(0.5), ("pose scale", "depth scale")),
    "poses noisy": Fault(_noisy(0.03, 2.5), ("pose noise", "poses explain images", "pose jumps")),
    "poses drift": Fault(_drifting(0.25, 10.0), ("drift",)),
    "principal point": Fault(_center(0.12, 0.0), ("principal point", "colour and depth aligned")),
    "principal point, vertical": Fault(_center(0.0, 0.15), ("principal point", "colour and depth aligned")),
    "depth focal 1.25": Fault(_depth_focal(1.25), ("colour and depth aligned", "intrinsics")),
    "depth focal 0.8": Fault(_depth_focal(0.8), ("colour and depth aligned", "intrinsics")),
    "colour focal 0.85": Fault(_color_focal(0.85), ("colour and depth aligned",)),
    "depth 10 % off": Fault(_stretched(1.1), ("depth scale",)),
    "sparse depth": Fault(_half_depth, ("depth present",)),
    "pose inverted": Fault(_inverted, ("pose direction",)),
    "OpenGL camera": Fault(_axes(CameraAxes.OPENGL), ("camera axes",)),
    "ROS body camera": Fault(_axes(CameraAxes.ROS_BODY), ("camera axes",)),
    "world y up": Fault(_world(WorldUp.Y), ("world up axis",)),
    "world -y up": Fault(_world(WorldUp.MINUS_Y), ("world up axis",)),
    "world x up": Fault(_world(WorldUp.X), ("world up axis",)),
    "quaternion wxyz": Fault(_wxyz, ("quaternion order",)),
    "millimetres as metres": Fault(_scale(lambda _: 1.0), ("depth range", "depth scale")),
    "scale 5 too large": Fault(_scale(lambda scale: scale * 5.0), ("depth scale",)),
    "scale 5 too small": Fault(_scale(lambda scale: scale / 5.0), ("depth scale",)),
    "focal doubled": Fault(_focal(2.0), ("intrinsics",)),
    "focal halved": Fault(_focal(0.5), ("intrinsics",)),
    "intrinsics of another size": Fault(_other_size, ("image sizes",)),
    "depth camera wrong": Fault(_depth_camera, ("colour and depth aligned", "intrinsics")),
    "depth shifted": Fault(_shifted, ("colour and depth aligned",)),
    "stamps out of order": Fault(_shuffled, ("stamps in order",)),
    "poses late": Fault(_late_poses, ("pose clock", "images have poses")),
    "depth late": Fault(_late_depth, ("colour and depth clocks",)),
    "pose jump": Fault(_jump, ("pose jumps",)),
    "static poses": Fault(_stuck, ("poses move",)),
    "too little motion": Fault(_short, ("seen from two sides",)),
    "empty depth": Fault(_no_depth, ("depth present",)),
    "mirrored": Fault(_mirrored, ("mirrored images",)),
    "turned 90, poses not": Fault(_turned(1), ("images turned against poses",)),
    "turned 180, poses not": Fault(_turned(2), ("images turned against poses",)),
    "sideways 90": Fault(_sideways(1), ("upright images",)),
    "upside down": Fault(_sideways(2), ("upright images",)),
    "sideways 270": Fault(_sideways(3), ("upright images",)),
}
"""Every fault by name, with the checks that may name it."""


def _read(folder: Path) -> Recording:
    intake = Intake()

    def rows(name: str) -> list[tuple[str, str]]:
        listing: Listing = read_listing(folder / name, intake)
        return [(f"{stamp:.6f}", file) for stamp, file in zip(listing.stamps, listing.names, strict=True)]

    return Recording(
        folder=folder,
        rgb=rows("rgb.txt"),
        depth=rows("depth.txt"),
        confidence=rows("confidence.txt") if (folder / "confidence.txt").exists() else [],
        poses=read_trajectory(folder / "groundtruth.txt", intake),
        camera=json.loads((folder / "camera.json").read_text(encoding="utf-8")),
    )


def _write(recording: Recording, out: Path) -> None:
    out.mkdir(parents=True)
    changes = [
        ("rgb", recording.rgb, recording.change_rgb),
        ("depth", recording.depth, recording.change_depth),
        ("confidence", recording.confidence, recording.change_depth),
    ]
    for kind, rows, change in changes:
        if not rows:
            continue
        (out / kind).mkdir()
        lines = []
        for stamp, name in rows[: recording.keep]:
            target = out / kind / Path(name).name
            if change is None:
                target.symlink_to((recording.folder / name).resolve())
            else:
                target = target.with_suffix(".png")
                with Image.open(recording.folder / name) as image:
                    changed = np.ascontiguousarray(change(np.asarray(image)))
                Image.fromarray(changed).save(target, compress_level=1)
            lines.append(f"{stamp} {kind}/{target.name}")
        (out / f"{kind}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    poses = np.column_stack([recording.poses.stamps, recording.poses.translations, recording.poses.quaternions])
    text = "\n".join(f"{row[0]:.6f} " + " ".join(f"{value:.9f}" for value in row[1:]) for row in poses)
    (out / "groundtruth.txt").write_text(text + "\n", encoding="utf-8")
    (out / "camera.json").write_text(json.dumps(recording.camera), encoding="utf-8")
