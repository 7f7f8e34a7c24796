"""``Search``: a robot looks for something, from memory first, and remembers what it sees on the way."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from lastseen.closing import Closes
from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import floor_pose
from lastseen.memory.memory import Memory
from lastseen.memory.nodes.embedding import EncoderEmbedder
from lastseen.memory.object import Answer, Object
from lastseen.pose2d import Pose2D, wrap_angle
from lastseen.protocols import Detector, Environment
from lastseen.search.goal import Goal
from lastseen.search.log import RunLog
from lastseen.search.loop import SearchLoop, SearchResult
from lastseen.search.planning.panorama_planner import MemoryFirstPlanner, PanoramaPlanner
from lastseen.search.planning.scene import open_analyzer
from lastseen.search.policy.protocol import GEOMETRIC, PixelPolicy, open_policy
from lastseen.search.recall import Recall
from lastseen.search.robot_world import RobotWorld
from lastseen.search.timing import MeteredBackend, TimingLog
from lastseen.vlm import open_backend
from lastseen.vlm.protocol import Backend

_STANDSTILL = 40
"""Actions after which a robot that is still where it was does not move at all: three looks around and more."""
_STILL, _SAME_HEADING = 0.1, math.radians(10.0)
"""Metres and radians that a pose may wander while the robot stands: the noise of a localizer."""


class Search(Closes):
    """One search for one goal. ``run`` does the whole; ``step`` is for those who keep their own loop.

    While it walks, every view is observed into ``memory``: a search that is killed loses nothing it had seen. With a
    memory of this home it goes where the goal was seen; without one it explores.

    >>> result = Search("red mug", robot, memory).run()  # doctest: +SKIP

    Args:
        goal: What to look for, in words.
        robot: Gives frames with poses and drives: a ``lastseen.Robot``, a simulator, or any ``Environment``.
        memory: What is known of the home; without one a memory is made that ends with this object.
        detector: Finds things in a frame; by default ``robot.detector``.
        planner: The model that says where to explore, or its name; by default the setting ``planner.backend``.
        policy: Walks to a goal pixel, or its name: ``geometric`` (depth alone), ``pixelnav:CHECKPOINT``.
        settings: By default those of the memory.
        seed: For backends that draw.
        constraints: Texts such as "avoid: kitchen" or "max_path: 12"; see docs/interface-contract.md.
        log: Where steps and events are written.
        timing: Where latency, tokens and cost are written.
        use_context: Whether the planner reads the navigation context at all; False is a baseline.
        memory_first: Whether remembered objects are gone to before the planner is asked; False is a baseline.
        edit: May change the navigation context before the planner reads it, for comparisons.
        with_images: Whether the planner is shown pictures; by default every model but the offline one is.
    """

    def __init__(
        self,
        goal: str,
        robot: Environment,
        memory: Memory | None = None,
        *,
        detector: Detector | None = None,
        planner: Backend | str | None = None,
        policy: PixelPolicy | str = GEOMETRIC,
        settings: Settings | None = None,
        seed: int = 0,
        constraints: Iterable[str] = (),
        log: RunLog | None = None,
        timing: TimingLog | None = None,
        use_context: bool = True,
        memory_first: bool = True,
        edit: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        with_images: bool | None = None,
    ) -> None:
        self._own_memory = memory is None
        if memory is None:
            analyzer = open_analyzer(settings or Settings(), seed=seed)
            memory = Memory.open(settings=settings, wall_clock=None, scene_analyzer=analyzer)
        self.memory = memory
        self.settings = settings = settings or memory.settings
        if memory.read_only:
            raise InvalidValue(
                "memory", str(memory.path), "was opened for reading", remedy="open it for writing: a search remembers"
            )
        seeing = detector or getattr(robot, "detector", None)
        if seeing is None:
            raise InvalidValue("detector", None, "is missing", remedy="give Search(..., detector=...)")
        self.recall = Recall(goal, memory, settings)
        also = [hit.label for hit in self.recall.answer.fitting if hit.label is not None]
        self.goal = Goal(goal, memory.encoder, also=also)
        self.log, timing = log or RunLog(), timing or TimingLog(settings=settings.planner)
        name = settings.planner.backend if planner is None else planner
        model = open_backend(name, settings.planner, seed=seed) if isinstance(name, str) else name
        metered = MeteredBackend(model, timing, kind="planner", step_id=lambda: self.spatial.step_id)
        self._panorama = panorama = PanoramaPlanner(
            metered, memory.spatial, settings=settings, use_context=use_context, edit=edit
        )
        self.log.header(
            goal=self.goal.text, seed=seed, settings=settings, backend=model.name, scene_backend=memory.analyzer.name
        )
        self.world = RobotWorld(
            robot,
            seeing,
            open_policy(policy, settings) if isinstance(policy, str) else policy,
            goal=self.goal,
            memory=memory,
            recall=self.recall,
            settings=settings,
            log=self.log,
            with_images=model.name != "offline" if with_images is None else with_images,
        )
        self.loop = SearchLoop(
            self.goal.text,
            store=self.recall.nodes.store,
            embedder=EncoderEmbedder(memory.encoder),
            planner=MemoryFirstPlanner(panorama) if memory_first else panorama,
            world=self.world,
            paths=self.recall,
            settings=settings,
            constraints=constraints,
            log=self.log,
            answer=self.recall.answer,
            dc_queue=panorama.queue.to_list,
        )
        self._maps_entered = 0
        if self.world.maps_entered:
            self._enter_map()
        # the first view is in memory now, and its place can be retrieved
        self.recall.refresh()
        self._last_poses: deque[Pose2D] = deque(maxlen=_STANDSTILL)
        self.result: SearchResult | None = None

    @property
    def spatial(self) -> Any:
        """The places and anchors of the memory that is searched."""
        return self.memory.current.spatial

    def step(self) -> dict[str, Any]:
        """One action of the robot; returns its log record. ``result`` is set when the search is over."""
        record = self.loop.step()
        if self.world.maps_entered != self._maps_entered:
            self._enter_map()
        place_events = self.memory.current.place_events
        if any(event["event"] in {"anchor_created", "scene_analyzed"} for event in place_events):
            self.recall.nodes.refresh()
        self._last_poses.append(self.world.pose)
        if self.loop.result is not None:
            self._end(self.loop.result)
        elif self.loop.steps >= self.settings.search.max_steps:
            self._end(self.loop.run(self.loop.steps))
        elif self._stands_still():
            reason = f"the robot did not move in {_STANDSTILL} actions: check that drive() drives and poses follow"
            self._end(SearchResult("not_found", reason, self.loop.steps, self.loop.belief, answer=self.recall.answer))
        return record

    def _enter_map(self) -> None:
        """Search in the memory of the map that the robot is in: it turned out to be another than its poses said."""
        self._maps_entered = self.world.maps_entered
        memory = self.memory.current
        self.recall = self.world.recall = Recall(self.goal.text, memory, self.settings)
        self._panorama.spatial = memory.spatial
        self.loop.enter_map(self.recall.nodes.store, self.recall, self.recall.answer)

    def run(self, *, over: Callable[[], bool] = lambda: False) -> SearchResult:
        """Search until the goal is reached, nothing is left to try, the steps are spent, or the world is ``over``.

        What was seen is on disk when this returns or raises.
        """
        try:
            while self.result is None and not over():
                self.step()
        finally:
            self.memory.flush()
        if self.result is None:
            self._end(self.loop.run(self.loop.steps))
        assert self.result is not None
        return self.result

    def close(self) -> None:
        """Close the log, and the memory where it was made here; may be called twice."""
        self.log.close()
        if self._own_memory:
            self.memory.close()

    def _end(self, result: SearchResult) -> None:
        self.loop.log_last_view()
        if result.status == "found":
            self._confirm_goal()
        self.result = replace(result, metres=round(self.world.metres, 3), planner_calls=self.loop.calls)

    def _confirm_goal(self) -> None:
        """Vouch for what was found: the path to it may have shown one side only, and memory drops what it doubts."""
        since = self.world.check.since
        memory = self.memory.current
        hits = memory.find(self.goal.text, include_tentative=True).fitting
        seen = [hit for hit in hits if since is not None and hit.age <= self.world.frame.stamp - since]
        if seen:
            here = self.world.pose
            nearest = min(seen, key=lambda hit: (math.dist((here.x, here.y), hit.position[:2]), hit.id))
            memory.confirm(nearest.id)

    def _stands_still(self) -> bool:
        poses = self._last_poses
        if len(poses) < _STANDSTILL:
            return False
        first = poses[0]
        return all(
            first.distance_to(pose) < _STILL and abs(wrap_angle(pose.yaw - first.yaw)) < _SAME_HEADING
            for pose in poses
        )


@dataclass(frozen=True, slots=True)
class Stop:
    """One place to look: the object that is remembered there, and the metres of known floor to it.

    ``metres`` is None where no path over known floor leads there from where the robot was last.
    """

    object: Object
    metres: float | None


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The stops in their order; ``answer`` is memory's own word on the goal, ``says`` a line on it."""

    goal: str
    answer: Answer
    start: Pose2D | None
    stops: tuple[Stop, ...]
    says: str

    def lines(self) -> list[str]:
        """The plan for people to read."""
        if not self.stops:
            return [self.says, "the search would explore from where it is"]
        start = "" if self.start is None else f", from ({self.start.x:.1f}, {self.start.y:.1f})"
        lines = [f"looking for {self.goal!r}{start}; {self.says}"]
        for number, stop in enumerate(self.stops, start=1):
            thing = stop.object
            place = f" in the {thing.place}" if thing.place not in (None, "unknown") else ""
            distance = f"{stop.metres:.1f} m" if stop.metres is not None else "no path known"
            x, y, _ = thing.position
            score = "" if thing.score is None else f", score {thing.score:.2f}"
            lines.append(
                f"  {number}. {distance}: {thing.label or 'a thing without a name'} ({thing.id}){place} at "
                f"({x:.1f}, {y:.1f}); {thing.state}, last seen {_when(thing)}{score}"
            )
        lines.append("  then, if it is not there: explore")
        return lines


def plan_search(goal: str, memory: Memory) -> SearchPlan:
    """Plan a search from where the robot was last; changes nothing."""
    recall = Recall(goal, memory, memory.settings)
    last = memory.pose()
    start = None if last is None else floor_pose(last)
    metres: dict[str, float] = {}
    if start is not None:
        metres = {offer.object.id: offer.spot.metres for offer in recall.remembered(start, most=None)}
    stops = [Stop(hit, metres.get(hit.id)) for hit in recall.known]
    stops.sort(key=lambda stop: (stop.metres is None, stop.metres or 0.0))
    return SearchPlan(goal, recall.answer, start, tuple(stops), recall.says())


def _when(thing: Object) -> str:
    if thing.last_seen is not None:
        return thing.last_seen.strftime("%Y-%m-%d %H:%M:%SZ")
    return f"{thing.age:.0f} s before the newest frame"
