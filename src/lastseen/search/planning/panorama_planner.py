"""The planner of a robot that moves: panorama and navigation context in, a heading out; see docs/places.md.

It is the default wherever there is an environment. Every call leaves one record in the discovered-context queue,
the fallback's too, and opens a try whose outcome the next call will be told. Where memory knows where the goal was,
``MemoryFirstPlanner`` goes there first, and asks the planner where to explore when nothing is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lastseen.config import Settings
from lastseen.memory.nodes.utils import tokenize
from lastseen.memory.places import SpatialMemory
from lastseen.pose2d import wrap_angle
from lastseen.search.panorama import stitch, view_angles
from lastseen.search.paths import Segment
from lastseen.search.planning.context import Context, build_context, render
from lastseen.search.planning.decision import Decision, Planner, PlannerCall, Situation
from lastseen.search.planning.history import DiscoveredContextQueue, TriedDirections
from lastseen.search.planning.node_graph import Constraint, judgeable
from lastseen.search.planning.plan import FALLBACK_PLAN, plan_client
from lastseen.search.planning.prompt import View, planner_prompt
from lastseen.vlm.protocol import Backend

if TYPE_CHECKING:
    from lastseen.search.recall import Remembered

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
    ) -> None:
        self.settings = settings or spatial.settings
        self.client = plan_client(backend, self.settings)
        self.spatial = spatial
        self.queue = DiscoveredContextQueue(self.settings.discovered_context.max_records)
        self.tried = TriedDirections()
        self.use_context, self.edit = use_context, edit

    def decide(self, situation: Situation) -> tuple[Decision, PlannerCall]:
        """Ask for one plan, with retry and fallback, and turn it into a heading.

        A goal that perception has in view is approached without a call; docs/places.md says when the model is asked.
        """
        if situation.belief["target_status"] == "visible":
            seen = Decision(heading=0.0, why="the goal is in view", source="panorama", goal_flag=True)
            return seen, PlannerCall(backend=self.client.backend.name, asked=False)
        hint = self.spatial.progress.avoid_hint()
        self.tried.end(self.spatial.pose)
        context, text = None, NO_CONTEXT
        if self.use_context:
            context = build_context(
                self.spatial,
                self.queue,
                situation,
                tried=self.tried.from_here(self.spatial.pose),
                asked_here=self.tried.asked_here(self.spatial.pose),
                settings=self.settings,
            )
            if self.edit is not None:
                context = self.edit(context)
            text = render(context)
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
        decision = Decision(
            heading=math.radians(plan.angle),
            why=discovered.why,
            source="fallback" if fallback else "panorama",
            goal_flag=plan.goal_flag,
            # a goal in view is walked to by sight
            segments=() if plan.goal_flag or context is None else path_at(context, plan.angle),
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


_WALK_SCORE = 0.55
"""A candidate below it is not walked to before exploring: unrelated nodes score 0.40 +- 0.05, a word in common adds
up to 0.20."""

_SAME_ANGLE = 5.0
"""Degrees: a plan this near to where a path begins means that way."""


def path_at(context: Context, angle: float) -> tuple[Segment, ...]:
    """The path that begins at this angle in degrees; empty where the context, as it was read, names none.

    A plan is only an angle. Where it is the beginning of a path that the context named, the robot follows that round
    its corners; without it, the robot walks straight on, past the door it was sent to.

    Sightings of the target come first, then where it is remembered, nodes that are worth the path, and unexplored
    edges; of one kind the shortest wins.
    """
    for entries in _kinds(context):
        matching = [
            entry
            for entry in entries
            if entry.get("path") and abs(math.remainder(entry["angle"] - angle, 360.0)) <= _SAME_ANGLE
        ]
        if matching:
            nearest = min(matching, key=lambda entry: (entry["distance"], entry["path"]))
            return tuple((float(metres), math.radians(degrees)) for metres, degrees in nearest["path"])
    return ()


def _kinds(context: Context) -> Iterator[Sequence[Mapping[str, Any]]]:
    yield context["sightings"]
    yield context["remembered"]
    yield [each for each in context["belief"]["candidates"] if each["score"] >= _WALK_SCORE]
    yield context["unexplored"]


def _views(situation: Situation) -> Sequence[View]:
    """What was seen in each direction; pictures alone have a direction and nothing else."""
    return situation.around.views or [
        View(float(angle)) for angle in view_angles(len(situation.images)) if situation.images
    ]


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
            for offer in situation.around.remembered
            if offer.spot.metres <= most and not any(_breaks(each, offer) for each in constraints)
        ]
        if remembered and not self._in_sight(situation):
            return _walk_to(remembered[0]), PlannerCall(backend=MEMORY, asked=False)
        return self.otherwise.decide(situation)

    @staticmethod
    def _farthest(situation: Situation) -> float:
        """Metres of path to a remembered object at most: no robot leaves a goal that it saw for one far away."""
        seen = [spot.metres for spot in situation.around.sightings]
        return min(seen) + _ROUND if seen else math.inf

    @staticmethod
    def _in_sight(situation: Situation) -> bool:
        if situation.around.approach_failed:
            # what is seen cannot be reached straight on: memory may know a path round
            return False
        if situation.belief["target_status"] in {"visible", "done"} or situation.around.sightings:
            return True
        goal = situation.belief["goal_text"]
        views = situation.around.views
        return any(label == goal and score >= _IN_VIEW for view in views for label, score in view.labels)


def _breaks(constraint: Constraint, offer: Remembered) -> bool:
    """Whether going there breaks a constraint: by the words of its place, or by the length of the path."""
    if constraint.kind == "avoid":
        return constraint.words <= set(tokenize(f"{offer.object.place or ''} {offer.object.label or ''}"))
    return offer.spot.metres > constraint.metres


def _walk_to(offer: Remembered) -> Decision:
    found, spot = offer.object, offer.spot
    place = f" in the {found.place}" if found.place else ""
    return Decision(
        heading=wrap_angle(math.radians(spot.angle)),
        why=f"memory: {found.label or 'it'} ({found.id}){place}, {spot.metres:.1f} m from here",
        source="memory",
        segments=spot.segments,
    )
