from __future__ import annotations

import errno
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from lastseen import schemas
from lastseen.errors import InvalidValue
from lastseen.memory.export import (
    WRITERS,
    _from_spark_dsg,
    home_tree,
    import_facts,
    read_home,
    routes,
    write_geojson,
    write_home,
    write_json,
    write_spark_dsg,
    writer_of,
)
from lastseen.memory.memory import Memory


def thing(number: int, label: str | None, x: float, *, place_id: int | None = 1) -> dict[str, Any]:
    return {
        "id": f"obj-{number}",
        "label": label,
        "position": [x, 1.0, 0.5],
        "extent": [0.1, 0.2, 0.3],
        "state": "confirmed",
        "place": "kitchen",
        "place_id": place_id,
        "color": "red",
        "hits": 3,
        "stability": 0.9,
        "first_seen": None,
        "last_seen": "2026-01-01T00:00:00Z",
        "provenance": "seen",
    }


ROOMS = [
    {
        "id": number,
        "name": name,
        "confidence": 0.9,
        "storey": 0,
        "area": 6.0,
        "center": [x + 1.0, 1.5],
        "outline": [[x, 0.0], [x + 2.0, 0.0], [x + 2.0, 3.0], [x, 3.0]],
        "next_to": [3 - number],
        "provenance": "seen",
    }
    for number, name, x in ((1, "kitchen", 0.0), (2, "bedroom", 2.0))
]
HOME = home_tree(
    [thing(1, "mug", 0.5), thing(2, "bed", 3.0, place_id=2)], ROOMS, [(0.5, 1.0), (1.6, 1.0), (2.8, 1.0)]
)


def scene(side: object) -> str:
    box = {"dimensions": [side, 1, 1], "world_P_center": [0, 0, 0]}
    attributes = {"type": "ObjectNodeAttributes", "position": [0, 0, 0], "bounding_box": box}
    return json.dumps({"SPARK_DSG_header": {}, "nodes": [{"id": 1, "attributes": attributes}], "edges": []})


def test_our_own_file_keeps_its_schema_and_comes_back_whole(tmp_path: Path) -> None:
    schemas.validate("home_export", HOME)
    write_json(tmp_path / "home.json", HOME)
    assert read_home(tmp_path / "home.json") == json.loads(json.dumps(HOME))


def test_a_scene_graph_comes_back_with_its_objects_in_their_rooms(tmp_path: Path) -> None:
    write_spark_dsg(tmp_path / "home.dsg.json", HOME)
    home = read_home(tmp_path / "home.dsg.json")
    rooms = {room["id"]: room["name"] for room in home["rooms"]}
    found = {one["label"]: (one["position"], one["extent"], rooms[one["place_id"]]) for one in home["objects"]}
    assert found == {
        "mug": ([0.5, 1.0, 0.5], [0.1, 0.2, 0.3], "kitchen"),
        "bed": ([3.0, 1.0, 0.5], [0.1, 0.2, 0.3], "bedroom"),
    }
    assert [room["outline"] for room in home["rooms"]] == [room["outline"] for room in ROOMS]


def test_a_route_graph_has_an_edge_each_way_between_points_that_were_driven(tmp_path: Path) -> None:
    write_geojson(tmp_path / "home.geojson", HOME)
    features = json.loads((tmp_path / "home.geojson").read_text())["features"]
    points = {
        one["properties"]["id"]: one["geometry"]["coordinates"] for one in features if "frame" in one["properties"]
    }
    edges = [one for one in features if "startid" in one["properties"]]
    assert len(points) == 3
    ways = {(one["properties"]["startid"], one["properties"]["endid"]) for one in edges}
    assert ways == {(0, 1), (1, 0), (1, 2), (2, 1)}
    for one in edges:
        line = one["geometry"]["coordinates"][0]
        assert line == [points[one["properties"]["startid"]], points[one["properties"]["endid"]]]
    assert len({one["properties"]["id"] for one in features}) == len(features)


def test_a_leap_between_two_walks_is_no_route() -> None:
    found = routes([(0.0, 0.0), (1.1, 0.0), (9.0, 9.0), (10.1, 9.0)])
    assert found["edges"] == [[0, 1], [2, 3]]


def test_what_is_imported_is_told_and_can_be_asked_for(tmp_path: Path) -> None:
    home = home_tree([*HOME["objects"], thing(3, None, 1.0)], ROOMS)
    with Memory.open(tmp_path / "new.lastseen") as memory:
        taken, refused = import_facts(memory, home)
        assert taken == 4
        assert len(refused) == 1
        assert refused[0].startswith("object 'obj-3': label")
        (hit,) = memory.find("mug").fitting
        assert hit.provenance == "told"
        assert hit.position == pytest.approx((0.5, 1.0, 0.5))
        assert memory.find("mug in the kitchen").status == "found"
        assert memory.find("mug in the bedroom").status == "not_found"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("[]", "no home that is known"),
        ('{"format": "lastseen-home", "version": 1, "objects": [{"id": 5}], "rooms": []}', "breaks the schema"),
        ('{"SPARK_DSG_header": {}, "nodes": [{"id": 1}], "edges": []}', "no scene graph"),
        ('{"SPARK_DSG_header": {}, "nodes": 5, "edges": []}', "no scene graph"),
        ('{"SPARK_DSG_header": {}, "nodes": [], "edges": [], "metadata": 5}', "no scene graph"),
        ('{"SPARK_DSG_header": {}, "nodes": [{"id": 1, "attributes": []}], "edges": []}', "no scene graph"),
        (scene("x" * 20_000), "no scene graph"),
        (scene(10**400), "no scene graph"),
    ],
)
def test_a_file_that_is_no_home_is_one_line(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "home.json").write_text(text)
    with pytest.raises(InvalidValue, match=problem) as told:
        read_home(tmp_path / "home.json")
    assert len(str(told.value)) < 500


def test_a_home_of_wrong_things_only_is_refused_after_the_first(tmp_path: Path) -> None:
    many = [0] * 200_000
    (tmp_path / "home.json").write_text(
        json.dumps({"format": "lastseen-home", "version": 1, "objects": many, "rooms": []})
    )
    tracemalloc.start()
    with pytest.raises(InvalidValue, match=r"objects\.0 = 0: breaks the schema"):
        read_home(tmp_path / "home.json")
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_objects_around_one_crowded_place_are_read_in_one_pass() -> None:
    """A star of 3,000 objects would else be 9 million pairs."""
    place, room = 1, 2
    nodes = [{"id": place, "attributes": {"type": "PlaceNodeAttributes", "position": [0, 0, 0]}}]
    nodes.append({"id": room, "attributes": {"type": "RoomNodeAttributes", "position": [0, 0, 0]}})
    edges = [{"source": room, "target": place}]
    for number in range(10, 3010):
        nodes.append({"id": number, "attributes": {"type": "ObjectNodeAttributes", "position": [0, 0, 0]}})
        edges.append({"source": number, "target": place})
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        found = _from_spark_dsg({"nodes": nodes, "edges": list(reversed(edges))})
    finally:
        sys.setprofile(None)
    assert {one["place_id"] for one in found["objects"]} == {0}
    assert steps < 500_000


def test_numbers_without_end_leave_out_one_thing(tmp_path: Path) -> None:
    things = [{**thing(1, "mug", 0.0), "extent": [10**400, 0.1, 0.1]}, {**thing(2, "cup", 1.0)}]
    rooms = [{"id": 1, "name": "hall\nway", "center": [0, 0], "outline": [[0, 0], [10**400, 0], [1, 1]]}]
    with Memory.open(tmp_path / "new.lastseen") as memory:
        taken, refused = import_facts(memory, {"objects": things, "rooms": rooms})
    assert taken == 1
    assert [line.split(":")[0] for line in refused] == ["room 'hall\\nway'", "object 'obj-1'"]


def test_an_export_that_fails_leaves_the_one_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_home(tmp_path / "home.csv", home_tree([thing(1, "mug", 0.0)], []))
    before = (tmp_path / "home.csv").read_text()

    def full(path: Path, home: object) -> None:
        path.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setitem(WRITERS, ".csv", full)
    with pytest.raises(
        InvalidValue, match=r"out = '.*home.csv': cannot be written \(No space left on device\); check"
    ):
        write_home(tmp_path / "home.csv", home_tree([], []))
    assert (tmp_path / "home.csv").read_text() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_the_longer_ending_counts() -> None:
    assert writer_of(Path("home.DSG.json")) is WRITERS[".dsg.json"]
    assert writer_of(Path("home.json")) is WRITERS[".json"]
    with pytest.raises(InvalidValue, match="no kind that can be written"):
        writer_of(Path("home.xls"))
