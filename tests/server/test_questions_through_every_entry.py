"""One grid: every entry x live or opened from a file x first or later question x hard questions, one answer each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from typer.testing import CliRunner

from lastseen.cli.main import app
from lastseen.encoders import ColorShapeEncoder
from lastseen.memory.memory import Memory
from lastseen.server.run import Running
from lastseen.server.serializers import answer_json
from tests.memory.homes import ROOM, Item, stream
from tests.server.conftest import serving
from tests.server.test_mcp import address, ask

HOME = (*ROOM, Item("television", "white", (3.0, -1.0, 0.9)))
QUESTIONS = {
    "nonsense": "xyzzy",
    "colour only": "something red",
    "absent": "umbrella",
    "typo": "televison",
    "empty": "",
    "no readable word": "?! \u0000 the",
}
EXPECTED = {
    ("named", "nonsense"): ("not_found", "nothing remembered is like 'xyzzy'"),
    ("named", "colour only"): ("found", "mug fits 'something red'"),
    ("named", "absent"): ("not_found", "nothing remembered is like 'umbrella'"),
    ("named", "typo"): ("not_found", "nothing remembered is like 'televison'; did you mean 'television'?"),
    ("unnamed", "nonsense"): ("not_found", "none of the 6 things remembered has a name"),
    ("unnamed", "colour only"): ("found", "something fits 'something red'"),
    ("unnamed", "absent"): ("not_found", "none of the 6 things remembered has a name"),
    ("unnamed", "typo"): ("not_found", "none of the 6 things remembered has a name; did you mean 'television'?"),
}


def seen(memory: Memory, *, named: bool) -> Memory:
    for frame, observations in stream(6, HOME):
        memory.observe(frame, [one if named else replace(one, labels={}) for one in observations])
    return memory


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("asked")
    paths = {name: folder / f"{name}.lastseen" for name in ("named", "unnamed")}
    for name, path in paths.items():
        seen(Memory.open(path, image_encoder=ColorShapeEncoder(), wall_clock=None), named=name == "named").close()
    return paths


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    with Memory.open() as memory, serving(memory) as server:
        yield server


def opened(path: Path, *, live: bool) -> Memory:
    """A memory that nobody has asked yet, with the encoder that a served source gives it."""
    if live:
        return seen(Memory.open(image_encoder=ColorShapeEncoder(), wall_clock=None), named=path.stem == "named")
    return Memory.open(path, read_only=True, image_encoder=ColorShapeEncoder())


def through(entry: str, text: str, running: Running, path: Path) -> Any:
    if entry == "Python":
        return json.loads(json.dumps(answer_json(running.service.memory.find(text))))
    if entry == "CLI":
        result = CliRunner().invoke(app, ["find", text, "-m", str(path), "--json"], catch_exceptions=False)
        answer = json.loads(result.stdout)
        assert result.exit_code == (1 if answer["status"] == "not_found" else 0)
        return answer
    if entry == "MCP":
        return ask(address(running), "find_object", query=text)
    wide = {"include_tentative": "true", "include_removed": "true"} if entry == "viewer" else {}
    parameters = {"query": text, "top_k": "5", **wide}
    got = requests.get(f"{running.address.base}/search/semantic", params=parameters, timeout=60)
    assert got.status_code == 200, got.text
    return got.json()


@pytest.mark.parametrize("kind", QUESTIONS)
@pytest.mark.parametrize("home", ["named", "unnamed"])
@pytest.mark.parametrize("live", [True, False], ids=["live", "file"])
def test_a_hard_question_has_one_answer_through_every_entry(
    running: Running, files: dict[str, Path], kind: str, home: str, live: bool
) -> None:
    text = QUESTIONS[kind]
    answers = {}
    for entry in ("Python", "CLI", "REST", "MCP", "viewer"):
        # each entry is the first to ask a memory of its own, and asks again
        with opened(files[home], live=live) as memory:
            before = running.service.memory
            running.service.replace_memory(memory, [])
            try:
                first, later = (through(entry, text, running, files[home]) for _ in range(2))
            finally:
                running.service.replace_memory(before, [])
        assert first == later
        told = [(one["id"], round(one["score"], 2), one["fits"], one.get("place")) for one in first["results"]]
        answers[entry] = first["status"], first["reason"], told
    assert len({repr(answer) for answer in answers.values()}) == 1, answers
    status, reason, told = answers["Python"]
    if (home, kind) in EXPECTED:
        assert (status, reason) == EXPECTED[home, kind]
    else:
        assert (status, reason, told) == ("not_found", f"{text.strip()!r} names nothing to look for", [])
    assert (status == "found") == any(fits for _, _, fits, _ in told)
