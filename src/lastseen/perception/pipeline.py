"""From a frame to observations: select, find, filter, embed, name, lift; each stage is counted and timed.

A detector finds things, where there is one, else the geometric segmenter; with both, the detector names things and
the segmenter adds unnamed small things and surfaces, each thing once. The rest is the same for all.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from lastseen.appearance import with_embeddings
from lastseen.config import Settings
from lastseen.detection import Box, Detection, people_in
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.lift import lift_all
from lastseen.memory.objects import warm_up as warm_up_memory
from lastseen.observation import Observation
from lastseen.perception.filter import DetectionFilter
from lastseen.perception.keyframes import KeyframeSelector, Refusal
from lastseen.perception.segment import GeometricSegmenter
from lastseen.perception.together import Together
from lastseen.perception.vocabulary import Namer
from lastseen.protocols import Detector, Encoder, Segmenter

_CAMERA = Intrinsics(fx=80.0, fy=80.0, cx=79.5, cy=59.5, width=160, height=120)
_AHEAD = Pose3D.from_quaternion([0.0, 0.0, 1.0], [-0.5, 0.5, -0.5, 0.5])
"""A metre above the floor, looking along x."""
_WALL, _BLOCK = 3.0, 1.5
"""Metres to the wall, and to a block on the floor."""


@dataclass(frozen=True, slots=True)
class Perceived:
    """What one frame gave: observations, or the reason why it was not processed.

    ``people`` are their boxes in the image; None where no detector that knows people looked.
    """

    observations: tuple[Observation, ...] = ()
    refusal: Refusal | None = None
    people: tuple[Box, ...] | None = None


class Perception:
    """Makes observations of frames; ``cpu_ms`` says what each stage cost so far, which memory never sees."""

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        detector: Detector | None = None,
        segmenter: Segmenter | None = None,
        encoder: Encoder | None = None,
        namer: Namer | None = None,
        targets: Sequence[str] = (),
        with_geometry: bool = False,
        with_crops: bool = True,
    ) -> None:
        self.settings = settings or Settings()
        self.detector = detector
        self.segmenter = segmenter or GeometricSegmenter(self.settings.segment)
        self.encoder: Encoder = encoder or ColorShapeEncoder()
        self.namer = namer
        self.keyframes = KeyframeSelector(self.settings.keyframes)
        self.filter = DetectionFilter(self.settings.mask_filter)
        self.targets = tuple(targets)
        self.together = Together() if with_geometry and detector is not None else None
        self.with_crops = with_crops
        self.cpu_ms: dict[str, float] = defaultdict(float)

    @property
    def names_things(self) -> bool:
        """Whether observations carry labels; without a model that names things they have embedding and place only."""
        return self.detector is not None or self.namer is not None

    def perceive(self, frame: Frame) -> Perceived:
        """Observations of one frame in the order of their priority."""
        with self._timed("select"):
            refusal = self.keyframes.judge(frame)
        if refusal is not None:
            return Perceived(refusal=refusal)
        with self._timed("find"):
            found = [] if self.detector is None else self.detector.detect(frame, self.targets)
            people = people_in(found, self.detector, names=self.settings.labels.ignore)
            if self.detector is None or self.together is not None:
                shapes = self.segmenter.segment(frame)
                found = shapes if self.together is None else self.together.add(found, shapes, frame)
        with self._timed("filter"):
            found = self.filter.keep(frame, found)
        with self._timed("encode"):
            found = with_embeddings(frame, found, self.encoder)
        if self.namer is not None:
            with self._timed("name"):
                found = self._named(self.namer, found)
        with self._timed("lift"):
            observations = lift_all(frame, found, self.settings.lift, with_crops=self.with_crops)
            if self.together is not None:
                observations = self.together.once(observations)
        return Perceived(tuple(observations), people=people)

    @contextmanager
    def _timed(self, stage: str) -> Iterator[None]:
        """Add the processor time of a block to a stage's sum."""
        started = time.process_time()
        yield
        self.cpu_ms[stage] += 1000.0 * (time.process_time() - started)

    @staticmethod
    def _named(namer: Namer, found: list[Detection]) -> list[Detection]:
        """Every detection with names by its embedding; one that came with its own keeps them."""
        bare = [detection for detection in found if not detection.labels and detection.embedding is not None]
        names = iter(namer.name([detection.embedding for detection in bare if detection.embedding is not None]))
        return [
            replace(detection, labels=next(names))
            if not detection.labels and detection.embedding is not None
            else detection
            for detection in found
        ]


def warm_up() -> None:
    """Compile what a frame of ``run`` needs, or read it from disk.

    A made-up room is looked at twice, since known surfaces are used from the second frame on; nothing of it is kept.
    """
    warm_up_memory()
    x = (np.arange(_CAMERA.width) - _CAMERA.cx) / _CAMERA.fx
    y = ((np.arange(_CAMERA.height) - _CAMERA.cy) / _CAMERA.fy)[:, np.newaxis]
    depth = np.minimum(_WALL, 1.0 / np.maximum(y, 1e-3)) * np.ones_like(x)
    block = (np.abs(x) < 0.2) & (np.abs(y - 0.35) < 0.25)
    depth[block] = _BLOCK
    rgb = np.full((_CAMERA.height, _CAMERA.width, 3), 200, dtype=np.uint8)
    # stripes, so that the image is neither flat nor blurred, and a spot on the block, for what colour tells
    rgb[:, ::8] = 90
    rgb[block] = (200, 30, 30)
    rgb[(np.abs(x) < 0.08) & (np.abs(y - 0.35) < 0.08)] = (30, 30, 200)
    perception = Perception()
    for number in range(2):
        frame = Frame(number, 10.0 * number, rgb, depth.astype(np.float32), _AHEAD, _CAMERA)
        perceived = perception.perceive(frame)
        for seen in perceived.observations:
            seen.picture()
