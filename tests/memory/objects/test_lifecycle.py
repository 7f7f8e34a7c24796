from __future__ import annotations

import pytest
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Labels, Lifecycle, Promotion
from lastseen.errors import InvalidValue, StampError
from lastseen.memory.memory import Memory
from lastseen.memory.objects import EventKind, ObjectMemory

HERE, BEHIND = (0.0, 0.0, 1.0), (4.0, 0.0, 1.0)


def test_a_new_observation_is_a_tentative_object() -> None:
    memory = ObjectMemory()
    (event,) = memory.observe(frame_at(0), [seen([2, 0, 1])])
    assert (event.kind, event.object_id, event.stamp) == (EventKind.APPEARED, "obj-1", 0.0)
    assert memory.states() == []
    (tentative,) = memory.states(include_tentative=True)
    assert (tentative.confirmed, tentative.state) == (False, "tentative")


def test_two_hits_from_two_sides_confirm_it() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1], eye=HERE, embedding=unit(1))])
    (event,) = memory.observe(frame_at(1), [seen([2, 0, 1], eye=BEHIND, embedding=unit(1))])
    assert event.kind is EventKind.CONFIRMED
    assert event.evidence == {"hits": 2, "stability": 1.0, "view_bins": 2}
    assert [one.confirmed for one in memory.states()] == [True]


def test_seen_from_one_side_only_it_stays_tentative() -> None:
    memory = ObjectMemory()
    for number in range(20):
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=HERE)])
    assert memory.states() == []


def test_one_view_bin_is_enough_when_the_settings_say_so() -> None:
    memory = ObjectMemory(Settings(promotion=Promotion(min_view_bins=1)))
    for number in range(2):
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=HERE)])
    assert len(memory.states()) == 1


def test_two_unrelated_sightings_from_two_sides_stay_tentative() -> None:
    memory = ObjectMemory()
    one, other = unit(1, 64), unit(2, 64)
    assert float(one @ other) < 0.5
    memory.observe(frame_at(0), [seen([2, 0, 1], eye=HERE, embedding=one)])
    memory.observe(frame_at(1), [seen([2, 0, 1], eye=BEHIND, embedding=other)])
    (only,) = memory.states(include_tentative=True)
    assert (only.hits, len(only.view_bins), only.confirmed) == (2, 2, False)


def test_a_confirmed_thing_whose_appearance_becomes_inconsistent_stays_confirmed() -> None:
    memory = ObjectMemory()
    for number, seed in enumerate((1, 1, 2, 3, 4, 5)):
        eye = (HERE, BEHIND)[number % 2]
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye, embedding=unit(seed, 64))])
    one = memory.state("obj-1")
    assert (one.state, one.confirmed, one.hits) == ("confirmed", True, 6)
    assert one.stability < 0.5


def test_an_inconsistent_look_stays_tentative() -> None:
    memory = ObjectMemory(Settings(promotion=Promotion(min_hits=6)))
    for number, look in enumerate(unit(seed) for seed in range(1, 9)):
        eye = (HERE, BEHIND)[number % 2]
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye, embedding=look)])
    (only,) = memory.states(include_tentative=True)
    assert (only.hits, only.confirmed) == (8, False)
    assert only.stability < 0.5


def test_a_tentative_object_not_seen_again_expires_and_a_confirmed_object_does_not() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate((HERE, BEHIND)):
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye)])
    memory.observe(frame_at(2), [seen([1, 0, 1])])
    memory.observe(frame_at(3, stamp=32.0), [])
    assert len(memory) == 2
    memory.observe(frame_at(4, stamp=32.1), [])
    assert [one.id for one in memory.states(include_tentative=True)] == ["obj-1"]


def test_seeing_a_tentative_object_again_keeps_it() -> None:
    memory = ObjectMemory()
    for number in range(10):
        memory.observe(frame_at(number, stamp=20.0 * number), [seen([2, 0, 1])])
    assert [one.hits for one in memory.states(include_tentative=True)] == [10]


def test_too_many_tentative_objects_push_out_the_oldest() -> None:
    memory = ObjectMemory(Settings(lifecycle=Lifecycle(max_tentative=3)))
    for number in range(5):
        memory.observe(frame_at(number), [seen([2, number, 1])])
        memory.observe(frame_at(number), [seen([2, 0, 1])])
    assert [one.id for one in memory.states(include_tentative=True)] == ["obj-1", "obj-4", "obj-5"]


def test_time_makes_an_object_stale_and_nothing_more() -> None:
    memory = ObjectMemory()
    for number, eye in enumerate((HERE, BEHIND)):
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye)])
    memory.observe(frame_at(2, stamp=601.0), [])
    assert not memory.state("obj-1").stale
    memory.observe(frame_at(3, stamp=601.1), [])
    assert (memory.state("obj-1").stale, memory.state("obj-1").state) == (True, "confirmed")


def test_people_are_never_remembered() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1], labels={" Person ": 0.9, "statue": 0.3})])
    assert len(memory) == 0


def test_what_is_never_remembered_can_be_set() -> None:
    memory = ObjectMemory(Settings(labels=Labels(ignore=("cat",))))
    memory.observe(frame_at(0), [seen([2, 0, 1], labels={"cat": 0.9}), seen([2, 1, 1], labels={"person": 0.9})])
    assert [one.label for one in memory.states(include_tentative=True)] == ["person"]


def test_one_thing_detected_twice_in_a_frame_counts_once() -> None:
    memory = ObjectMemory()
    twice = [seen([2, 0, 1], size=0.3, quality=0.5), seen([2.02, 0, 1], size=0.3, quality=0.9)]
    memory.observe(frame_at(0), twice)
    (only,) = memory.states(include_tentative=True)
    assert only.xyz_world[0] == 2.02


def test_ids_count_up_and_are_never_given_twice() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1])])
    memory.observe(frame_at(1, stamp=100.0), [seen([2, 0, 1])])
    assert [one.id for one in memory.states(include_tentative=True)] == ["obj-1"]
    memory.observe(frame_at(2, stamp=200.0), [])
    memory.observe(frame_at(3, stamp=201.0), [seen([2, 0, 1])])
    assert [one.id for one in memory.states(include_tentative=True)] == ["obj-2"]


def test_the_facade_remembers_objects() -> None:
    memory = Memory.open()
    for number, eye in enumerate((HERE, BEHIND)):
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye, labels={"red mug": 0.9})])
    assert [one.id for one in memory.objects("Red Mug")] == ["obj-1"]
    assert memory.objects("vase") == []
    assert memory.object("obj-1").label == "red mug"
    with pytest.raises(StampError):
        memory.observe(frame_at(0, stamp=-1.0), [])


@pytest.mark.parametrize("object_id", ["obj-2", "1", "obj-", "mug", "obj-٣"])
def test_an_id_that_is_not_remembered_is_refused(object_id: str) -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1])])
    with pytest.raises(InvalidValue, match="is not remembered"):
        memory.state(object_id)


def test_tentative_objects_that_were_merged_expire_as_in_a_restored_memory() -> None:
    memory = ObjectMemory()
    for stamp, xyz in ((1, [2.0, 0.0, 0.8]), (3, [2.0, 2.0, 0.8]), (20, [2.0, 0.5, 0.8])):
        memory.observe(frame_at(stamp), [seen(xyz, stamp=float(stamp))])
    memory.merge("obj-1", "obj-3")
    restored = ObjectMemory()
    restored.restore(memory.export_rows())
    for one in (memory, restored):
        one.observe(frame_at(35), [seen([5.0, 5.0, 0.8], stamp=35.0)])
    ids = [[state.id for state in one.states(include_tentative=True)] for one in (memory, restored)]
    assert ids == [["obj-1", "obj-4"]] * 2
