"""A colour video beside depth images: ``*.mp4`` (mkv, mov, avi), ``depth/``, and poses in TUM's or KITTI's form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import MissingExtra, SourceError
from lastseen.geometry import Intrinsics
from lastseen.sources.layouts.sequence import Sequence, Shot, fitted, numbered, pose_matrix, read_json, read_numbers
from lastseen.sources.options import SourceOptions

VIDEOS = (".mp4", ".mkv", ".mov", ".avi")
_POSES = ("groundtruth.txt", "poses.txt", "trajectory.txt", "traj.txt", "pose.txt", "CameraTrajectory.txt")
_FORMATS = "mov,mp4,matroska,avi"


def matches(path: Path) -> bool:
    """Whether a folder has one video and a folder of depth images."""
    return path.is_dir() and (path / "depth").is_dir() and len(_videos(path)) == 1


def read(path: Path, options: SourceOptions) -> Sequence:
    """List a recording; camera.json holds fx, fy, cx, cy, and depth_scale where depth is not in millimetres."""
    video = Video(_videos(path)[0], max_pixels=options.max_pixels)
    depths = list(numbered(path / "depth", (".png",)).values())
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
    poses, stamps = _poses(path, options, stamps)
    shots = [Shot(stamp, number, depths[number], poses[number]) for number, stamp in enumerate(stamps)]
    return Sequence(shots, camera, float(tree.get("depth_scale", 1000.0)), colors=video.pictures)


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
) -> tuple[list[NDArray[np.float64] | None], list[float]]:
    """T_world_camera of every picture, and the stamps that hold for both."""
    names = [name for name in _POSES if (path / name).is_file()]
    others = [*sorted(path.glob("*.tum")), *sorted(path.glob("*.kitti"))]
    found = path / names[0] if names else (others[0] if others else None)
    if found is None:
        if options.poses == "odometry":
            return [None] * len(stamps), stamps
        raise SourceError(
            "poses", str(path), f"has no pose file ({_POSES[0]} or others)", remedy="add one, or use --poses odometry"
        )
    rows = read_numbers(found)
    if rows.shape[1] == 12:
        _check_count(found, len(rows), len(stamps))
        return [np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) for row in rows], stamps
    if rows.shape[1] != 8:
        raise SourceError(
            found.name, f"{rows.shape[1]} columns", "is neither TUM's form (8) nor KITTI's (12)", remedy="convert it"
        )
    _check_count(found, len(rows), len(stamps))
    return [pose_matrix(row[1:4], row[4:8]) for row in rows], [float(row[0]) for row in rows]


def _check_count(path: Path, count: int, pictures: int) -> None:
    if count != pictures:
        raise SourceError(
            path.name,
            f"{count} poses",
            f"does not match {pictures} pictures of the video",
            remedy="one for each picture",
        )
