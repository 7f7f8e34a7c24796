"""The planner of a robot that moves: panorama and navigation context in, a heading out; see docs/places.md.

It is the default wherever there is an environment. Every call leaves one record in the discovered-context queue,
the fallback's too, and opens a try whose outcome the next call will be told. Where memory knows where the goal was,
``MemoryFirstPlanner`` goes there first, and asks the planner where to explore when nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

from lastseen.config import Settings
from lastseen.config.search import Planner as PlannerSettings
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import wrap_angle
from lastseen.search.panorama import stitch, view_angles
from lastseen.search.paths import Segments, path_at
from lastseen.search.planning.context import build_context
from lastseen.search.planning.context_text import Context, render
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.search.planning.history import DiscoveredContextQueue, TriedDirections
from lastseen.search.planning.node_graph import Constraint, judgeable
from lastseen.search.planning.plan import FALLBACK_PLAN, Plan, plan_client
from lastseen.search.planning.prompt import View, planner_prompt
from lastseen.vlm.protocol import Backend

CallReason = Literal["start", "stopped", "pattern"]


class CallRule:
    """Counts the calls of one episode and says at each step whether another is due, and why.

    >>> rule = CallRule()
    >>> rule.due(stopped=False, goal_flag=False), rule.due(stopped=False, goal_flag=False)
    ('start', None)
    """

    def __init__(self, settings: PlannerSettings | None = None) -> None:
        self.settings = settings or PlannerSettings()
        self.calls = 0

    def due(self, *, stopped: bool, goal_flag: bool, pattern: bool = False) -> CallReason | None:
        """Judge one step; a reason that is given counts as a call.

        ``stopped`` tells that the policy said STOP, ``goal_flag`` the last plan's claim as perception left it, and
        ``pattern`` that STUCK or ABABA set in now, which counts only where the settings switch it on.
        """
        reason: CallReason | None = None
        if self.calls == 0:
            reason = "start"
        elif self.exhausted:
            return None
        elif stopped and not goal_flag:
            reason = "stopped"
        elif pattern and self.settings.recall_on_pattern:
            reason = "pattern"
        if reason is not None:
            self.calls += 1
        return reason

    @property
    def exhausted(self) -> bool:
        """Whether the calls of this episode are used up, which ends any cycle of plan and stop."""
        return self.calls >= self.settings.max_calls


NO_CONTEXT = "none"


class PanoramaPlanner:
    """Decides on a heading; implements ``lastseen.search.planning.decision.Planner``.

    ``use_context=False`` shows the model the panorama and nothing of memory, which is the baseline to compare with.
    ``edit`` may blank or replace parts of the context before it is written out, for comparisons of what helps.
    """

    def __init__(
        self,
        backend: Backend,
        spatial: SpatialMemory,
        *,
        settings: Settings | None = None,
        use_context: bool = True,
        edit: Callable[[Context], Context] | None = None,
        queue: DiscoveredContextQueue | None = None,
        tried: TriedDirections | None = None,
    ) -> None:
        self.settings = settings or spatial.settings
        self.client = plan_client(backend, self.settings)
        self.spatial = spatial
        self.queue = queue or DiscoveredContextQueue(self.settings.discovered_context.max_records)
        self.tried = tried or TriedDirections()
        self.use_context, self.edit = use_context, edit
        self.last_context: dict[str, Any] | None = None

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """Ask for one plan, with retry and fallback, and turn it into a heading.

        A goal that perception has in view is approached without a call; docs/places.md says when the model is asked.
        """
        if situation.belief["target_status"] == "visible":
            seen = Decision.turn_to(0.0, why="the goal is in view", source="panorama", goal_flag=True)
            return seen, PlannerCall(backend=self.client.backend.name, asked=False)
        hint = self.spatial.progress.avoid_hint()
        self.tried.end(self.spatial.pose)
        text = NO_CONTEXT
        self.last_context = None
        if self.use_context:
            self.last_context = build_context(
                self.spatial,
                self.queue,
                belief=situation.belief,
                nodes={node.node_id: node for node in situation.context.get("nodes", ())},
                tried=self.tried.from_here(self.spatial.pose),
                unexplored=situation.context.get("unexplored", ()),
                sightings=situation.context.get("sightings", ()),
                remembered=situation.context.get("remembered", ()),
                rooms=situation.context.get("rooms", ()),
                here=situation.context.get("here"),
                paths=situation.context.get("paths"),
                # a node that was tried gets no second visit, whoever went there
                exhausted={*situation.context.get("exhausted", ()), *situation.context.get("tried", ())},
                steps_here=situation.context.get("steps_here"),
                asked_here=self.tried.asked_here(self.spatial.pose),
                settings=self.settings,
            )
            if self.edit is not None:
                self.last_context = self.edit(self.last_context)
            text = render(self.last_context)
        prompt = planner_prompt(situation.belief["goal_text"], text, _views(situation))
        pictures = [stitch(situation.images)] if situation.images else []
        asked = self.client.ask(prompt, pictures)
        plan, fallback = asked.answer or FALLBACK_PLAN, asked.answer is None
        discovered = plan.discovered_context
        self.queue.push(
            goal_flag=plan.goal_flag,
            goal_scene_type=discovered.goal_scene_type,
            why=discovered.why,
            avoid_hint=hint,
        )
        self.tried.begin(self.spatial.pose, angle=plan.angle, goal_scene_type=discovered.goal_scene_type)
        decision = Decision.turn_to(
            math.radians(plan.angle),
            why=discovered.why,
            source="fallback" if fallback else "panorama",
            goal_flag=plan.goal_flag,
            segments=self._path(plan),
        )
        call = PlannerCall(
            backend=self.client.backend.name,
            retries=asked.retries,
            errors=tuple(failure.message for failure in asked.failures),
            output=asdict(plan),
            fallback=fallback,
            reason=asked.failures[-1].reason if fallback else None,
        )
        return decision, call

    def _path(self, plan: Plan) -> Segments:
        """The path the plan takes, from the context that the model read; a goal in view is walked to by sight."""
        if plan.goal_flag or self.last_context is None:
            return ()
        return path_at(self.last_context, plan.angle)


def _views(situation: Situation) -> Sequence[View]:
    """What was seen in each direction; pictures alone have a direction and nothing else."""
    views: Sequence[View] = situation.context.get("views", ())
    return views or [View(float(angle)) for angle in view_angles(len(situation.images)) if situation.images]


MEMORY = "memory"
_IN_VIEW = 0.5
"""Score from which a label in the panorama is worth a look before memory is believed."""
_ROUND = 3.0
"""Metres that a remembered spot may be farther off than where the goal was seen, to be where it was seen from."""


class MemoryFirstPlanner:
    """Takes the path to the nearest remembered object that fits; everything else is the other planner's.

    No model is asked for it. Once the goal was seen on this walk, what was seen counts, and memory holds back, unless
    the path straight there turned out to be blocked; then it may know a path round, and leads nowhere else.
    """

    def __init__(self, otherwise: Planner) -> None:
        self.otherwise = otherwise

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """The path to the best remembered object, when nothing better is in sight; else the planner's decision."""
        constraints, _ = judgeable(situation.belief["active_constraints"])
        most = self._farthest(situation)
        remembered = [
            offer
            for offer in situation.context.get("remembered", ())
            if offer["distance"] <= most and not any(_breaks(each, offer) for each in constraints)
        ]
        if remembered and not self._in_sight(situation):
            return _walk_to(remembered[0]), PlannerCall(backend=MEMORY, asked=False)
        return self.otherwise.decide(situation)

    @staticmethod
    def _farthest(situation: Situation) -> float:
        """Metres of path to a remembered object at most: no robot leaves a goal that it saw for one far away."""
        seen = [spot["distance"] for spot in situation.context.get("sightings", ())]
        return min(seen) + _ROUND if seen else math.inf

    @staticmethod
    def _in_sight(situation: Situation) -> bool:
        if situation.context.get("approach_failed"):
            # what is seen cannot be reached straight on: memory may know a path round
            return False
        if situation.belief["target_status"] in {"visible", "done"} or situation.context.get("sightings"):
            return True
        goal = situation.belief["goal_text"]
        views = situation.context.get("views", ())
        return any(label == goal and score >= _IN_VIEW for view in views for label, score in view.labels)


def _breaks(constraint: Constraint, offer: Mapping[str, Any]) -> bool:
    """Whether going there breaks a constraint: by the words of its place, or by the length of the path."""
    if constraint.kind == "avoid":
        return constraint.words <= set(tokenize(f"{offer['place'] or ''} {offer['label'] or ''}"))
    return bool(offer["distance"] > constraint.metres)


def _walk_to(offer: Mapping[str, Any]) -> Decision:
    place = f" in the {offer['place']}" if offer["place"] else ""
    return Decision.turn_to(
        wrap_angle(math.radians(offer["angle"])),
        why=f"memory: {offer['label'] or 'it'} ({offer['id']}){place}, {offer['distance']:.1f} m from here",
        source="memory",
        segments=tuple(offer["segments"]),
    )
