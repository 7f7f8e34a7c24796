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

from lastseen.appearance import with_embeddings
from lastseen.box_axes import axes_of, in_axes, in_world
from lastseen.config import Settings
from lastseen.detection import Box, Detection, people_in
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.lift import lift_all, people_among
from lastseen.observation import Observation
from lastseen.perception.filter import DetectionFilter
from lastseen.perception.keyframes import KeyframeSelector, Refusal
from lastseen.perception.segment import GeometricSegmenter
from lastseen.perception.together import Together
from lastseen.perception.vocabulary import Namer
from lastseen.protocols import Detector, Encoder, Segmenter


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
        self.keyframes = KeyframeSelector()
        self.filter = DetectionFilter()
        self.targets = tuple(targets)
        self.together = Together() if with_geometry and detector is not None else None
        self.with_crops = with_crops
        self.box_yaw: float | None = None
        """Along which axes boxes are measured; the first frame decides."""
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
        if self.box_yaw is None:
            self.box_yaw = axes_of(frame)
            # planes and things of a session along other axes are none of this one
            if isinstance(self.segmenter, GeometricSegmenter):
                self.segmenter.forget()
        # what is found must not depend on how the map is turned: everything is measured along these axes
        frame = in_axes(frame, self.box_yaw)
        with self._timed("find"):
            found = [] if self.detector is None else self.detector.detect(frame, self.targets)
            people = people_in(found, self.detector, names=self.settings.labels.ignore)
            # also those too far away to be placed, which the filter drops, stand behind things
            to_blank = people_among(found)
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
            observations = lift_all(frame, found, self.settings.lift, with_crops=self.with_crops, people=to_blank)
            if self.together is not None:
                observations = self.together.once(observations)
        return Perceived(tuple(in_world(observations, self.box_yaw)), people=people)

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
