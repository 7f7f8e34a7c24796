from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lastseen import Memory
from lastseen.config import Settings
from lastseen.config.memory import Store
from lastseen.detection import Detection
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.errors import InvalidValue, JournalReadOnly, StampError, StorageFull
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects import Event
from lastseen.observation import Observation
from tests.memory.homes import ROOM, stream, walk
from tests.memory.objects.scenes import frame_at, seen
from tests.test_frame import make_frame


def test_memory_follows_the_pose_of_the_newest_frame() -> None:
    with Memory.open() as memory:
        assert memory.pose() is None
        pose = Pose3D.from_quaternion([1, 2, 3], [0, 0, 0, 1])
        memory.observe(make_frame(T_world_camera=pose), [])
        assert memory.pose() == pose


def test_memory_refuses_a_frame_from_the_past_and_stays_as_it_was() -> None:
    memory = Memory.open()
    memory.observe(make_frame(stamp=2.0), [])
    with pytest.raises(StampError):
        memory.observe(make_frame(stamp=1.0, T_world_camera=Pose3D.from_quaternion([1, 0, 0], [0, 0, 0, 1])), [])
    assert memory.pose() == Pose3D.identity()


def test_what_is_no_frame_is_named() -> None:
    with pytest.raises(InvalidValue, match="frame = 'x': is not a Frame"):
        Memory.open().observe("x", [])  # type: ignore[arg-type]


def test_a_new_session_may_start_from_zero_and_time_goes_on() -> None:
    memory = Memory.open(wall_clock=None)
    memory.observe(make_frame(id=0, stamp=100.0), [])
    memory.new_session()
    memory.observe(make_frame(id=1, stamp=3.0), [])
    first, second = memory.sessions()
    assert second.first > first.last
    with pytest.raises(StampError):
        memory.observe(make_frame(id=2, stamp=2.0), [])


def test_twelve_frames_of_the_readme_program_lay_places_and_answers_say_theirs() -> None:
    camera = Intrinsics.from_fov(160, 120, horizontal_deg=79)
    with Memory.open(wall_clock=None) as memory:
        for step in range(12):
            pose = Pose3D.from_quaternion([0.25 * step, 0, 0.9], [0, 0, 0, 1])
            rgb, depth = np.zeros((120, 160, 3), np.uint8), np.full((120, 160), 2.0, np.float32)
            things = {"stove": (1.0, 2.0, 0.8), "sink": (2.0, 2.0, 0.8)}
            memory.observe(
                Frame(step, float(step), rgb, depth, pose, camera),
                [
                    Observation(
                        position=np.array(at),
                        extent=np.full(3, 0.1),
                        view_direction=pose.translation - at,
                        stamp=float(step),
                        labels={label: 0.9},
                    )
                    for label, at in things.items()
                ],
            )
        assert [place.place_type for place in memory.places()] == ["kitchen"]
        for label in things:
            (hit,) = memory.find(label).hits
            assert (hit.place, hit.place_id) == ("kitchen", 0)
            room = memory.room_of(hit.id)
            assert room is not None
            assert room.id == hit.place_id


def mug_before_a_wall(number: int) -> Frame:
    """A red square one metre ahead, before a grey wall."""
    x = 0.1 * number
    depth = np.full((60, 80), 3.0, np.float32)
    depth[25:35, 35:45] = 1.0
    rgb = np.full((60, 80, 3), 90, np.uint8)
    rgb[25:35, 35:45] = (200, 30, 30)
    return replace(frame_at(number, eye=(x, 0.0, 1.2), target=(x + 2.0, 0.0, 1.2), depth=depth), rgb=rgb)


def test_detections_are_described_lifted_and_remembered(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path, wall_clock=None) as memory:
        for number in range(3):
            mug = Detection((35.0, 25.0, 45.0, 35.0), 0.9, {"mug": 0.8})
            memory.observe(mug_before_a_wall(number), detections=[mug])
        (hit,) = memory.find("red mug", include_tentative=True).hits
        assert hit.color == "red"
        assert hit.position == pytest.approx((1.1, 0.0, 1.2), abs=0.15)
        memory.flush()
        assert memory.object(hit.id).image_crops[0].startswith(b"\xff\xd8")
        assert memory.stats()["image_encoder"] == ColorShapeEncoder.name
        assert memory.find(image=np.full((20, 20, 3), (200, 30, 30), np.uint8), include_tentative=True).hits
    with Memory.open(path, read_only=True) as again:
        assert again.find("red mug", include_tentative=True).hits == (hit,)


def test_detections_without_depth_name_the_place_all_the_same() -> None:
    memory = Memory.open()
    stove = Detection((35.0, 25.0, 45.0, 35.0), 0.9, {"stove": 0.8})
    memory.observe(frame_at(0), detections=[stove])
    assert memory.find("stove", include_tentative=True).status == "not_found"
    assert [place.place_type for place in memory.places()] == ["kitchen"]


def test_a_memory_of_another_encoder_takes_detections_without_describing_them(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    walk(Memory.open(path, image_encoder="clip-1"), looks="random").close()
    with Memory.open(path) as memory:
        mug = Detection((35.0, 25.0, 45.0, 35.0), 0.9, {"mug": 0.8})
        memory.observe(mug_before_a_wall(7), detections=[mug])
        assert memory.stats()["image_encoder"] == "clip-1"


@pytest.mark.parametrize("given", [{}, {"observations": [], "detections": []}])
def test_observations_and_detections_both_or_neither_are_refused_in_one_line(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="takes observations or detections; give one of them") as refused:
        Memory.open().observe(make_frame(), **given)
    assert "\n" not in str(refused.value)


def test_a_memory_for_reading_refuses_detections_before_it_looks_at_them(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    Memory.open(path).close()
    with Memory.open(path, read_only=True) as memory:
        mug = Detection((35.0, 25.0, 45.0, 35.0), 0.9, {"mug": 0.8})
        with pytest.raises(JournalReadOnly):
            memory.observe(mug_before_a_wall(0), detections=[mug])
        assert memory.stats()["image_encoder"] is None


def test_a_subscriber_hears_every_event_until_it_ends() -> None:
    memory = Memory.open()
    heard: list[Event] = []
    told: list[Event] = []
    end = memory.subscribe(heard.append)
    for frame, observations in stream(4):
        told += memory.observe(frame, observations)
    told += memory.relabel("obj-1", "cup")
    assert heard == told
    assert {"appeared", "confirmed", "corrected"} <= {str(event.kind) for event in heard}
    end()
    end()
    memory.relabel("obj-1", "mug")
    assert heard == told


def test_subscribers_may_end_while_they_are_told_and_others_still_hear() -> None:
    memory, heard = Memory.open(), []
    end = memory.subscribe(lambda event: end())
    memory.subscribe(lambda event: heard.append(event.object_id))
    walk(memory, 1, ROOM[:1])
    assert heard == ["obj-1"]


def test_on_a_full_disk_subscribers_hear_of_the_frame_that_was_taken(tmp_path: Path) -> None:
    settings = Settings(store=Store(upsert_period=0.0))
    memory = Memory.open(tmp_path / "home.lastseen", settings=settings)
    heard: list[Event] = []
    memory.subscribe(heard.append)
    pages = memory.store.journal._db.execute("PRAGMA page_count").fetchone()[0]
    memory.store.journal._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageFull):
        walk(memory, 4, looks="random")
    assert "appeared" in {str(event.kind) for event in heard}
    memory.store.journal._db.execute("PRAGMA max_page_count = 100000")
    memory.close()


@pytest.mark.parametrize(("score", "name"), [(0.38, "maybe refrigerator"), (0.8, "refrigerator")])
def test_a_label_that_no_detector_was_sure_of_is_no_name_yet(score: float, name: str) -> None:
    with Memory.open(wall_clock=None) as memory:
        for number, eye in enumerate(((0.0, 0.0, 1.2), (4.0, 0.0, 1.2))):
            memory.observe(frame_at(number), [seen([2.0, 0.0, 0.9], eye=eye, labels={"refrigerator": score})])
        (found,) = memory.objects()
        assert (found.label, found.name) == ("refrigerator", name)
