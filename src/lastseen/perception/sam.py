"""Outlines of things: SAM through transformers, from a folder on this machine.

Given boxes it draws what is in each, so that any detector gets masks; given none it draws everything it sees, as a
segmenter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Outlines
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.perception.torch_models import check_folder, device_of, load_model, load_part, transformers_for
from lastseen.protocols import Detector

MODEL_TYPE = "sam"
AT_ONCE = 32
"""Prompts at once, to bound memory: each decodes to three masks."""
SAME_MASK = 0.7
"""Intersection over union from which two masks are one thing: points on one thing give its mask many times."""


class Sam:
    """A segmenter, and the maker of masks for boxes that others found."""

    def __init__(self, folder: str | Path, *, settings: Outlines | None = None) -> None:
        self.settings = settings or Outlines()
        transformers = transformers_for("SAM")
        home = Path(folder)
        check_folder(home, MODEL_TYPE)
        import torch

        self._torch: Any = torch
        self._images = load_part(transformers.SamImageProcessorPil, home)
        self._device = device_of(self.settings.device, "outlines.device")
        self._model = load_model(transformers.SamModel, home).to(self._device)

    def segment(self, frame: Frame) -> list[Detection]:
        """Everything that a grid of points lies on, largest first; one mask per thing."""
        height, width = frame.rgb.shape[:2]
        side = (np.arange(self.settings.points_per_side) + 0.5) / self.settings.points_per_side
        grid = np.stack(np.meshgrid(side * width, side * height), axis=-1).reshape(-1, 1, 2)
        masks, qualities = self._draw(frame, points=grid)
        found = [
            Detection(box=_box(mask), score=quality, mask=mask)
            for mask, quality in zip(masks, qualities, strict=True)
            if quality >= self.settings.min_quality and 0.0 < mask.mean() <= self.settings.max_area
        ]
        kept: list[Detection] = []
        for one in sorted(found, key=lambda item: (-item.score, item.box)):
            if all(_overlap(one, other) < SAME_MASK for other in kept):
                kept.append(one)
        return sorted(kept, key=lambda item: (-int(_mask(item).sum()), item.box))

    def outline(self, frame: Frame, detections: Sequence[Detection]) -> list[Detection]:
        """The same detections with masks; one that has its own keeps it, and an empty mask is left out."""
        bare = [index for index, one in enumerate(detections) if one.mask is None]
        outlined = list(detections)
        if bare:
            boxes = np.array([detections[index].box for index in bare], dtype=np.float64)
            masks, _ = self._draw(frame, boxes=boxes)
            for index, mask in zip(bare, masks, strict=True):
                if mask.any():
                    outlined[index] = replace(detections[index], mask=mask)
        return outlined

    def _draw(
        self, frame: Frame, *, boxes: NDArray[np.float64] | None = None, points: NDArray[np.float64] | None = None
    ) -> tuple[list[NDArray[np.bool_]], list[float]]:
        """The best mask for each prompt, in the size of the colour image, and how good SAM thinks it is."""
        torch = self._torch
        picture = self._images(images=Image.fromarray(frame.rgb), return_tensors="pt")
        sizes, inner = picture["original_sizes"], picture["reshaped_input_sizes"]
        scale = (inner[0].flip(0) / sizes[0].flip(0)).double().numpy()
        prompts = (boxes * np.tile(scale, 2))[:, np.newaxis] if boxes is not None else points
        assert prompts is not None
        prompts = prompts if boxes is not None else prompts * scale
        masks: list[NDArray[np.bool_]] = []
        qualities: list[float] = []
        with torch.inference_mode():
            seen = self._model.get_image_embeddings(picture["pixel_values"].to(self._device))
            for start in range(0, len(prompts), AT_ONCE):
                part = torch.from_numpy(prompts[start : start + AT_ONCE]).float()[None].to(self._device)
                given = {"input_boxes": part[:, :, 0]} if boxes is not None else {"input_points": part}
                answer = self._model(image_embeddings=seen, multimask_output=True, **given)
                scores, best = answer.iou_scores[0].cpu().max(dim=1)
                chosen = answer.pred_masks[0].cpu()[torch.arange(len(best)), best][:, None]
                whole = self._images.post_process_masks([chosen], sizes, inner)[0][:, 0]
                masks += list(whole.numpy())
                qualities += [min(max(float(score), 0.0), 1.0) for score in scores]
        return masks, qualities


class Outlined:
    """A detector whose boxes get masks by SAM."""

    def __init__(self, detector: Detector, sam: Sam) -> None:
        self._detector = detector
        self._sam = sam
        self.knows_people = bool(getattr(detector, "knows_people", False))

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """What the detector finds, outlined, in its order."""
        return self._sam.outline(frame, self._detector.detect(frame, targets))


def _box(mask: NDArray[np.bool_]) -> tuple[float, float, float, float]:
    if not mask.any():
        return 0.0, 0.0, 1.0, 1.0
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)


def _mask(detection: Detection) -> NDArray[np.bool_]:
    assert detection.mask is not None
    return detection.mask


def _overlap(one: Detection, other: Detection) -> float:
    both = int((_mask(one) & _mask(other)).sum())
    return both / max(int((_mask(one) | _mask(other)).sum()), 1)
