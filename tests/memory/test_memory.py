from __future__ import annotations

import pytest

from lastseen import Memory
from lastseen.errors import InvalidValue, StampError
from lastseen.geometry import Pose3D
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
