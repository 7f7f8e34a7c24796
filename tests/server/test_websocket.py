from __future__ import annotations

import itertools
import json
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import requests
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.memory.memory import Memory
from lastseen.server.point_cloud import HEADER
from lastseen.server.run import Running
from tests.memory.homes import walk
from tests.server.conftest import serving
from tests.server.test_ingest import shot, sightings
from tests.server.test_security import TOKEN

STAMPS = itertools.count(20)
"""Stamps for what is sent to the shared server: its time goes on in whatever order the tests run."""


@contextmanager
def watching(running: Running, *topics: str, **options: Any) -> Iterator[ClientConnection]:
    with connect(running.address.base.replace("http", "ws") + "/ws", **options) as client:
        assert json.loads(client.recv(timeout=60))["type"] == "hello"
        if topics:
            tell(client, type="subscribe", topics=list(topics))
        yield client


def tell(client: ClientConnection, **command: Any) -> dict[str, Any]:
    client.send(json.dumps(command))
    return until(client, "ack")


def until(client: ClientConnection, kind: str) -> dict[str, Any]:
    """The next message of a type; others are let go."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        message = client.recv(timeout=60)
        if isinstance(message, str) and json.loads(message)["type"] == kind:
            found: dict[str, Any] = json.loads(message)
            return found
    raise AssertionError(f"no {kind} came")


def cloud(client: ClientConnection) -> tuple[tuple[Any, ...], Any, Any, Any]:
    """The next point cloud message in its parts."""
    while True:
        message = client.recv(timeout=60)
        if isinstance(message, bytes):
            break
    head = HEADER.unpack_from(message)
    count = head[3]
    slots = np.frombuffer(message, "<u4", count, 32)
    xyz = np.frombuffer(message, "<f4", 3 * count, 32 + 4 * count).reshape(-1, 3)
    rgba = np.frombuffer(message, np.uint8, 4 * count, 32 + 16 * count).reshape(-1, 4)
    assert len(message) == 32 + 24 * count
    return head, slots, xyz, rgba


def test_the_full_state_comes_first_and_then_only_what_changed(home: Running) -> None:
    with watching(home, "objects") as client:
        first = until(client, "objects_update")
        assert first["reset"]
        assert len(first["objects"]) == requests.get(f"{home.address.base}/objects", timeout=60).json()["total"]
        sightings(home, stamp=next(STAMPS), xyz=(6.0, 6.0, 1.0), xyz_world=[6, 6, 1], labels={"lamp": 0.9})
        later = until(client, "objects_update")
        assert not later["reset"]
        assert [one["label_primary"] for one in later["objects"]] == ["lamp"]
        key = later["objects"][0]["id"]
        requests.post(f"{home.address.base}/objects/{key}/delete", json={}, timeout=60)
        assert until(client, "objects_update")["gone"] == [key]


def test_objects_over_the_wire_are_those_of_rest(home: Running) -> None:
    with watching(home, "objects") as client:
        told = {one["id"]: one for one in until(client, "objects_update")["objects"]}
    listed = requests.get(f"{home.address.base}/objects", timeout=60).json()["objects"]
    for one in listed:
        del one["age"]  # it grows by itself: a watcher counts from last_seen_memory_time
    assert [told[one["id"]] for one in listed] == listed


def test_events_tell_of_the_life_of_an_object(home: Running) -> None:
    with watching(home, "events") as client:
        stamp = next(STAMPS)
        sightings(home, stamp=stamp, xyz_world=[7, 6, 1], labels={"vase": 0.9})
        while (event := until(client, "object_created"))["label"] != "vase":
            pass  # what happened before is told too
        assert event["position"] == [7.0, 6.0, 1.0]
        assert event["memory_time"] == stamp
        requests.post(f"{home.address.base}/objects/{event['id']}/relabel", json={"label": "jug"}, timeout=60)
        corrected = until(client, "object_corrected")
        assert corrected["seq"] == event["seq"] + 1
        assert corrected["label"] == "jug"


def test_the_robot_and_its_path_are_told(home: Running) -> None:
    with watching(home, "robot") as client:
        assert until(client, "robot_pose")["path_reset"]
        until(client, "places_update")
        for number in range(1, 4):
            sightings(home, stamp=next(STAMPS), xyz=(number, 0.0, 1.0))
            moved = until(client, "robot_pose")
            assert moved["robot_pose"]["xyz"] == [number, 0.0, 1.0]
            assert not moved["path_reset"]
            assert moved["path"][-1][1:] == [number, 0.0, 1.0]


def test_figures_come_every_second(home: Running) -> None:
    with watching(home, "stats") as client:
        assert until(client, "stats")["server"]["clients"] >= 1


def test_points_are_sent_by_slot_and_thinned_on_request() -> None:
    with Memory.open() as memory, serving(memory) as running:
        requests.post(f"{running.address.base}/ingest/frames", json=shot(), timeout=60)
        with watching(running, "point_cloud") as client:
            head, slots, xyz, rgba = cloud(client)
            assert head[0] == b"LSPC"
            assert head[2] & 1
            assert len(set(slots.tolist())) == len(slots)
            assert (rgba[:, 3] == 255).all()
            assert xyz[:, 0].max() == pytest.approx(2.0, abs=0.05)
            tell(client, type="set_decimation", value=4)
            head, fewer, _, _ = cloud(client)
            assert (fewer % 4 == 0).all()
            assert len(fewer) < len(slots) / 3
            whole = requests.get(f"{running.address.base}/pointcloud", params={"decimation": 4}, timeout=60).content
            assert HEADER.unpack_from(whole)[3] == len(fewer)


def test_a_pause_skips_what_happens_and_resuming_brings_the_latest(home: Running) -> None:
    with watching(home, "objects") as client:
        until(client, "objects_update")
        assert tell(client, type="pause")["paused"]
        for stamp in itertools.islice(STAMPS, 3):
            sightings(home, stamp=stamp, xyz_world=[9, 6, 1], labels={"clock": 0.9})
        with pytest.raises(TimeoutError):
            client.recv(timeout=0.7)
        client.send(json.dumps({"type": "resume"}))
        seen = until(client, "objects_update")["objects"]
        # others may be told of too, where the new anchor is another place for them
        assert [one["last_seen_memory_time"] for one in seen if one["label"] == "clock"] == [stamp]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{",
        '{"type": "dance"}',
        '{"type": "subscribe"}',
        '{"type": "subscribe", "topics": ["x"]}',
        '{"type": "subscribe", "topics": [1]}',
        '{"type": "subscribe", "topics": [["objects"]]}',
        '{"type": "set_decimation", "value": 0}',
        '{"type": "set_decimation", "value": true}',
        "[" * 4000,
    ],
)
def test_what_is_not_understood_is_answered_and_forgiven(home: Running, text: str) -> None:
    with watching(home) as client:
        # who has not subscribed is sent objects too, at a moment of the server's choice
        client.send(text)
        until(client, "error")
        client.send('{"type": "ping"}')
        until(client, "pong")


def test_who_never_makes_sense_is_sent_away(home: Running) -> None:
    def pester(client: ClientConnection) -> None:
        for _ in range(100):
            client.send("?")
            client.recv(timeout=60)

    with watching(home) as client, pytest.raises(ConnectionClosed):
        pester(client)


def test_a_foreign_page_and_a_missing_token_are_shut_out(home: Running) -> None:
    with pytest.raises(ConnectionClosed), watching(home, origin="http://evil.example"):
        pass
    with Memory.open() as memory, serving(memory, token=TOKEN) as running:
        with pytest.raises(ConnectionClosed) as closed, watching(running):
            pass
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        with watching(running, additional_headers={"Authorization": f"Bearer {TOKEN}"}):
            pass


def test_clients_are_told_when_the_server_goes() -> None:
    with Memory.open() as memory:
        walk(memory, 2)
        with serving(memory) as running, watching(running) as client:
            running.stop()
            with pytest.raises(ConnectionClosed) as closed:
                client.recv(timeout=60)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1012


def test_one_who_never_reads_holds_up_nobody_and_nothing_piles_up() -> None:
    with Memory.open(image_encoder=ColorShapeEncoder.name) as memory:
        walk(memory, 6)
        with serving(memory) as running:
            deaf = deaf_client(running)
            for number in range(30):
                pose = {**shot()["pose"], "xyz": [0.1 * number, 0, 1]}
                body = shot(100.0 + number, frame_id=number + 100, pose=pose)
                assert requests.post(f"{running.address.base}/ingest/frames", json=body, timeout=60).ok
            with watching(running, "objects") as client:
                assert until(client, "objects_update")["objects"]
            waiting = pending_bytes(running)
            deaf.close()
            assert waiting < 2_000_000


def pending_bytes(running: Running) -> int:
    """Bytes that were written to clients and not yet taken by them."""
    transports = [connection.transport for connection in list(running._server.server_state.connections)]
    return sum(transport.get_write_buffer_size() for transport in transports if transport is not None)


def deaf_client(running: Running) -> socket.socket:
    """A client that subscribes to everything and then never reads."""
    peer = socket.create_connection(("127.0.0.1", running.address.port))
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    peer.sendall(
        f"GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{running.address.port}\r\n".encode()
        + b"Upgrade: websocket\r\nConnection: Upgrade\r\n"
        + b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    time.sleep(0.2)
    body = json.dumps(
        {"type": "subscribe", "topics": ["objects", "point_cloud", "events", "robot", "stats"]}
    ).encode()
    peer.sendall(struct.pack("!BBH", 0x81, 0x80 | 126, len(body)) + b"\0\0\0\0" + body)
    return peer
