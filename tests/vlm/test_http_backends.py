"""What every backend behind a server does when that server refuses, is slow or is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lastseen.errors import BackendError
from lastseen.vlm import Backend
from lastseen.vlm.gemini import GeminiBackend
from lastseen.vlm.openai_compatible import OpenAICompatibleBackend
from tests.vlm.loopback import ModelServer

SECRET = "sk-very-secret-1234"
Open = Callable[..., Backend]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer({}) as running:
        yield running


@pytest.fixture(params=["gemini", "openai"])
def opened(request: pytest.FixtureRequest) -> Open:
    def at(server: ModelServer, **options: Any) -> Backend:
        given: dict[str, Any] = {"base_url": server.url, "api_key": SECRET, "timeout": 5.0, "http_retries": 0}
        if request.param == "gemini":
            return GeminiBackend("gemini-2.5-flash-lite", mode="api_key", **given | options)
        return OpenAICompatibleBackend("tiny", **given | options)

    pytest.importorskip({"gemini": "google.genai", "openai": "openai"}[request.param])
    return at


@pytest.mark.parametrize(
    ("status", "transient"),
    [(400, False), (401, False), (403, False), (404, False), (429, True), (500, True), (503, True)],
)
def test_a_refusal_says_its_status_and_whether_it_may_pass_and_never_the_key(
    opened: Open, server: ModelServer, status: int, transient: bool
) -> None:
    message = f"key {SECRET} is bad\nsecond line"
    server.answers = [(status, {"error": {"code": status, "message": message, "status": "X"}})]
    with pytest.raises(BackendError, match=f"status {status}") as caught:
        opened(server).complete("where?")
    assert caught.value.transient is transient
    assert caught.value.lasting is (status in {401, 403, 404})
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("body", [b"<html>hello</html>", b"{", b"", b"\xff\xfe", [], {}, "text", None], ids=repr)
def test_garbage_from_the_server_is_one_clear_error(opened: Open, server: ModelServer, body: object) -> None:
    server.answers = [(200, body)]
    backend = opened(server)
    with pytest.raises(BackendError) as caught:
        backend.complete("where?")
    assert backend.name in str(caught.value)


def test_a_slow_server_is_given_up(opened: Open, server: ModelServer) -> None:
    server.delay = 0.5
    with pytest.raises(BackendError, match="did not answer in time") as caught:
        opened(server, timeout=0.1).complete("where?")
    assert caught.value.transient


def test_no_server_is_told_as_such(opened: Open) -> None:
    with ModelServer({}) as gone:
        pass
    with pytest.raises(BackendError, match="cannot be reached"):
        opened(gone, timeout=1.0).complete("where?")
