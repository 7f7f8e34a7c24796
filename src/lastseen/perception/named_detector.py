"""The detector of a search by what the user has: a model's file, folder or name, or a function of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.detectors import open_detector, open_sam
from lastseen.perception.sam import Outlined
from lastseen.protocols import Detector
from lastseen.user_function import call_named


class WithHousehold:
    """A detector that is asked, asked for a household vocabulary beside what it is given.

    Asked for the goal alone it names nothing else, and places and objects stay without names.
    """

    def __init__(self, detector: Detector, names: Sequence[str]) -> None:
        self._detector, self._names = detector, tuple(names)

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What it finds of the targets and of the vocabulary, in its order."""
        wanted = {name.lower() for name in targets}
        return self._detector.detect(frame, (*targets, *(name for name in self._names if name not in wanted)))


def open_named_detector(name: str, *, masks: str | None = None, settings: Settings | None = None) -> Detector:
    """A detector for a search; one that finds what it is asked for is asked for ``grounding.household`` too.

    Args:
        name: As for ``open_detector``, or ``package.module:function``, a function of yours that returns one.
        masks: SAM for the outlines of its boxes: its folder, or ``sam``.
        settings: Of the models.
    """
    settings = settings or Settings()
    module, _, function = name.partition(":")
    if function and module.replace(".", "_").isidentifier() and not Path(name).exists():
        found = _made(name)
    else:
        found = open_detector(name, settings=settings)
        if getattr(found, "asked", False):
            names = [word.strip().lower() for word in settings.grounding.household.split(",") if word.strip()]
            found = WithHousehold(found, names)
    return found if masks is None else Outlined(found, open_sam(masks, settings=settings))


def _made(name: str) -> Detector:
    found = call_named("detector", name)
    if not isinstance(found, Detector):
        raise InvalidValue(
            "detector", name, f"gave a {type(found).__name__}", remedy="return a lastseen.protocols.Detector"
        )
    return found
