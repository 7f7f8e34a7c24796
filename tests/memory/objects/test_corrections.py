from __future__ import annotations

import numpy as np
import pytest
from tests.memory.objects.scenes import Room, frame_at, look, seen, unit

from lastseen.errors import InvalidValue
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.objects import EventKind, ObjectMemory

HERE, BEHIND = (0.0, 0.0, 1.0), (4.0, 0.0, 1.0)


def memory_of_two() -> ObjectMemory:
    """A mug and a bowl, confirmed."""
    memory = ObjectMemory()
    for number, eye in enumerate((HERE, BEHIND)):
        pair = [
            seen([2.0, 0.0, 0.8], eye=eye, labels={"mug": 0.9}, embedding=unit(1)),
            seen([2.0, 1.0, 0.8], eye=eye, labels={"bowl": 0.9}, embedding=unit(2)),
        ]
        memory.observe(frame_at(number, eye=eye, target=(2.0, 0.0, 0.8)), pair)
    return memory


def content(memory: ObjectMemory) -> dict[str, bytes]:
    return {name: column.tobytes() for name, column in memory.export_rows().columns.items()}


def test_a_loop_closure_that_moves_every_frame_moves_every_object_with_it() -> None:
    memory = memory_of_two()
    shift = np.array([0.3, -0.2, 0.05])
    poses = {
        number: Pose3D(look(eye, (2.0, 0.0, 0.8)).translation + shift, look(eye, (2.0, 0.0, 0.8)).quaternion)
        for number, eye in enumerate((HERE, BEHIND))
    }
    events = memory.correct_poses(poses)
    assert [(event.kind, event.object_id) for event in events] == [
        (EventKind.CORRECTED, "obj-1"),
        (EventKind.CORRECTED, "obj-2"),
    ]
    assert memory.state("obj-1").xyz_world == pytest.approx([2.3, -0.2, 0.85], abs=1e-5)
    assert memory.state("obj-2").xyz_world == pytest.approx([2.3, 0.8, 0.85], abs=1e-5)


def test_a_turned_pose_turns_what_was_seen_from_it_around_the_camera() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(5, eye=(0, 0, 1), target=(2, 0, 1)), [seen([2.0, 0.0, 1.0])])
    memory.correct_poses({5: look((0, 0, 1), (0, 2, 1))})
    assert memory.state("obj-1").xyz_world == pytest.approx([0.0, 2.0, 1.0], abs=1e-5)


def test_frames_without_a_new_pose_hold_an_object_back() -> None:
    memory = ObjectMemory()
    for number in range(10):
        memory.observe(frame_at(number), [seen([2.0, 0.0, 0.8])])
    old = frame_at(9).T_world_camera
    memory.correct_poses({9: Pose3D(old.translation + np.array([0.1, 0.0, 0.0]), old.quaternion)})
    moved = float(memory.state("obj-1").xyz_world[0]) - 2.0
    assert 0.02 < moved < 0.05


def test_a_corrected_object_is_met_at_its_new_place() -> None:
    memory = memory_of_two()
    poses = {
        number: Pose3D(
            look(eye, (2.0, 0.0, 0.8)).translation + np.array([1.0, 0.0, 0.0]), look(eye, (2.0, 0.0, 0.8)).quaternion
        )
        for number, eye in enumerate((HERE, BEHIND))
    }
    memory.correct_poses(poses)
    memory.observe(frame_at(9), [seen([3.0, 0.0, 0.8], embedding=unit(1))])
    assert memory.state("obj-1").hits == 3


def test_poses_of_unknown_frames_change_nothing() -> None:
    memory = memory_of_two()
    before = content(memory)
    assert memory.correct_poses({77: look(HERE, BEHIND)}) == ()
    assert memory.correct_poses({}) == ()
    assert content(memory) == before


def test_a_name_given_by_hand_stands() -> None:
    memory = memory_of_two()
    (event,) = memory.relabel("obj-1", "Anna's cup")
    assert event.evidence == {
        "how": "relabel",
        "before": "mug",
        "after": "anna's cup",
        "label": "anna's cup",
    }
    memory.observe(frame_at(5), [seen([2.0, 0.0, 0.8], labels={"mug": 1.0}, embedding=unit(1))])
    assert memory.state("obj-1").label_scores == {"anna's cup": 1.0}
    assert memory.state("obj-2").label == "bowl"


def test_a_blank_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="not blank"):
        memory_of_two().relabel("obj-1", "  ")


def test_merging_by_hand_keeps_the_first_id() -> None:
    memory = memory_of_two()
    (event,) = memory.merge("obj-2", "obj-1")
    assert (event.kind, event.object_id, event.evidence["absorbed"]) == (EventKind.MERGED, "obj-2", "obj-1")
    (only,) = memory.states()
    assert (only.id, only.hits) == ("obj-2", 4)
    with pytest.raises(InvalidValue, match="twice"):
        memory.merge("obj-2", "obj-2")


@pytest.mark.parametrize("what", ["relabel", "delete", "merge"])
def test_undo_restores_every_bit(what: str) -> None:
    memory = memory_of_two()
    before = content(memory)
    if what == "relabel":
        memory.relabel("obj-1", "cup")
    elif what == "delete":
        memory.delete("obj-1")
        assert [one.id for one in memory.states()] == ["obj-2"]
    else:
        memory.merge("obj-1", "obj-2")
    assert content(memory) != before
    memory.undo()
    assert content(memory) == before


def test_undo_goes_back_step_by_step_and_ends() -> None:
    memory = memory_of_two()
    memory.relabel("obj-1", "cup")
    memory.relabel("obj-1", "glass")
    memory.undo()
    assert memory.state("obj-1").label == "cup"
    memory.undo()
    assert memory.state("obj-1").label == "mug"
    with pytest.raises(InvalidValue, match="nothing to take back"):
        memory.undo()


def test_an_undone_deletion_is_met_again() -> None:
    memory = memory_of_two()
    memory.delete("obj-1")
    memory.undo()
    memory.observe(frame_at(5), [seen([2.0, 0.0, 0.8], embedding=unit(1))])
    assert memory.state("obj-1").hits == 3


def test_forgetting_cannot_be_undone() -> None:
    memory = memory_of_two()
    memory.relabel("obj-1", "cup")
    memory.forget(["obj-1"])
    with pytest.raises(InvalidValue, match="is not remembered"):
        memory.state("obj-1")
    with pytest.raises(InvalidValue, match="nothing to take back"):
        memory.undo()


def test_a_forgotten_things_name_is_forgotten_and_its_number_used_again() -> None:
    memory = memory_of_two()
    number = memory.store.labels.find("mug")
    assert memory.forget(["obj-1"]) == {"mug"}
    assert "mug" not in memory.export_rows().labels
    again = ObjectMemory()
    again.restore(memory.export_rows())
    for each in (memory, again):
        each.relabel("obj-2", "cup")
        assert each.store.labels.find("cup") == number
        assert each.state("obj-2").label == "cup"


def test_a_name_that_undo_would_bring_back_is_kept() -> None:
    memory = memory_of_two()
    memory.relabel("obj-2", "cup")
    assert memory.forget(["obj-1"]) == {"mug"}
    memory.undo()
    assert memory.state("obj-2").label == "bowl"


def test_nothing_remembers_that_it_was_seen_beside_what_was_forgotten() -> None:
    memory = ObjectMemory()
    pair = [seen([2.0, 0.0, 0.8], embedding=unit(1)), seen([2.0, 0.11, 0.8], embedding=unit(2))]
    memory.observe(frame_at(0), pair)
    row = memory.store.row("obj-2")
    assert 1 in memory.store.neighbours[row]
    version = memory.export_rows().version
    memory.forget(["obj-1"])
    assert not memory.store.neighbours[row].any()
    assert not memory.store.neighbour_hits[row].any()
    assert memory.export_rows(version).columns["seq"].tolist() == [2]


def test_a_deletion_is_told_to_whoever_keeps_a_copy_and_so_is_its_undoing() -> None:
    memory = memory_of_two()
    version = memory.export_rows().version
    memory.delete("obj-1")
    assert memory.export_rows(version).gone == (1,)
    memory.undo()
    rows = memory.export_rows(version)
    assert (rows.gone, rows.columns["seq"].tolist()) == ((), [1])


def test_forgetting_a_tentative_object_does_not_trip_its_expiry() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.8])])
    memory.forget(["obj-1"])
    memory.observe(frame_at(1, stamp=100.0), [])
    assert len(memory) == 0


def test_the_facade_corrects_and_writes_it_down(tmp_path: object) -> None:
    path = f"{tmp_path}/home.lastseen"
    room = Room()
    room.put("mug", [2.0, 0.0, 0.8])
    room.put("table", [2.0, 0.0, 0.35], [1.0, 1.0, 0.7])
    with Memory.open(path, wall_clock=None) as memory:
        for number in range(8):
            frame, observations = room.see(number, eye=(0.0, 0.4 * number - 1.6, 1.4))
            memory.observe(frame, observations)
        mug = memory.objects("mug")[0].id
        assert [relation.kind for relation in memory.relations(mug)] == ["on"]
        memory.relabel(mug, "cup")
        memory.delete(memory.objects("table")[0].id)
        memory.undo()
    with Memory.open(path, wall_clock=None) as memory:
        assert sorted(str(one.label) for one in memory.objects()) == ["cup", "table"]


def test_frame_ids_that_start_again_name_other_frames() -> None:
    memory = memory_of_two()
    before = memory.state("obj-1").xyz_world
    memory.observe(frame_at(0, stamp=100.0, eye=HERE, target=(2.0, 0.0, 0.8)), [])
    shifted = Pose3D(np.array([0.5, 0.5, 1.0]), look(HERE, (2.0, 0.0, 0.8)).quaternion)
    assert memory.correct_poses({0: shifted, 1: shifted}) == ()
    assert memory.state("obj-1").xyz_world == pytest.approx(before)


def test_a_refused_name_leaves_nothing_to_undo() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.5])])
    with pytest.raises(InvalidValue, match="label"):
        memory.relabel("obj-1", " ")
    with pytest.raises(InvalidValue, match="nothing to take back"):
        memory.undo()


def test_undoing_a_name_keeps_what_was_seen_since() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2.0, 0.0, 0.5], labels={"mug": 0.9})])
    memory.relabel("obj-1", "cup")
    memory.observe(frame_at(1), [seen([2.0, 0.0, 0.5], labels={"mug": 0.9})])
    memory.undo()
    assert (memory.state("obj-1").label, memory.state("obj-1").hits) == ("mug", 2)
