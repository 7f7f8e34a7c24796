"""Searches over a demo flat and over a row of nodes, for the tests of the loop."""

from __future__ import annotations

import json
from typing import Any

from lastseen.config import Settings
from lastseen.memory.nodes import DeterministicEmbedder, Pose2D, SemanticMemoryStore, seed_demo_store
from lastseen.search.loop import SearchLoop
from lastseen.search.node_world import NodeWorld
from lastseen.search.planning.decision import Planner
from lastseen.search.planning.hypothesis import HypothesisPlanner
from lastseen.search.planning.node_graph import NodeGraph
from lastseen.vlm import Backend

GOOD: dict[str, Any] = {"target_status": "searching", "action": "explore", "confidence": 0.5, "rationale": "look"}


def say(**fields: Any) -> str:
    return json.dumps({**GOOD, **fields})


def goto(node_id: int, **fields: Any) -> str:
    return say(action="goto_node", navigation_goal={"node_id": node_id}, **fields)


def store_at(*nodes: tuple[float, str]) -> SemanticMemoryStore:
    store = SemanticMemoryStore()
    for x, summary in nodes:
        store.add_node(Pose2D(x, 0.0, 0.0), None, [], summary)
    return store


def search(
    goal: str = "red mug",
    backend: Backend | None = None,
    *,
    store: SemanticMemoryStore | None = None,
    start: int | None = 1,
    planner: Planner | None = None,
    settings: Settings | None = None,
    world: type[NodeWorld] = NodeWorld,
    **options: Any,
) -> SearchLoop:
    nodes = seed_demo_store() if store is None else store
    graph = NodeGraph.from_store(nodes)
    return SearchLoop(
        goal,
        store=nodes,
        embedder=DeterministicEmbedder(),
        planner=planner or HypothesisPlanner(backend, settings),
        world=world(graph, start=start),
        paths=graph,
        settings=settings,
        **options,
    )


def records(running: SearchLoop, limit: int = 40) -> list[dict[str, Any]]:
    made = []
    while running.result is None and running.steps < limit:
        made.append(running.step())
    return made
