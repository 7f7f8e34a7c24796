from __future__ import annotations

from functools import partial

import numpy as np
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.memory.objects import Event, EventKind, ObjectMemory
from lastseen.memory.objects.cannot_link import CANNOT_LINK_SHARE, cannot_link
from lastseen.memory.objects.columns import CANNOT_LINK_SLOTS


def both_sides(memory: ObjectMemory, start: int, **thing: object) -> None:
    for number, eye in enumerate([(0.0, 0.0, 1.0), (4.0, 0.0, 1.0)]):
        memory.observe(frame_at(start + number), [seen(eye=eye, **thing)])  # type: ignore[arg-type]


def test_duplicates_that_grow_together_are_merged_into_the_older() -> None:
    memory = ObjectMemory()
    both_sides(memory, 0, xyz=[2.0, 0.0, 0.5], size=(0.4, 0.4, 0.4), embedding=unit(1))
    both_sides(memory, 2, xyz=[2.0, 0.38, 0.5], size=(0.4, 0.4, 0.4), embedding=unit(1))
    assert len(memory.states()) == 2
    events: list[Event] = []
    for number in range(20):
        grown = seen([2.0, 0.2, 0.5], size=(0.4, 0.8, 0.4), embedding=unit(1))
        events += memory.observe(frame_at(4 + number), [grown])
    (only,) = memory.states(include_tentative=True)
    assert only.id == "obj-1"
    assert only.hits == 24
    (merged,) = [event for event in events if event.kind is EventKind.MERGED]
    assert (merged.object_id, merged.evidence["absorbed"]) == ("obj-1", "obj-2")


def test_a_name_never_gates_a_merge() -> None:
    memory = ObjectMemory()
    both_sides(memory, 0, xyz=[2.0, 0.0, 0.5], size=(0.4, 0.4, 0.4), embedding=unit(1), labels={"sofa": 0.9})
    both_sides(memory, 2, xyz=[2.0, 0.38, 0.5], size=(0.4, 0.4, 0.4), embedding=unit(1), labels={"bench": 0.9})
    assert len(memory.states()) == 2
    for number in range(20):
        grown = seen([2.0, 0.2, 0.5], size=(0.4, 0.8, 0.4), embedding=unit(1), labels={"sofa": 0.9})
        memory.observe(frame_at(4 + number), [grown])
    assert [one.id for one in memory.states(include_tentative=True)] == ["obj-1"]


def test_things_once_seen_side_by_side_are_never_merged() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate([(0.0, 0.0, 1.0), (4.0, 0.0, 1.0)]):
        pair = [seen([2.0, y, 0.5], eye=eye, size=(0.4, 0.4, 0.4), embedding=unit(1)) for y in (0.0, 0.38)]
        memory.observe(frame_at(number), pair)
    for number in range(20):
        grown = seen([2.0, 0.2, 0.5], size=(0.4, 0.8, 0.4), embedding=unit(1))
        memory.observe(frame_at(2 + number), [grown])
    assert [one.id for one in memory.states()] == ["obj-1", "obj-2"]


def test_pieces_of_a_bed_become_one_when_it_is_seen_whole() -> None:
    memory = ObjectMemory()
    both_sides(memory, 0, xyz=[1.5, 0.0, 0.3], size=(0.6, 1.6, 0.5), embedding=unit(1))
    both_sides(memory, 2, xyz=[2.6, 0.0, 0.3], size=(0.6, 1.6, 0.5), embedding=unit(1))
    assert len(memory.states()) == 2
    for number in range(3):
        memory.observe(frame_at(4 + number), [seen([2.0, 0.0, 0.3], size=(1.8, 1.6, 0.5), embedding=unit(1))])
    assert [one.id for one in memory.states()] == ["obj-1"]


def test_who_was_met_beside_a_piece_was_met_beside_the_whole() -> None:
    memory = ObjectMemory()
    both_sides(memory, 0, xyz=[2.0, 0.0, 0.4], size=(0.8, 1.0, 0.8), embedding=unit(1))
    for number in range(4):
        piece = seen([2.0, 1.0, 0.4], size=(0.8, 0.4, 0.8), embedding=unit(1))
        chair = seen([2.0, 1.3, 0.4], size=(0.4, 0.4, 0.8), embedding=unit(1))
        memory.observe(frame_at(2 + number), [piece, chair])
    store = memory.store
    table, chair_row = np.array([store.row("obj-1")]), np.array([store.row("obj-3")])
    share = np.array([CANNOT_LINK_SHARE])
    assert not cannot_link(store, table, chair_row, share).any()
    memory.merge("obj-1", "obj-2")
    assert cannot_link(store, table, chair_row, share).all()
    assert cannot_link(store, chair_row, table, share).all()
    assert store.seq[table[0]] in store.neighbours[chair_row[0]]


def test_the_neighbour_met_least_gives_way() -> None:
    memory = ObjectMemory()
    table = seen([2.0, 0.0, 0.4], size=(1.0, 1.0, 0.8), embedding=unit(1))
    for number in range(5):
        memory.observe(frame_at(number), [table, seen([2.0, 0.0, 0.85], size=(0.1, 0.1, 0.1), embedding=unit(2))])
    for number in range(2 * CANNOT_LINK_SLOTS):
        place = [1.6 + 0.1 * (number % 8), 0.4 - 0.8 * (number // 8), 0.85]
        one_off = seen(place, size=(0.05, 0.05, 0.05), embedding=unit(3 + number))
        memory.observe(frame_at(5 + number), [table, one_off])
    store = memory.store
    share = np.array([CANNOT_LINK_SHARE])
    assert cannot_link(store, np.array([store.row("obj-1")]), np.array([store.row("obj-2")]), share).all()


def test_different_looks_in_one_another_are_not_merged() -> None:
    memory = ObjectMemory()
    both_sides(memory, 0, xyz=[2.0, 0.0, 0.5], size=(1.0, 1.0, 0.8), embedding=unit(1))
    both_sides(memory, 2, xyz=[2.2, 0.2, 0.6], size=(0.2, 0.2, 0.2), embedding=unit(2))
    both_sides(memory, 4, xyz=[2.0, 0.0, 0.5], size=(1.0, 1.0, 0.8), embedding=unit(1))
    assert len(memory.states()) == 2


def test_two_things_seen_in_one_frame_never_go_into_the_same_third() -> None:
    sofa, other = unit(1), unit(2)
    other = other - (other @ sofa) * sofa
    cushion = 0.75 * sofa + np.sqrt(1.0 - 0.75**2) * other / np.linalg.norm(other)
    memory = ObjectMemory()
    for number in range(1, 8):
        eye = (0.0, (0.0, 1.5, -1.5)[number % 3], 1.2)
        see = partial(seen, eye=eye, stamp=float(number))
        if number <= 3:
            seen_now = [see([3, 0, 0.5], embedding=sofa, size=(1.0, 2.0, 1.0))]
        else:
            seen_now = [see([3, y, 0.6], embedding=cushion.astype(np.float32), size=0.3) for y in (-0.6, 0.6)]
        memory.observe(frame_at(number, eye=eye, target=(3, 0, 0.5)), seen_now)
    assert len(memory) >= 2


def test_who_met_an_object_that_went_into_another_is_written_down() -> None:
    memory = ObjectMemory()
    for number in range(1, 4):
        things = [[2.0, 0.0, 0.8], [2.0, 0.15, 0.8]]
        memory.observe(frame_at(number), [seen(xyz, stamp=float(number)) for xyz in things])
    memory.observe(frame_at(4), [seen([4.0, 2.0, 0.8], stamp=4.0)])
    since = memory.export_rows().version
    memory.merge("obj-3", "obj-1")
    assert memory.export_rows(since).columns["seq"].tolist() == [2, 3]


def test_a_gallery_that_a_merge_filled_still_takes_looks_that_differ() -> None:
    memory = ObjectMemory()
    for number, (xyz, look) in enumerate([((2, 0, 1), 1), ((2, 0, 1), 1), ((2, 2, 1), 2), ((2, 2, 1), 2)], start=1):
        eye = (4.0 * (number % 2), 0.0, 1.0)
        memory.observe(frame_at(number, eye=eye), [seen(xyz, eye=eye, stamp=float(number), embedding=unit(look))])
    memory.merge("obj-1", "obj-2")
    row = memory.store.row("obj-1")
    assert memory.store.gallery_n[row] == memory.settings.lifecycle.gallery_size
    eye = (2.0, 4.0, 1.0)
    memory.observe(frame_at(9, eye=eye), [seen((2, 0, 1), eye=eye, stamp=9.0, embedding=unit(1) - 0.5 * unit(3))])
    views = memory.store.gallery[row].astype(np.float32)
    assert sorted(np.round(views @ unit(3), 2).tolist())[0] < -0.3
