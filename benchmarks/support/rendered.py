"""Walks through rendered homes as a person with a depth camera takes them: what an object shows is known by truth.

The camera is held 1.35 m high and a little downwards, turns by ten degrees and steps by 15 cm between frames. Of each
remembered object the sightings tell which thing its points lie on, so structure and second objects of a thing are
counted and not judged.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lastseen.config import Settings
from lastseen.config.memory import DeadReckoning
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.memory.memory import Memory
from lastseen.memory.objects import ObjectState
from lastseen.observation import Observation
from lastseen.perception.pipeline import Perception
from lastseen.sim.agent import Agent
from lastseen.sim.coverage import coverage_stops, tour
from lastseen.sim.environment import random_start
from lastseen.sim.from_graph import home_from_graph
from lastseen.sim.from_npz import load_npz
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.navigation import NavigationGrid
from lastseen.sim.render import Renderer, camera_pose
from lastseen.sim.senses import Level, noisy_depth
from support.scenes import shared

FRAMES = 260
STEP_TIME = 0.2
"""Seconds between frames: half a turn takes four, as a person looks around."""
HEIGHT, PITCH = 1.35, math.radians(-15.0)
"""Metres and radians: a phone held at the chest shows tables rather than ceilings."""
STRUCTURE = frozenset(
    {"door", "front door", "window", "curtain", "curtains", "carpet", "rug", "bath mat", "door mat"}
)
"""Names of things that are structure, or cloth that lies on it, beside what belongs to no thing at all."""
SEEN_PIXELS, SEEN_FRAMES = 150, 5
"""Pixels of 320x240, and frames with so many, from which a thing was there to be remembered."""
MAX_DEPTH = 4.5
"""Metres within which the segmenter looks."""


@dataclass(slots=True)
class Rendered:
    """What was remembered of a rendered walk, and of which thing (None: structure) each object is."""

    states: list[ObjectState]
    seen: list[Observation]
    of: dict[str, int | None]
    things: set[int]
    names: dict[int, str]
    memory: Memory


def homes(chosen: str) -> Iterator[tuple[str, Home]]:
    """Homes by a list of words: ``aws``, ``vh3`` (VirtualHome 3), ``900`` (a generated one)."""
    for word in chosen.split(","):
        if word == "aws":
            folder = shared("aws_small_house")
            if folder is not None:
                yield word, load_npz(folder / "small_house.npz")
        elif word.startswith("vh"):
            folder = shared("virtualhome_graphs")
            if folder is not None:
                yield word, home_from_graph(folder / f"TestScene{word[2:]}.json.gz")
        else:
            yield word, generate_home(int(word))


def walk(home: Home, *, seed: int = 0, frames: int = FRAMES) -> Iterator[tuple[Frame, NDArray[np.int32]]]:
    """Frames of a walk with noisy depth, each with the id of the thing at every pixel."""
    renderer = Renderer(home)
    grid = NavigationGrid(home, scene=renderer.scene)
    start = random_start(grid, seed=seed)
    agent = Agent(grid, start, motion=DeadReckoning(forward_step=0.15, turn_angle=10.0))
    camera = Intrinsics.from_fov(320, 240, horizontal_deg=65.0)
    actions = tour(agent, coverage_stops(grid, (start.x, start.y)))
    for number in range(frames):
        pose = camera_pose(agent.pose, height=HEIGHT, pitch=PITCH)
        view = renderer.render(pose, camera)
        depth = noisy_depth(view.depth, camera, number, level=Level.TYPICAL, seed=seed)
        yield Frame(number, number * STEP_TIME, view.rgb, depth, pose, camera), view.ids
        action = next(actions, None)
        if action is None:
            return
        agent.act(action)


def remember_rendered(home: Home, *, seed: int = 0) -> Rendered:
    """Walk through a home, remember without a detector, and look up what each object is."""
    settings = Settings()
    settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=1))
    perception = Perception(settings)
    memory = Memory.open(settings=settings, image_encoder=perception.encoder.name, wall_clock=None)
    shown: dict[str, Counter[int]] = defaultdict(Counter)
    in_sight: Counter[int] = Counter()
    seen: list[Observation] = []
    for frame, ids in walk(home, seed=seed):
        perceived = perception.perceive(frame)
        if perceived.refusal is not None:
            continue
        near = ids[np.nan_to_num(frame.depth, nan=np.inf) < MAX_DEPTH]
        numbers, counts = np.unique(near, return_counts=True)
        in_sight.update(int(one) for one, count in zip(numbers, counts, strict=True) if count >= SEEN_PIXELS)
        events = memory.observe(frame, perceived.observations)
        for event in events:
            if "absorbed" in event.evidence:
                lost = shown.pop(str(event.evidence["absorbed"]), Counter())
                shown[event.object_id].update(lost)
        for one, owner in zip(perceived.observations, memory.matched, strict=True):
            seen.append(one)
            if owner is not None and one.points is not None:
                shown[owner].update(_things_at(frame, ids, one.points))
    memory.flush()
    structure = {0} | {thing.id for thing in home.things.values() if thing.label in STRUCTURE}
    states = memory.states(kind=None)
    of: dict[str, int | None] = {}
    for state in states:
        votes = shown[state.id]
        built = sum(count for thing, count in votes.items() if thing in structure)
        rest = [(count, -thing) for thing, count in votes.items() if thing not in structure]
        best = max(rest, default=(0, 0))
        of[state.id] = None if 2 * built > sum(votes.values()) or not rest else -best[1]
    things = {one for one, count in in_sight.items() if count >= SEEN_FRAMES and one not in structure}
    names = {thing.id: thing.label for thing in home.things.values()}
    return Rendered(states, seen, of, things, names, memory)


def _things_at(frame: Frame, ids: NDArray[np.int32], points: NDArray[np.float32]) -> Iterator[int]:
    """The thing at the pixel that each world point of a frame came from."""
    (x, y, z) = frame.T_world_camera.inverse().transform(points.astype(np.float64)).T
    camera = frame.intrinsics
    u = np.clip(np.rint(camera.fx * x / z + camera.cx).astype(int), 0, camera.width - 1)
    v = np.clip(np.rint(camera.fy * y / z + camera.cy).astype(int), 0, camera.height - 1)
    yield from (int(one) for one in ids[v, u])
