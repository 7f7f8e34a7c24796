"""``lastseen vlm check``, and which role asks which model: a server on the loopback tells them apart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lastseen.config import settings_from_mapping
from tests.cli.commands import call
from tests.vlm.loopback import ModelServer

pytest.importorskip("openai")
PLAN = {"goal_flag": False, "angle": 30, "discovered_context": {"goal_scene_type": "hall", "why": "open"}}
SCENE = {"scene_type": "kitchen", "objects": ["stove"], "description": "A kitchen."}


def by_model(request: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(PLAN if request["model"] == "plans" else SCENE)
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    }


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(by_model, path="/v1") as running:
        yield running


def test_check_calls_each_role_once_and_says_what_it_cost(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LASTSEEN__PLANNER__BASE_URL", server.url)
    assert call("vlm", "check", "--planner", "openai:plans", "--scene", "openai:names") == 0
    assert [request["model"] for request in server.requests] == ["plans", "names"]
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("planner openai:plans: ")
    assert said[0].endswith(" s in 1 call, 1000 + 100 tokens, 0.000140 USD")
    assert said[2].startswith("scene analyzer openai:names: ")
    assert said[3] == "  kitchen: A kitchen."


def test_the_scene_analyzer_may_have_a_server_and_a_model_of_its_own(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LASTSEEN__SCENE__BASE_URL", server.url)
    monkeypatch.setenv("LASTSEEN__SCENE__MODEL", "names")
    assert call("vlm", "check", "--scene", "openai") == 0
    assert [request["model"] for request in server.requests] == ["names"]
    assert capsys.readouterr().out.startswith("planner offline: ")


def test_a_model_that_answers_prose_is_told_and_the_exit_code_is_one(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LASTSEEN__PLANNER__BASE_URL", server.url)
    assert call("vlm", "check", "--planner", "openai:names") == 1
    said = capsys.readouterr().out
    assert "missing_field: goal_flag" in said
    assert "  no usable answer" in said


def test_a_backend_that_is_not_known_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("vlm", "check", "--planner", "oracle") == 1
    assert capsys.readouterr().out.startswith("planner: backend = 'oracle': is not known; choose one of ")


def test_in_a_search_each_role_asks_its_own_model_and_the_log_names_both(server: ModelServer) -> None:
    pytest.importorskip("embreex")
    from lastseen.search.search import Search
    from tests.search.tiny_search import SETTINGS, TinyRobot

    roles = settings_from_mapping(
        {
            "planner": {"backend": "openai:plans", "base_url": server.url},
            "scene": {"backend": "openai:names"},
        }
    )
    settings = replace(SETTINGS, planner=roles.planner, scene=roles.scene)
    with Search("zeppelin", TinyRobot(), settings=settings) as search:
        while not search.loop.calls:
            search.step()
        header = search.log.records[0]
    asked = {request["model"]: "angle" in json.dumps(request["response_format"]) for request in server.requests}
    assert asked == {"plans": True, "names": False}
    assert (header["backend"], header["scene_backend"]) == ("openai:plans", "openai:names")
