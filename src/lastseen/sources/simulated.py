"""A walk through a simulated home as a source: ``sim://7`` is house 7, with a detector that errs like a real one.

``sim://7?minutes=2&level=good&rooms=5&changes=3`` sets more; the names are those of ``lastseen sim record``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from lastseen.config import Settings
from lastseen.detection import Detection, encode_mask
from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.protocols import Detector
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.generate import generate_home
from lastseen.sim.walk import Walk, WalkPlan
from lastseen.sources.base import RecordSource
from lastseen.sources.detections import RecordedDetections, StoredDetection
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import Intake, RawRecord

MINUTES = 2.0
"""Length of a walk in minutes of frame time, where the address does not set it."""

RECENT = 8
"""Frames whose truth is kept for the detector, which is called while they come."""

_WORDS: dict[str, Callable[[str], Any]] = {"minutes": float, "level": str, "rooms": int, "changes": int}


class SimSource(RecordSource):
    """A robot on a coverage tour of a generated home."""

    takes_settings = True

    def __init__(self, address: str, options: SourceOptions | None = None, settings: Settings | None = None) -> None:
        super().__init__(f"sim://{address}", options)
        seed, _, query = address.partition("?")
        words = _parse(query)
        self._settings = settings or Settings()
        self._plan = WalkPlan(
            words.get("minutes", MINUTES),
            seed=_seed(seed),
            level=words.get("level", "typical"),
            changes=words.get("changes", 0),
        )
        self._home = generate_home(self._plan.seed, rooms=words.get("rooms"), settings=self._settings.homes)
        self._recent: dict[float, Frame] = {}
        self._walk = Walk(self._home, self._plan, settings=self._settings)

    def length(self) -> int:
        """How many frames the walk has."""
        return self._walk.frames_planned

    def detector(self) -> Detector:
        """The simulated detector, on the walk that ``frames`` is taking."""
        return _WalkDetector(self)

    def records(self, wanted: Callable[[int], bool] | None = None) -> Iterator[RawRecord]:
        """Walk from the start; every call takes the same walk."""
        self.intake = Intake()
        self._recent.clear()
        self._walk = Walk(self._home, self._plan, settings=self._settings)
        for frame in self._walk.frames(wanted=wanted):
            self._recent[frame.stamp] = frame
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]
            yield RawRecord(
                stamp=frame.stamp,
                rgb=frame.rgb,
                depth=frame.depth,
                raw_per_metre=1.0,
                translation=frame.T_world_camera.translation,
                quaternion=frame.T_world_camera.quaternion,
                intrinsics=frame.intrinsics,
                depth_stamp=frame.stamp,
                pose_stamp=frame.stamp,
            )

    def detect(self, stamp: float) -> list[Detection]:
        """Detections of one of the last frames, in the simulator's own pixels."""
        frame = self._recent.get(stamp)
        if frame is None:
            raise SourceError("stamp", stamp, "is not of a recent frame", remedy="detect as frames come")
        return SimulatedDetector(self._walk.world, level=self._plan.level, seed=self._plan.seed).detect(frame)


class _WalkDetector:
    """Gives detections in the pixels of the converted frame."""

    knows_people = True
    """There are none in these homes."""

    def __init__(self, source: SimSource) -> None:
        self._source = source

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """Detections of a recent frame, best score first; targets change nothing."""
        del targets
        found = self._source.detect(frame.stamp)
        options = self._source.options
        if not options.mirrored and options.images_turned == "0" and options.image_rotation == "0":
            return found
        rows = [
            (frame.stamp, StoredDetection(one, None if one.mask is None else tuple(encode_mask(one.mask))))
            for one in found
        ]
        return RecordedDetections(rows, options).detect(frame)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > np.iinfo(np.int64).max:
        raise SourceError("sim seed", text, "is no whole number", remedy="for example sim://7")
    return int(text)


def _parse(query: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, text in parse_qsl(query, keep_blank_values=True):
        if name not in _WORDS:
            raise SourceError(f"sim {name}", text, "is not known", remedy=f"choose from {', '.join(_WORDS)}")
        try:
            values[name] = _WORDS[name](text)
        except ValueError:
            raise SourceError(f"sim {name}", text, "is no number", remedy="for example minutes=2") from None
    return values
