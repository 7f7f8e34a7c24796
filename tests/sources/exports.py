"""The small room as apps, mapping tools and simulators export it; written as each documents itself."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from lastseen.geometry import CameraAxes, WorldUp, camera_from_opencv, world_from_z_up
from tests.sources.layouts import COUNT, frames, k_matrix, lines, save
from tests.sources.room import CAMERA, render, walk

_OPTICAL = np.array([[0, 0, 1, 0], [-1, 0, 0, 0], [0, -1, 0, 0], [0, 0, 0, 1]], dtype=float)
_OPENCV_NED = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]], dtype=float)


def _row(pose: np.ndarray) -> list[float]:
    return [*pose[:3, 3].tolist(), *Rotation.from_matrix(pose[:3, :3]).as_quat().tolist()]


def scanner_app(folder: Path) -> Path:
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / f"frame_{number:05d}.jpg", rgb)
        save(folder / f"depth_{number:05d}.png", depth)
        save(folder / f"conf_{number:05d}.png", np.full(depth.shape, 2, np.uint8))
        matrix = world_from_z_up(camera_from_opencv(pose, CameraAxes.OPENGL), WorldUp.Y).matrix
        tree = {
            "cameraPoseARFrame": matrix.ravel().tolist(),
            "intrinsics": np.ravel(k_matrix()).tolist(),
            "time": 500 + number / 30,
        }
        (folder / f"frame_{number:05d}.json").write_text(json.dumps(tree))
    return folder


def scanner_app_whole(folder: Path) -> Path:
    scanner_app(folder)
    save(folder / "thumb_00.jpg", np.zeros((8, 8, 3), np.uint8))
    for name in ("info.json", "annotations.json", "export.obj", "world_map.arkit", ".DS_Store"):
        (folder / name).write_text("[]")
    return folder


def rtabmap(folder: Path, *, by_node: bool = False, of_robot: bool = False, raw: bool = False) -> Path:
    rows = []
    k = ", ".join(str(value) for value in np.ravel(k_matrix()))
    mount = ", ".join(str(value) for value in np.ravel(_OPTICAL[:3]))
    for number, (rgb, depth, pose) in enumerate(frames()):
        name = str(number + 3) if by_node else f"{1.7e9 + number:.6f}"
        save(folder / "map_rgb" / f"{name}.jpg", rgb)
        save(folder / "map_depth" / f"{name}.png", depth)
        (folder / "map_calib").mkdir(exist_ok=True)
        (folder / "map_calib" / f"{name}.yaml").write_text(
            f"%YAML:1.0\n---\nimage_width: {CAMERA.width}\nimage_height: {CAMERA.height}\n"
            f"camera_matrix:\n   rows: 3\n   cols: 3\n   data: [ {k} ]\n"
            f"local_transform:\n   rows: 3\n   cols: 4\n   data: [ {mount} ]\n"
        )
        matrix = pose.matrix @ np.linalg.inv(_OPTICAL) if of_robot else pose.matrix
        rows.append(matrix[:3].ravel().tolist() if raw else [1.7e9 + number, *_row(matrix), number + 3])
    name = "map_poses.txt" if of_robot else "map_camera_poses.txt"
    (folder / name).write_text("\n".join(" ".join(f"{value:.9f}" for value in row) for row in rows))
    return folder


def rtabmap_nodes(folder: Path) -> Path:
    return rtabmap(folder, by_node=True)


def rtabmap_robot(folder: Path) -> Path:
    return rtabmap(folder, of_robot=True)


def rtabmap_raw(folder: Path) -> Path:
    return rtabmap(folder, by_node=True, raw=True)


def tartan_air(folder: Path, *, name: str = "left") -> Path:
    camera, rows = type(CAMERA)(320.0, 320.0, 320.0, 240.0, 640, 480), []
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        deep = folder / f"depth_{name}" / f"{number:06d}_{name}_depth.npy"
        save(folder / f"image_{name}" / f"{number:06d}_{name}.png", rgb)
        deep.parent.mkdir(exist_ok=True)
        values = depth.astype("<f4")
        if name == "left":
            np.save(deep, values)
        else:
            blue_first = values.view(np.uint8).reshape(*depth.shape, 4)
            save(deep.with_suffix(".png"), np.ascontiguousarray(blue_first[..., [2, 1, 0, 3]]))
        matrix = world_from_z_up(pose, WorldUp.MINUS_Y).matrix
        rows.append(_row(_OPENCV_NED.T @ matrix @ _OPENCV_NED))
    lines(folder / f"pose_{name}.txt", rows)
    return folder


def tartan_air_packed(folder: Path) -> Path:
    return tartan_air(folder, name="lcam_front")


def colmap(folder: Path) -> Path:
    text = ["# Image list with two lines of data per image:"]
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "images" / f"f{number}.jpg", rgb)
        save(folder / "depth" / f"f{number}.png", depth)
        x, y, z, qx, qy, qz, qw = _row(world_from_z_up(pose, WorldUp.MINUS_Y).inverse().matrix)
        text += [f"{number + 1} {qw} {qx} {qy} {qz} {x} {y} {z} 1 f{number}.jpg", "" if number else "10 20 -1"]
    (folder / "sparse" / "0").mkdir(parents=True)
    (folder / "sparse" / "0" / "images.txt").write_text("\n".join(text))
    values = f"{CAMERA.fx} {CAMERA.fy} {CAMERA.cx + 0.5} {CAMERA.cy + 0.5}"
    (folder / "sparse" / "0" / "cameras.txt").write_text(f"# Camera list\n1 PINHOLE 160 120 {values}\n")
    return folder


def redwood_room(folder: Path) -> Path:
    # its camera is PrimeSense's, and no file says so
    camera, rows = type(CAMERA)(525.0, 525.0, 319.5, 239.5, 640, 480), []
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        save(folder / "livingroom1-color" / f"{number:05d}.jpg", rgb)
        save(folder / "livingroom1-depth-clean" / f"{number:05d}.png", np.round(1000 * depth).astype(np.uint16))
        rows += [[number, number, number + 1], *world_from_z_up(pose, WorldUp.MINUS_Y).matrix.tolist()]
    lines(folder / "livingroom1-traj.txt", rows)
    return folder


EXPORTS = {"3D Scanner App": scanner_app, "RTAB-Map": rtabmap, "TartanAir": tartan_air, "COLMAP": colmap}
EXPORT_VARIANTS = {
    "3D Scanner App, as exported": scanner_app_whole,
    "RTAB-Map, named by nodes": rtabmap_nodes,
    "RTAB-Map, poses of the robot": rtabmap_robot,
    "RTAB-Map, raw poses": rtabmap_raw,
    "TartanAir, depth as PNG": tartan_air_packed,
    "Redwood's rooms": redwood_room,
}
