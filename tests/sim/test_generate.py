from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from lastseen.config.programs import Homes, Robot
from lastseen.errors import HomeRefused, InvalidValue
from lastseen.sim.catalog import CLASSES, Group
from lastseen.sim.floorplan.plan import WALL_HEIGHT
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from tests.sim.inspecting import (
    Floor,
    depth_of_overlap,
    hidden_things,
    part_boxes,
    rests_on,
    world_boxes,
    worst_overlap,
)

ROOMS = range(4, 13)
TOUCH = 3e-3


@pytest.fixture(scope="module", params=ROOMS)
def houses(request: pytest.FixtureRequest, soak: int) -> list[Home]:
    """Two houses of each size in a test run, twenty in a soak; made once for all tests of a size."""
    rooms = int(request.param)
    return [generate_home(seed, rooms=rooms) for seed in range(100 * rooms, 100 * rooms + 2 * soak)]


def test_a_house_has_the_rooms_every_home_has(houses: list[Home]) -> None:
    for home in houses:
        assert {"kitchen", "living room", "bedroom", "bathroom"} <= {room.type for room in home.rooms}


def test_every_room_is_reached_on_a_path_of_seventy_centimetres(houses: list[Home]) -> None:
    for home in houses:
        # the grid loses up to half a cell on each side of the path
        assert Floor(home, radius=0.32).region_of_all(home.rooms), home.name


def test_the_agent_finds_every_room_too(houses: list[Home]) -> None:
    for home in houses:
        grid = NavigationGrid(home, robot=Robot())
        standing = grid.centers(grid.reachable())
        for room in home.rooms:
            assert any(room.contains(float(x), float(y)) for x, y in standing), f"{home.name}: {room.type}"


def test_nothing_stands_in_a_wall(houses: list[Home]) -> None:
    for home in houses:
        walls = part_boxes(home.structure)
        for thing in home.things.values():
            assert depth_of_overlap(world_boxes(thing), walls) < TOUCH, f"{home.name}: {thing.label} {thing.id}"


def test_nothing_stands_in_another_thing(houses: list[Home]) -> None:
    for home in houses:
        depth, first, second = worst_overlap(home)
        assert depth < TOUCH, f"{home.name}: {first} in {second}"


def test_everything_stands_on_something(houses: list[Home]) -> None:
    for home in houses:
        walls = part_boxes(home.structure)
        for thing in home.things.values():
            name = f"{home.name}: {thing.label} {thing.id}"
            if CLASSES[thing.label].group is Group.HUNG:
                nearer = world_boxes(thing) + np.array([[-0.005] * 3, [0.005] * 3])
                assert depth_of_overlap(nearer, walls) > 0.0, name
            elif thing.support_id is None:
                assert abs(thing.box[0, 2]) < 1e-3, name
            else:
                assert rests_on(thing, home.things[thing.support_id]), name


def test_small_things_can_be_seen_by_the_robot(houses: list[Home]) -> None:
    for home in houses:
        floor = Floor(home, radius=Robot().radius)
        region = min(floor.region_of_all(home.rooms))
        hidden = hidden_things(home, floor.points(region, spacing=0.25), eye=Robot().camera_height)
        small = sum(thing.movable for thing in home.things.values())
        assert len(hidden) <= 0.05 * small, f"{home.name}: {[thing.label for thing in hidden]}"


def test_things_have_a_class_a_colour_of_it_and_the_room_they_are_in(houses: list[Home]) -> None:
    for home in houses:
        types = {room.id: room for room in home.rooms}
        for thing in home.things.values():
            assert thing.color in CLASSES[thing.label].colors
            x, y, _ = thing.position
            assert thing.room_id is not None
            assert types[thing.room_id].contains(float(x), float(y))


def test_every_house_holds_the_goals_and_doubles_to_confuse_them(houses: list[Home]) -> None:
    for home in houses:
        labels = Counter(thing.label for thing in home.things.values())
        assert set(Homes().require) <= set(labels)
        assert sum(count > 1 for count in labels.values()) >= 5


def test_a_house_stays_small_enough_to_draw_fast(houses: list[Home]) -> None:
    for home in houses:
        faces = len(home.structure.faces) + sum(len(thing.mesh.faces) for thing in home.things.values())
        assert 5_000 < faces < 45_000


@pytest.mark.parametrize("rooms", ROOMS)
def test_a_house_has_as_many_rooms_as_asked_for(rooms: int) -> None:
    assert len(generate_home(1, rooms=rooms, settings=Homes(clutter=0.0)).rooms) == rooms


def test_doorways_are_as_wide_and_high_as_set() -> None:
    home = generate_home(3, rooms=5, settings=Homes(ceiling=False, door_width=0.8, door_height=2.0))
    lintels = [box for box in part_boxes(home.structure) if abs(box[0, 2] - 2.0) < 1e-4]
    widths = [float(max(box[1, :2] - box[0, :2])) for box in lintels]
    assert any(abs(width - 0.8) < 1e-3 for width in widths)
    assert min(widths) > 0.45


def test_without_a_ceiling_nothing_is_above_the_walls() -> None:
    open_top = generate_home(5, rooms=4, settings=Homes(ceiling=False))
    assert open_top.structure.bounds[1, 2] == pytest.approx(WALL_HEIGHT)
    assert generate_home(5, rooms=4).structure.bounds[1, 2] > WALL_HEIGHT


@pytest.mark.parametrize("seed", [0, 7, 2**40])
def test_the_same_seed_gives_the_same_house(seed: int) -> None:
    first, second = generate_home(seed), generate_home(seed)
    assert first.rooms == second.rooms
    assert first.structure.vertices.tobytes() == second.structure.vertices.tobytes()
    assert list(first.things) == list(second.things)
    for one, other in zip(first.things.values(), second.things.values(), strict=True):
        assert (one.label, one.color, one.room_id, one.support_id) == (
            other.label,
            other.color,
            other.room_id,
            other.support_id,
        )
        assert one.pose == other.pose
        assert np.array_equal(one.mesh.vertices.round(6), other.mesh.vertices.round(6))


def test_another_seed_gives_another_house() -> None:
    assert generate_home(1, rooms=6).rooms != generate_home(2, rooms=6).rooms


def test_the_seed_decides_the_number_of_rooms() -> None:
    sizes = {len(generate_home(seed, settings=Homes(max_rooms=6, clutter=0.0)).rooms) for seed in range(12)}
    assert sizes == {4, 5, 6}


def test_clutter_is_a_dial() -> None:
    counts = [
        sum(thing.movable for thing in generate_home(4, rooms=6, settings=Homes(clutter=level)).things.values())
        for level in (0.0, 1.0, 2.0)
    ]
    assert counts[0] < counts[1] < counts[2]


def test_required_classes_are_there_and_excluded_ones_are_not() -> None:
    settings = Homes(require=("guitar", "umbrella", "bathtub"), exclude=("book", "plant"))
    labels = set(generate_home(6, rooms=8, settings=settings).labels())
    assert {"guitar", "umbrella", "bathtub"} <= labels
    assert not {"book", "plant"} & labels


@pytest.mark.parametrize("rooms", [0, -1, 3, 13, 4.5, "five", True])
def test_a_number_of_rooms_that_cannot_be_is_refused(rooms: object) -> None:
    with pytest.raises(InvalidValue, match="rooms"):
        generate_home(1, rooms=rooms)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 1.5, "7", None, True])
def test_a_seed_that_is_not_a_whole_number_is_refused(seed: object) -> None:
    with pytest.raises(InvalidValue, match="seed"):
        generate_home(seed)  # type: ignore[arg-type]


def test_an_unknown_class_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidValue, match="did you mean mug"):
        generate_home(1, settings=Homes(require=("mugg",)))


def test_a_class_both_required_and_excluded_is_refused() -> None:
    with pytest.raises(InvalidValue, match="required too"):
        generate_home(1, settings=Homes(exclude=("mug",)))


@pytest.mark.parametrize("field", ["door_height", "walk_width", "door_width", "room_scale", "clutter"])
def test_negative_sizes_are_refused(field: str) -> None:
    with pytest.raises(InvalidValue, match=field):
        Homes(**{field: -1.0})  # type: ignore[arg-type]


def test_more_rooms_at_least_than_at_most_is_refused() -> None:
    with pytest.raises(InvalidValue, match="min_rooms"):
        generate_home(1, settings=Homes(min_rooms=8, max_rooms=6))


def test_constraints_that_cannot_be_met_are_refused_with_the_reason_after_bounded_attempts() -> None:
    cramped = Homes(walk_width=1.2)
    with pytest.raises(HomeRefused, match="last of 3 attempts"):
        generate_home(1, rooms=12, settings=cramped, attempts=3)


def test_the_facade_of_home_generates_too() -> None:
    assert Home.generate(9, rooms=4).rooms == generate_home(9, rooms=4).rooms
