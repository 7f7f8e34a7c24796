"""What was written for rtsm talks to this server unchanged: its real client and its MCP server decide."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import requests
from PIL import Image
from websockets.sync.client import connect

from lastseen.memory.memory import Memory
from lastseen.server.robot_track import RobotTrack
from lastseen.server.run import Running
from tests.memory.homes import walk
from tests.memory.objects.scenes import frame_at
from tests.server.conftest import serving
from tests.server.test_ingest import sightings
from tests.server.test_security import TOKEN

client = pytest.importorskip("rtsm.client", reason="the neighbour's client is not installed")


def test_it_finds_the_server_and_counts_objects(home: Running) -> None:
    robot = client.RtsmClient(home.address.base)
    assert robot.healthz()
    assert robot.object_count() == 5


def test_it_finds_a_thing_by_words_with_its_place_and_last_sighting(home: Running) -> None:
    found = client.RtsmClient(home.address.base).semantic_query("red mug", top_k=3)
    best = found.results[0]
    assert best.confirmed
    assert best.xyz_world == pytest.approx([0.0, 0.0, 0.8], abs=0.05)
    assert best.last_seen_wall_utc is not None
    assert 0.5 < best.score <= 1.0
    assert best.stability > 0.5


def test_it_is_told_nothing_where_nothing_fits(home: Running) -> None:
    assert client.RtsmClient(home.address.base).semantic_query("helicopter").results == []


def test_it_searches_labels(home: Running) -> None:
    found = client.RtsmClient(home.address.base).label_query("mug")
    assert len(found.results) == 2


def test_it_reads_labels_and_pictures(home: Running) -> None:
    robot = client.RtsmClient(home.address.base)
    best = robot.semantic_query("sofa").results[0]
    assert robot.get_object_label(best.id) == "sofa"
    picture = base64.b64decode(robot.get_object_snapshot_b64(best.id))
    assert Image.open(io.BytesIO(picture)).format == "JPEG"


def test_it_follows_the_robot(home: Running) -> None:
    robot = client.RtsmClient(home.address.base)
    sightings(home, stamp=100.0, xyz=(0.5, 0.25, 1.0))
    pose, clearance = robot.get_pose_and_clearance()
    assert pose.xyz == [0.5, 0.25, 1.0]
    assert pose.quaternion_xyzw == [0.0, 0.0, 0.0, 1.0]
    assert clearance["clearance_m"] == 0.0  # nothing was measured: it must not drive on
    sightings(home, stamp=101.0, xyz=(0.5, 0.25, 1.0))
    assert robot.get_robot_pose().timestamp > pose.timestamp
    assert robot.semantic_query("sofa").robot_pose.xyz == [0.5, 0.25, 1.0]


def get(running: Running, path: str) -> Any:
    return requests.get(running.address.base + path, timeout=60).json()


def test_pictures_come_as_data_uris_newest_first(home: Running) -> None:
    found = get(home, "/objects/obj-1/snapshots")
    assert found["count"] == len(found["snapshots"]) > 1
    assert [one["index"] for one in found["snapshots"]] == list(range(found["count"]))
    kind, _, coded = found["snapshots"][0]["data"].partition(",")
    assert kind == "data:image/jpeg;base64"
    picture = base64.b64decode(coded)
    assert len(picture) == found["snapshots"][0]["size_bytes"]
    robot = client.RtsmClient(home.address.base)
    assert picture == base64.b64decode(robot.get_object_snapshot_b64("obj-1"))
    one = get(home, "/objects/obj-1/snapshots?index=1")
    assert one == {
        "id": "obj-1",
        "index": 1,
        "total": found["count"],
        "snapshot": found["snapshots"][1]["data"],
    }


@pytest.mark.parametrize("path", ["/objects/obj-99/snapshots", "/objects/obj-1/snapshots?index=99"])
def test_pictures_that_are_not_there_are_404(home: Running, path: str) -> None:
    assert get(home, path)["error"] == "not_found"


def test_vectors_and_pictures_come_on_request(home: Running) -> None:
    assert "emb_mean" not in get(home, "/objects/obj-1")
    assert len(get(home, "/objects/obj-1?include_vectors=true")["emb_mean"]) == 16
    best = get(home, "/search/semantic?query=sofa&include_snapshot=true")["results"][0]
    assert base64.b64decode(best["snapshot_b64"]).startswith(b"\xff\xd8\xff")


def test_a_label_that_a_detector_ran_together_with_another_is_found(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory, serving(memory) as running:
        box: dict[str, Any] = {"xyz_world": [1.0, 0.0, 0.5], "extent": [0.2, 0.1, 0.1]}
        sightings(running, stamp=1.0, labels={"water bottle tissue box": 0.9}, **box)
        robot = client.RtsmClient(running.address.base)
        assert len(robot.label_query("tissue box").results) == 1
        assert robot.label_query("issue box").results == []
        assert get(running, "/search/label?query=tissue+box&include_proto=false")["results"] == []


def test_the_names_of_its_mcp_tools_are_ours_too(home: Running) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")

    async def listed() -> set[str]:
        async with mcp.Client(f"{home.address.base}/mcp") as agent:
            return {tool.name for tool in (await agent.list_tools()).tools}

    # its MCP server does not load beside the newest mcp package, but its text names its tools
    theirs = (Path(client.__file__).parent / "io" / "mcp_server.py").read_text(encoding="utf-8")
    names = set(re.findall(r'name="(rtsm\.\w+)"', theirs))
    assert len(names) == 6
    assert {name for name in asyncio.run(listed()) if name.startswith("rtsm.")} == names


def test_a_watcher_that_says_nothing_is_sent_all_objects_whenever_one_changed(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory, 4)
        with serving(memory) as running, connect(running.address.base.replace("http", "ws") + "/ws") as watcher:

            def told() -> list[dict[str, Any]]:
                while (message := json.loads(watcher.recv(timeout=60)))["type"] != "objects_update":
                    pass
                objects: list[dict[str, Any]] = message["objects"]
                return objects

            first = told()
            assert {"id", "xyz_world", "label_hint", "label_scores", "confirmed", "stability"} <= set(first[0])
            assert len(first) == 5
            sightings(running, stamp=50.0, xyz_world=[3.0, 3.0, 1.0], extent=[0.1, 0.1, 0.1], labels={"vase": 0.9})
            # an update from before may come first
            while len(later := told()) < 6:
                pass
            assert {one["id"] for one in first} < {one["id"] for one in later}
            watcher.send(json.dumps({"cmd": "ping"}))
            while json.loads(watcher.recv(timeout=60))["type"] != "pong":
                pass


def test_the_pose_of_a_frame_that_memory_did_not_take_has_a_later_timestamp() -> None:
    track = RobotTrack()
    track.add(frame_at(1, stamp=10.0, eye=(0.0, 0.0, 1.0)), time=110.0)
    # memory stays at 110 s while frames are refused
    track.add(frame_at(2, stamp=10.5, eye=(0.1, 0.0, 1.0)), time=110.0)
    assert track.pose is not None
    assert (track.pose["timestamp"], track.pose["xyz"][0]) == (110.5, 0.1)
    track.add(frame_at(3, stamp=11.0), time=111.0)
    assert track.pose["timestamp"] == 111.0
    # a robot that was restarted counts anew
    track.add(frame_at(1, stamp=0.0), time=130.0)
    assert track.pose["timestamp"] == 130.0


def post_reset(running: Running) -> Any:
    headers = {"authorization": f"Bearer {TOKEN}"}
    return requests.post(running.address.base + "/reset", json={}, headers=headers, timeout=60).json()


def test_a_reset_forgets_every_object_and_leaves_a_backup_that_has_them(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory, 8)
        before = {one.id: one.position for one in memory.objects()}
        with serving(memory, token=TOKEN) as running:
            running.service.allow_reset = True
            done = post_reset(running)
            assert done["status"] == "ok"
            assert done["cleared"]["objects"] == len(before) == 5
            assert memory.objects(include_tentative=True, include_removed=True) == []
            # what is seen from then on is remembered anew
            walk(memory, 8, start=8)
            assert len(memory.objects()) == 5
            assert post_reset(running)["backup"] == "home.reset-2.lastseen"
    with Memory.open(tmp_path / done["backup"], read_only=True) as kept:
        assert {one.id: one.position for one in kept.objects()} == before


@pytest.mark.parametrize(("token", "allowed"), [(TOKEN, False), (None, True)])
def test_a_reset_takes_the_token_and_the_option(tmp_path: Path, token: str | None, allowed: bool) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory, 4)
        with serving(memory, token=token) as running:
            running.service.allow_reset = allowed
            assert post_reset(running)["error"] == "forbidden"
        assert memory.objects()
    assert [one.name for one in tmp_path.glob("*.lastseen")] == ["home.lastseen"]
