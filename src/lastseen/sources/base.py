"""What all sources share: conversion of records to frames, their numbering, the count of what was left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lastseen.closing import Closes
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.protocols import Detector
from lastseen.sources.conversion import quarter_turns, rotate_pose, to_frame, to_pose
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord, Trajectory

MAX_LEAP = 60.0
"""Seconds a clock may leap ahead before it is doubted: one stamp may be wrong, or two clocks mixed."""
REMEMBERED = 20_000
"""Frames whose number is kept for a later correction of their pose: as many as a source remembers poses for."""


@dataclass(frozen=True, slots=True)
class Updates:
    """What a source learnt beside its newest frame: better poses of earlier frames, by number, and a new beginning.

    ``map_id`` names the map of the poses from here on, where they no longer fit those before.
    """

    poses: dict[int, Pose3D] = field(default_factory=dict)
    restarted: bool = False
    map_id: str | None = None


class RecordSource(Closes, ABC):
    """A source that yields raw records; ``frames`` converts each and skips the bad ones.

    ``intake`` counts what came and what was skipped, by reason, since the last call of ``records`` or ``frames``.
    """

    live = False
    """Whether the stream goes on while it is read: then old frames may be dropped, and it has no length."""

    def __init__(self, address: str, options: SourceOptions | None = None) -> None:
        self.address = address
        self.options = options or SourceOptions()
        self.intake = Intake()
        self.waiting: Callable[[float], None] | None = None
        """Called with the seconds of silence while a live stream brings nothing, so that a display can say so."""
        self.gate: Callable[[float, Pose3D], bool] | None = None
        """Asked with stamp and pose whether a frame is wanted, before its images are decoded; not by live streams."""
        self.passed_over = 0
        """Frames that the gate did not want, since the last call of ``frames``; they keep their numbers."""
        self._updates = Updates()

    @abstractmethod
    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Yield raw records by stamp; unreadable ones are counted in ``intake``.

        ``wanted`` picks records by their number in the stream, so that a sample need not decode every image.
        """

    def frames(self) -> Iterator[Frame]:
        """Yield frames in our conventions, numbered in the order of their stamps."""
        number = 0
        last_stamp: float | None = None
        numbers: dict[float, int] = {}
        self._updates = Updates()
        self.passed_over = 0
        for record in self._without_leaps(self.records()):
            if last_stamp is not None and record.stamp < last_stamp:
                if not self._restarts(record.stamp, last_stamp):
                    self.intake.skip("stamp goes backwards", f"{record.stamp:.6f} after {last_stamp:.6f}")
                    continue
                self._updates = Updates(restarted=True)
                numbers.clear()
            for revised in record.revised:
                if revised.stamp in numbers:
                    pose = to_pose(revised.translation, revised.quaternion, self.options)
                    rotated = rotate_pose(pose, quarter_turns(self.options.image_rotation))
                    self._updates.poses[numbers[revised.stamp]] = rotated
            try:
                frame = to_frame(record, self.options, frame_id=number + self.passed_over)
            except InvalidValue as error:
                self.intake.skip(f"unfit {error.field}", f"stamp {record.stamp:.6f}: {error}")
                continue
            last_stamp = record.stamp
            numbers[record.stamp] = frame.id
            if len(numbers) > REMEMBERED:
                del numbers[next(iter(numbers))]
            number += 1
            self.intake.frames = number + self.passed_over
            yield frame

    def _without_leaps(self, records: Iterable[RawRecord]) -> Iterator[RawRecord]:
        """Leave out a record whose stamp leaps ahead where the next one is back in time.

        One wrong stamp would else make all that come after it go backwards, and memory older by as much. A clock
        that leaps and stays there is believed, and so is the first record.
        """
        last: float | None = None
        held: RawRecord | None = None
        for given in records:
            record = given
            if held is not None:
                if record.stamp < held.stamp - MAX_LEAP:
                    self.intake.skip("stamp leaps ahead", f"{held.stamp:.6f} before {record.stamp:.6f}")
                    record = replace(record, revised=(*held.revised, *record.revised))
                else:
                    last = held.stamp
                    yield held
                held = None
            if last is not None and record.stamp - last > MAX_LEAP:
                held = record
                continue
            last = record.stamp
            yield record
        if held is not None:
            yield held

    def __iter__(self) -> Iterator[Frame]:
        """The same as ``frames``: ``for frame in lastseen.open_source("walk.mcap")``."""
        return self.frames()

    def updates(self) -> Updates:
        """What came with the newest frame and with skipped ones just before it; a second call returns nothing."""
        updates, self._updates = self._updates, Updates()
        return updates

    @property
    def greeting(self) -> str:
        """What a person must see before frames come, such as an address to open; commands print it."""
        return ""

    def length(self) -> int | None:
        """How many frames are expected; None where that is unknown."""
        return None

    def trajectory(self) -> Trajectory | None:
        """All stored poses, where the source has them apart from the images."""
        return None

    def stamps(self) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """All stamps of colour and of depth, sorted, where they are known without decoding images."""
        return None

    def detector(self) -> Detector | None:
        """Detections that came with the recording, as a detector; None without any."""
        return None

    def close(self) -> None:
        """Release files and sockets; may be called twice."""
        return

    def _is_wanted(self, stamp: float, translation: NDArray[np.float64], quaternion: NDArray[np.float64]) -> bool:
        """Ask the gate about a record by its stamp and stored pose, and count it where it is not wanted."""
        if self.gate is None:
            return True
        try:
            pose = to_pose(translation, quaternion, self.options)
        except InvalidValue:
            # whoever converts the record says what is wrong with it
            return True
        if self.gate(stamp, rotate_pose(pose, quarter_turns(self.options.image_rotation))):
            return True
        self.passed_over += 1
        self.intake.frames += 1
        return False

    def _restarts(self, stamp: float, last: float) -> bool:
        """Whether a stamp before the last one means that the stream began anew; recordings never do."""
        del stamp, last
        return False
