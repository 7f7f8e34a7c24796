"""Does memory pay: steps to find a thing that was seen on an earlier visit, with and without remembering the visit.

Each home is toured once; what the detector saw becomes memory nodes. Then every episode is searched twice by the
same loop, policy and explorer, from the same start: once with an empty memory, once with the nodes. Steps count
every action, the turns of each look around included; an episode that is not solved counts its whole budget.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import time
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from lastseen.config import Settings
from lastseen.memory.facade import Memory
from lastseen.memory.nodes import DeterministicEmbedder, SemanticMemoryStore
from lastseen.memory.objects import ObjectState
from lastseen.memory.places import SpatialMemory
from lastseen.memory.remembered_nodes import nodes_from_memory
from lastseen.perception.lift import lift
from lastseen.planning.memory_first import MemoryFirstPlanner
from lastseen.planning.node_graph import NodeGraph
from lastseen.planning.panorama_planner import PanoramaPlanner
from lastseen.planning.prompt import View
from lastseen.planning.scene import SceneAnalyzer
from lastseen.policy.geometric import GeometricPixelPolicy
from lastseen.pose2d import Pose2D
from lastseen.runtime.environment_world import EnvironmentWorld
from lastseen.runtime.loop import SearchLoop
from lastseen.runtime.node_routes import NodeRoutes
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.episodes import Episode, make_episodes
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.vlm import open_backend

EPISODES_PER_HOME = 10
DRAWN_PER_HOME = 60
REACH = 1.0
"""Metres from the goal's box within which a stop is truly a success."""


@dataclass
class Visit:
    """What is left of the first visit: a memory of objects and one of places."""

    memory: Memory
    spatial: SpatialMemory

    def objects(
        self, label: str | None = None, *, include_tentative: bool = False, include_absent: bool = False
    ) -> list[ObjectState]:
        """The objects of the visit."""
        return self.memory.objects(label, include_tentative=include_tentative, include_absent=include_absent)


@dataclass(frozen=True)
class Outcome:
    """How one search went."""

    steps: int
    metres: float
    claimed: bool
    success: bool


def visit(home: Home, *, seed: int, level: str, settings: Settings) -> Visit:
    """Tour a home once, all senses on."""
    world = SimEnvironment(home, seed=seed, senses=Senses.all(level), settings=settings)
    detector = SimulatedDetector(world, level=level, seed=seed)
    analyzer = SceneAnalyzer(open_backend("offline", settings.planner), settings)
    memory, spatial = Memory.open(settings=settings), SpatialMemory(settings)
    frame = world.reset()
    stops = coverage_stops(world.grid, (world.agent.pose.x, world.agent.pose.y))
    walk = tour(world.agent, stops)
    action, collided = None, False
    while True:
        detections = detector.detect(frame)
        here = frame.floor_pose
        if action is not None:
            spatial.step(action, collided=collided, world_pose=here)
        if spatial.needs_scene_analysis:
            labels = tuple((one.label, one.score) for one in detections if one.label is not None)
            scene = analyzer.analyze([View(0.0, labels)]).scene
            told = (None, (), "") if scene is None else (scene.scene_type, scene.objects, scene.description)
            spatial.scene_analyzed(*told, world_pose=here)
        spatial.saw(one.label for one in detections if one.label is not None and one.score >= settings.stop.min_score)
        lifted = [lift(frame, one) for one in detections]
        memory.observe(frame, [one for one in lifted if one is not None])
        following = next(walk, None)
        if following is None:
            return Visit(memory, spatial)
        result = world.step(following)
        action, frame, collided = following, result.frame, result.collided


def search(
    episode: Episode, home: Home, remembered: Visit | None, *, seed: int, level: str, settings: Settings
) -> Outcome:
    """One episode, with the nodes of the first visit or with none."""
    environment = SimEnvironment(
        home, start=episode.start, seed=seed + 1, senses=Senses.all(level), settings=settings
    )
    backend = open_backend("offline", settings.planner, seed=seed)
    explorer = PanoramaPlanner(backend, SpatialMemory(settings), settings=settings)
    store = SemanticMemoryStore() if remembered is None else nodes_from_memory(remembered)
    ways = (
        NodeGraph.from_store(store) if remembered is None else NodeGraph.from_anchors(store, remembered.spatial.graph)
    )
    world = EnvironmentWorld(
        environment,
        SimulatedDetector(environment, level=level, seed=seed + 1),
        GeometricPixelPolicy(settings.policy, stop=settings.stop, motion=settings.dead_reckoning),
        target=episode.goal,
        planner=explorer,
        analyzer=SceneAnalyzer(backend, settings),
        routes=NodeRoutes(store, settings.search),
    )
    loop = SearchLoop(
        episode.goal,
        store=store,
        embedder=DeterministicEmbedder(),
        planner=MemoryFirstPlanner(explorer, settings),
        world=world,
        ways=ways,
        settings=settings,
    )
    budget, metres, last = settings.search.max_steps, 0.0, environment.agent.pose
    while loop.result is None and world.spatial.step_id < budget:
        loop.step()
        metres += last.distance_to(environment.agent.pose)
        last = environment.agent.pose
    claimed = loop.result is not None and loop.result.status == "found"
    success = claimed and _beside(environment.agent.pose, home, episode)
    return Outcome(world.spatial.step_id if success else budget, metres, claimed, success)


def _beside(pose: Pose2D, home: Home, episode: Episode) -> bool:
    def distance(low: tuple[float, float], high: tuple[float, float]) -> float:
        across = max(low[0] - pose.x, 0.0, pose.x - high[0])
        along = max(low[1] - pose.y, 0.0, pose.y - high[1])
        return math.hypot(across, along)

    boxes = [home.thing(each).box for each in episode.goal_ids]
    return any(distance((box[0, 0], box[0, 1]), (box[1, 0], box[1, 1])) <= REACH for box in boxes)


def _said(outcome: Outcome) -> str:
    return f"{outcome.steps} steps" if outcome.success else "false stop" if outcome.claimed else "not found"


def bootstrap(differences: list[float], *, seed: int = 0, rounds: int = 2000) -> tuple[float, float]:
    """The 95 % interval of the mean difference over resampled episodes."""
    rng = random.Random(seed)
    means = sorted(statistics.fmean(rng.choices(differences, k=len(differences))) for _ in range(rounds))
    return means[int(0.025 * rounds)], means[int(0.975 * rounds) - 1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one home of five rooms, six episodes, 250 steps each")
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--rooms", type=int, default=6)
    parser.add_argument("--level", default="typical", help="how good the senses are: perfect, good or typical")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    settings = Settings()
    count = 6 if arguments.quick else arguments.episodes
    if arguments.quick:
        from lastseen.config import settings_from_mapping

        settings = settings_from_mapping({"search": {"max_steps": 250}})
    console = Console(stderr=True)
    pairs: list[tuple[Episode, Outcome, Outcome]] = []
    number = 0
    while len(pairs) < count:
        seed = arguments.seed * 1000 + number
        number += 1
        home = generate_home(seed, rooms=5 if arguments.quick else arguments.rooms)
        started = time.perf_counter()
        remembered = visit(home, seed=seed, level=arguments.level, settings=settings)
        seen = {tag for node in nodes_from_memory(remembered).all_nodes() for tag in node.tags[1:]}
        console.print(
            f"{home.name}: {len(home.things)} things, {remembered.spatial.step_id} steps of tour, "
            f"{len(remembered.spatial.graph.anchors)} anchors, {len(seen)} labels, "
            f"{time.perf_counter() - started:.0f} s"
        )
        drawn = [each for each in make_episodes(home, DRAWN_PER_HOME, seed=seed) if each.goal in seen]
        wanted = drawn[: min(EPISODES_PER_HOME, count - len(pairs))]
        for index, episode in enumerate(wanted):
            options = {"seed": seed + 100 * index, "level": arguments.level, "settings": settings}
            without = search(episode, home, None, **options)
            remembering = search(episode, home, remembered, **options)
            pairs.append((episode, without, remembering))
            console.print(
                f"{len(pairs)}/{count} {episode.goal}, {episode.geodesic_distance:.1f} m: "
                f"{_said(without)} without, {_said(remembering)} with memory"
            )

    arms = {"without memory": [pair[1] for pair in pairs], "with memory": [pair[2] for pair in pairs]}
    table = Table("arm", "success", "false stops", "steps (mean)", "steps (median)", "metres (mean)")
    for name, outcomes in arms.items():
        table.add_row(
            name,
            f"{statistics.fmean(each.success for each in outcomes):.2f}",
            f"{sum(each.claimed and not each.success for each in outcomes)}",
            f"{statistics.fmean(each.steps for each in outcomes):.0f}",
            f"{statistics.median(each.steps for each in outcomes):.0f}",
            f"{statistics.fmean(each.metres for each in outcomes):.1f}",
        )
    differences = [float(pair[2].steps - pair[1].steps) for pair in pairs]
    low, high = bootstrap(differences)
    Console(width=110).print(table)
    both = [pair for pair in pairs if pair[1].success and pair[2].success]
    print(f"with minus without: {statistics.fmean(differences):+.0f} steps, 95 % interval {low:+.0f} to {high:+.0f}")
    result = {
        "episodes": len(pairs),
        "success_without": statistics.fmean(each.success for each in arms["without memory"]),
        "success_with": statistics.fmean(each.success for each in arms["with memory"]),
        "steps_without": statistics.fmean(each.steps for each in arms["without memory"]),
        "steps_with": statistics.fmean(each.steps for each in arms["with memory"]),
        "steps_saved_low": -high,
        "steps_saved_high": -low,
        "both_found": len(both),
        "steps_without_both": statistics.fmean(pair[1].steps for pair in both) if both else None,
        "steps_with_both": statistics.fmean(pair[2].steps for pair in both) if both else None,
        "quick": arguments.quick,
    }
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
