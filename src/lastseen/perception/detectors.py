"""Detectors by what the user has: the path decides which one opens it, and only that one is imported."""

from __future__ import annotations

from pathlib import Path

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.protocols import Detector


def open_detector(
    model: str | Path, *, labels: str | Path | None = None, settings: Settings | None = None
) -> Detector:
    """Open a detector: an .onnx file of a DETR-like model, with a labels file where its classes are not COCO's."""
    settings = settings or Settings()
    path = Path(model)
    if path.suffix.lower() == ".onnx":
        from lastseen.perception.onnx_detector import OnnxDetector

        return OnnxDetector(path, labels=labels, settings=settings.detector)
    raise InvalidValue("detector", str(model), "is no detector", remedy="give an .onnx file")
