"""An open-vocabulary detector: Grounding DINO through transformers, from a folder on this machine.

The targets become one sentence ("mug. red chair."), and each box is scored against the tokens of each of them. Labels
are therefore always among the targets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Grounding
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.perception.boxes import MAX_NAMES, OTHER_SCORE, corners, merge_same
from lastseen.perception.torch_models import check_folder, device_of, load_model, load_part, transformers_for

MODEL_TYPE = "grounding-dino"


class GroundingDino:
    """A detector of anything that has a name; ``targets`` given here are used where ``detect`` is given none."""

    asked = True
    """It finds nothing but what it is asked for."""

    def __init__(
        self,
        folder: str | Path,
        *,
        targets: Sequence[str] = (),
        settings: Grounding | None = None,
    ) -> None:
        self.settings = settings or Grounding()
        self._targets = tuple(targets)
        transformers = transformers_for("Grounding DINO")
        home = Path(folder)
        check_folder(home, MODEL_TYPE)
        import torch

        if self.settings.threads:
            torch.set_num_threads(self.settings.threads)
        self._torch: Any = torch
        self._images = load_part(transformers.GroundingDinoImageProcessorPil, home)
        self._words = load_part(transformers.AutoTokenizer, home, trust_remote_code=False)
        self._device = device_of(self.settings.device, "grounding.device")
        self._model = load_model(transformers.GroundingDinoForObjectDetection, home).to(self._device)

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        """Boxes of the targets, best first; raises ``InvalidValue`` where there is no target."""
        names = list(dict.fromkeys(targets or self._targets))
        if not names:
            raise InvalidValue(
                "targets",
                [],
                "are needed: Grounding DINO finds what it is asked for",
                remedy="--look-for 'mug, chair'",
            )
        picture = self._images(images=Image.fromarray(frame.rgb), return_tensors="pt").to(self._device)
        size = np.array([frame.intrinsics.width, frame.intrinsics.height] * 2, dtype=np.float64)
        found: list[Detection] = []
        for start in range(0, len(names), self.settings.names_at_once):
            middles, scores = self._ask(picture, names[start : start + self.settings.names_at_once])
            edges = np.clip(corners(middles) * size, 0.0, size)
            found += self._detections(edges, scores, names[start : start + self.settings.names_at_once])
        return merge_same(found)

    def _ask(self, picture: Any, names: Sequence[str]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Relative boxes (n, 4), and the score of each for each name (n, names)."""
        sentence, spans = prompt(names)
        words = self._words(sentence, return_tensors="pt", return_offsets_mapping=True)
        offsets = words.pop("offset_mapping")[0].tolist()
        limit = self._model.config.max_text_len
        if len(offsets) > limit:
            raise InvalidValue(
                "targets", sentence, f"are {len(offsets)} tokens of {limit}", remedy="lower grounding.names_at_once"
            )
        with self._torch.inference_mode():
            answer = self._model(**picture, **words.to(self._device))
        chances = self._torch.sigmoid(answer.logits[0].cpu()).double().numpy()
        scores = np.zeros((len(chances), len(names)))
        for column, (first, last) in enumerate(spans):
            tokens = [i for i, (start, end) in enumerate(offsets) if first <= start and end <= last and end > start]
            if tokens:
                # the mean: "red mug" asks for both words, and a red chair has only one of them
                scores[:, column] = chances[:, tokens].mean(axis=1)
        return answer.pred_boxes[0].cpu().double().numpy(), scores

    def _detections(
        self, edges: NDArray[np.float64], scores: NDArray[np.float64], names: Sequence[str]
    ) -> list[Detection]:
        found = []
        for (left, top, right, bottom), row in zip(edges.tolist(), scores, strict=True):
            best = float(row.max())
            if best < self.settings.min_score or right - left < 1.0 or bottom - top < 1.0:
                continue
            order = np.argsort(-row, kind="stable")[:MAX_NAMES].tolist()
            floor = min(OTHER_SCORE, best)
            labels = {names[i]: float(row[i]) for i in order if row[i] >= floor}
            found.append(Detection(box=(left, top, right, bottom), score=best, labels=labels))
        return found


def prompt(names: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """The sentence that asks for all names, and where in it each of them stands.

    >>> prompt(["Mug", "red chair"])
    ('mug. red chair.', [(0, 3), (5, 14)])
    """
    text, spans = "", []
    for name in names:
        # a full stop parts names, so none may stand inside one
        plain = " ".join(re.sub(r"[^\w\s'-]", " ", name.lower()).split())
        if not plain:
            raise InvalidValue("targets", name, "names nothing", remedy="give words, as in 'red mug'")
        text += " " if text else ""
        spans.append((len(text), len(text) + len(plain)))
        text += plain + "."
    return text, spans
