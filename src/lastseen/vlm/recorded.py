"""Answers kept on a cassette: record a model once, replay it for ever, without a network and to the byte.

A cassette is JSON lines. An answer is found by the hash of all that was asked (prompt, pictures, schema), so a
changed prompt is noticed instead of being given an answer to another question. A path that ends with a slash is a
directory with one cassette per episode, arm and role of an evaluation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm.protocol import Backend, EncodedImage, Usage, open_backend, usage_of


def request_key(prompt: str, images: Sequence[EncodedImage], schema: Mapping[str, Any] | None) -> str:
    """The hash of all that a model is given."""
    digest = hashlib.sha256()
    asked = [prompt, [hashlib.sha256(image.data).hexdigest() for image in images], schema]
    digest.update(json.dumps(asked, sort_keys=True).encode("utf-8"))
    return digest.hexdigest()


class RecordedBackend:
    """Replays a cassette; equal questions get their answers in the order they were recorded, the last for ever."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.last_usage: Usage | None = None
        self._answers: dict[str, list[dict[str, Any]]] = {}
        header, lines = _read(self.path)
        self.name = str(header.get("model", f"recorded:{self.path.name}"))
        """That of the model that was recorded: what is replayed is logged as it was."""
        for line in lines:
            self._answers.setdefault(line["key"], []).append(line)

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The recorded answer or error; ``BackendError`` where this was never asked."""
        lines = self._answers.get(request_key(prompt, images, schema))
        if not lines:
            raise BackendError(self.name, "never heard this question", remedy="record the run again", lasting=True)
        line = lines.pop(0) if len(lines) > 1 else lines[0]
        if "error" in line:
            error = line["error"]
            raise BackendError(
                error["backend"], error["problem"], remedy=error["remedy"], transient=error["transient"]
            )
        return line["answer"]


class RecordingBackend:
    """Passes every question on and writes question and answer to the cassette before giving the answer."""

    def __init__(self, inner: Backend, path: str | Path, *, backend: str = "") -> None:
        self.inner, self.name = inner, inner.name
        self.path = Path(path)
        self.last_usage: Usage | None = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        header = {"model": inner.name, "backend": backend or inner.name}
        self.path.write_text(json.dumps(header) + "\n", encoding="utf-8")

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The inner model's answer; its errors are recorded too, and raised."""
        line: dict[str, Any] = {"key": request_key(prompt, images, schema), "prompt": prompt}
        try:
            answer = self.inner.complete(prompt, images, schema)
        except BackendError as error:
            line["error"] = {
                "backend": error.backend,
                "problem": error.problem,
                "remedy": error.remedy,
                "transient": error.transient,
            }
            self._write(line)
            raise
        self.last_usage = usage_of(self.inner)
        self._write({**line, "answer": answer})
        return answer

    def _write(self, line: dict[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as cassette:
            cassette.write(json.dumps(line) + "\n")


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``recorded:CASSETTE``."""
    del settings, seed
    if not argument:
        raise InvalidValue("backend", "recorded", "names no cassette", remedy="write recorded:run.jsonl")
    return RecordedBackend(argument)


def recorder_from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``record:CASSETTE:BACKEND``, for example ``record:run.jsonl:gemini``."""
    path, _, inner = argument.partition(":")
    if not path or not inner:
        raise InvalidValue(
            "backend", f"record:{argument}", "names no cassette or no model", remedy="write record:run.jsonl:gemini"
        )
    return RecordingBackend(open_backend(inner, settings, seed=seed), path, backend=inner)


def for_episode(name: str, key: str) -> str:
    """A backend's name with the cassette of one episode where it names a directory of them; others stay.

    >>> for_episode("record:tapes/:gemini", "7-context-planner")
    'record:tapes/7-context-planner.jsonl:gemini'
    """
    kind, _, argument = name.partition(":")
    path, colon, inner = argument.partition(":")
    if kind not in ("record", "recorded") or not path.endswith("/"):
        return name
    return f"{kind}:{path}{key}.jsonl{colon}{inner}"


def recorded_backend(name: str, *, role: Literal["planner", "scene"] = "planner") -> str:
    """The backend behind a cassette: what a run that records and one that replays have in common.

    >>> recorded_backend("record:tapes/:gemini"), recorded_backend("offline")
    ('gemini', 'offline')
    """
    kind, _, argument = name.partition(":")
    if kind == "record":
        return argument.partition(":")[2]
    if kind != "recorded":
        return name
    files = sorted(Path(argument).glob(f"*-{role}.jsonl")) if argument.endswith("/") else [Path(argument)]
    if not files:
        raise InvalidValue(
            "cassette", argument, "holds none", remedy="record the run first, with record:DIR/:BACKEND"
        )
    header, _ = _read(files[0])
    return str(header.get("backend", name))


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header of a cassette, empty in one without, and its calls."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidValue(
            "cassette", str(path), f"cannot be read ({error.strerror})", remedy="check the path"
        ) from error
    header: dict[str, Any] = {}
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidValue(
                "cassette", f"{path}:{number}", f"is not JSON ({error.msg})", remedy="record the run again"
            ) from error
        if number == 1 and isinstance(entry, dict) and "model" in entry:
            header = entry
            continue
        if not isinstance(entry, dict) or "key" not in entry or ("answer" in entry) == ("error" in entry):
            raise InvalidValue("cassette", f"{path}:{number}", "is no recorded call", remedy="record the run again")
        lines.append(entry)
    return header, lines
