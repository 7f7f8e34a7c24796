"""A thing seen on an earlier visit is found again by walking to the remembered node, in a simulated home."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from lastseen.search.environment_world import EnvironmentWorld
from lastseen.search.node_routes import NodeRoutes

from lastseen.config import settings_from_mapping
from lastseen.memory.nodes import DeterministicEmbedder, Pose2D, SemanticMemoryStore
from lastseen.memory.places import SpatialMemory
from lastseen.search.loop import SearchLoop
from lastseen.search.planning.decision import Decision
from lastseen.search.planning.memory_first import MemoryFirstPlanner
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.search.planning.panorama_planner import PanoramaPlanner
from lastseen.search.planning.scene import SceneAnalyzer
from lastseen.search.policy.geometric import GeometricPixelPolicy
from lastseen.vlm import open_backend

pytest.importorskip("embreex")

SETTINGS = settings_from_mapping({"camera": {"width": 128, "height": 96}})
START = Pose2D(2.5, 3.2, 3.1)
"""In the kitchen, looking away from the door."""


def remembered() -> SemanticMemoryStore:
    """What a walk through the tiny home leaves: the kitchen, the doorway, the bedroom."""
    store = SemanticMemoryStore()
    store.add_node(Pose2D(2.6, 2.4, 0.0), None, ["kitchen", "table"], "kitchen")
    store.add_node(Pose2D(3.6, 2.0, 0.0), None, ["kitchen"], "by the door")
    store.add_node(Pose2D(4.6, 2.0, 0.0), None, ["bedroom", "plant"], "inside the door")
    store.add_node(Pose2D(5.8, 1.6, 0.0), None, ["bedroom", "nightstand", "bed"], "bedroom")
    return store


@dataclass
class Robot:
    environment: Any
    world: EnvironmentWorld
    loop: SearchLoop


def robot(goal: str, store: SemanticMemoryStore) -> Robot:
    from lastseen.sim.detector import SimulatedDetector
    from lastseen.sim.environment import SimEnvironment
    from lastseen.sim.tiny import tiny_home

    environment = SimEnvironment(tiny_home(), start=START, settings=SETTINGS)
    backend = open_backend("offline", SETTINGS.planner)
    planner = PanoramaPlanner(backend, SpatialMemory(SETTINGS), settings=SETTINGS)
    world = EnvironmentWorld(
        environment,
        SimulatedDetector(environment, level="perfect"),
        GeometricPixelPolicy(SETTINGS.policy, stop=SETTINGS.stop, motion=SETTINGS.dead_reckoning),
        target=goal,
        planner=planner,
        analyzer=SceneAnalyzer(backend, SETTINGS),
        routes=NodeRoutes(store, SETTINGS.search),
    )
    loop = SearchLoop(
        goal,
        store=store,
        embedder=DeterministicEmbedder(),
        planner=MemoryFirstPlanner(planner, SETTINGS),
        world=world,
        ways=NodeGraph.from_store(store, link_distance=1.5),
        settings=SETTINGS,
    )
    return Robot(environment, world, loop)


def test_a_remembered_thing_is_walked_to_through_the_door_and_verified() -> None:
    searching = robot("nightstand", remembered())
    sources = []
    while searching.loop.result is None and searching.world.spatial.step_id < 150:
        record = searching.loop.step()
        sources.append(record["decision"] and record["decision"]["source"])
    assert searching.loop.result is not None
    assert searching.loop.result.status == "found"
    assert "memory" in sources
    there = searching.environment.agent.pose
    assert there.x > 6.0, f"stopped at {there}"


def test_a_walk_to_a_node_ends_there_and_a_look_around_begins() -> None:
    walking = robot("nightstand", remembered())
    path = NodeGraph.from_store(remembered(), link_distance=1.5).shortest_path(1, 3)
    decision = Decision.go_to(3, why="", source="memory")
    for _ in range(60):
        moved = walking.world.follow(decision, path)
        assert moved.failed is None
        if walking.world.look("nightstand").idle:
            break
    sight = walking.world.look("nightstand")
    assert (sight.idle, sight.ready, sight.node_id) == (True, False, 3)


def test_a_node_behind_a_wall_is_reported_as_barred() -> None:
    store = remembered()
    store.add_node(Pose2D(2.0, 9.0, 0.0), None, ["garden"], "outside")
    walking = robot("nightstand", store)
    decision = Decision.go_to(5, why="", source="memory")
    for _ in range(80):
        moved = walking.world.follow(decision, None)
        if moved.failed:
            break
    assert moved.failed == "node 5: the way there is barred"


def test_what_memory_does_not_hold_is_left_to_the_explorer() -> None:
    searching = robot("bathtub", remembered())
    records = [searching.loop.step() for _ in range(20)]
    sources = {record["decision"]["source"] for record in records if record["decision"] is not None}
    assert sources == {"panorama"}


def test_the_search_is_the_same_twice() -> None:
    def poses() -> list[Any]:
        searching = robot("nightstand", remembered())
        return [searching.loop.step()["sight"] for _ in range(25)]

    assert poses() == poses()
