"""A model's folder on this machine: where it lies, whether its files are the right ones, and what its JSON says.

A model is checked every time it is opened by name: every file against the catalogue's sha256, or, where that is not
known, against the one that was written down when the user trusted it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lastseen.errors import InvalidValue
from lastseen.models.catalogue import Model, ModelFile, known_model

VARIABLE = "LASTSEEN_MODELS"
TRUSTED = "trusted.json"
"""In a model's folder: the hashes of files that the user took on trust, as they came."""


def models_folder(environment: Mapping[str, str] | None = None) -> Path:
    """The folder of all models: LASTSEEN_MODELS, or a folder below the user's data directory."""
    given = os.environ if environment is None else environment
    if given.get(VARIABLE):
        return Path(given[VARIABLE]).expanduser()
    data = given.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(data).expanduser() / "lastseen" / "models"


def is_present(name: str, *, folder: Path | None = None) -> bool:
    """Whether every file of a model is there, whatever is in it."""
    model = known_model(name)
    home = (folder or models_folder()) / name
    return all((home / file.path).is_file() for file in model.files)


def checked_folder(name: str, *, folder: Path | None = None) -> Path:
    """The folder of a model, with every file there and the one it should be."""
    model = known_model(name)
    home = (folder or models_folder()) / name
    trusted = read_trusted(home)
    for file in model.files:
        path = home / file.path
        if not path.is_file():
            trust = "" if all(each.sha256 for each in model.files) else " --trust"
            raise InvalidValue(
                "model", name, f"has no {file.path} in {home}", remedy=f"fetch it: lastseen models pull {name}{trust}"
            )
        check_file(model, file, path, expected=file.sha256 or trusted.get(file.path))
    return home


def check_file(model: Model, file: ModelFile, path: Path, *, expected: str | None) -> str:
    """The file's sha256, which must be the expected one; none expected is an error too."""
    if expected is None:
        raise InvalidValue(
            "model",
            model.name,
            f"has {file.path}, whose sha256 is not known and which was not fetched with trust",
            remedy=f"look at it, then: lastseen models pull {model.name} --trust",
        )
    found = sha256_of(path)
    if found != expected:
        raise InvalidValue(
            "model",
            model.name,
            f"has {file.path} with sha256 {found[:12]}, which must be {expected[:12]}",
            remedy=f"remove it and fetch it again: lastseen models pull {model.name}",
        )
    return found


def read_trusted(home: Path) -> dict[str, str]:
    """The hashes written down for files taken on trust; empty where there are none."""
    file = home / TRUSTED
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidValue(TRUSTED, str(file), f"cannot be read ({error})", remedy="remove it, pull again") from error
    if not isinstance(value, dict):
        raise InvalidValue(TRUSTED, str(file), "must map files to hashes", remedy="remove it and pull again")
    return {str(path): str(sha256) for path, sha256 in value.items()}


def write_trusted(home: Path, path: str, sha256: str) -> None:
    """Write down the hash of a file taken on trust."""
    known = {**read_trusted(home), path: sha256}
    (home / TRUSTED).write_text(json.dumps(known, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def sha256_of(path: Path) -> str:
    """The sha256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_hash(home: Path, files: tuple[str, ...]) -> str:
    """One hash over several files of a folder: their names and contents, in the order of the names."""
    whole = hashlib.sha256()
    for path in sorted(files):
        if (home / path).is_file():
            whole.update(f"{path}\0{sha256_of(home / path)}\n".encode())
    return whole.hexdigest()


def config_beside(model: Path, name: str = "config.json") -> dict[str, Any]:
    """The JSON file of that name next to a model, or above a folder called onnx; empty where there is none."""
    folders = [model.parent]
    if model.parent.name == "onnx":
        # one folder up belongs to this model only in the layout of converted hub folders
        folders.append(model.parent.parent)
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    return {} if found is None else read_json(found)


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object from a file; raises ``InvalidValue`` for anything else."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InvalidValue(file.name, str(file), f"cannot be read ({error})", remedy="get the model again") from error
    if not isinstance(value, dict):
        raise InvalidValue(file.name, str(file), "must hold a JSON object", remedy="get the model again")
    return value


def first_line(error: BaseException) -> str:
    """The first line of an error, at most 160 characters: runtimes of models write whole graphs into some."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:160]
