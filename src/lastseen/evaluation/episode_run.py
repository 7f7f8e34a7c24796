"""One arm in one episode: the search loop as it is, a witness beside it, and one record of what came of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.evaluation.arm_search import Ran, Record, search_arm
from lastseen.evaluation.arms import Arm, Context
from lastseen.evaluation.cases import Case, camera_of
from lastseen.evaluation.metrics import drawn, ended_stuck, path_length, revisited_area, soft_spl, spl
from lastseen.evaluation.visits import Odometry
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.pose2d import ORIGIN, Pose2D
from lastseen.protocols import StepResult
from lastseen.search.log import RunLog
from lastseen.search.policy.protocol import GEOMETRIC
from lastseen.search.timing import TimingLog
from lastseen.sim.agent import next_action
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.senses import Level

_UNSEARCHED: Record = {
    "reason": "",
    "planner_calls": 0,
    "ababa": 0,
    "stuck": 0,
    "no_progress": 0,
    "unique_place_ratio": 1.0,
}
"""The figures of a walk without a search: that of the oracle."""
_TOLERANCE = 0.1
"""Metres from a viewpoint of the goal at which an episode of ObjectNav may stop at most."""
_ELSEWHERE = 0.5
"""Metres from which a remembered object counts as known to be elsewhere."""
_MIN_PIXELS = 12
"""Pixels of a goal in a 160 pixel wide image that a person would notice."""


class Witness:
    """An environment that keeps the true path; implements ``lastseen.protocols.Environment``.

    It watches from outside: where the robot truly went, and whether a goal was truly in its view. The search never
    sees any of it.
    """

    def __init__(self, environment: SimEnvironment, goal_ids: Collection[int]) -> None:
        self.environment = environment
        self.goal_ids = np.array(sorted(goal_ids))
        self.path: list[Pose2D] = []
        self.collisions = 0
        self.goal_in_view = 0

    def reset(self) -> Frame:
        """Go back to the start; the path begins anew."""
        self.path.clear()
        frame = self.environment.reset()
        self._note(frame)
        return frame

    def step(self, action: Action) -> StepResult:
        """Do one action and take note of what truly happened."""
        result = self.environment.step(action)
        self.collisions += result.collided
        self._note(result.frame)
        return result

    @property
    def pose(self) -> Pose2D:
        """Where the robot truly is."""
        return self.environment.agent.pose

    @property
    def travelled(self) -> float:
        """Metres of the true path."""
        return path_length(self.path)

    def _note(self, frame: Frame) -> None:
        self.path.append(self.pose)
        ids = self.environment.view_of(frame).ids
        self.goal_in_view += int(np.isin(ids, self.goal_ids).sum()) >= _MIN_PIXELS


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
        return Ran(_record(case, arm, witness, stopped=_walk_shortest(case, witness, settings)))
    localized = settings.evaluation.poses == "localizer"
    searched = search_arm(
        case.episode.goal,
        witness if localized else Odometry(witness, start, settings=settings),
        arm,
        detector=SimulatedDetector(witness.environment, level=settings.evaluation.level, seed=case.seed),
        settings=settings,
        seed=case.seed,
        key=_cassette_key(case, arm),
        backend=backend,
        policy=policy,
        donor=donor,
        memory=memory,
        log=log,
        timing=timing,
    )
    search, result = searched.search, searched.result
    record = _record(
        case,
        arm,
        witness,
        stopped=result.status == "found",
        steps=result.steps,
        recognised=search.world.confirmed,
        figures=searched.figures(),
    )
    if arm.moved:
        record |= {
            "steps_from_memory": _steps_from_memory(searched.steps[: result.steps]),
            "moves_noticed": _noticed(search.memory, searched.known),
        }
    search.close()
    return Ran(record, searched.contexts)


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
        grid=case.grid,
    )


def _walk_shortest(case: Case, witness: Witness, settings: Settings) -> bool:
    """Follow the true distances to the nearest viewpoint; True when it stopped there within the steps."""
    field_ = case.grid.distances([(spot.x, spot.y) for spot in case.viewpoints])
    witness.reset()
    agent = witness.environment.agent
    within = _TOLERANCE / 2.0
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
    *,
    stopped: bool,
    steps: int | None = None,
    recognised: bool = True,
    figures: Record = _UNSEARCHED,
) -> Record:
    episode, end = case.episode, witness.pose
    success = stopped and case.at_goal(end, tolerance=_TOLERANCE)
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
        "collisions": witness.collisions,
        "revisited_m2": round(revisited_area(witness.path), 4),
        "goal_views": witness.goal_in_view,
        "path": drawn(witness.path),
        **figures,
    }


def _cause(witness: Witness, *, stopped: bool, recognised: bool) -> str:
    """Why an episode failed: the first of these that holds."""
    if stopped:
        return "false_stop"
    if ended_stuck(witness.path):
        return "stuck"
    if not witness.goal_in_view:
        return "not_seen"
    return "out_of_steps" if recognised else "not_recognised"
