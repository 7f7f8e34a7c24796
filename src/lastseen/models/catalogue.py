"""The models that can be had by name: files, addresses, licences, and the sha256 that each file must have.

They are in ``catalogue.toml``. A hash stands there only where another public project publishes it for the same
address; where none is known the entry says so, and fetching it needs the user's trust. A wrong entry cannot harm:
what does not match is not loaded.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lastseen.errors import InvalidValue

_HUB = "https://huggingface.co"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a model: its place in the model's folder, where it comes from, and what it must be.

    ``size`` is in bytes, rounded where the exact one is not known; ``sha256`` is None where no hash is known.
    """

    path: str
    url: str
    size: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A model by name: what it is for, its licence and its files."""

    name: str
    use: str
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files)

    @property
    def verified(self) -> bool:
        """Whether the hash of every file is known."""
        return all(file.sha256 is not None for file in self.files)


def _read(name: str, tree: dict[str, Any]) -> Model:
    files = []
    for part in tree["parts"]:
        address = f"{_HUB}/{part['repository']}/resolve/{part['revision']}"
        files += [
            ModelFile(part.get("below", "") + path, f"{address}/{path}", size, *sha256)
            for path, size, *sha256 in part["files"]
        ]
    return Model(name, tree["use"], tree["licence"], tuple(files))


_TREE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CATALOGUE = {name: _read(name, tree) for name, tree in _TREE.items()}
"""Every model known by name, in the order of the names."""


def known_model(name: str) -> Model:
    """The catalogue's entry of that name."""
    if name not in CATALOGUE:
        raise InvalidValue("model", name, "is not in the catalogue", remedy=f"choose one of {', '.join(CATALOGUE)}")
    return CATALOGUE[name]
