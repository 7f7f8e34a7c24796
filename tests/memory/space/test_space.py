from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from lastseen.memory.memory import Memory
from lastseen.memory.store.journal.schema import row_sum
from tests.memory.objects.scenes import frame_at


def test_a_memory_opened_again_knows_where_the_robot_stood(tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        assert memory.pose() is None
        memory.observe(frame_at(3, depth=2.0, eye=(0.5, -1.0, 1.2)), [])
        before = memory.last_pose()
    with Memory.open(path, read_only=True) as again:
        after = again.last_pose()
    assert before is not None
    assert after is not None
    assert after.time == before.time
    assert np.allclose(after.pose.matrix, before.pose.matrix)


def test_nothing_is_written_where_the_robot_did_not_look(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen") as memory:
        memory.observe(frame_at(1, depth=2.0), [])
        assert memory.flush() > 0
        assert memory.flush() == 0


@pytest.mark.parametrize("body", ["", "[]", '{"xyz": [1, 2], "quaternion_xyzw": [0, 0, 0, 1], "time": 1}'])
def test_a_pose_that_cannot_be_read_is_none(tmp_path: Path, body: str) -> None:
    path = tmp_path / "home.lastseen"
    Memory.open(path).close()
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("INSERT INTO meta VALUES ('robot.pose', ?, ?)", (body, row_sum("robot.pose", body)))
    with Memory.open(path, read_only=True) as memory:
        assert memory.last_pose() is None
        assert memory.pose() is None
