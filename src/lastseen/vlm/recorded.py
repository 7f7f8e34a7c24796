"""Answers kept on a cassette: record a model once, replay it for ever, without a network and to the byte.

A cassette is JSON lines. An answer is found by the hash of all that was asked (prompt, pictures, schema), so a
changed prompt is noticed instead of being given an answer to another question.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lastseen.config.seeking import Planner
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
        for line in _read(self.path):
            self._answers.setdefault(line["key"], []).append(line)

    @property
    def name(self) -> str:
        """For example ``recorded:run.jsonl``."""
        return f"recorded:{self.path.name}"

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """The recorded answer or error; ``BackendError`` where this was never asked."""
        lines = self._answers.get(request_key(prompt, images, schema))
        if not lines:
            raise BackendError(self.name, "never heard this question", remedy="record the run again")
        line = lines.pop(0) if len(lines) > 1 else lines[0]
        if "error" in line:
            error = line["error"]
            raise BackendError(
                error["backend"], error["problem"], remedy=error["remedy"], transient=error["transient"]
            )
        answer: str = line["answer"]
        return answer


class RecordingBackend:
    """Passes every question on and writes question and answer to the cassette before giving the answer."""

    def __init__(self, inner: Backend, path: str | Path) -> None:
        self.inner = inner
        self.path = Path(path)
        self.last_usage: Usage | None = None
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("", encoding="utf-8")

    @property
    def name(self) -> str:
        """The name of the model that is recorded."""
        return self.inner.name

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
    return RecordingBackend(open_backend(inner, settings, seed=seed), path)


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidValue(
            "cassette", str(path), f"cannot be read ({error.strerror})", remedy="check the path"
        ) from error
    lines: list[dict[str, Any]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            raise InvalidValue(
                "cassette", f"{path}:{number}", f"is not JSON ({error.msg})", remedy="record the run again"
            ) from error
        if not isinstance(entry, dict) or "key" not in entry or ("answer" in entry) == ("error" in entry):
            raise InvalidValue("cassette", f"{path}:{number}", "is no recorded call", remedy="record the run again")
        lines.append(entry)
    return lines
