"""The frames the doctor looks at: stretches of neighbours spread over the recording, and pairs within them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lastseen.config.doctor import Doctor
from lastseen.geometry import Pose3D
from lastseen.sources.base import RecordSource
from lastseen.sources.record import Intake, RawRecord, Trajectory

HOLE = 3.0
"""Usual steps from which a pause between two frames is a hole: one lost frame is none."""
SLOW = 10.0
"""Frames a second below which a camera may turn far from one frame to the next."""
PROBE = 600
"""Records a source of unknown length is read for at most."""


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Records in the order of their stamps; neighbours of one stretch share its number."""

    records: tuple[RawRecord, ...]
    stretch: tuple[int, ...]
    intake: Intake
    trajectory: Trajectory | None

    def pairs(self, config: Doctor) -> list[tuple[int, int]]:
        """Pairs of one stretch, near and further apart, as far as the camera turned little between them."""
        found = self._pairs_of(1)
        for lag in (2, 4, 8, 16):
            pairs = self._pairs_of(lag)
            turns = [self._turn(first, second) for first, second in pairs]
            if not turns or float(np.median(turns)) > config.max_pair_turn:
                break
            found += pairs
        # three dozen pairs tell as much as four hundred
        step = max(1, len(found) // 36)
        return found[::step]

    def with_pose_delay(self, delay: float, *, max_gap: float) -> Sample:
        """The same images with the poses of another moment; images without one are left out."""
        if self.trajectory is None:
            return self
        kept = []
        for record, stretch in zip(self.records, self.stretch, strict=True):
            pose = self.trajectory.at(record.stamp, max_gap=max_gap, delay=delay)
            if pose is not None:
                moved = replace(record, translation=pose.translation, quaternion=pose.quaternion)
                kept.append((moved, stretch))
        return Sample(
            tuple(record for record, _ in kept), tuple(stretch for _, stretch in kept), self.intake, self.trajectory
        )

    def _pairs_of(self, lag: int) -> list[tuple[int, int]]:
        return [
            (first, first + lag)
            for first in range(len(self.records) - lag)
            if self.stretch[first] == self.stretch[first + lag]
        ]

    def _turn(self, first: int, second: int) -> float:
        """The angle between two poses in degrees, the smaller one of the two quaternion orders."""
        a, b = self.records[first].quaternion, self.records[second].quaternion
        angles = []
        for order in (0, -1):
            one, other = (Pose3D(np.zeros(3), np.roll(q, order) / (np.linalg.norm(q) + 1e-12)) for q in (a, b))
            angles.append(np.degrees(one.angle_to(other)))
        return float(min(angles))


def take_sample(source: RecordSource, config: Doctor) -> Sample:
    """Read up to ``max_frames`` records: all of a short recording, stretches of a long one."""
    if source.live:
        source.detector()  # waits for the first message: a stream that never speaks is told at once
    numbers = _numbers(source.length(), source.trajectory(), config)
    records: list[RawRecord] = []
    stretches: list[int] = []
    for record in source.records(wanted=numbers.__contains__):
        records.append(record)
        stretches.append(0)
        if len(records) >= config.max_frames:
            break
    period = float(np.median(np.diff([record.stamp for record in records]))) if len(records) > 2 else 0.0
    # frames on the two sides of a hole may share nothing: a new stretch begins there
    for index in range(1, len(records)):
        gap = records[index].stamp - records[index - 1].stamp
        stretches[index] = stretches[index - 1] + (gap > HOLE * period)
    return Sample(tuple(records), tuple(stretches), source.intake, source.trajectory())


def _numbers(length: int | None, trajectory: Trajectory | None, config: Doctor) -> frozenset[int] | range:
    if length is None:
        return range(0, PROBE, max(1, PROBE // config.max_frames // 2))
    if length <= 1.5 * config.max_frames:
        return range(min(length, config.max_frames))
    # within a stretch every third frame: at 30 Hz neighbours then lie 0.1 s apart. A slow recording that every other
    # frame covers whole is taken so; of a longer one each frame counts, or neighbours would see other things
    step = max(1, min(3, length // config.max_frames))
    if step > 2 and (trajectory is None or length < SLOW * float(np.ptp(trajectory.stamps))):
        step = 1
    count = max(1, config.max_frames // config.stretch)
    starts = np.linspace(0, max(0, length - config.stretch * step), count).astype(int)
    return frozenset(int(start) + step * index for start in starts for index in range(config.stretch))
