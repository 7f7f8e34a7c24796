from __future__ import annotations

from pathlib import Path

import pytest

from lastseen import Memory
from lastseen.action import Action
from lastseen.errors import InvalidValue
from lastseen.memory.nodes.store import seed_demo_store
from lastseen.pose2d import Pose2D
from lastseen.runtime.nodes_file import load_nodes


def test_a_nodes_file_gives_its_nodes(tmp_path: Path) -> None:
    seed_demo_store().save_json(tmp_path / "nodes.json")
    assert len(load_nodes(tmp_path / "nodes.json")) == len(seed_demo_store())


def test_the_memory_of_a_robot_that_walked_gives_its_anchors(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    with Memory.open(file) as memory:
        memory.spatial.scene_analyzed("kitchen", ["stove"], world_pose=Pose2D(1.0, 2.0, 0.0))
        for _ in range(4):
            memory.spatial.step(Action.FORWARD, world_pose=Pose2D(1.0, 2.0, 0.0))
    assert any("kitchen" in node.tags for node in load_nodes(file).all_nodes())


def test_a_memory_without_walked_places_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    Memory.open(file).close()
    with pytest.raises(InvalidValue, match="no walked places; ask it with `lastseen find`"):
        load_nodes(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="cannot be read"):
        load_nodes(tmp_path / "none.json")
