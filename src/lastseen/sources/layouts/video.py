"""A colour video beside depth images: ``*.mp4`` (mkv, mov, avi), ``depth/``, and poses in TUM's or KITTI's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import MissingExtra, SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.sequence import (
    DEPTHS,
    Sequence,
    Shot,
    fitted,
    numbered,
    pose_matrix,
    read_json,
    read_numbers,
)
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Trajectory

VIDEOS = (".mp4", ".mkv", ".mov", ".avi")
_POSES = ("groundtruth.txt", "poses.txt", "trajectory.txt", "traj.txt", "pose.txt", "CameraTrajectory.txt")
_FORMATS = "mov,mp4,matroska,avi"


def matches(path: Path) -> bool:
    """Whether a folder has one video and a folder of depth images."""
    return path.is_dir() and (path / "depth").is_dir() and len(_videos(path)) == 1


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; camera.json holds fx, fy, cx, cy, and depth_scale where depth is not in millimetres."""
    video = Video(_videos(path)[0], max_pixels=options.max_pixels)
    depths = list(numbered(path / "depth", DEPTHS).values())
    stamps = video.stamps()
    if len(depths) != len(stamps):
        raise SourceError(
            "depth",
            f"{len(depths)} images",
            f"does not match {len(stamps)} pictures of the video",
            remedy="one for each",
        )
    tree = read_json(path / "camera.json") if (path / "camera.json").is_file() else {}
    camera = None
    if all(isinstance(tree.get(name), int | float) for name in ("fx", "fy", "cx", "cy")):
        camera = video.camera(*(float(tree[name]) for name in ("fx", "fy", "cx", "cy")))
    poses = _poses(path, options, stamps)
    own = poses if isinstance(poses, list) else []
    shots = [
        Shot(own[number][0] if own else stamp, number, depths[number], own[number][1] if own else None)
        for number, stamp in enumerate(stamps)
    ]
    trajectory = poses if isinstance(poses, Trajectory) else None
    scale = float(tree.get("depth_scale", 1000.0))
    return Sequence(shots, camera, scale, colors=video.pictures, trajectory=trajectory)


class Video:
    """A video file, decoded from the start as pictures are wanted."""

    def __init__(self, path: Path, *, max_pixels: int) -> None:
        try:
            import av
        except ImportError as error:
            raise MissingExtra("a recording with a video", extra="video") from error
        self._av = av
        self.path, self._max_pixels = path, max_pixels
        with self._opened() as container:
            stream = container.streams.video[0]
            self.size = (int(stream.codec_context.width), int(stream.codec_context.height))
        if not 0 < self.size[0] * self.size[1] <= max_pixels:
            raise SourceError(
                path.name,
                f"{self.size[0]}x{self.size[1]}",
                f"must be 1 to {max_pixels} pixels",
                remedy="raise max_pixels",
            )

    def camera(self, fx: float, fy: float, cx: float, cy: float) -> Intrinsics:
        """Intrinsics in the size of its pictures."""
        return fitted(fx, fy, cx, cy, self.size)

    def stamps(self) -> list[float]:
        """Seconds of every picture from the start, without decoding them."""
        with self._opened() as container:
            stream = container.streams.video[0]
            times = sorted(packet.pts for packet in container.demux(stream) if packet.pts is not None)
            return [float(time * stream.time_base) for time in times]

    def pictures(self, wanted: Callable[[int], bool]) -> Iterator[NDArray[np.uint8]]:
        """RGB of the pictures that are wanted, by number."""
        with self._opened() as container:
            try:
                for number, frame in enumerate(container.decode(video=0)):
                    if wanted(number):
                        if frame.width * frame.height > self._max_pixels:
                            raise SourceError(self.path.name, number, "changes its size", remedy="encode it again")
                        yield np.ascontiguousarray(frame.to_ndarray(format="rgb24"))
            except self._av.FFmpegError as error:
                raise SourceError(
                    self.path.name, str(self.path), f"breaks off ({error})", remedy="encode it again"
                ) from error

    def _opened(self) -> "av.container.InputContainer":  # type: ignore[name-defined] # noqa: F821, UP037
        try:
            container = self._av.open(str(self.path), options={"format_whitelist": _FORMATS})
        except (self._av.FFmpegError, OSError) as error:
            raise SourceError(
                self.path.name, str(self.path), f"is no video ({error})", remedy="use mp4, mkv, mov or avi"
            ) from error
        if not container.streams.video:
            container.close()
            raise SourceError(self.path.name, str(self.path), "has no picture", remedy="use mp4, mkv, mov or avi")
        return container


def _videos(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.suffix.lower() in VIDEOS)


def _poses(
    path: Path, options: SourceOptions, stamps: list[float]
) -> list[tuple[float, NDArray[np.float64] | None]] | Trajectory:
    """Stamp and T_world_camera of every picture; poses by stamp where there is not one for each picture."""
    names = [name for name in _POSES if (path / name).is_file()]
    others = [*sorted(path.glob("*.tum")), *sorted(path.glob("*.kitti"))]
    found = path / names[0] if names else (others[0] if others else None)
    if found is None:
        if options.poses == "odometry":
            return [(stamp, None) for stamp in stamps]
        raise SourceError(
            "poses", str(path), f"has no pose file ({_POSES[0]} or others)", remedy="add one, or use --poses odometry"
        )
    rows = read_numbers(found)
    if rows.shape[1] not in {8, 12}:
        raise SourceError(
            found.name, f"{rows.shape[1]} columns", "is neither TUM's form (8) nor KITTI's (12)", remedy="convert it"
        )
    if len(rows) == len(stamps):
        if rows.shape[1] == 8:
            return [(float(row[0]), pose_matrix(row[1:4], row[4:8])) for row in rows]
        return [
            (stamp, np.vstack([row.reshape(3, 4), [0, 0, 0, 1]])) for stamp, row in zip(stamps, rows, strict=True)
        ]
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    if rows.shape[1] == 8 and rows[0, 0] <= stamps[-1] and rows[-1, 0] >= stamps[0]:
        return Trajectory(rows[:, 0], rows[:, 1:4], rows[:, 4:8])
    raise SourceError(
        found.name,
        f"{len(rows)} poses",
        f"does not match {len(stamps)} pictures of the video",
        remedy="one for each picture, or TUM's form with seconds from the start of the video",
    )
