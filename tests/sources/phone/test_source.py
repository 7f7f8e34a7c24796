"""A phone's page as a source: who may send, what comes out, and what a wrong message costs."""

from __future__ import annotations

import hashlib
import json
import ssl
import struct
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any
from urllib.error import HTTPError

import numpy as np
import pytest

pytest.importorskip("websockets")
pytest.importorskip("segno")

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from lastseen.errors import SourceError
from lastseen.frame import Frame
from lastseen.geometry import CameraAxes, WorldUp, camera_from_opencv, world_from_z_up
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.message import pack
from lastseen.sources.phone.certificate import make_certificate
from lastseen.sources.phone.source import (
    BUSY,
    MAX_CONNECTIONS,
    MAX_FROM_ONE,
    MAX_PAGES,
    REFUSED,
    PhoneSource,
    Strangers,
)
from tests.sources.room import CAMERA, render, walk


@pytest.fixture
def phone() -> Iterator[PhoneSource]:
    options = SourceOptions(backpressure="lossless", end_after=20.0)
    with PhoneSource("127.0.0.1:0", options) as source:
        source.start()
        yield source


def link(phone: PhoneSource, *, origin: str = "") -> ClientConnection:
    address = f"127.0.0.1:{phone.port}"
    return connect(f"ws://{address}/frames", additional_headers={"Origin": origin or f"http://{address}"})


def token_of(phone: PhoneSource) -> str:
    return phone.url.partition("#token=")[2]


def greet(line: ClientConnection, **words: str) -> dict[str, str]:
    line.send(json.dumps(words))
    told: dict[str, str] = json.loads(line.recv(timeout=60))
    return told


def message(number: int) -> bytes:
    """A frame as the page sends it: in WebXR's axes, y up."""
    pose = walk(4)[number]
    rgb, depth = render(pose, CAMERA)
    there = world_from_z_up(camera_from_opencv(pose, CameraAxes.OPENGL), WorldUp.Y)
    frame = Frame(id=0, stamp=float(number), rgb=rgb, depth=depth, T_world_camera=there, intrinsics=CAMERA)
    header, color, raw = pack(frame, sequence=number)
    return struct.pack("<II", len(header), len(color)) + header + color + raw


def test_frames_come_in_our_conventions(phone: PhoneSource) -> None:
    with link(phone) as line:
        greet(line, token=token_of(phone))
        for number in range(4):
            line.send(message(number))
        frames = phone.frames()
        for pose in walk(4):
            frame = next(frames)
            assert frame.T_world_camera.distance_to(pose) < 1e-6
            assert frame.T_world_camera.angle_to(pose) < 1e-6
            assert np.nanmedian(np.abs(frame.depth - render(pose, CAMERA)[1])) < 1e-3


def test_the_token_opens_one_page_once_and_that_page_may_come_back(phone: PhoneSource) -> None:
    token = token_of(phone)
    with link(phone) as line:
        session = greet(line, token=token)["session"]
    with link(phone) as line, pytest.raises(ConnectionClosed) as refused:
        greet(line, token=token)
    assert refused.value.rcvd is not None
    assert refused.value.rcvd.code == REFUSED
    with link(phone) as line:
        assert greet(line, session=session)["session"] == session
        with link(phone) as other, pytest.raises(ConnectionClosed) as busy:
            greet(other, session=session)
    assert busy.value.rcvd is not None
    assert busy.value.rcvd.code == BUSY


@pytest.mark.parametrize("hello", ["", "[]", "{", '{"token": 3}', '{"token": "guess"}', b"\x00"])
def test_nothing_else_opens_it(phone: PhoneSource, hello: str | bytes) -> None:
    with link(phone) as line:
        line.send(hello)
        with pytest.raises(ConnectionClosed):
            line.recv(timeout=60)


def test_another_page_may_not_send_and_a_name_leads_nowhere(phone: PhoneSource) -> None:
    with pytest.raises(InvalidStatus, match="403"):
        link(phone, origin="https://elsewhere.example")
    named = urllib.request.Request(f"http://127.0.0.1:{phone.port}/", headers={"Host": "home.example"})
    with pytest.raises(HTTPError, match="400"):
        urllib.request.urlopen(named)
    with pytest.raises(HTTPError, match="404"):
        urllib.request.urlopen(f"http://127.0.0.1:{phone.port}/source.py")


def test_a_message_that_is_none_is_counted_and_the_next_one_taken(phone: PhoneSource) -> None:
    with link(phone) as line:
        greet(line, token=token_of(phone))
        for wrong in ("text", b"", b"\xff" * 40, struct.pack("<II", 2, 0) + b"{}"):
            line.send(wrong)
        line.send(message(0))
        assert next(phone.frames()).stamp == 0.0
    assert phone.intake.skipped == {"unreadable message": 3, "unreadable header": 1}


def test_every_start_has_a_certificate_of_its_own() -> None:
    pytest.importorskip("cryptography")
    made = [make_certificate("192.168.1.5") for _ in range(2)]
    assert all(context.minimum_version >= ssl.TLSVersion.TLSv1_2 for context, _ in made)
    assert len({hashlib.sha256(certificate).digest() for _, certificate in made}) == 2


@pytest.mark.parametrize("address", ["phone://home.example", "phone://127.0.0.1:99999", "phone://1.2.3"])
def test_an_address_that_is_none_is_one_line(address: str) -> None:
    with pytest.raises(SourceError, match="is no address:port"):
        open_source(address)


def test_strangers_who_wait_do_not_keep_the_phone_out(phone: PhoneSource) -> None:
    with ExitStack() as stack:
        for _ in range(MAX_PAGES + 2):
            stack.enter_context(link(phone))
        line = stack.enter_context(link(phone))
        assert greet(line, token=token_of(phone))["session"]


@pytest.mark.parametrize("key", ["token", "session"])
def test_half_a_character_is_no_token(phone: PhoneSource, key: str, caplog: pytest.LogCaptureFixture) -> None:
    with link(phone) as line:
        line.send(json.dumps({key: "\ud800"}))
        with pytest.raises(ConnectionClosed) as closed:
            line.recv(timeout=60)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == REFUSED
    assert not caplog.records


def test_connections_of_one_address_and_of_all_are_counted() -> None:
    strangers, closed, inside = Strangers(), list[str](), list[str]()

    class Link:
        def __init__(self, host: str) -> None:
            self.host = host

        def close(self) -> None:
            closed.append(self.host)

    def nested(hosts: list[str]) -> None:
        """Open a connection for each while those before it are still open."""

        def handle(connection: Any, address: Any) -> None:
            inside.append(connection.host)
            nested(hosts[1:])

        if hosts:
            before = len(inside)
            strangers.limited(handle)(Link(hosts[0]), (hosts[0], 1))  # type: ignore[arg-type]
            if len(inside) == before:
                nested(hosts[1:])

    nested(["a"] * (MAX_FROM_ONE + 3) + ["b"])
    assert (closed, inside[-1]) == (["a"] * 3, "b")
    closed.clear()
    nested([str(number) for number in range(MAX_CONNECTIONS + 5)])
    assert len(closed) == 5


def test_a_page_that_can_no_longer_be_served_ends_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(server: Any) -> None:
        server.shutdown_watcher.close()
        server.socket_closed.set()

    monkeypatch.setattr("websockets.sync.server.Server.serve_forever", ended)
    with PhoneSource("127.0.0.1:0") as source, pytest.raises(SourceError, match="is served no more; check `ulimit"):
        list(source.frames())
