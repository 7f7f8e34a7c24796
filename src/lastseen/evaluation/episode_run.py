"""One arm in one episode: the search loop as it is, a witness beside it, and one record of what came of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.evaluation.arms import Arm, Context, FrontierBackend, RandomBackend, editor
from lastseen.evaluation.cases import Case, camera_of
from lastseen.evaluation.hints import hints_of
from lastseen.evaluation.metrics import soft_spl, spl, unique_ratio
from lastseen.evaluation.visits import Odometry, analyzer_of, memory_settings
from lastseen.evaluation.witness import Witness, revisited_area
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.search.log import RunLog
from lastseen.search.policy.protocol import GEOMETRIC
from lastseen.search.search import Search
from lastseen.search.timing import TimingLog
from lastseen.sim.agent import next_action
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.level import Level
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend
from lastseen.vlm.recorded import for_episode, recorded_backend

_STUCK_STEPS = 100
"""Steps: a fifth of the budget at the end without getting anywhere is a cause of failure."""
_STUCK_DISTANCE = 0.5
"""Metres: two forward steps: less is not getting anywhere."""
_REVISIT_CELL = 0.5
"""Metres: the robot with a step around it."""

Record = dict[str, Any]
_ELSEWHERE = 0.5
"""Metres from which a remembered object counts as known to be elsewhere."""
CAUSES = ("not_seen", "not_recognised", "false_stop", "stuck", "out_of_steps")


@dataclass(slots=True)
class Ran:
    """The record of an episode and what it leaves for others: its contexts."""

    record: Record
    contexts: list[Context] = field(default_factory=list)


def run_arm(
    case: Case,
    arm: Arm,
    *,
    settings: Settings,
    backend: str = "offline",
    policy: str = GEOMETRIC,
    donor: Sequence[Context] = (),
    memory: Memory | None = None,
    start: Pose2D = ORIGIN,
    log: RunLog | None = None,
    timing: TimingLog | None = None,
) -> Ran:
    """Search once; ``donor`` are the contexts for a shuffled arm, ``memory`` is that of an earlier visit.

    ``start`` is the pose that the robot is told it starts at. What the clock measured goes to ``timing``, never into
    the record or the log.
    """
    witness = Witness(environment_of(case, settings), case.episode.goal_ids)
    if arm.chooser == "oracle":
        return Ran(_record(case, arm, witness, settings, stopped=_walk_shortest(case, witness, settings)))
    contexts: list[Context] = []
    edit = editor(arm, donor)

    def edited(context: Context) -> Context:
        contexts.append(context)
        return edit(context)

    if arm.trust_planner:
        settings = replace(settings, stop=replace(settings.stop, trust_planner=True))
    key = _cassette_key(case, arm)
    if memory is None:
        analyzer = analyzer_of(settings, key, seed=case.seed)
        memory = Memory.open(settings=memory_settings(settings), wall_clock=None, scene_analyzer=analyzer)
    localized = settings.evaluation.poses == "localizer"
    search = Search(
        case.episode.goal,
        witness if localized else Odometry(witness, start, settings=settings),
        memory,
        detector=SimulatedDetector(witness.environment, level=settings.evaluation.level, seed=case.seed),
        policy=policy,
        planner=_model(arm, settings, for_episode(backend, f"{key}-planner"), case.seed),
        settings=memory_settings(settings),
        seed=case.seed,
        use_context=arm.reads_context,
        memory_first=arm.memory != "none",
        edit=edited,
        log=log,
        timing=timing,
        with_images=recorded_backend(backend) != "offline" and arm.chooser == "backend",
    )
    known = search.recall.answer.fitting
    result = search.run()
    progress = search.memory.spatial.progress.onsets
    steps = [step for step in search.log.records if step["type"] == "step"]
    places = [step["current_place_id"] for step in steps if step["action"] is not None or step["step_id"] == 0]
    record = _record(
        case,
        arm,
        witness,
        settings,
        stopped=result.status == "found",
        steps=result.steps,
        recognised=search.world.confirmed,
        planner_calls=search.loop.calls,
        ababa=progress["ababa"],
        stuck=progress["stuck"],
        no_progress=progress["no_progress"],
        unique_place_ratio=round(unique_ratio(places, settings.patterns.stuck_window), 6),
        reason=result.reason,
    )
    record["hints"] = hints_of(contexts, steps)
    if arm.moved:
        record |= {
            "steps_from_memory": _steps_from_memory(steps[: result.steps]),
            "moves_noticed": _noticed(search.memory, known),
        }
    search.close()
    return Ran(record, contexts)


def _cassette_key(case: Case, arm: Arm) -> str:
    return f"{case.seed}-{arm.name}"


def _steps_from_memory(steps: Sequence[Record]) -> int:
    """Steps on paths to remembered objects, the looks around at their ends included, until something else decided."""
    count, following = 0, False
    for step in steps:
        decision = step["decision"]
        if decision is not None:
            following = decision["source"] == "memory"
        count += following
    return count


def _noticed(memory: Memory, known: Sequence[Object]) -> float | None:
    """The share of the objects remembered for the goal that memory now knows to be gone from where they were."""
    if not known:
        return None
    now = {each.id: each for each in memory.objects(include_removed=True)}
    gone = [
        each.id not in now
        or now[each.id].state in ("missing", "removed")
        or math.dist(now[each.id].position, each.position) >= _ELSEWHERE
        for each in known
    ]
    return round(sum(gone) / len(gone), 6)


def environment_of(case: Case, settings: Settings) -> SimEnvironment:
    """The simulator of a case, its senses and wheels at the level of the evaluation."""
    level = Level.of(settings.evaluation.level)
    return SimEnvironment(
        case.home,
        start=case.episode.start,
        seed=case.seed,
        senses=Senses(depth=level, pose=level, actuation=level),
        settings=settings,
        intrinsics=camera_of(settings),
    )


def _model(arm: Arm, settings: Settings, backend: str, seed: int) -> Backend:
    if arm.chooser == "random":
        return RandomBackend(seed=seed)
    if arm.chooser == "frontier":
        return FrontierBackend(seed=seed)
    return open_backend(backend, settings.planner, seed=seed)


def _walk_shortest(case: Case, witness: Witness, settings: Settings) -> bool:
    """Follow the true distances to the nearest viewpoint; True when it stopped there within the steps."""
    field_ = case.grid.distances([(spot.x, spot.y) for spot in case.viewpoints])
    witness.reset()
    agent = witness.environment.agent
    within = settings.evaluation.viewpoint_tolerance / 2.0
    for _ in range(settings.search.max_steps - 1):
        action = next_action(agent, field_, within=within)
        if action is Action.STOP:
            return True
        witness.step(action)
    return False


def _record(
    case: Case,
    arm: Arm,
    witness: Witness,
    settings: Settings,
    *,
    stopped: bool,
    steps: int | None = None,
    recognised: bool = True,
    planner_calls: int = 0,
    ababa: int = 0,
    stuck: int = 0,
    no_progress: int = 0,
    unique_place_ratio: float = 1.0,
    reason: str = "",
) -> Record:
    rules, episode, end = settings.evaluation, case.episode, witness.pose
    success = stopped and case.at_goal(end, tolerance=rules.viewpoint_tolerance)
    travelled = witness.travelled
    return {
        "arm": arm.name,
        "seed": case.seed,
        "episode": episode.id,
        "home": episode.home,
        "goal": episode.goal,
        "geodesic": episode.geodesic_distance,
        "success": success,
        "cause": None if success else _cause(witness, stopped=stopped, recognised=recognised),
        "reason": reason,
        "spl": round(spl(success=success, shortest=episode.geodesic_distance, travelled=travelled), 6),
        "soft_spl": round(
            soft_spl(
                start_distance=episode.geodesic_distance,
                end_distance=0.0 if success else case.distance_left(end),
                travelled=travelled,
            ),
            6,
        ),
        "steps": len(witness.path) - 1 + stopped if steps is None else steps,
        "travelled": round(travelled, 4),
        "planner_calls": planner_calls,
        "collisions": witness.collisions,
        "ababa": ababa,
        "stuck": stuck,
        "no_progress": no_progress,
        "unique_place_ratio": unique_place_ratio,
        "revisited_m2": round(revisited_area(witness.path, cell=_REVISIT_CELL), 4),
        "goal_views": witness.goal_in_view,
        "path": drawn(witness.path),
    }


def _cause(witness: Witness, *, stopped: bool, recognised: bool) -> str:
    """Why an episode failed: the first of these that holds."""
    if stopped:
        return "false_stop"
    tail = witness.path[-_STUCK_STEPS:]
    if len(tail) == _STUCK_STEPS and all(tail[0].distance_to(pose) < _STUCK_DISTANCE for pose in tail):
        return "stuck"
    if not witness.goal_in_view:
        return "not_seen"
    return "out_of_steps" if recognised else "not_recognised"


def drawn(path: Sequence[Pose2D]) -> list[list[float]]:
    """The path to the centimetre, without the turns on the spot."""
    points = [[round(pose.x, 2), round(pose.y, 2)] for pose in path]
    return [point for index, point in enumerate(points) if index == 0 or point != points[index - 1]]
