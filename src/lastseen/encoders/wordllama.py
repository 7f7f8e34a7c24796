"""WordLlama as a text encoder: averaged token vectors, read straight from the wheel's own files.

Its loader reaches for the network although the wheel holds everything, so the two files are opened here directly
and nothing is ever downloaded. Needs the extra ``text``.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import InvalidValue, MissingExtra, needs_extra

_WEIGHTS = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


class WordLlamaEncoder:
    """Unit vectors of 256 numbers from WordLlama's packaged token table."""

    def __init__(self) -> None:
        folder = _package_folder()
        with needs_extra("the WordLlama encoder", extra="text"):
            from safetensors import safe_open
            from tokenizers import Tokenizer
        weights = folder / _WEIGHTS
        with safe_open(str(weights), framework="np") as file:
            self._table: NDArray[np.float32] = np.asarray(file.get_tensor("embedding.weight"), dtype=np.float32)
        self._tokenizer: Any = Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self.name = f"wordllama-{hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}"

    @property
    def dim(self) -> int:
        """Length of every vector."""
        return int(self._table.shape[1])

    def encode_text(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One unit row per text: the mean of its token vectors."""
        rows = np.zeros((len(texts), self.dim), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            ids = self._tokenizer.encode(text.lower(), add_special_tokens=False).ids
            mean = self._table[ids].mean(axis=0) if ids else np.zeros(self.dim, dtype=np.float32)
            norm = float(np.linalg.norm(mean))
            # a text without tokens points along the first axis: a unit vector, near nothing in particular
            row[:] = mean / np.float32(norm) if norm > 0 else np.eye(1, self.dim, dtype=np.float32)[0]
        return rows

    def encode_image(self, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
        """Words only: always an error."""
        raise InvalidValue("image", len(images), "cannot be read by WordLlama", remedy="use encoder 'color-shape'")


def _package_folder() -> Path:
    """Where the package lies, found without importing it: its import pulls in what is not needed here."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("the WordLlama encoder", extra="text")
    return Path(next(iter(spec.submodule_search_locations)))
