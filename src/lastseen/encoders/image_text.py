"""Images and text in one embedding space: CLIP and SigLIP 2 through fastembed, from files on this machine.

Nothing is downloaded here: the files come from a folder of the user's, or by name from the models folder, where each
is checked first. Both towers load on first use, so that asking by text never loads the other one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Encoding
from lastseen.errors import InvalidValue, needs_extra
from lastseen.models.folder import checked_folder, first_line, folder_hash

_OPTIONAL = frozenset({"config.json", "special_tokens_map.json"})


@dataclass(frozen=True, slots=True)
class Tower:
    """One half of a model: fastembed's name for it, and its files in the folder."""

    fastembed_name: str
    below: str
    files: tuple[str, ...]

    def paths(self, *, needed: bool) -> tuple[str, ...]:
        """Its files below the model's folder; only those it cannot do without when ``needed``."""
        return tuple(self.below + file for file in self.files if not (needed and file in _OPTIONAL))


_WORDS = ("tokenizer.json", "tokenizer_config.json", "config.json", "special_tokens_map.json")


class ImageTextEncoder:
    """Unit vectors of crops and of texts in one space; ``name`` holds the hash of all files."""

    family: ClassVar[str]
    vision: ClassVar[Tower]
    text: ClassVar[Tower]

    def __init__(self, folder: str | Path | None = None, *, settings: Encoding | None = None) -> None:
        """Open the model in ``folder``, or, without one, the checked one in the models folder."""
        with needs_extra(f"the encoder {self.family!r}", extra="clip"):
            import fastembed
            import onnxruntime
        onnxruntime.disable_telemetry_events()
        self._fastembed: Any = fastembed
        self._settings = settings or Encoding()
        self._folder = checked_folder(self.family) if folder is None else Path(folder)
        for path in dict.fromkeys(self.vision.paths(needed=True) + self.text.paths(needed=True)):
            if not (self._folder / path).is_file():
                raise InvalidValue(
                    "encoder", f"{self.family}:{self._folder}", f"has no {path}", remedy="see docs/models.md"
                )
        files = tuple(dict.fromkeys(self.vision.paths(needed=False) + self.text.paths(needed=False)))
        self.name = f"{self.family}-{folder_hash(self._folder, files)[:12]}"
        self._towers: dict[str, Any] = {}
        self._dim: int | None = None

    @property
    def dim(self) -> int:
        """Length of every vector."""
        if self._dim is None:
            self._dim = int(self._rows(self._tower("text"), ["a thing"]).shape[1])
        return self._dim

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text."""
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return self._checked(self._rows(self._tower("text"), list(texts)))

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """One unit row per RGB or RGBA crop; what surrounds a thing helps these models, so a mask is not applied."""
        if not images:
            return np.zeros((0, self.dim), dtype=np.float32)
        pictures = []
        for image in images:
            if image.ndim != 3 or image.shape[2] not in (3, 4) or image.dtype != np.uint8 or image.size == 0:
                raise InvalidValue("image", image, "must be a uint8 RGB or RGBA crop", remedy="(height, width, 3)")
            pictures.append(Image.fromarray(np.ascontiguousarray(image[:, :, :3])))
        return self._checked(self._rows(self._tower("vision"), pictures))

    def _tower(self, side: str) -> Any:
        if side not in self._towers:
            tower = self.vision if side == "vision" else self.text
            kind = self._fastembed.ImageEmbedding if side == "vision" else self._fastembed.TextEmbedding
            try:
                self._towers[side] = kind(
                    tower.fastembed_name,
                    specific_model_path=str(self._folder / tower.below),
                    threads=self._settings.threads or None,
                    providers=["CPUExecutionProvider"],
                    local_files_only=True,
                )
            except Exception as error:
                # whatever it is, it comes from the files: onnxruntime's and tokenizers' errors have no common base
                raise self._unusable(side, error) from error
        return self._towers[side]

    def _rows(self, tower: Any, inputs: Sequence[object]) -> NDArray[np.float32]:
        try:
            rows = np.stack(list(tower.embed(inputs, batch_size=self._settings.batch))).astype(np.float32)
        except Exception as error:
            raise self._unusable("a tower", error) from error
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if rows.ndim != 2 or not np.isfinite(rows).all() or not (lengths > 0).all():
            raise InvalidValue("encoder", self.name, "gives vectors without direction", remedy="get the model again")
        return rows / lengths

    def _checked(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        if rows.shape[1] != self.dim:
            raise InvalidValue(
                "encoder", self.name, f"gives {rows.shape[1]} and {self.dim} numbers", remedy="use one model's files"
            )
        return rows

    def _unusable(self, side: str, error: Exception) -> InvalidValue:
        problem = f"cannot run {side} ({first_line(error)})"
        return InvalidValue("encoder", f"{self.family}:{self._folder}", problem, remedy="get the model again")


class ClipEncoder(ImageTextEncoder):
    """CLIP ViT-B/32, 512 numbers; a folder holds vision/ and text/ as fastembed's two repositories have them."""

    family = "clip"
    vision = Tower("Qdrant/clip-ViT-B-32-vision", "vision/", ("model.onnx", "preprocessor_config.json"))
    text = Tower("Qdrant/clip-ViT-B-32-text", "text/", ("model.onnx", *_WORDS))


class Siglip2Encoder(ImageTextEncoder):
    """SigLIP 2 base, 768 numbers, many languages; a folder holds onnx/ and the files beside it."""

    family = "siglip2"
    vision = Tower("google/siglip2-base-patch16-224", "", ("onnx/vision_model.onnx", "preprocessor_config.json"))
    text = Tower("google/siglip2-base-patch16-224", "", ("onnx/text_model.onnx", *_WORDS))
