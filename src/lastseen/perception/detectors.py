"""Detectors and segmenters by what the user has: the path or name decides, and only what it needs is imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.models.catalogue import CATALOGUE
from lastseen.models.folder import checked_folder
from lastseen.perception.sam import Sam
from lastseen.protocols import Detector

_ONNX = ("dfine-n", "dfine-s", "rtdetr")


def open_detector(
    model: str | Path,
    *,
    labels: str | Path | None = None,
    targets: Sequence[str] = (),
    settings: Settings | None = None,
) -> Detector:
    """Open a detector: an .onnx or .tflite file, a folder of Grounding DINO, or a name of ``lastseen models list``.

    ``labels`` names the classes of a file where they are not COCO's and not in the file; ``targets`` are
    the names that Grounding DINO searches where ``detect`` is given none.
    """
    settings = settings or Settings()
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
        remedy="give an .onnx or .tflite file, a model's folder, or a known name",
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
