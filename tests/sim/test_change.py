from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.sim.change import ChangeKind, add, apply_all, move, new_id, remove, swap
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.random_change import random_changes
from lastseen.sim.viewpoint import viewpoints


def at(x: float, y: float, z: float) -> Pose3D:
    return Pose3D(np.array([x, y, z]), np.array([0.0, 0.0, 0.0, 1.0]))


def test_a_move_is_applied_and_logged(home: Home) -> None:
    change = move(home, 2, at(7.0, 3.0, 0.5), stamp=12.5)
    moved = change.apply(home).thing(2)
    assert moved.position == pytest.approx([7.0125, 3.0, 0.55], abs=1e-5)
    assert (moved.room_id, moved.support_id) == (2, 4)
    record = change.record()
    assert record["stamp"] == 12.5
    assert record["kind"] == "move"
    assert record["things"][0]["from"]["support_id"] == 1
    assert record["things"][0]["to"]["support_id"] == 4
    assert json.loads(json.dumps(record)) == record


def test_a_removed_thing_is_gone_and_the_old_home_keeps_it(home: Home) -> None:
    after = remove(home, 2, stamp=1.0).apply(home)
    assert 2 not in after.things
    assert 2 in home.things


def test_an_added_thing_needs_a_new_id(home: Home) -> None:
    twin = replace(home.thing(2), id=new_id(home), pose=at(1.4, 0.9, 0.75), support_id=None)
    after = add(home, twin, stamp=1.0).apply(home)
    assert after.thing(9).support_id == 1
    with pytest.raises(InvalidValue, match="is taken"):
        add(after, twin, stamp=2.0)


def test_a_swap_exchanges_places(home: Home) -> None:
    change = swap(home, 2, 7, stamp=3.0)
    after = change.apply(home)
    assert after.thing(2).pose == home.thing(7).pose
    assert after.thing(7).pose == home.thing(2).pose
    assert (after.thing(2).support_id, after.thing(7).support_id) == (6, 1)
    assert len(change.record()["things"]) == 2


def test_a_table_with_a_mug_on_it_stays(home: Home) -> None:
    with pytest.raises(InvalidValue, match="carries a mug"):
        remove(home, 1, stamp=0.0)


def test_a_change_fits_only_the_home_it_was_made_for(home: Home) -> None:
    change = remove(home, 2, stamp=0.0)
    with pytest.raises(InvalidValue, match="does not fit"):
        change.apply(change.apply(home))


def test_random_changes_replay_to_the_same_home(home: Home) -> None:
    after, changes = random_changes(home, [1.0, 2.0, 3.0], seed=5)
    replayed = apply_all(home, changes)
    assert [change.stamp for change in changes] == [1.0, 2.0, 3.0]
    assert {key: thing.pose for key, thing in after.things.items()} == {
        key: thing.pose for key, thing in replayed.things.items()
    }


def test_random_changes_come_from_the_seed(home: Home) -> None:
    def records(seed: int) -> list[object]:
        return [change.record() for change in random_changes(home, [1.0, 2.0], seed=seed)[1]]

    assert records(1) == records(1)
    assert records(1) != records(2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_moved_things_stand_on_something_and_can_be_seen(seed: int) -> None:
    home = generate_home(seed, rooms=5)
    after, changes = random_changes(home, range(6), seed=seed, kinds=[ChangeKind.MOVE, ChangeKind.ADD])
    grid = NavigationGrid(after)
    assert len(changes) == 6
    for change in changes:
        thing = after.thing(change.edits[0].thing_id)
        assert thing.support_id is not None or thing.box[0, 2] == pytest.approx(0.0, abs=0.02)
        assert viewpoints(grid, thing)
        if thing.support_id is not None:
            support = after.thing(thing.support_id)
            assert (support.box[0, :2] - 0.01 <= thing.position[:2]).all()
            assert (thing.position[:2] <= support.box[1, :2] + 0.01).all()
            assert thing.box[0, 2] <= support.box[1, 2] + 0.01


def test_moved_things_do_not_run_into_others() -> None:
    home = generate_home(4, rooms=5)
    after, changes = random_changes(home, range(6), seed=4, kinds=[ChangeKind.MOVE])
    for change in changes:
        thing = after.thing(change.edits[0].thing_id)
        middle = thing.position
        for other in after.things.values():
            inside = ((other.box[0] < middle) & (middle < other.box[1])).all()
            assert other.id == thing.id or not inside or other.id == thing.support_id


def test_a_home_without_loose_things_refuses(home: Home) -> None:
    fixed = Home(home.name, home.rooms, home.structure, {1: home.thing(1)})
    with pytest.raises(InvalidValue, match="found no place"):
        random_changes(fixed, [1.0], seed=0)


@pytest.mark.slow
def test_it_works_in_a_house_nobody_of_ours_made(aws_home: Home) -> None:
    after, changes = random_changes(aws_home, [1.0, 2.0], seed=5, kinds=[ChangeKind.MOVE])
    assert len(changes) == 2
    grid = NavigationGrid(after)
    assert all(viewpoints(grid, after.thing(change.edits[0].thing_id)) for change in changes)
