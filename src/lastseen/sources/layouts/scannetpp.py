"""ScanNet++, the phone's part: ``rgb/frame_000000.jpg`` or ``rgb.mkv``, depth and ``pose_intrinsic_imu.json``.

Depth is ``depth/frame_000000.png`` as the dataset's tool unpacks it, or ``depth.bin`` as it is downloaded.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.files import DEPTHS, first_size, numbered, read_json, values_of
from lastseen.sources.layouts.packed_depth import MILLIMETRES, PACKED, PackedDepth
from lastseen.sources.layouts.sequence import FRAME_RATE, Sequence, Shot
from lastseen.sources.layouts.video import Video
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake

SIZE = (1920, 1440)
"""Width and height that the intrinsics are of."""

POSES = "pose_intrinsic_imu.json"


def matches(path: Path) -> bool:
    """Whether a folder is the phone's part of a scene."""
    return (path / POSES).is_file() and not (path / "transforms.json").is_file()


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a scene: ``aligned_pose`` has OpenCV's camera axes and z up; a frame without one lost track."""
    packed = PackedDepth(path / PACKED) if (path / PACKED).is_file() and not (path / "depth").is_dir() else None
    depths = numbered(path / "depth", DEPTHS) if packed is None else packed.frames
    film = next((path / name for name in ("rgb.mkv", "rgb.mp4") if (path / name).is_file()), None)
    video = Video(film, max_pixels=options.max_pixels) if film is not None and not (path / "rgb").is_dir() else None
    colors = numbered(path / "rgb") if video is None else {}
    size = first_size(colors) if video is None else video.size
    shots = []
    for name, frame in read_json(path / POSES).items():
        number = int(name.rpartition("_")[2]) if name.rpartition("_")[2].isdecimal() else -1
        color: Path | int | None = number if video is not None else colors.get(number)
        if color is None or number < 0:
            continue
        with values_of(f"{POSES} {name}", str(path), remedy="copy it again"):
            k = np.array(frame["intrinsic"], dtype=np.float64).reshape(3, 3)
            pose = np.array(frame["aligned_pose"], dtype=np.float64) if frame.get("aligned_pose") else None
            stamp = float(frame.get("timestamp", number / FRAME_RATE))
            camera = Intrinsics(k[0, 0], k[1, 1], k[0, 2], k[1, 2], *SIZE).resized(*size)
        shots.append(Shot(stamp, color, depths.get(number), pose, None, camera))
    intake = Intake()
    without = len(colors) - len(shots) if video is None else 0
    if without:
        intake.note(f"{without} images have no entry in {POSES}")
    return Sequence(
        shots,
        None,
        MILLIMETRES,
        colors=None if video is None else video.pictures,
        intake=intake,
        read_bytes=None if packed is None else packed.read,
        decode_depth=None if packed is None else packed.decode,
    )
