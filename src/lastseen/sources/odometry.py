"""Frames of a source that has no poses, placed by the images themselves: ``--poses odometry``.

The world is that of the first frames, turned so that the floor they show is level. Frames that cannot be placed are
left out and counted, because what they show would be put in the wrong place. For a second a known place is looked
for, where tracking goes on; after that a new map begins, and a session of the memory with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.geometry import Pose3D, world_to_z_up
from lastseen.protocols import Detector
from lastseen.sources.base import RecordSource, Updates
from lastseen.sources.doctor.gravity import floor_up
from lastseen.sources.doctor.reprojection import LOOKUP_WIDTH, View
from lastseen.sources.photometric import GrayImage
from lastseen.sources.record import RawRecord
from lastseen.sources.tracker import Tracker

MAX_INTERVAL = 0.12
"""Seconds between frames above which a recording is no video: a hand moves 10 cm and turns 20 degrees meanwhile."""

FIRST = 10
"""Frames by which the interval and the vertical are judged before the first one is given out."""

GIVEN_UP = 30
"""Frames in a row that may be lost, a second of video, before a new map begins."""

SAME_VIEW = 0.02
"""Share by which the fields of view of colour and depth may differ and still be one."""

LOST = "lost track"


class OdometrySource(RecordSource):
    """A source whose frames get their poses from a tracker; everything else is the inner source's."""

    def __init__(self, inner: RecordSource) -> None:
        super().__init__(inner.address, inner.options)
        self._inner = inner
        self.live = inner.live
        self.tracker: Tracker | None = None

    def frames(self) -> Iterator[Frame]:
        """Yield frames with the poses of the tracker, numbered anew; corrections of loops come by ``updates``."""
        self.tracker = tracker = Tracker()
        self._updates = Updates()
        first: list[Frame] = []
        T_up_world: Pose3D | None = None
        lost = number = 0
        given: dict[int, int] = {}
        self.intake = self._inner.intake
        for frame in self._inner.frames():
            self.intake = self._inner.intake
            inner = self._inner.updates()
            if inner.restarted:
                # the session of the memory begins with the first frame that is placed again
                self._updates = Updates(restarted=True)
                self.intake.note(f"the stream began anew at stamp {frame.stamp:.3f}: known places are looked for")
            if not tracker.poses and self._updates.map_id is None:
                # poses begin where the camera did: another recording's are of another map, the same one's of the same
                self._updates = Updates(restarted=True, map_id=self.options.map_id or self._map_id(frame.stamp))
            changed = tracker.track(frame.id, _points(frame), _gray(frame))
            if changed is None:
                lost += 1
                self.intake.skip(LOST, f"stamp {frame.stamp:.6f}")
                if lost == GIVEN_UP:
                    yield from self._placed(first, tracker, number)
                    number += len(first)
                    first, T_up_world, lost, given = [], None, 0, {}
                    self.tracker = tracker = Tracker()
                    self._updates = Updates(restarted=True, map_id=self._map_id(frame.stamp))
                    self.intake.note(
                        f"the track was lost at stamp {frame.stamp:.3f}: what comes after it is in a map of its own"
                        " until it is aligned (docs/alignment.md)"
                    )
                continue
            lost = 0
            if T_up_world is None:
                first.append(frame)
                if len(first) < FIRST:
                    continue
                T_up_world = self._settled(first, tracker)
                frames, first = first, []
            else:
                frames = [frame]
            if changed:
                poses = {given[key]: T_up_world @ pose for key, pose in changed.items() if key in given}
                self._updates.poses.update(poses)
            for one in frames:
                given[one.id] = number
                pose = T_up_world @ tracker.poses[one.id]
                yield dataclasses.replace(one, id=number, T_world_camera=pose)
                number += 1
                self.intake.frames = number
        yield from self._placed(first, tracker, number)

    def _map_id(self, stamp: float) -> str:
        """What the map of a track is called: the same for the same recording, and for no other."""
        return f"odometry of {Path(self.address).name or self.address} from {stamp:.3f}"

    def _placed(self, frames: list[Frame], tracker: Tracker, number: int) -> Iterator[Frame]:
        """Frames at the end of a track that was too short for more, with their poses."""
        T_up_world = self._settled(frames, tracker) if frames else Pose3D.identity()
        for at, one in enumerate(frames, start=number):
            self.intake.frames = at + 1
            yield dataclasses.replace(one, id=at, T_world_camera=T_up_world @ tracker.poses[one.id])

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """The records of the inner source, whose poses mean nothing."""
        return self._inner.records(wanted)

    @property
    def greeting(self) -> str:
        """What the inner source has to say first."""
        return self._inner.greeting

    def length(self) -> int | None:
        """How many frames the inner source has."""
        return self._inner.length()

    def detector(self) -> Detector | None:
        """The detections of the inner source."""
        return self._inner.detector()

    def close(self) -> None:
        """Release the inner source."""
        self._inner.close()

    def _settled(self, frames: list[Frame], tracker: Tracker) -> Pose3D:
        """The rotation to a world with z up, once the first frames are there; refuses what is no video."""
        interval = float(np.median(np.diff([frame.stamp for frame in frames]))) if len(frames) > 1 else 0.0
        if interval > MAX_INTERVAL:
            raise SourceError(
                "poses",
                "odometry",
                f"needs a video, and these frames are {interval:.2f} s apart",
                remedy="give poses with the recording, or record at 10 frames a second and more",
            )
        up = floor_up([_view(frame) for frame in frames], [tracker.poses[frame.id] for frame in frames])
        if up is None:
            self.intake.note("no floor or table in the first frames: the camera is taken to stand level")
            up = np.array([0.0, -1.0, 0.0])
        return world_to_z_up(Pose3D.identity(), (float(up[0]), float(up[1]), float(up[2])))


def _points(frame: Frame) -> NDArray[np.float32]:
    """Points of the depth image in the camera frame (n, 3), on a grid of about 160 columns."""
    step = max(1, frame.depth.shape[1] // 160)
    return frame.points()[step // 2 :: step, step // 2 :: step].reshape(-1, 3)


def _gray(frame: Frame) -> GrayImage:
    """The brightness of a frame with its depth; none of that where depth has another field of view."""
    color, own = frame.intrinsics, frame.camera_of_depth
    ratios = [
        (getattr(own, name) / size) / (getattr(color, name) / of)
        for name, size, of in (
            ("fx", own.width, color.width),
            ("fy", own.height, color.height),
            ("cx", own.width, color.width),
            ("cy", own.height, color.height),
        )
    ]
    shared = max(abs(ratio - 1.0) for ratio in ratios) < SAME_VIEW
    return GrayImage.of(frame.rgb, frame.depth if shared else np.full_like(frame.depth, np.nan), color)


def _view(frame: Frame) -> View:
    step = max(1, frame.camera_of_depth.width // LOOKUP_WIDTH)
    depth = frame.depth[step // 2 :: step, step // 2 :: step]
    return View(depth, frame.camera_of_depth.thinned(step), np.zeros((0, 3), dtype=np.float32), 1.0 / depth)
