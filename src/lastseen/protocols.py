"""The seams: what a camera, a world, a detector, a segmenter and an encoder must offer to be plugged in.

They are structural: a class of yours fits when it has these members, whatever it inherits from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lastseen.action import Action
from lastseen.detection import Detection
from lastseen.frame import Frame


@runtime_checkable
class Source(Protocol):
    """A stream of frames: a recording, a live camera, a simulator."""

    def frames(self) -> Iterator[Frame]:
        """Yield the frames in the order of their stamps; ends with the recording."""

    def close(self) -> None:
        """Release files and sockets; may be called twice."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What an action led to."""

    frame: Frame
    collided: bool


@runtime_checkable
class Environment(Protocol):
    """A world to act in, one discrete action at a time."""

    def reset(self) -> Frame:
        """Go back to the start and look."""

    def step(self, action: Action) -> StepResult:
        """Do one action and look."""


@runtime_checkable
class Detector(Protocol):
    """Finds things in one frame; ``targets`` are words to look for, for detectors that take a prompt."""

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """Detections, best score first."""


@runtime_checkable
class Segmenter(Protocol):
    """Cuts a frame into things without naming them."""

    def segment(self, frame: Frame) -> list[Detection]:
        """Detections with masks and without labels, largest first."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What kind of space a view shows, the things that tell it from others, and one sentence about it."""

    scene_type: str
    objects: tuple[str, ...] = ()
    description: str = ""


@runtime_checkable
class SceneAnalyzer(Protocol):
    """Names the kind of space that a robot looks at: by rules, or by a vision-language model.

    Memory never waits for the answer. A future that is done when ``submit`` returns is taken into account at once, a
    later one with the first frame after it came.
    """

    @property
    def name(self) -> str:
        """Which rules or which model, for logs."""

    def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
        """Begin to name the space in a frame; ``seen`` are labels with scores, the surest first.

        The future gives None where the space cannot be told.
        """


@runtime_checkable
class Encoder(Protocol):
    """Turns text, and images where it can, into unit vectors of one space."""

    @property
    def name(self) -> str:
        """Name and weights' hash: vectors of different names are never compared."""

    @property
    def dim(self) -> int:
        """Length of every vector."""

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text."""

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One unit row per image; raises ``InvalidValue`` where the encoder reads text only."""
