"""An agent written for another memory talks to this one unchanged: the real client decides."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from lastseen.server.run import Running
from tests.server.test_ingest import sightings

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
