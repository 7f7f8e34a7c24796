from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lastseen.config.programs import Robot
from lastseen.errors import InvalidValue
from lastseen.sim.from_graph import home_from_graph, spaced
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from tests.sim.inspecting import Floor

SCENES = range(1, 8)


def tile(room: int, x: float, z: float, key: int) -> dict[str, Any]:
    return item(key, "floor", "Floor", room, ([x, 0.0, z], [2.5, 0.0, 2.5]))


def item(
    key: int, name: str, category: str, room: int, box: tuple[list[float], list[float]], **more: object
) -> dict[str, Any]:
    return {
        "id": key,
        "class": name,
        "category": category,
        "room": room,
        "box": {"center": box[0], "size": box[1]},
        "properties": [],
        "relations": {},
        **more,
    }


def scene() -> dict[str, Any]:
    """A kitchen and a bedroom of one tile each, a door between them, a mug on a table."""
    return {
        "scene": "Tiny",
        "rooms": [{"id": 1, "class": "kitchen"}, {"id": 2, "class": "livingroom"}],
        "objects": [
            tile(1, 0.0, 0.0, 10),
            tile(1, 0.0, 0.0, 11),
            tile(2, 2.52, 0.0, 12),
            item(20, "doorjamb", "Doors", 1, ([1.25, 1.0, 0.3], [0.12, 2.05, 0.93])),
            item(21, "door", "Doors", 1, ([1.25, 0.5, 0.3], [0.93, 1.0, 0.93])),
            item(22, "wall", "Walls", 1, ([0.0, 1.25, 0.0], [2.5, 2.5, 2.5])),
            item(23, "character", "Characters", 1, ([0.0, 1.0, 0.0], [0.5, 1.8, 0.5])),
            item(30, "kitchentable", "Furniture", 1, ([-0.5, 0.4, 0.5], [0.8, 0.8, 0.6])),
            item(31, "mug", "Props", 1, ([-0.5, 0.85, 0.5], [0.1, 0.1, 0.1]), properties=["GRABBABLE"],
                 relations={"ON": [30]}),
            item(32, "plate", "Props", 1, ([-0.5, 0.3, 0.5], [0.2, 0.1, 0.2])),
            item(33, "toilet", "Furniture", 2, ([3.2, 0.4, -0.5], [0.4, 0.8, 0.6])),
            item(34, "stall", "Furniture", 2, ([3.2, 1.0, -0.5], [0.9, 2.0, 0.9])),
        ],
    }  # fmt: skip


def write(folder: Path, content: object, name: str = "scene.json") -> Path:
    path = folder / name
    text = json.dumps(content).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


@pytest.fixture
def tiny(tmp_path: Path) -> Home:
    return home_from_graph(write(tmp_path, scene(), "scene.json.gz"))


def test_unity_axes_become_ours(tiny: Home) -> None:
    assert np.allclose(tiny.thing(31).position, [-0.5, 0.5, 0.85], atol=1e-6)
    assert np.allclose(tiny.thing(30).extent, [0.8, 0.6, 0.8], atol=1e-6)


def test_labels_are_lower_case_with_spaces(tiny: Home) -> None:
    assert tiny.thing(30).label == "kitchen table"
    assert [room.type for room in tiny.rooms] == ["kitchen", "living room"]
    assert spaced("WallPictureFrame") == "wall picture frame"
    assert spaced("somethingnew") == "somethingnew"


def test_walls_doors_and_people_are_no_things(tiny: Home) -> None:
    assert set(tiny.things) == {30, 31, 33, 34}


def test_what_lies_inside_a_solid_box_is_left_out(tiny: Home) -> None:
    assert 32 not in tiny.things


def test_the_mug_stands_on_the_table_and_can_be_carried(tiny: Home) -> None:
    assert tiny.thing(31).support_id == 30
    assert tiny.thing(31).movable
    assert not tiny.thing(30).movable


def test_the_rooms_meet_in_a_doorway(tiny: Home) -> None:
    assert Floor(tiny, radius=0.18).region_of_all(tiny.rooms)


def test_without_a_door_the_rooms_stay_apart(tmp_path: Path) -> None:
    shut = scene()
    shut["objects"] = [one for one in shut["objects"] if one["category"] != "Doors"]
    home = home_from_graph(write(tmp_path, shut))
    assert not Floor(home, radius=0.05).region_of_all(home.rooms)


@pytest.mark.parametrize("number", SCENES)
def test_every_room_of_the_seven_apartments_is_reached(shared_data: Path, number: int) -> None:
    home = Home.from_graph(shared_data / "virtualhome_graphs" / f"TestScene{number}.json.gz")
    grid = NavigationGrid(home, robot=Robot())
    standing = grid.centers(grid.reachable())
    for room in home.rooms:
        inside = sum(room.contains(float(x), float(y)) for x, y in standing)
        assert inside * 0.05**2 > 1.0, f"{home.name}: {room.type}"


@pytest.mark.parametrize("number", SCENES)
def test_an_apartment_has_a_toilet_in_sight_in_its_bathroom(shared_data: Path, number: int) -> None:
    home = Home.from_graph(shared_data / "virtualhome_graphs" / f"TestScene{number}.json.gz")
    (toilet,) = home.things_of("toilet")
    room = home.room_at(*(float(value) for value in toilet.position[:2]))
    assert room is not None
    assert room.type == "bathroom"


@pytest.mark.parametrize("number", SCENES)
def test_most_things_lie_in_the_room_the_graph_says(shared_data: Path, number: int) -> None:
    home = Home.from_graph(shared_data / "virtualhome_graphs" / f"TestScene{number}.json.gz")
    rooms = {room.id: room for room in home.rooms}
    right = [
        rooms[thing.room_id or 0].contains(float(thing.position[0]), float(thing.position[1]))
        for thing in home.things.values()
    ]
    assert np.mean(right) > 0.97


def broken(change: str) -> dict[str, Any]:
    content = scene()
    if change == "no objects":
        del content["objects"]
    elif change == "no rooms":
        content["rooms"] = []
    elif change == "box with text":
        content["objects"][7]["box"]["size"] = ["a", 1, 1]
    elif change == "negative size":
        content["objects"][7]["box"]["size"] = [-1, 1, 1]
    elif change == "no class":
        del content["objects"][7]["class"]
    elif change == "room without floor":
        content["rooms"].append({"id": 9, "class": "attic"})
    elif change == "NaN":
        content["objects"][7]["box"]["center"] = [float("nan"), 1, 1]
    return content


@pytest.mark.parametrize(
    "change",
    ["no objects", "no rooms", "box with text", "negative size", "no class", "room without floor", "NaN"],
)
def test_a_damaged_scene_is_refused_in_one_line(tmp_path: Path, change: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        home_from_graph(write(tmp_path, broken(change)))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\x1f\x8bnot gzip"])
def test_a_file_that_is_no_scene_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "scene.json.gz"
    path.write_bytes(content)
    with pytest.raises(InvalidValue, match="path"):
        home_from_graph(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="is not a file"):
        home_from_graph(tmp_path / "none.json")
