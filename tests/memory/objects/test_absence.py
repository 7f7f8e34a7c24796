from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.memory.objects.scenes import CAMERA, Room, frame_at, look, seen

from lastseen.config import Settings
from lastseen.config.memory import Absence, Promotion
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.objects import Event, EventKind, ObjectMemory, absence
from lastseen.memory.objects.absence import views_needed
from lastseen.memory.objects.camera import CameraView
from lastseen.memory.objects.depth_evidence import all_behind
from lastseen.memory.objects.store import ObjectStore

MUG = [2.0, 0.0, 0.8]


class Walk:
    """A camera that sways left and right before a room, one frame per step, and what memory said of it."""

    def __init__(self, room: Room, settings: Settings | None = None) -> None:
        self.room = room
        self.memory = ObjectMemory(settings)
        self.events: list[Event] = []
        self.steps = 0
        self.clock = 0.0

    def look(
        self,
        count: int,
        *,
        target: Sequence[float] = MUG,
        unseen: Sequence[str] = (),
        sway: bool = True,
        spoil: float | None = None,
    ) -> None:
        for _ in range(count):
            side = 1.2 * np.sin(0.7 * self.steps) if sway else 0.0
            frame, observations = self.room.see(
                self.steps, eye=(0.0, side, 1.4), target=target, stamp=self.clock, unseen=unseen
            )
            if spoil is not None:
                frame = with_depth(frame, spoil)
            self.events += self.memory.observe(frame, observations)
            self.steps += 1
            self.clock += 0.5

    def told(self, *kinds: EventKind) -> list[tuple[EventKind, str]]:
        return [(event.kind, event.object_id) for event in self.events if event.kind in kinds]


def with_depth(frame: Frame, depth: float) -> Frame:
    values = np.full(frame.depth.shape, depth, dtype=np.float32)
    return Frame(frame.id, frame.stamp, frame.rgb, values, frame.T_world_camera, frame.intrinsics)


GONE = (EventKind.MISSING, EventKind.REMOVED)
HEARING = Settings()
"""Judging flat things by what the detector leaves out too."""
DEAF = Settings(absence=Absence(missed_detection_weight=0.0))
"""Depth alone counts."""


@pytest.fixture
def walk() -> Walk:
    """A mug on nothing, well known."""
    room = Room()
    room.put("mug", MUG)
    walk = Walk(room)
    walk.look(20)
    assert [one.label for one in walk.memory.states()] == ["mug"]
    return walk


def test_observations_without_a_camera_are_no_evidence_of_absence() -> None:
    walk = Walk(Room())
    walk.room.put("mug", MUG)
    walk.look(20)
    for number in range(100, 160):
        pose = look((0.0, 1.2 * np.sin(0.7 * number), 1.4), MUG)
        frame = Frame.without_camera(number, float(number), pose)
        walk.events += walk.memory.observe(frame, [seen([2.0, 2.0, 0.8], stamp=float(number))])
    assert walk.told(EventKind.MISSING) == []


def test_a_thing_that_stays_is_never_missing(walk: Walk) -> None:
    walk.look(100)
    assert walk.told(*GONE) == []


def test_a_thing_that_is_not_detected_but_stands_there_is_not_missing(walk: Walk) -> None:
    walk.look(60, unseen=["mug"])
    assert walk.told(*GONE) == []
    assert walk.memory.state("obj-1").detection_rate < 0.5


def test_a_thing_carried_away_is_missing_once_its_place_was_seen_empty(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(10)
    assert walk.told(*GONE) == [(EventKind.MISSING, "obj-1")]
    evidence = next(event for event in walk.events if event.kind is EventKind.MISSING).evidence
    assert evidence["empty_share"] == 1.0
    assert evidence["views"] == evidence["needed"] == 3
    assert walk.memory.states() == []
    assert [one.state for one in walk.memory.states(include_absent=True)] == ["missing"]


def test_fewer_views_than_asked_are_not_enough(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(2)
    assert walk.told(*GONE) == []


def test_one_long_stare_is_one_view(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(100, sway=False)
    assert walk.told(*GONE) == []


def test_what_hides_a_place_is_no_evidence(walk: Walk) -> None:
    walk.room.take("mug")
    walk.room.put("curtain", [1.0, 0.0, 1.0], [0.05, 4.0, 2.0])
    walk.look(60)
    assert ("obj-1" in {name for _, name in walk.told(*GONE)}) is False


def test_missing_depth_is_no_evidence(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(60, spoil=np.nan)
    assert walk.told(*GONE) == []


def test_a_camera_that_looks_away_is_no_evidence(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(60, target=[-2.0, 0.0, 0.8])
    assert walk.told(*GONE) == []


def test_out_of_range_is_no_evidence(walk: Walk) -> None:
    walk.room.take("mug")
    for number in range(40):
        eye = (-3.0, 0.3 * (number % 8) - 1.2, 1.4)
        frame, _ = walk.room.see(walk.steps, eye=eye, target=MUG, stamp=walk.clock)
        walk.steps += 1
        walk.clock += 0.5
        walk.events += walk.memory.observe(frame, [])
    assert walk.told(*GONE) == []


def test_depth_just_behind_the_thing_is_no_evidence() -> None:
    """A flat thing: what lies behind it after it was taken is within the margin."""
    room = Room()
    room.put("poster", [2.0, 0.0, 0.8], [0.02, 0.3, 0.3])
    room.put("board", [2.06, 0.0, 0.8], [0.04, 2.0, 2.0])
    walk = Walk(room, DEAF)
    walk.look(20)
    room.take("poster")
    walk.look(40)
    assert walk.told(*GONE) == []


def test_a_flat_thing_that_a_detector_no_longer_finds_is_missed_without_depth() -> None:
    room = Room()
    room.put("poster", [2.0, 0.0, 0.8], [0.02, 0.3, 0.3])
    room.put("board", [2.06, 0.0, 0.8], [0.04, 2.0, 2.0])
    walk = Walk(room, HEARING)
    walk.look(20)
    poster = walk.memory.states(label="poster")[0].id
    room.take("poster")
    walk.look(3)
    assert walk.told(*GONE) == []
    walk.look(37)
    assert walk.told(*GONE) == [(EventKind.MISSING, poster)]


def test_missing_a_thing_seen_only_twice_is_no_evidence() -> None:
    room = Room()
    room.put("poster", [2.0, 0.0, 0.8], [0.02, 0.3, 0.3])
    room.put("board", [2.06, 0.0, 0.8], [0.04, 2.0, 2.0])
    walk = Walk(room, replace(HEARING, promotion=Promotion(min_view_bins=1)))
    walk.look(2)
    assert {one.label for one in walk.memory.states()} == {"poster", "board"}
    room.take("poster")
    walk.look(40)
    assert walk.told(*GONE) == []


def test_an_empty_place_of_a_thing_seen_only_twice_is_no_absence() -> None:
    """A second, misplaced object of a thing is often seen twice; that it is not there takes nothing away."""
    room = Room()
    room.put("mug", MUG)
    walk = Walk(room, replace(HEARING, promotion=Promotion(min_view_bins=1)))
    walk.look(2)
    room.take("mug")
    walk.look(60)
    assert [one.label for one in walk.memory.states()] == ["mug"]
    assert walk.told(*GONE) == []


def test_the_robot_s_own_body_is_no_evidence(walk: Walk) -> None:
    walk.memory.set_body_mask(np.ones((CAMERA.height, CAMERA.width), dtype=np.bool_))
    walk.room.take("mug")
    walk.look(40)
    assert walk.told(*GONE) == []


def test_absence_can_be_switched_off() -> None:
    room = Room()
    room.put("mug", MUG)
    walk = Walk(room, Settings(absence=Absence(enabled=False)))
    walk.look(20)
    room.take("mug")
    walk.look(40)
    assert walk.told(*GONE) == []


def test_a_pose_off_by_a_few_centimetres_is_no_evidence(walk: Walk) -> None:
    """The mug appears beside its remembered place, and the detector misses it."""
    walk.room.put("mug", [2.0, 0.05, 0.8])
    walk.look(40, unseen=["mug"])
    assert walk.told(*GONE) == []


def test_missing_becomes_removed_on_a_second_look_a_minute_later(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(60)
    assert walk.told(*GONE) == [(EventKind.MISSING, "obj-1")]
    walk.clock += 60.0
    walk.look(10)
    assert walk.told(*GONE) == [(EventKind.MISSING, "obj-1"), (EventKind.REMOVED, "obj-1")]
    assert [one.state for one in walk.memory.states(include_absent=True)] == ["removed"]


def test_a_minute_without_a_second_look_removes_nothing(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(10)
    walk.clock += 600.0
    walk.look(30, target=[-2.0, 0.0, 0.8])
    assert walk.told(*GONE) == [(EventKind.MISSING, "obj-1")]


@pytest.mark.parametrize(("pause", "was"), [(0.0, "missing"), (60.0, "removed")])
def test_what_comes_back_keeps_its_id(walk: Walk, pause: float, was: str) -> None:
    walk.room.take("mug")
    walk.look(10)
    walk.clock += pause
    walk.look(10)
    walk.room.put("mug", MUG)
    walk.look(5)
    (event,) = [event for event in walk.events if event.kind is EventKind.REAPPEARED]
    assert (event.object_id, event.evidence["was"]) == ("obj-1", was)
    assert [(one.id, one.state) for one in walk.memory.states()] == [("obj-1", "confirmed")]


def test_something_else_in_the_place_of_a_missing_thing_is_something_else(walk: Walk) -> None:
    walk.room.take("mug")
    walk.look(10)
    walk.room.put("vase", MUG)
    walk.look(10)
    assert walk.told(EventKind.REAPPEARED) == []
    assert [one.label for one in walk.memory.states()] == ["vase"]


@pytest.mark.parametrize(("rate", "views"), [(0.99, 3), (0.9, 3), (0.7, 4), (0.5, 7), (0.1, 8)])
def test_a_thing_detected_less_reliably_needs_more_empty_views(rate: float, views: int) -> None:
    assert views_needed(rate, Absence().chance, Absence().min_views) == views


def test_a_thing_often_missed_is_given_up_later(walk: Walk) -> None:
    walk.look(20, unseen=["mug"])
    walk.room.take("mug")
    walk.look(6)
    assert walk.told(*GONE) == []
    walk.look(20)
    assert walk.told(*GONE) == [(EventKind.MISSING, "obj-1")]


def test_a_body_mask_keeps_the_gripper_out_of_memory() -> None:
    memory = ObjectMemory()
    mask = np.zeros((CAMERA.height, CAMERA.width), dtype=np.bool_)
    mask[40:] = True
    memory.set_body_mask(mask)
    gripper, mug = seen([0.6, 0.0, 0.75]), seen([2.0, 0.0, 0.8])
    memory.observe(frame_at(0), [gripper, mug])
    assert [one.xyz_world.tolist() for one in memory.states(include_tentative=True)] == [[2.0, 0.0, 0.8]]


def test_a_body_mask_must_fit_the_depth() -> None:
    memory = ObjectMemory()
    memory.set_body_mask(np.zeros((4, 4), dtype=np.bool_))
    with pytest.raises(InvalidValue, match="must have the depth's shape"):
        memory.observe(frame_at(0), [])
    with pytest.raises(InvalidValue, match="2-D bool"):
        memory.set_body_mask(np.zeros(4, dtype=np.bool_))


def test_a_low_thing_on_a_shelf_is_missed_although_the_shelf_still_shows_at_its_foot() -> None:
    room = Room()
    room.put("shelf", [2.0, 0.0, 0.35], [0.8, 1.6, 0.7])
    room.put("mug", [2.0, 0.0, 0.78], [0.16, 0.16, 0.16])
    walk = Walk(room)
    walk.look(20)
    mug = walk.memory.states(label="mug")[0].id
    room.take("mug")
    walk.look(20)
    assert walk.told(*GONE) == [(EventKind.MISSING, mug)]


def test_depth_never_judges_a_thing_as_flat_as_its_foot() -> None:
    room = Room()
    room.put("shelf", [2.0, 0.0, 0.35], [0.8, 1.6, 0.7])
    room.put("letter", [2.0, 0.0, 0.71], [0.3, 0.3, 0.02])
    walk = Walk(room, DEAF)
    walk.look(20)
    room.take("letter")
    walk.look(40)
    assert walk.told(*GONE) == []


def test_the_misses_of_a_detector_that_failed_are_no_evidence() -> None:
    room = Room()
    room.put("book", [2.0, 0.0, 0.8], [0.2, 0.3, 0.05])
    room.put("table", [2.0, 0.0, 0.7], [1.0, 1.0, 0.15])
    walk = Walk(room, HEARING)
    walk.look(24)
    walk.look(16, unseen=("book", "table"))
    assert walk.told(*GONE) == []


@pytest.mark.parametrize("lost", [(10, 10), (10, 8), (10, 6), (10, 12), (10, 14), (8, 10), (6, 10)])
@pytest.mark.parametrize("measured", [np.nan, 1.0])
def test_a_point_is_empty_only_where_all_around_it_is_measured_and_behind(
    lost: tuple[int, int], measured: float
) -> None:
    depth = np.full((20, 20), 3.0, dtype=np.float32)
    assert all_behind(depth, 10, 10, 4.0, 2.0)
    depth[lost] = measured
    assert not all_behind(depth, 10, 10, 4.0, 2.0)


def poster_before_a_board(settings: Settings = HEARING) -> tuple[Walk, str]:
    room = Room()
    room.put("poster", [2.0, 0.0, 0.8], [0.02, 0.3, 0.3])
    room.put("board", [2.06, 0.0, 0.8], [0.04, 2.0, 2.0])
    walk = Walk(room, settings)
    walk.look(20)
    return walk, walk.memory.states(label="poster")[0].id


def look_from(walk: Walk, eyes: Sequence[tuple[float, float, float]], *, unseen: Sequence[str] = ()) -> None:
    for eye in eyes:
        frame, sights = walk.room.see(walk.steps, eye=eye, target=MUG, stamp=walk.clock, unseen=unseen)
        walk.events += walk.memory.observe(frame, sights)
        walk.steps, walk.clock = walk.steps + 1, walk.clock + 0.5


def doubt_of(walk: Walk, object_id: str) -> float:
    return float(walk.memory.store.doubt[walk.memory.store.row(object_id)])


def test_a_miss_counts_from_where_the_thing_used_to_be_found_and_not_from_far_away() -> None:
    doubts = []
    for away in (0.6, 0.0, -0.45, -1.5):
        walk, poster = poster_before_a_board(HEARING)
        walk.room.take("poster")
        look_from(walk, [(away, 0.0, 1.4)])
        doubts.append(doubt_of(walk, poster))
    near, usual, farther, far = doubts
    assert near == usual > 0.0
    assert farther == far == 0.0


def test_missed_detections_need_one_more_view_than_depth() -> None:
    """However sure each view is, three camera places do not do where missed detections are part of the evidence."""
    rules = Settings(absence=Absence(chance=0.9))
    walk, poster = poster_before_a_board(rules)
    walk.room.take("poster")
    look_from(walk, [(0.0, side, 1.4) for side in (-0.4, 0.0, 0.4)])
    assert walk.told(*GONE) == []
    look_from(walk, [(0.0, 0.8, 1.4)])
    assert walk.told(*GONE) == [(EventKind.MISSING, poster)]


def test_a_like_thing_seen_a_hand_s_breadth_beside_is_the_thing_itself() -> None:
    """The pose was off, and the detector found the thing beside its place."""
    walk, poster = poster_before_a_board(Settings())
    walk.room.put("poster", [2.0, 0.28, 0.8], [0.02, 0.3, 0.3])
    look_from(walk, [(0.0, side, 1.4) for side in (-0.8, -0.4, 0.0, 0.4, 0.8)])
    assert doubt_of(walk, poster) == 0.0
    assert walk.told(*GONE) == []


def test_depth_that_fits_closely_takes_doubt_back() -> None:
    room = Room()
    room.put("vase", MUG, [0.07, 0.2, 0.2])
    room.put("wall", [3.0, 0.0, 0.8], [0.04, 3.0, 3.0])
    walk = Walk(room, HEARING)
    walk.look(20)
    vase = walk.memory.states(label="vase")[0].id
    walk.memory.store.doubt[walk.memory.store.row(vase)] = 1.0
    walk.look(2, unseen=["vase"])
    assert 0.0 < doubt_of(walk, vase) < 1.0
    walk.look(40, unseen=["vase"])
    assert walk.told(*GONE) == []


@pytest.mark.parametrize(("away", "weight"), [(1.5, 1.0), (2.5, 1.0), (3.5, 0.5), (4.5, 0.0)])
def test_a_miss_counts_as_far_as_the_thing_s_own_sightings_reach(away: float, weight: float) -> None:
    """It was seen from one to four metres: half of that from 2.5 m or farther, a quarter from 3.5 m."""
    store = ObjectStore(Settings())
    (row,) = store.allocate(1).tolist()
    store.ring_camera[row, :4, 2], store.ring_n[row], store.bins[row] = (1.0, 2.0, 3.0, 4.0), 4, True
    view = CameraView(away, *[0.0] * 17)
    columns = store.body[row], store.counts[row], store.ring_place[row]
    assert absence._weight_of_miss.py_func(*columns, view, store.bins[row], store.absence_rules) == weight
