from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm import EncodedImage, open_backend
from lastseen.vlm.mock import ScriptedBackend
from lastseen.vlm.recorded import RecordedBackend, RecordingBackend

DOWN = BackendError("server", "is down", remedy="wait", transient=True)


def picture(value: int) -> EncodedImage:
    return EncodedImage.from_rgb(np.full((2, 2, 3), value, np.uint8), media_type="image/png")


def test_what_was_recorded_is_replayed(tmp_path: Path) -> None:
    tape = tmp_path / "run.jsonl"
    recorder = RecordingBackend(ScriptedBackend(["one", "two", "three"]), tape)
    asked = [("a", [picture(0)]), ("a", [picture(1)]), ("b", [])]
    said = [recorder.complete(prompt, images, {"type": "object"}) for prompt, images in asked]
    replay = RecordedBackend(tape)
    assert [replay.complete(prompt, images, {"type": "object"}) for prompt, images in reversed(asked)] == said[::-1]


def test_equal_questions_get_their_answers_in_order_and_the_last_for_ever(tmp_path: Path) -> None:
    tape = tmp_path / "run.jsonl"
    recorder = RecordingBackend(ScriptedBackend(["one", "two"]), tape)
    recorder.complete("a")
    recorder.complete("a")
    replay = RecordedBackend(tape)
    assert [replay.complete("a") for _ in range(3)] == ["one", "two", "two"]


def test_errors_are_recorded_too(tmp_path: Path) -> None:
    tape = tmp_path / "run.jsonl"
    with pytest.raises(BackendError):
        RecordingBackend(ScriptedBackend([DOWN]), tape).complete("a")
    with pytest.raises(BackendError, match="server is down; wait") as caught:
        RecordedBackend(tape).complete("a")
    assert caught.value.transient


def test_a_question_never_asked_is_no_guess(tmp_path: Path) -> None:
    tape = tmp_path / "run.jsonl"
    RecordingBackend(ScriptedBackend(["one"]), tape).complete("a")
    with pytest.raises(BackendError, match="never heard this question; record the run again"):
        RecordedBackend(tape).complete("a", [picture(0)])


def test_both_open_by_name(tmp_path: Path) -> None:
    tape = tmp_path / "run.jsonl"
    said = open_backend(f"record:{tape}:mock:valid", seed=3).complete("a")
    assert open_backend(f"recorded:{tape}").complete("a") == said


@pytest.mark.parametrize("name", ["recorded", "record", "record:only.jsonl"])
def test_a_missing_part_of_the_name_is_told(name: str) -> None:
    with pytest.raises(InvalidValue, match=r"names no cassette"):
        open_backend(name)


@pytest.mark.parametrize(
    ("line", "problem"),
    [("{", "is not JSON"), ("[]", "is no recorded call"), (json.dumps({"key": "x"}), "is no recorded call")],
)
def test_a_broken_cassette_is_refused_by_line(tmp_path: Path, line: str, problem: str) -> None:
    tape = tmp_path / "run.jsonl"
    tape.write_text(line + "\n")
    with pytest.raises(InvalidValue, match=problem):
        RecordedBackend(tape)


def test_a_missing_cassette_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        RecordedBackend(tmp_path / "none.jsonl")
