"""Those who have not shown the token cannot keep out, slow down or learn from those who have."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import requests

from lastseen.memory.memory import Memory
from lastseen.server import connections, ingest, security
from lastseen.server.connections import STRANGERS_PER_ADDRESS, Connections
from lastseen.server.run import Running
from tests.memory.homes import walk
from tests.server.conftest import serving

TOKEN = "correct-horse-battery"
WITH_TOKEN = {"Authorization": f"Bearer {TOKEN}"}
PATIENCE = 60.0
"""Seconds until a test gives up on a busy machine; nothing waits that long when all is well."""


@pytest.fixture
def guarded() -> Iterator[Running]:
    with Memory.open() as memory:
        walk(memory, 4)
        with serving(memory, token=TOKEN) as running:
            yield running


def sending(running: Running, text: str) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", running.address.port), timeout=PATIENCE)
    line.sendall(text.encode("ascii"))
    return line


def closed(line: socket.socket) -> bool:
    """Wait until the other side has closed, whatever it said before."""
    try:
        while line.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def test_half_sent_requests_keep_nobody_out(guarded: Running) -> None:
    address = f"{guarded.address.base}/stats"
    with ExitStack() as stack:
        keeps = stack.enter_context(requests.Session())
        keeps.headers.update(WITH_TOKEN)
        assert keeps.get(address, timeout=PATIENCE).status_code == 200
        for _ in range(520):
            stack.enter_context(sending(guarded, "GET /stats HTTP/1.1\r\nHost: 127."))
        assert requests.get(address, headers=WITH_TOKEN, timeout=PATIENCE).status_code == 200
        # and who was there before them stays
        assert keeps.get(address, timeout=PATIENCE).status_code == 200


def test_strangers_of_one_address_and_of_all_have_a_limit() -> None:
    class Line:
        def __init__(self) -> None:
            self.closed = False

        def is_closing(self) -> bool:
            return self.closed

        def abort(self) -> None:
            self.closed = True

    table = Connections(limit=600)
    lines = {(f"10.0.0.{port // 200}", port): Line() for port in range(1000)}
    for client, line in lines.items():
        table.add(client, line)  # type: ignore[arg-type]
        if client[1] == 50:
            table.trust(client)
    left = [client for client, line in lines.items() if not line.closed]
    assert ("10.0.0.0", 50) in left
    assert len(table) == len(left) == 301
    assert (
        max(sum(client[0] == f"10.0.0.{host}" for client in left) for host in range(5)) <= STRANGERS_PER_ADDRESS + 1
    )
    assert ("10.0.0.4", 999) in left


def test_a_header_that_does_not_end_is_cut_off(guarded: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_DEADLINE", 0.2)
    for begun in ("", "GET /stats HTTP/1.1\r\nHost: 127.", "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /he"):
        with sending(guarded, begun) as line:
            assert closed(line)


def test_a_body_that_does_not_end_is_answered_and_cut_off(guarded: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_DEADLINE", 0.2)
    head = (
        "POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
    )
    with sending(guarded, head) as line:
        answer = b""
        while part := line.recv(4096):
            answer += part
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"too_slow" in answer


@pytest.mark.parametrize(
    ("path", "length"), [("/session", 16_000_000), ("/ingest/session", 5000), ("/objects/obj-1/delete", 5000)]
)
def test_a_large_body_is_refused_unread_where_a_small_one_is_wanted(guarded: Running, path: str, length: int) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    with sending(guarded, head) as line:
        assert line.recv(64).startswith(b"HTTP/1.1 413 ")


def test_bodies_that_are_held_have_a_limit_in_all(guarded: Running) -> None:
    head = "POST /ingest/frames HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + TOKEN + "\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 16000000\r\n\r\n{"
    with ExitStack() as stack:
        for _ in range(security.BODIES_HELD):
            stack.enter_context(sending(guarded, head))
        deadline = time.monotonic() + PATIENCE
        status = 0
        while status != 503 and time.monotonic() < deadline:
            # they may not have been read yet
            with sending(guarded, head) as line:
                line.settimeout(0.5)
                try:
                    status = int(line.recv(64).split()[1])
                except TimeoutError:
                    continue
        assert status == 503
        assert requests.get(f"{guarded.address.base}/stats", headers=WITH_TOKEN, timeout=PATIENCE).ok


def test_a_body_of_names_alone_is_refused_before_it_is_parsed(guarded: Running) -> None:
    body = json.dumps({f"k{number}": 1 for number in range(60_000)})
    headers = {**WITH_TOKEN, "Content-Type": "application/json"}
    for path in security.FRAME_PATHS:
        answer = requests.post(f"{guarded.address.base}{path}", data=body, headers=headers, timeout=PATIENCE)
        assert answer.status_code == 413
        assert "more than 50000 fields" in answer.json()["message"]


def test_a_body_is_parsed_off_the_event_loop(guarded: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    parsed = ingest._parsed

    def noting(model: type[ingest._Body], raw: bytes) -> ingest._Body:
        threads.append(threading.current_thread().name)
        return parsed(model, raw)

    monkeypatch.setattr(ingest, "_parsed", noting)
    answer = requests.post(
        f"{guarded.address.base}/ingest/observations", json={"stamp": "x"}, headers=WITH_TOKEN, timeout=PATIENCE
    )
    assert answer.status_code == 422
    assert answer.json()["message"].startswith("stamp: ")
    assert threads
    assert "lastseen-server" not in threads


def test_health_tells_strangers_only_whether_all_is_well(guarded: Running) -> None:
    guarded.service.source.state, guarded.service.source.error = "failed", "no camera at rtsp://kitchen"
    address = f"{guarded.address.base}/healthz"
    assert requests.get(address, timeout=PATIENCE).json() == {"status": "degraded"}
    told = requests.get(address, headers=WITH_TOKEN, timeout=PATIENCE).json()
    assert "rtsp://kitchen" in told["reasons"][0]
