"""The small room in every folder layout, written as each layout documents itself."""

from __future__ import annotations

import importlib
import io
import json
import math
import shutil
import zipfile
import zlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.geometry import CameraAxes, Pose3D, WorldUp, camera_from_opencv, world_from_z_up
from tests.sources.room import CAMERA, render, walk, write_recording

Frames = list[tuple[NDArray[np.uint8], NDArray[np.uint16], Pose3D]]
COUNT = 6


def frames(count: int = COUNT) -> Frames:
    """Colour, depth in millimetres and the true pose of a walk."""
    found = []
    for pose in walk(count):
        rgb, depth = render(pose)
        found.append((rgb, np.round(1000 * depth).astype(np.uint16), pose))
    return found


def save(path: Path, pixels: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, quality=95) if path.suffix.lower() == ".jpg" else Image.fromarray(pixels).save(
        path
    )


def lines(path: Path, rows: Sequence[Sequence[float]], *, separator: str = " ") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(separator.join(f"{value:.9g}" for value in row) for row in rows) + "\n")


def k_matrix() -> list[list[float]]:
    return [[CAMERA.fx, 0, CAMERA.cx], [0, CAMERA.fy, CAMERA.cy], [0, 0, 1]]


def tum(folder: Path) -> Path:
    write_recording(folder, walk(COUNT))
    return folder


def seven_scenes(folder: Path) -> Path:
    # the layout has no intrinsics: its camera is a Kinect of 640x480, so the room is seen through that one
    camera = CAMERA.resized(640, 480)
    camera = type(CAMERA)(585.0, 585.0, 320.0, 240.0, camera.width, camera.height)
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        raw = np.round(1000 * depth).astype(np.uint16)
        raw[0, 0] = 65535
        save(folder / f"frame-{number:06d}.color.png", rgb)
        save(folder / f"frame-{number:06d}.depth.png", raw)
        lines(folder / f"frame-{number:06d}.pose.txt", world_from_z_up(pose, WorldUp.MINUS_Y).matrix.tolist())
    return folder


def scannet(folder: Path) -> Path:
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "color" / f"{number}.jpg", rgb)
        save(folder / "depth" / f"{number}.png", depth)
        lines(folder / "pose" / f"{number}.txt", pose.matrix.tolist())
    for kind in ("color", "depth"):
        whole = np.eye(4)
        whole[:3, :3] = k_matrix()
        lines(folder / "intrinsic" / f"intrinsic_{kind}.txt", whole.tolist())
    return folder


def replica(folder: Path) -> Path:
    rows = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "room0" / "results" / f"frame{number:06d}.jpg", rgb)
        save(folder / "room0" / "results" / f"depth{number:06d}.png", np.round(depth * 6.5535).astype(np.uint16))
        rows.append(pose.matrix.ravel().tolist())
    lines(folder / "room0" / "traj.txt", rows)
    values = {"w": 160, "h": 120, "fx": CAMERA.fx, "fy": CAMERA.fy, "cx": CAMERA.cx, "cy": CAMERA.cy, "scale": 6553.5}
    (folder / "cam_params.json").write_text(json.dumps({"camera": values}))
    return folder / "room0"


def open3d(folder: Path) -> Path:
    rows: list[list[float]] = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "color" / f"{number:05d}.jpg", rgb)
        save(folder / "depth" / f"{number:05d}.png", depth)
        rows += [[number, number, number + 1], *world_from_z_up(pose, WorldUp.MINUS_Y).matrix.tolist()]
    lines(folder / "scene" / "trajectory.log", rows)
    values = np.array(k_matrix()).T.ravel().tolist()
    tree = {"width": 160, "height": 120, "intrinsic_matrix": values}
    (folder / "camera_intrinsic.json").write_text(json.dumps(tree))
    return folder


def nerfstudio(folder: Path) -> Path:
    listed = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        color, deep = f"images/frame_{number:05d}.png", f"depth/frame_{number:05d}.png"
        save(folder / color, rgb)
        save(folder / deep, depth)
        matrix = camera_from_opencv(pose, CameraAxes.OPENGL).matrix.tolist()
        listed.append({"file_path": color, "depth_file_path": deep, "transform_matrix": matrix})
    head = {"fl_x": CAMERA.fx, "fl_y": CAMERA.fy, "cx": CAMERA.cx, "cy": CAMERA.cy, "w": 160, "h": 120}
    (folder / "transforms.json").write_text(json.dumps({**head, "frames": listed}))
    return folder


def record3d(folder: Path) -> Path:
    lzfse = importlib.import_module("liblzfse")
    poses = []
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "walk.r3d", "w") as archive:
        for number, (rgb, _, pose) in enumerate(frames()):
            out = io.BytesIO()
            Image.fromarray(rgb).save(out, "JPEG", quality=95)
            archive.writestr(f"rgbd/{number}.jpg", out.getvalue())
            small = render(pose, CAMERA.resized(80, 60))[1].astype("<f4")
            archive.writestr(f"rgbd/{number}.depth", lzfse.compress(small.tobytes()))
            archive.writestr(f"rgbd/{number}.conf", lzfse.compress(np.full(small.shape, 2, dtype=np.uint8).tobytes()))
            there = world_from_z_up(camera_from_opencv(pose, CameraAxes.OPENGL), WorldUp.Y)
            poses.append([*there.quaternion.tolist(), *there.translation.tolist()])
        tree = {"K": np.array(k_matrix()).T.ravel().tolist(), "w": 160, "h": 120, "dw": 80, "dh": 60, "fps": 60}
        archive.writestr("metadata", json.dumps({**tree, "poses": poses}))
    return folder / "walk.r3d"


def encode(path: Path, pictures: Sequence[NDArray[np.uint8]]) -> None:
    av = importlib.import_module("av")
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=30)
        stream.width, stream.height, stream.pix_fmt, stream.bit_rate = 160, 120, "yuv420p", 8_000_000
        for picture in pictures:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def stray(folder: Path) -> Path:
    shots = frames()
    encode(folder / "rgb.mp4", [rgb for rgb, _, _ in shots])
    rows = []
    for number, (_, depth, pose) in enumerate(shots):
        save(folder / "depth" / f"{number:06d}.png", depth)
        save(folder / "confidence" / f"{number:06d}.png", np.full(depth.shape, 2, dtype=np.uint8))
        there = world_from_z_up(pose, WorldUp.Y)
        rows.append([5000 + number / 60, number, *there.translation, *there.quaternion])
    lines(folder / "odometry.csv", rows, separator=", ")
    text = (folder / "odometry.csv").read_text()
    (folder / "odometry.csv").write_text("timestamp, frame, x, y, z, qx, qy, qz, qw\n" + text)
    lines(folder / "camera_matrix.csv", k_matrix(), separator=", ")
    return folder


def arkit_scenes(folder: Path) -> Path:
    from scipy.spatial.transform import Rotation

    rows = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        stamp = f"{305.0 + number / 10:.3f}"
        save(folder / "lowres_wide" / f"41_{stamp}.png", rgb)
        save(folder / "lowres_depth" / f"41_{stamp}.png", depth)
        camera = [160, 120, CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy]
        lines(folder / "lowres_wide_intrinsics" / f"41_{stamp}.pincam", [camera])
        inverse = pose.inverse()
        rotation = Rotation.from_quat(inverse.quaternion).as_rotvec()
        rows.append([float(stamp), *rotation, *inverse.translation])
    lines(folder / "lowres_wide.traj", rows)
    return folder


def video(folder: Path, *, kitti: bool = False) -> Path:
    shots = frames()
    encode(folder / "color.mp4", [rgb for rgb, _, _ in shots])
    for number, (_, depth, _) in enumerate(shots):
        save(folder / "depth" / f"{number:05d}.png", depth)
    if kitti:
        lines(folder / "poses.txt", [pose.matrix[:3].ravel().tolist() for _, _, pose in shots])
    else:
        rows = [[100 + n / 30, *pose.translation, *pose.quaternion] for n, (_, _, pose) in enumerate(shots)]
        lines(folder / "groundtruth.txt", rows)
    values = {"fx": CAMERA.fx, "fy": CAMERA.fy, "cx": CAMERA.cx, "cy": CAMERA.cy}
    (folder / "camera.json").write_text(json.dumps(values))
    return folder


def video_kitti(folder: Path) -> Path:
    return video(folder, kitti=True)


def polycam(folder: Path) -> Path:
    for number, (rgb, depth, pose) in enumerate(frames()):
        name = str(262195552056 + 100_000 * number)
        save(folder / "keyframes" / "images" / f"{name}.jpg", rgb)
        save(folder / "keyframes" / "depth" / f"{name}.png", depth)
        save(folder / "keyframes" / "confidence" / f"{name}.png", np.full(depth.shape, 255, dtype=np.uint8))
        there = world_from_z_up(camera_from_opencv(pose, CameraAxes.OPENGL), WorldUp.Y).matrix
        tree = {f"t_{row}{column}": there[row, column] for row in range(3) for column in range(4)}
        tree |= {name: getattr(CAMERA, name) for name in ("fx", "fy", "cx", "cy", "width", "height")}
        path = folder / "keyframes" / "cameras" / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({**tree, "blur_score": 90.5}))
    return folder


def tum_paired(folder: Path) -> Path:
    tum(folder)
    rows = [(folder / name).read_text().splitlines() for name in ("depth.txt", "rgb.txt")]
    pairs = [f"{depth} {color}" for depth, color in zip(*rows, strict=True) if not depth.startswith("#")]
    (folder / "associations.txt").write_text("\n".join(pairs))
    (folder / "rgb.txt").unlink()
    (folder / "depth.txt").unlink()
    return folder


def scannet_frames(folder: Path) -> Path:
    scannet(folder)
    for kind, suffix in (("color", ".jpg"), ("depth", ".png"), ("pose", ".txt")):
        for number in reversed(range(COUNT)):
            (folder / kind / f"{number}{suffix}").rename(folder / kind / f"{100 * number:06d}{suffix}")
    for kind in ("color", "depth"):
        (folder / "intrinsic" / f"intrinsic_{kind}.txt").rename(folder / f"intrinsics_{kind}.txt")
    return folder


def scannet_text(folder: Path) -> Path:
    scannet(folder)
    shutil.rmtree(folder / "intrinsic")
    values = {"fx": CAMERA.fx, "fy": CAMERA.fy, "mx": CAMERA.cx, "my": CAMERA.cy}
    text = [f"{name}_{kind} = {value}" for kind in ("color", "depth") for name, value in values.items()]
    (folder / "scene0000_00.txt").write_text("\n".join(["sceneType = Office", *text]))
    return folder


def replica_sequence(folder: Path) -> Path:
    camera, rows = type(CAMERA)(80.0, 80.0, 79.5, 59.5, 160, 120), []
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        save(folder / "rgb" / f"rgb_{number}.png", rgb)
        save(folder / "depth" / f"depth_{number}.png", np.round(1000 * depth).astype(np.uint16))
        rows.append(pose.matrix.ravel().tolist())
    lines(folder / "traj_w_c.txt", rows)
    return folder


def open3d_redwood(folder: Path) -> Path:
    open3d(folder)
    (folder / "scene" / "trajectory.log").rename(folder / "livingroom1.log")
    tree = json.loads((folder / "camera_intrinsic.json").read_text())
    (folder / "camera_intrinsic.json").unlink()
    (folder / "intrinsic.json").write_text(json.dumps({**tree, "depth_scale": 1000.0, "fps": 30}))
    return folder


def instant_ngp(folder: Path) -> Path:
    tree = json.loads((nerfstudio(folder) / "transforms.json").read_text())
    focal = tree.pop("fl_x")
    del tree["fl_y"], tree["w"], tree["h"]
    for frame in tree["frames"]:
        frame["file_path"] = frame["file_path"].removesuffix(".png")
        frame["depth_path"] = frame.pop("depth_file_path")
    tree |= {"camera_angle_x": 2 * math.atan(80 / focal), "integer_depth_scale": 0.001}
    (folder / "transforms.json").write_text(json.dumps(tree))
    return folder


def record3d_unpacked(folder: Path) -> Path:
    with zipfile.ZipFile(record3d(folder)) as archive:
        archive.extractall(folder / "walk")
    tree = json.loads((folder / "walk" / "metadata").read_text())
    tree["perFrameIntrinsicCoeffs"] = [[CAMERA.fx, CAMERA.fy, CAMERA.cx, CAMERA.cy]] * COUNT
    (folder / "walk" / "metadata").write_text(json.dumps({**tree, "K": [1.0] * 9}))
    return folder / "walk"


def stray_images(folder: Path) -> Path:
    stray(folder)
    (folder / "rgb.mp4").unlink()
    for number, (rgb, depth, _) in enumerate(frames()):
        save(folder / "rgb" / f"{number:06d}.jpg", rgb)
        (folder / "depth" / f"{number:06d}.png").unlink()
        np.save(folder / "depth" / f"{number:06d}.npy", depth)
    head, *rows = (folder / "odometry.csv").read_text().splitlines()
    values = f", {CAMERA.fx}, {CAMERA.fy}, {CAMERA.cx}, {CAMERA.cy}"
    text = [f"{head}, fx, fy, cx, cy", *(row + values for row in rows)]
    (folder / "odometry.csv").write_text("\n".join(text))
    return folder


def video_stamped(folder: Path) -> Path:
    rows = np.loadtxt(video(folder) / "groundtruth.txt")
    rows[:, 0] -= 100
    lines(folder / "groundtruth.txt", [*rows.tolist(), [rows[-1, 0] + 0.01, *rows[-1, 1:]]])
    return folder


def plain(folder: Path) -> Path:
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "images" / f"IMG_{number:04d}.JPG", rgb)
        save(folder / "depth" / f"depth_{number:04d}.png", depth)
        lines(folder / "poses" / f"{number}.txt", pose.matrix.tolist())
    lines(folder / "intrinsic.txt", k_matrix())
    return folder


def plain_matrices(folder: Path) -> Path:
    plain(folder)
    shutil.rmtree(folder / "poses")
    lines(folder / "traj.txt", [pose.matrix.ravel().tolist() for _, _, pose in frames()])
    for number, (_, depth, _) in enumerate(frames()):
        (folder / "depth" / f"depth_{number:04d}.png").unlink()
        np.save(folder / "depth" / f"depth_{number:04d}.npy", depth)
    return folder


def icl_nuim(folder: Path) -> Path:
    # y points up in its camera and its world, both left-handed
    camera, mirror, rows = type(CAMERA)(120.3, 120.0, 79.5, 59.5, 160, 120), np.diag([1.0, -1.0, 1.0, 1.0]), []
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        save(folder / "rgb" / f"{number}.png", rgb)
        save(folder / "depth" / f"{number}.png", np.round(5000 * depth).astype(np.uint16))
        there = Pose3D.from_matrix(mirror @ world_from_z_up(pose, WorldUp.MINUS_Y).matrix @ mirror)
        rows.append([number, *there.translation, *there.quaternion])
    lines(folder / "livingRoom1.gt.freiburg", rows)
    return folder


def icl_nuim_whole(folder: Path) -> Path:
    icl_nuim(folder)
    pairs = [f"{number} depth/{number}.png {number} rgb/{number}.png" for number in range(COUNT)]
    (folder / "associations.txt").write_text("\n".join(pairs))
    return folder


def sun3d(folder: Path) -> Path:
    rows: list[list[float]] = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "image" / f"{number + 1:07d}-{33_369 * number:012d}.jpg", rgb)
        turned = ((depth.astype(np.uint32) << 3) | (depth >> 13)).astype(np.uint16)
        save(folder / "depth" / f"{number + 1:07d}-{33_369 * number + 400:012d}.png", turned)
        rows += world_from_z_up(pose, WorldUp.MINUS_Y).matrix[:3].tolist()
    lines(folder / "extrinsics" / "20140808220511.txt", rows)
    lines(folder / "intrinsics.txt", k_matrix())
    return folder


def scannetpp(folder: Path) -> Path:
    tree = {}
    big = CAMERA.resized(1920, 1440)
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / "rgb" / f"frame_{10 * number:06d}.jpg", rgb)
        save(folder / "depth" / f"frame_{10 * number:06d}.png", depth)
        k = [[big.fx, 0, big.cx], [0, big.fy, big.cy], [0, 0, 1]]
        poses = {"pose": np.eye(4).tolist(), "aligned_pose": pose.matrix.tolist()}
        tree[f"frame_{10 * number:06d}"] = {"timestamp": 100 + number / 6, "intrinsic": k, **poses}
    (folder / "pose_intrinsic_imu.json").write_text(json.dumps(tree))
    return folder


def scannetpp_packed(folder: Path) -> Path:
    """As downloaded: a video, and depth of 256x192 in one file, packed in either way."""
    tree = json.loads((scannetpp(folder) / "pose_intrinsic_imu.json").read_text())
    shutil.rmtree(folder / "depth")
    shutil.rmtree(folder / "rgb")
    encode(folder / "rgb.mkv", [rgb for rgb, _, _ in frames()])
    named = {f"frame_{number:06d}": frame for number, frame in enumerate(tree.values())}
    (folder / "pose_intrinsic_imu.json").write_text(json.dumps(named))
    packed = b""
    for number, pose in enumerate(walk(COUNT)):
        depth = render(pose, CAMERA.resized(256, 192))[1]
        one = importlib.import_module("lz4.block").compress(
            np.round(1000 * depth).astype("<u2").tobytes(), store_size=False
        )
        if number % 2:
            deflate = zlib.compressobj(wbits=-zlib.MAX_WBITS)
            one = deflate.compress(depth.astype("<f4").tobytes()) + deflate.flush()
        packed += len(one).to_bytes(4, "little") + one
    (folder / "depth.bin").write_bytes(packed)
    return folder


def rgbd_scenes(folder: Path) -> Path:
    camera, rows = type(CAMERA)(142.575, 142.575, 79.625, 59.625, 160, 120), []
    for number, pose in enumerate(walk(COUNT)):
        rgb, depth = render(pose, camera)
        save(folder / "imgs" / "scene_01" / f"{number:05d}-color.png", rgb)
        save(folder / "imgs" / "scene_01" / f"{number:05d}-depth.png", np.round(10_000 * depth).astype(np.uint16))
        there = world_from_z_up(pose, WorldUp.MINUS_Y)
        rows.append([*np.roll(there.quaternion, 1), *there.translation])
    lines(folder / "pc" / "01.pose", rows)
    return folder / "imgs" / "scene_01"


def write_exr(path: Path, plane: NDArray[np.float32], *, packing: str = "zip16") -> None:
    """By FFmpeg's encoder, which knows nothing of our decoder."""
    av = importlib.import_module("av")
    codec = av.CodecContext.create("exr", "w")
    codec.height, codec.width = plane.shape
    codec.pix_fmt, codec.options, codec.time_base = "grayf32le", {"compression": packing}, Fraction(1, 30)
    frame = av.VideoFrame(plane.shape[1], plane.shape[0], "grayf32le")
    frame.planes[0].update(_padded(plane, frame.planes[0].line_size))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(bytes(packet) for packet in [*codec.encode(frame), *codec.encode(None)]))


def _padded(plane: NDArray[np.float32], line_size: int) -> bytes:
    lines = np.zeros((plane.shape[0], line_size // 4), dtype="<f4")
    lines[:, : plane.shape[1]] = plane
    return lines.tobytes()


def plain_exr(folder: Path) -> Path:
    plain(folder)
    for number, (_, depth, _) in enumerate(frames()):
        (folder / "depth" / f"depth_{number:04d}.png").unlink()
        write_exr(folder / "depth" / f"depth_{number:04d}.exr", (depth / 1000).astype(np.float32))
    return folder


def scannet_tiff(folder: Path) -> Path:
    """Depth as TIFF: integers are the layout's millimetres, floats metres."""
    scannet(folder)
    for number, (_, depth, _) in enumerate(frames()):
        (folder / "depth" / f"{number}.png").unlink()
        whole = depth if number % 2 else (depth / 1000).astype(np.float32)
        save(folder / "depth" / f"{number}.{'tif' if number % 2 else 'TIFF'}", whole)
    return folder


def three_r_scan(folder: Path, *, info: str = "_info.txt", up: WorldUp = WorldUp.Z, kind: str = "pgm") -> Path:
    small = type(CAMERA)(50.0, 52.0, 37.0, 28.0, 76, 58)
    for number, pose in enumerate(walk(COUNT)):
        name = f"sequence/frame-{number:06d}"
        save(folder / f"{name}.color.jpg", render(pose)[0])
        depth = np.round(1000 * render(pose, small)[1]).astype(np.uint16)
        if kind == "pgm":
            (folder / f"{name}.depth.pgm").write_bytes(b"P5\n76 58\n4095\n" + depth.astype(">u2").tobytes())
            save(folder / f"{name}.rendered.depth.png", depth)
        else:
            save(folder / f"{name}.depth.png", depth)
        lines(folder / f"{name}.pose.txt", world_from_z_up(pose, up).matrix.tolist())
    text = ["m_sensorName = Tango", "m_depthShift = 1000"]
    for name, camera in (("Color", CAMERA), ("Depth", small)):
        text += [f"m_{name.lower()}Width = {camera.width}", f"m_{name.lower()}Height = {camera.height}"]
        k = f"{camera.fx} 0 {camera.cx} 0 0 {camera.fy} {camera.cy} 0 0 0 1 0 0 0 0 1"
        text += [f"m_calibration{name}Intrinsic = {k}"]
    (folder / ("sequence" if info == "_info.txt" else ".") / info).write_text("\n".join(text))
    return folder / "sequence"


def bundle_fusion(folder: Path) -> Path:
    return three_r_scan(folder, info="info.txt", up=WorldUp.MINUS_Y, kind="png")


def tum_by_hand(folder: Path) -> Path:
    """Names with spaces, other case on disk, backslashes, milliseconds, and ETH3D's calibration.txt."""
    tum(folder)
    for kind in ("rgb", "depth"):
        for file in sorted((folder / kind).iterdir()):
            pixels = np.array(Image.open(file))
            file.unlink()
            save(file.with_name(f"My {file.stem}.PNG"), pixels if kind == "rgb" else 5 * pixels)
        rows = [line.split() for line in (folder / f"{kind}.txt").read_text().splitlines() if line[0] != "#"]
        text = [f"{1000 * float(stamp):.0f} {name.replace('/', chr(92) + 'my ')}" for stamp, name in rows]
        (folder / f"{kind}.txt").write_text("\n".join(text))
    tree = json.loads((folder / "camera.json").read_text())
    assert tree["depth_scale"] == 1000.0
    (folder / "camera.json").unlink()
    lines(folder / "calibration.txt", [[tree[name] for name in ("fx", "fy", "cx", "cy")]])
    (folder / "groundtruth.txt").rename(folder / "CameraTrajectory.txt")
    return folder


def plain_stamped(folder: Path) -> Path:
    """Names are nanoseconds, poses come more often, the camera is a CameraInfo in JSON, depth floats in metres."""
    start, rows = 1_700_000_000_000_000_000, []
    for number, (rgb, depth, pose) in enumerate(frames()):
        stamp = start + 100_000_000 * number
        save(folder / "Color" / f"{stamp}.jpg", rgb)
        (folder / "depth_images").mkdir(exist_ok=True)
        np.save(folder / "depth_images" / f"{stamp + 2_000_000}.npy", (depth / 1000).astype(np.float32))
        rows += [f"{stamp + more},{','.join(map(str, [*pose.translation, *pose.quaternion]))}" for more in (0, 9)]
    (folder / "trajectory.csv").write_text("\n".join(["stamp,x,y,z,qx,qy,qz,qw", *rows]))
    (folder / "camera_info.json").write_text(json.dumps({"K": [value for row in k_matrix() for value in row]}))
    return folder


def plain_mixed(folder: Path) -> Path:
    """Colour and depth in one folder, poses without stamps, RealSense's depth_scale."""
    rows = []
    for number, (rgb, depth, pose) in enumerate(frames()):
        save(folder / f"{number:05d}-color.png", rgb)
        save(folder / f"{number:05d}-depth.png", depth)
        rows.append([*pose.translation, *pose.quaternion])
    lines(folder / "poses.txt", rows)
    lines(folder / "times.txt", [[0.25 * number] for number in range(COUNT)])
    camera = {name: getattr(CAMERA, name) for name in ("fx", "fy", "cx", "cy")}
    (folder / "intrinsics.json").write_text(json.dumps({"color": camera, "depth_scale": 0.001}))
    return folder


WRITERS: dict[str, Callable[[Path], Path]] = {
    "TUM": tum,
    "7-Scenes": seven_scenes,
    "ScanNet": scannet,
    "Replica": replica,
    "Open3D": open3d,
    "nerfstudio": nerfstudio,
    "Record3D": record3d,
    "Stray Scanner": stray,
    "ARKitScenes": arkit_scenes,
    "Polycam": polycam,
    "ICL-NUIM": icl_nuim,
    "SUN3D": sun3d,
    "ScanNet++": scannetpp,
    "RGB-D Scenes v2": rgbd_scenes,
    "video with depth": video,
    "video with KITTI poses": video_kitti,
    "colour beside depth": plain,
}

VARIANTS: dict[str, Callable[[Path], Path]] = {
    "ICL-NUIM, as downloaded": icl_nuim_whole,
    "TUM, paired": tum_paired,
    "TUM, by hand": tum_by_hand,
    "3RScan": three_r_scan,
    "ScanNet++, as downloaded": scannetpp_packed,
    "ScanNet, depth as TIFF": scannet_tiff,
    "colour beside depth, EXR": plain_exr,
    "BundleFusion": bundle_fusion,
    "colour beside depth, stamps in names": plain_stamped,
    "colour and depth in one folder": plain_mixed,
    "ScanNet, chosen frames": scannet_frames,
    "ScanNet, camera in its text": scannet_text,
    "Replica, Semantic-NeRF": replica_sequence,
    "Open3D, Redwood": open3d_redwood,
    "nerfstudio, Instant NGP": instant_ngp,
    "Record3D, unpacked": record3d_unpacked,
    "Stray Scanner, images": stray_images,
    "video, poses by stamp": video_stamped,
    "colour beside depth, matrices and arrays": plain_matrices,
}
"""Forms that the same layouts are met in, which must give the same frames."""
