from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import requests
from starlette.requests import HTTPConnection

from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory
from lastseen.server.run import Running, token_for
from lastseen.server.security import Access, Sessions
from tests.memory.homes import walk
from tests.server.conftest import serving

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Running]:
    with Memory.open() as memory:
        walk(memory, 4)
        with serving(memory, token=TOKEN) as running:
            yield running


def test_the_page_is_reached_without_its_slash_and_without_a_token() -> None:
    with Memory.open() as memory, serving(memory, token=TOKEN) as running:
        answer = requests.get(f"{running.address.base}/viewer", timeout=60)
        assert answer.status_code == 200
        assert answer.url.endswith("/viewer/")


def test_another_address_needs_a_token_unless_said_otherwise() -> None:
    assert token_for("127.0.0.1", given=None, insecure=False) is None
    made = token_for("0.0.0.0", given=None, insecure=False)
    assert made is not None
    assert len(made) >= 40
    assert token_for("0.0.0.0", given=None, insecure=True) is None
    assert token_for("0.0.0.0", given=TOKEN, insecure=True) == TOKEN


def test_a_short_token_is_refused() -> None:
    with pytest.raises(InvalidValue, match="16 or more"):
        Access(token="1234", host="0.0.0.0", port=1, max_sessions=4)


def test_nothing_is_told_without_the_token(guarded: Running) -> None:
    base = guarded.address.base
    for path in ("/objects", "/stats", "/metrics", "/openapi.json", "/objects/obj-1/image", "/nowhere"):
        answer = requests.get(base + path, timeout=60)
        assert answer.status_code == 401
        assert answer.json()["error"] == "unauthorized"
    for path in ("/healthz", "/readyz", "/viewer/", "/session"):
        assert requests.get(base + path, timeout=60).status_code == 200


def test_the_token_opens(guarded: Running) -> None:
    base = guarded.address.base
    assert requests.get(f"{base}/objects", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60).ok
    for wrong in (f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer ", TOKEN):
        assert requests.get(f"{base}/objects", headers={"Authorization": wrong}, timeout=60).status_code == 401


def test_a_page_exchanges_the_token_for_a_cookie(guarded: Running) -> None:
    base = guarded.address.base
    page = requests.Session()
    assert page.get(f"{base}/session", timeout=60).json() == {"required": True, "authenticated": False}
    assert page.post(f"{base}/session", json={"token": "a-wrong-token-for-this"}, timeout=60).status_code == 401
    answer = page.post(f"{base}/session", json={"token": TOKEN}, timeout=60)
    assert answer.status_code == 204
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie
    assert page.get(f"{base}/objects", timeout=60).ok
    page.delete(f"{base}/session", timeout=60)
    page.cookies.set(f"lastseen_session_{guarded.address.port}", cookie.split("=")[1].split(";")[0])
    assert page.get(f"{base}/objects", timeout=60).status_code == 401


def test_sessions_are_bounded() -> None:
    sessions = Sessions(2)
    first, second, third = (sessions.begin() for _ in range(3))
    assert not sessions.holds(first)
    assert sessions.holds(second)
    assert sessions.holds(third)
    assert not sessions.holds(None)


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "evil.example:8765"),
        ("Host", "127.0.0.1.evil.example"),
        ("Host", "192.168.1.7"),
        ("Origin", "http://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1:1"),
        ("Sec-Fetch-Site", "cross-site"),
    ],
)
def test_a_foreign_page_gets_nothing(home: Running, header: str, value: str) -> None:
    answer = requests.get(f"{home.address.base}/objects", headers={header: value}, timeout=60)
    assert answer.status_code == 400
    assert "access-control-allow-origin" not in answer.headers


def test_the_own_page_may_ask(home: Running) -> None:
    base = home.address.base
    assert requests.get(f"{base}/objects", headers={"Origin": base, "Sec-Fetch-Site": "same-origin"}, timeout=60).ok
    named = {"Host": f"localhost:{home.address.port}", "Origin": f"http://localhost:{home.address.port}"}
    assert requests.get(f"{base}/objects", headers=named, timeout=60).ok


def test_names_are_checked_and_numbers_pass_where_the_network_may_ask() -> None:
    open_to_all = Access(token=None, host="0.0.0.0", port=1, max_sessions=1, allowed=["robot.local"])
    assert open_to_all.knows_host("192.168.1.7:8765")
    assert open_to_all.knows_host("[fd00::1]:8765")
    assert open_to_all.knows_host("ROBOT.local")
    assert not open_to_all.knows_host("evil.example")
    assert not open_to_all.knows_host(None)
    assert not open_to_all.knows_host("[::1")


def test_a_form_cannot_post(home: Running) -> None:
    url = f"{home.address.base}/corrections/undo"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        assert requests.post(url, data="{}", headers={"Content-Type": kind}, timeout=60).status_code == 415
    assert requests.options(url, headers={"Access-Control-Request-Method": "POST"}, timeout=60).status_code == 405


def test_a_body_is_limited_by_what_it_says_and_must_say_it(home: Running) -> None:
    def answer(lines: list[str]) -> str:
        with socket.create_connection(("127.0.0.1", home.address.port), timeout=60) as peer:
            head = ["POST /corrections/undo HTTP/1.1", f"Host: 127.0.0.1:{home.address.port}", *lines]
            peer.sendall("\r\n".join([*head, "Content-Type: application/json", "", ""]).encode())
            return peer.recv(100).decode().split("\r\n")[0]

    assert " 413 " in answer(["Content-Length: 99999999999"])
    assert " 411 " in answer(["Transfer-Encoding: chunked"])
    assert " 411 " in answer([])


def test_cookies_that_are_none_are_no_error() -> None:
    access = Access(token=TOKEN, host="127.0.0.1", port=1, max_sessions=1)
    for text in ("", ";;;=", "lastseen_session_1", "lastseen_session_1=\x00"):
        assert not access.allows(HTTPConnection({"type": "http", "headers": [(b"cookie", text.encode())]}))
