"""The pose at which a search starts in the map of an earlier visit."""

from __future__ import annotations

import math

import pytest
from lastseen.evaluation.earlier_visit import Visit, known_map

from lastseen.config import Settings
from lastseen.evaluation.arms import ARMS
from lastseen.memory.nodes.store import SemanticMemoryStore
from lastseen.pose2d import Pose2D
from lastseen.search.planning.node_graph import NodeGraph

START = Pose2D(0.0, 0.0, 0.0)


@pytest.fixture
def visit() -> Visit:
    store = SemanticMemoryStore()
    for x in range(8):
        store.add_node(Pose2D(float(x), 0.0, 0.0), None, ["corridor"], "")
    return Visit(store, NodeGraph.from_store(store))


def test_the_start_pose_is_told_with_the_error_of_localization(visit: Visit) -> None:
    told = known_map(visit, START, seed=3, settings=Settings()).start
    assert 0.0 < told.distance_to(START) < 0.2
    assert abs(told.yaw) < math.radians(5.0)


def test_a_lost_robot_is_told_another_spot_of_the_map(visit: Visit) -> None:
    told = known_map(visit, START, seed=3, settings=Settings(), lost=True).start
    assert told.distance_to(START) >= Settings().evaluation.lost_distance
    assert abs(told.yaw) == pytest.approx(math.pi / 2)
    assert told == known_map(visit, START, seed=3, settings=Settings(), lost=True).start


def test_only_the_lost_arm_is_lost() -> None:
    assert [arm.name for arm in ARMS.values() if arm.lost] == ["lifelong_lost"]
