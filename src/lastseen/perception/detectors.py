"""Detectors and segmenters by what the user has: a model's file, folder or name, or a function of their own.

The path or name decides, and only what it needs is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.models.catalogue import CATALOGUE
from lastseen.models.folder import checked_folder
from lastseen.perception.sam import Outlined, Sam
from lastseen.protocols import Detector
from lastseen.user_function import call_named

_ONNX = ("dfine-n", "dfine-s", "rtdetr")


def open_detector(
    model: str | Path,
    *,
    labels: str | Path | None = None,
    targets: Sequence[str] = (),
    settings: Settings | None = None,
) -> Detector:
    """Open a detector: an .onnx or .tflite file, a folder of Grounding DINO, a known name, or a function of yours.

    Names are those of ``lastseen models list``; a function is ``package.module:function``, and returns a detector.
    ``labels`` names the classes of a file where they are not COCO's and not in the file; ``targets`` are
    the names that Grounding DINO searches where ``detect`` is given none.
    """
    settings = settings or Settings()
    if _is_function(model):
        return _made(str(model))
    path = located(model)
    if path.suffix.lower() == ".onnx":
        from lastseen.perception.onnx_detector import OnnxDetector

        return OnnxDetector(path, labels=labels, settings=settings.detector)
    if path.suffix.lower() == ".tflite":
        from lastseen.perception.tflite_detector import TfliteDetector

        return TfliteDetector(path, labels=labels, settings=settings.detector)
    if path.is_dir():
        from lastseen.perception.grounding_dino import GroundingDino

        return GroundingDino(path, targets=targets, settings=settings.grounding)
    raise InvalidValue(
        "detector",
        str(model),
        "is no detector",
        remedy="give an .onnx or .tflite file, a model's folder, a known name, or package.module:function",
    )


def open_sam(model: str | Path, *, settings: Settings | None = None) -> Sam:
    """Open SAM from its folder, or by the name ``sam``."""
    return Sam(located(model), settings=(settings or Settings()).outlines)


def located(model: str | Path) -> Path:
    """Where a model lies: a path as it is, a known name in the models folder, checked."""
    name = str(model)
    if name in CATALOGUE and not Path(name).exists():
        folder = checked_folder(name)
        return folder / "onnx" / "model.onnx" if name in _ONNX else folder
    return Path(model)


class WithHousehold:
    """A detector that is asked, asked for a household vocabulary beside what it is given.

    Asked for the goal alone it names nothing else, and places and objects stay without names.
    """

    def __init__(self, detector: Detector, names: Sequence[str]) -> None:
        self._detector, self._names = detector, tuple(names)
        self.knows_people = "person" in names

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What it finds of the targets and of the vocabulary, in its order."""
        wanted = {name.lower() for name in targets}
        return self._detector.detect(frame, (*targets, *(name for name in self._names if name not in wanted)))


def open_named_detector(name: str, *, masks: str | None = None, settings: Settings | None = None) -> Detector:
    """A detector for a search; one that finds what it is asked for is asked for ``grounding.household`` too.

    Args:
        name: As for ``open_detector``.
        masks: SAM for the outlines of its boxes: its folder, or ``sam``.
        settings: Of the models.
    """
    settings = settings or Settings()
    found = open_detector(name, settings=settings)
    if getattr(found, "asked", False) and not _is_function(name):
        names = [word.strip().lower() for word in settings.grounding.household.split(",") if word.strip()]
        found = WithHousehold(found, names)
    return found if masks is None else Outlined(found, open_sam(masks, settings=settings))


def _is_function(name: str | Path) -> bool:
    module, _, function = str(name).partition(":")
    return bool(function) and module.replace(".", "_").isidentifier() and not Path(name).exists()


def _made(name: str) -> Detector:
    found = call_named("detector", name)
    if not isinstance(found, Detector):
        raise InvalidValue(
            "detector",
            name,
            f"gave something of type {type(found).__name__}",
            remedy="return a lastseen.protocols.Detector",
        )
    return found
