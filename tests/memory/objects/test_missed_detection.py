from __future__ import annotations

from tests.memory.objects.scenes import Room
from tests.memory.objects.test_absence import DEAF, GONE, HEARING, MUG, Walk, look_from

from lastseen.config import Settings
from lastseen.memory.objects import EventKind, ObjectMemory
from lastseen.memory.objects.absence import MISSED_AT_LEAST

SPOTS = [(0.0, 0.4 * side, 1.4) for side in (-2, -1, 0, 1, 2)]
"""Camera places a good step apart."""


def controller_in_a_clutter(settings: Settings = HEARING) -> Walk:
    """A small thing so close before another that depth fits it nearly as well when it is gone."""
    room = Room()
    room.put("controller", MUG, [0.07, 0.16, 0.16])
    room.put("board", [2.07, 0.0, 0.8], [0.06, 2.0, 2.0])
    walk = Walk(room, settings)
    walk.look(20)
    assert "controller" in {one.label for one in walk.memory.states()}
    return walk


def evidence_of(walk: Walk, label: str = "controller") -> float:
    store = walk.memory.store
    return float(store.missed_evidence[store.row(walk.memory.states(label=label)[0].id)])


def test_a_thing_that_stays_undetected_in_plain_view_from_many_spots_is_missing() -> None:
    walk = controller_in_a_clutter()
    walk.room.take("controller")
    look_from(walk, SPOTS * 4)
    assert [kind for kind, _ in walk.told(*GONE)] == [EventKind.MISSING]


def test_any_number_of_views_from_one_spot_is_not_enough() -> None:
    walk = controller_in_a_clutter()
    walk.room.take("controller")
    look_from(walk, SPOTS[2:3] * 60)
    assert 0.0 < evidence_of(walk) < MISSED_AT_LEAST
    assert walk.told(*GONE) == []


def test_a_sighting_ends_the_evidence() -> None:
    walk = controller_in_a_clutter()
    walk.room.take("controller")
    look_from(walk, SPOTS[:2])
    assert evidence_of(walk) > 0.0
    walk.room.put("controller", MUG, [0.07, 0.16, 0.16])
    look_from(walk, SPOTS[2:3])
    assert evidence_of(walk) == 0.0


def test_where_missed_detections_are_not_believed_there_is_no_evidence() -> None:
    walk = controller_in_a_clutter(DEAF)
    walk.room.take("controller")
    look_from(walk, SPOTS[:2])
    assert evidence_of(walk) == 0.0


def test_the_evidence_is_written_down_and_older_memories_have_none() -> None:
    walk = controller_in_a_clutter()
    walk.room.take("controller")
    look_from(walk, SPOTS[:2])
    rows = walk.memory.export_rows()
    again = ObjectMemory()
    again.restore(rows)
    assert again.store.missed_evidence[: again.store.used].max() == evidence_of(walk) > 0.0
    for name in ("missed_evidence", "missed_views", "missed_from"):
        del rows.columns[name]
    older = ObjectMemory()
    older.restore(rows)
    assert older.store.missed_evidence[: older.store.used].max() == 0.0
