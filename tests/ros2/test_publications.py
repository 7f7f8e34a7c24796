from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest

from lastseen.config.search import Policy
from lastseen.memory.memory import Memory
from lastseen.memory.space.floor import FloorGrid
from lastseen.pose2d import Pose2D
from lastseen.ros2.publications import (
    DIAGNOSTICS,
    EVENT,
    EVENTS_TEXT,
    FLOOR,
    GRID,
    HEARTBEAT,
    MARKERS,
    MAX_EVENTS,
    OBJECTS,
    PERIOD,
    Health,
    Publications,
    floor_tree,
    time_tree,
)
from lastseen.sources.ros.messages import ros2_types, to_cdr
from lastseen.sources.ros.transport import Publication
from tests.ros2.graph import memory_with


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with memory_with(("mug", (1.0, 0.0, 0.8)), ("chair", (0.0, 1.5, 0.4))) as opened:
        yield opened


def topics(due: list[Publication]) -> set[str]:
    return {one.topic for one in due}


def test_every_message_fits_its_type(memory: Memory) -> None:
    publications = Publications(memory, Health(state="active"))
    memory.tell("there is a kettle", position=(0.5, 0.5, 0.5))
    sent = publications.due(0.0)
    assert topics(sent) >= {OBJECTS, MARKERS, DIAGNOSTICS, EVENTS_TEXT}
    for one in sent:
        if one.kind != EVENT:
            assert ros2_types().deserialize_cdr(to_cdr(one.kind, one.tree), one.kind)
    publications.close()


def test_objects_carry_position_size_label_confidence_and_last_sighting(memory: Memory) -> None:
    publications = Publications(memory, Health())
    publications.world = "odom"
    found = {one["id"]: one for one in publications.objects()[0].tree["detections"]}
    mug = next(one for one in memory.objects() if one.label == "mug")
    tree = found[mug.id]
    assert tree["results"][0]["hypothesis"]["class_id"] == "mug"
    assert 0.0 < tree["results"][0]["hypothesis"]["score"] <= 1.0
    assert tree["bbox"]["center"]["position"]["x"] == pytest.approx(1.0, abs=0.01)
    assert tree["bbox"]["size"]["z"] == pytest.approx(0.3, abs=0.01)
    assert tree["header"] == {"stamp": time_tree(17.0), "frame_id": "odom"}


def test_markers_start_from_nothing_and_die_by_themselves(memory: Memory) -> None:
    markers = Publications(memory, Health()).objects()[1].tree["markers"]
    assert markers[0]["action"] == 3
    assert {marker["ns"] for marker in markers[1:]} == {"objects", "labels"}
    assert all(marker["lifetime"]["sec"] == 3 * HEARTBEAT for marker in markers[1:])
    assert len({(marker["ns"], marker["id"]) for marker in markers[1:]}) == len(markers) - 1


def test_objects_are_published_when_they_change_and_as_a_heartbeat() -> None:
    with memory_with(("mug", (1.0, 0.0, 0.8))) as memory:
        publications = Publications(memory, Health())
        assert OBJECTS in topics(publications.due(0.0))
        assert OBJECTS not in topics(publications.due(PERIOD))
        memory.relabel(memory.objects()[0].id, "cup")
        assert OBJECTS not in topics(publications.due(PERIOD / 2))
        assert OBJECTS in topics(publications.due(2 * PERIOD))
        assert OBJECTS in topics(publications.due(2 * PERIOD + HEARTBEAT))


def test_an_event_is_published_once_with_its_evidence() -> None:
    with memory_with(("mug", (1.0, 0.0, 0.8))) as memory:
        publications = Publications(memory, Health())
        memory.relabel(memory.objects()[0].id, "cup")
        sent = [one for one in publications.due(0.0) if one.topic == EVENTS_TEXT]
        assert [json.loads(one.tree["data"])["kind"] for one in sent] == ["corrected"]
        assert not [one for one in publications.due(1.0) if one.topic == EVENTS_TEXT]


def test_events_that_nobody_fetches_are_dropped_and_counted() -> None:
    with memory_with(("mug", (1.0, 0.0, 0.8))) as memory:
        publications = Publications(memory, Health())
        event = memory.relabel(memory.objects()[0].id, "cup")[0]
        for _ in range(MAX_EVENTS):
            publications._take(event)
        assert publications.missed_events == 1
        assert any(one["key"] == "events_not_published" for one in publications.diagnostics()["status"][0]["values"])


def test_deactivation_takes_everything_off_the_displays(memory: Memory) -> None:
    objects, markers = Publications(memory, Health()).cleared()
    assert objects.tree["detections"] == []
    assert [marker["action"] for marker in markers.tree["markers"]] == [3]


def test_floor_has_x_along_its_rows_and_unknown_where_nobody_looked() -> None:
    grid = FloorGrid(Policy(cell=0.5))
    grid.mark_blocked(Pose2D(0.0, 0.0, 0.0))
    tree = floor_tree(grid, {"stamp": time_tree(1.0), "frame_id": "map"})
    assert tree is not None
    assert to_cdr(GRID, tree)
    data = np.array(tree["data"]).reshape(tree["info"]["height"], tree["info"]["width"])
    rows, columns = np.nonzero(data == 100)
    origin = tree["info"]["origin"]["position"]
    for row, column in zip(rows, columns, strict=True):
        x, y = origin["x"] + (column + 0.5) * 0.5, origin["y"] + (row + 0.5) * 0.5
        cell = grid.cell_of(x, y)
        assert cell is not None
        assert grid.occupied[cell]
    assert len(rows) == int(grid.occupied.sum())
    assert floor_tree(FloorGrid(Policy()), {"stamp": time_tree(1.0), "frame_id": "map"}) is None
    assert FLOOR.startswith("~/")


@pytest.mark.parametrize(
    ("health", "level", "words"),
    [
        (Health(state="active", frames=3), 0, "frames reach"),
        (Health(state="active"), 1, "no frame reaches"),
        (Health(state="active", frames=3, silent=9.0), 1, "no frame reaches"),
        (Health(state="active", frames=3, error="no tf"), 2, "no tf"),
        (Health(state="inactive"), 3, "inactive"),
    ],
)
def test_diagnostics_say_what_is_wrong(health: Health, level: int, words: str) -> None:
    found, message = health.level()
    assert found == bytes([level])
    assert words in message


def test_a_time_that_no_message_can_hold_is_zero() -> None:
    assert time_tree(1.5) == {"sec": 1, "nanosec": 500_000_000}
    assert time_tree(-3.0) == time_tree(1e12) == {"sec": 0, "nanosec": 0}
