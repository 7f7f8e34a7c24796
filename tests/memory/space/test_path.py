"""The robot's path: parts in the file, oldest dropped."""

from __future__ import annotations

import pytest

from lastseen.errors import JournalDamaged
from lastseen.geometry import Pose3D
from lastseen.memory.space.path import PART, RobotPath


def walk(path: RobotPath, start: int, stop: int, file: dict[int, bytes], *, every: int = 100) -> None:
    """Walk one metre a second, and put what changed into a file now and then."""
    for second in range(start, stop):
        path.add(Pose3D.from_quaternion([float(second), 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]), time=float(second))
        if second % every == 0:
            write(path, file)
    write(path, file)


def write(path: RobotPath, file: dict[int, bytes]) -> None:
    for number, body in path.drain_changed().items():
        if body:
            file[number] = body
        else:
            file.pop(number, None)


def read(file: dict[int, bytes]) -> RobotPath:
    path = RobotPath()
    path.restore(file, "home")
    return path


def test_a_file_holds_what_was_walked() -> None:
    path, file = RobotPath(), dict[int, bytes]()
    walk(path, 0, 1000, file)
    assert len(file) == 4
    assert read(file).points == path.points
    assert [point[0] for point in path.points] == [float(second) for second in range(1000)]


def test_the_oldest_parts_go_and_the_rest_goes_on_in_the_file() -> None:
    path, file = RobotPath(most=4 * PART), dict[int, bytes]()
    walk(path, 0, 3000, file)
    assert 3 * PART < len(path) <= 4 * PART
    again = read(file)
    assert again.points == path.points
    walk(again, 3000, 3500, file)
    assert read(file).points == again.points
    assert again.points[-1][0] == 3499.0


def test_what_lies_before_a_time_is_dropped_in_whole_parts() -> None:
    path, file = RobotPath(), dict[int, bytes]()
    walk(path, 0, 1000, file)
    path.drop_before(600.0)
    write(path, file)
    assert path.points[0][0] == 2.0 * PART
    assert read(file).points == path.points
    path.drop_before(10_000.0)
    write(path, file)
    # the part that is being written stays
    assert path.points[0][0] == 3.0 * PART
    assert sorted(file) == [3]


def test_parts_that_were_lost_are_numbered_anew() -> None:
    path, file = RobotPath(), dict[int, bytes]()
    walk(path, 0, 1000, file)
    del file[1]
    again = read(file)
    walk(again, 1000, 1100, file)
    assert read(file).points == again.points


def test_a_part_that_cannot_be_read_is_named() -> None:
    with pytest.raises(JournalDamaged, match="part 7 of the robot's path"):
        read({7: b"not a path"})
