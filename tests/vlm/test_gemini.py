"""The real google-genai SDK against a server of our own on the loopback, in every path Google can be reached."""

from __future__ import annotations

import base64
import datetime
import logging
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from lastseen.config.search import Planner
from lastseen.errors import BackendError, InvalidValue, MissingExtra
from lastseen.search.planning.plan import PLAN_SCHEMA, plan_client
from lastseen.vlm import EncodedImage, open_backend
from lastseen.vlm.gemini import GeminiBackend, endpoint_name
from lastseen.vlm.protocol import Usage, usage_of
from tests.vlm.loopback import ModelServer

pytest.importorskip("google.genai")
SECRET = "AIza-very-secret-1234"
VARIABLES = ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
GOOD = '{"goal_flag": false, "angle": 30, "discovered_context": {"goal_scene_type": "kitchen", "why": "mugs"}}'


def answer(text: object) -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18},
    }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    for name in (*VARIABLES, "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with ModelServer(answer("hello")) as running:
        yield running


def with_key(server: ModelServer, **options: Any) -> GeminiBackend:
    given: dict[str, Any] = {"mode": "api_key", "timeout": 5.0, "backoff": 0.001} | options
    return GeminiBackend("gemini-2.5-flash-lite", api_key=SECRET, base_url=server.url, **given)


def on_vertex(server: ModelServer, model: str = "gemini-2.5-flash-lite") -> GeminiBackend:
    from google.oauth2.credentials import Credentials

    later = datetime.datetime.now(datetime.UTC).replace(tzinfo=None) + datetime.timedelta(hours=1)
    token = Credentials(token="vertex-token", expiry=later)  # type: ignore[no-untyped-call]
    return GeminiBackend(
        model,
        mode="vertex",
        project="home",
        location="europe-west4",
        credentials=token,
        base_url=server.url,
        timeout=5.0,
    )


def test_prompt_picture_and_schema_reach_the_server(server: ModelServer) -> None:
    image = EncodedImage.from_rgb(np.zeros((2, 3, 3), dtype=np.uint8), media_type="image/png")
    assert with_key(server).complete("where?", [image], PLAN_SCHEMA) == "hello"
    (request,) = server.requests
    text, picture = request["contents"][0]["parts"]
    assert text["text"] == "where?"
    inline = picture["inlineData"]
    assert inline.get("mimeType", inline.get("mime_type")) == "image/png"
    assert base64.urlsafe_b64decode(inline["data"]) == image.data
    config = request["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseJsonSchema"]["required"] == PLAN_SCHEMA["required"]
    assert (config["temperature"], config["seed"]) == (0.0, 0)


def test_the_planner_model_is_gemini_2_5_flash_lite(server: ModelServer) -> None:
    assert Planner().model == "gemini-2.5-flash-lite"
    with_key(server).complete("where?")
    assert server.paths[0].endswith("/models/gemini-2.5-flash-lite:generateContent")


def test_without_a_schema_none_is_asked_for(server: ModelServer) -> None:
    with_key(server).complete("where?")
    assert "responseJsonSchema" not in server.requests[0].get("generationConfig", {})


def test_api_key_mode_sends_the_key_as_a_header(server: ModelServer) -> None:
    with_key(server).complete("where?")
    assert server.headers[0]["x-goog-api-key"] == SECRET


def test_vertex_mode_sends_the_token_and_names_project_and_region(server: ModelServer) -> None:
    assert on_vertex(server).complete("where?", schema=PLAN_SCHEMA) == "hello"
    assert server.headers[0]["authorization"] == "Bearer vertex-token"
    (path,) = server.paths
    assert "projects/home/locations/europe-west4/publishers/google/models/gemini-2.5-flash-lite" in path


def test_express_mode_sends_the_key_to_vertex(server: ModelServer) -> None:
    assert with_key(server, mode="express").complete("where?") == "hello"
    assert server.headers[0]["x-goog-api-key"] == SECRET
    assert "publishers/google/models/gemini-2.5-flash-lite" in server.paths[0]


def test_an_endpoint_is_called_by_its_id(server: ModelServer) -> None:
    name = endpoint_name("4321", project="home", location="europe-west4")
    backend = on_vertex(server, name)
    assert backend.complete("which room?") == "hello"
    assert "projects/home/locations/europe-west4/endpoints/4321:generateContent" in server.paths[0]
    assert backend.name.endswith("endpoints/4321")


def test_tokens_are_counted(server: ModelServer) -> None:
    backend = with_key(server)
    assert usage_of(backend) is None
    backend.complete("where?")
    assert usage_of(backend) == Usage(11, 7)


def test_a_busy_server_is_asked_again_with_growing_pauses(server: ModelServer) -> None:
    busy = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED"}}
    server.answers = [(429, busy), (503, b"down"), (200, answer("at last"))]
    pauses: list[float] = []
    assert with_key(server, backoff=0.5, sleep=pauses.append).complete("where?") == "at last"
    assert pauses == [0.5, 1.0]


def test_retries_are_bounded(server: ModelServer) -> None:
    server.answers = [(500, {"error": {"code": 500, "message": "boom", "status": "INTERNAL"}})]
    with pytest.raises(BackendError, match="status 500"):
        with_key(server, http_retries=2).complete("where?")
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": []},
        {"candidates": "x"},
        {"candidates": [{}]},
        {"candidates": [{"content": {"parts": []}}]},
        {"candidates": [{"content": {"parts": [{"text": 3}]}}]},
        {"promptFeedback": {"blockReason": "SAFETY"}},
        answer(""),
    ],
    ids=repr,
)
def test_an_answer_of_another_shape_is_one_clear_error(server: ModelServer, body: object) -> None:
    server.answers = [(200, body)]
    with pytest.raises(BackendError, match=r"gemini:gemini-2\.5-flash-lite"):
        with_key(server, http_retries=0).complete("where?")


def test_no_secret_reaches_name_repr_or_log(server: ModelServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    backend = with_key(server)
    backend.complete("where?")
    assert SECRET not in backend.name + repr(backend) + caplog.text


def test_http_retries_lie_below_the_planners_own_retry(server: ModelServer) -> None:
    server.answers = [(503, b"busy"), (200, answer("not json")), (429, b"busy"), (200, answer(GOOD))]
    planner = plan_client(with_key(server))
    assert planner.ask("find the mug").answer is not None
    assert dict(planner.failures) == {"not_json": 1}
    assert "REFUSED" in server.requests[-1]["contents"][0]["parts"][0]["text"]


def test_settings_choose_the_mode_from_the_environment(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Planner(base_url=server.url)
    monkeypatch.setenv("GEMINI_API_KEY", SECRET)
    assert open_backend("gemini", settings).complete("where?") == "hello"
    assert "/models/gemini-2.5-flash-lite" in server.paths[0]
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    assert open_backend("gemini:other-model", settings).complete("where?") == "hello"
    assert "publishers/google/models/other-model" in server.paths[1]


def test_a_key_that_is_missing_is_named(server: ModelServer) -> None:
    with pytest.raises(InvalidValue, match=r"needs GOOGLE_API_KEY or GEMINI_API_KEY; export the key"):
        open_backend("gemini")


def test_an_endpoint_needs_an_id_and_a_project(server: ModelServer) -> None:
    with pytest.raises(InvalidValue, match=r"planner\.scene_endpoint"):
        open_backend("endpoint")
    with pytest.raises(InvalidValue, match=r"planner\.cloud_project.*GOOGLE_CLOUD_PROJECT"):
        open_backend("endpoint:4321")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.genai", None)
    with pytest.raises(MissingExtra, match=r"lastseen\[gemini\]"):
        GeminiBackend("tiny", mode="api_key", api_key=SECRET)


@pytest.mark.parametrize(
    ("settings", "used"),
    [
        (Planner(), "using the key in GOOGLE_API_KEY"),
        (Planner(cloud_project="home"), "using the Vertex project home"),
        (Planner(gemini_mode="api_key"), None),
    ],
)
def test_which_wins_of_a_key_and_a_project_is_said(
    settings: Planner, used: str | None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", SECRET)
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "home")
    with caplog.at_level(logging.WARNING, logger="lastseen"):
        open_backend("gemini", settings)
    said = [record.getMessage() for record in caplog.records if record.name.startswith("lastseen")]
    assert (used is None) == (not said)
    assert used is None or used in said[0]
    assert SECRET not in "".join(said)
