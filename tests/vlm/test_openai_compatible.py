"""The real SDK against a server of our own on the loopback: what it sends, and what it makes of bad answers."""

from __future__ import annotations

import base64
import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lastseen import schemas
from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue, MissingExtra
from lastseen.vlm import EncodedImage, open_backend
from lastseen.vlm.openai_compatible import OpenAICompatibleBackend, portable_schema
from tests.vlm.loopback import ModelServer

pytest.importorskip("openai")
SECRET = "sk-very-secret-1234"


def completion(content: object, **message: object) -> dict[str, Any]:
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "tiny",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": content, **message},
            }
        ],
    }


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(completion("hello"), path="/v1") as running:
        yield running


def backend(server: ModelServer, **options: Any) -> OpenAICompatibleBackend:
    return OpenAICompatibleBackend("tiny", base_url=server.url, api_key=SECRET, **({"timeout": 5.0} | options))


def test_prompt_picture_and_schema_reach_the_server(server: ModelServer) -> None:
    image = EncodedImage.from_rgb(np.zeros((2, 3, 3), dtype=np.uint8), media_type="image/png")
    assert backend(server).complete("where?", [image], schemas.schema("hypothesis")) == "hello"
    (request,) = server.requests
    text, picture = request["messages"][0]["content"]
    assert text == {"type": "text", "text": "where?"}
    assert picture["image_url"]["url"] == f"data:image/png;base64,{base64.b64encode(image.data).decode()}"
    sent = request["response_format"]["json_schema"]["schema"]
    assert sent["required"] == ["target_status", "action", "confidence", "rationale"]
    assert "allOf" not in sent
    assert (request["model"], request["temperature"], request["seed"]) == ("tiny", 0.0, 0)


def test_without_a_schema_none_is_asked_for(server: ModelServer) -> None:
    backend(server).complete("where?")
    assert "response_format" not in server.requests[0]


def test_a_busy_server_is_asked_again(server: ModelServer) -> None:
    server.answers = [(429, {"error": {"message": "busy"}}), (503, b"down"), (200, completion("at last"))]
    assert backend(server).complete("where?") == "at last"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        completion(None),
        completion(""),
        completion([1]),
        completion("no", refusal="I would rather not"),
    ],
    ids=repr,
)
def test_an_answer_of_another_shape_is_one_clear_error(server: ModelServer, body: object) -> None:
    server.answers = [(200, body)]
    with pytest.raises(BackendError, match="openai:tiny"):
        backend(server, http_retries=0).complete("where?")


def test_no_secret_reaches_name_repr_or_log(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    asked = backend(server)
    asked.complete("where?")
    assert [each["authorization"] for each in server.headers] == [f"Bearer {SECRET}"]
    assert SECRET not in asked.name + repr(asked) + caplog.text


def test_settings_name_server_model_and_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    settings = Planner(base_url=server.url, model="from-settings", api_key_variable="MY_KEY")
    assert open_backend("openai", settings).complete("where?") == "hello"
    assert open_backend("openai:other", settings, seed=4).name == "openai:other"
    assert (server.requests[0]["model"], server.headers[0]["authorization"]) == ("from-settings", f"Bearer {SECRET}")


def test_a_local_server_needs_no_key(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert open_backend("openai", Planner(base_url=server.url)).complete("where?") == "hello"


def test_neither_server_nor_key_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidValue, match=r"planner\.base_url.*OPENAI_API_KEY is not set"):
        open_backend("openai")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[openai\]"):
        OpenAICompatibleBackend("tiny")


def test_a_portable_schema_keeps_the_shape() -> None:
    schema = {"$id": "x", "properties": {"title": {"type": "string", "title": "A"}}, "allOf": []}
    assert portable_schema(schema) == {"properties": {"title": {"type": "string"}}}
