"""From a frame to observations: select, find, filter, embed, name, lift; each stage is counted and timed.

A detector finds things, where there is one, else the geometric segmenter; with both, the detector names things and
the segmenter adds unnamed small things and surfaces, each thing once. The rest is the same for all.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lastseen.appearance import with_embeddings
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.lift import lift_all
from lastseen.observation import Observation
from lastseen.perception.filter import DetectionFilter
from lastseen.perception.keyframes import KeyframeSelector, Refusal
from lastseen.perception.segment import GeometricSegmenter
from lastseen.perception.together import Together
from lastseen.perception.vocabulary import Namer
from lastseen.protocols import Detector, Encoder, Segmenter


@dataclass(frozen=True, slots=True)
class Perceived:
    """What one frame gave: observations, or the reason why it was not processed."""

    observations: tuple[Observation, ...] = ()
    refusal: Refusal | None = None


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
        with _Stage(self, "select"):
            refusal = self.keyframes.judge(frame)
        if refusal is not None:
            return Perceived(refusal=refusal)
        with _Stage(self, "find"):
            found = [] if self.detector is None else self.detector.detect(frame, self.targets)
            if self.detector is None or self.together is not None:
                shapes = self.segmenter.segment(frame)
                found = shapes if self.together is None else self.together.add(found, shapes, frame)
        with _Stage(self, "filter"):
            found = self.filter.keep(frame, found)
        with _Stage(self, "encode"):
            found = with_embeddings(frame, found, self.encoder)
        if self.namer is not None:
            with _Stage(self, "name"):
                found = self._named(self.namer, found)
        with _Stage(self, "lift"):
            observations = lift_all(frame, found, self.settings.lift, with_crops=self.with_crops)
            if self.together is not None:
                observations = self.together.once(observations)
        return Perceived(tuple(observations))

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


class _Stage:
    """Adds the processor time of a block to a stage's sum."""

    def __init__(self, perception: Perception, name: str) -> None:
        self._perception = perception
        self._name = name
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = time.process_time()

    def __exit__(self, *_: object) -> None:
        self._perception.cpu_ms[self._name] += 1000.0 * (time.process_time() - self._started)
