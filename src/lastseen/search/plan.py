"""What a search would do, without a robot: where memory would send it, how far, and why."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.frame import floor_pose
from lastseen.memory.memory import Memory
from lastseen.memory.object import Answer, Object
from lastseen.pose2d import Pose2D
from lastseen.search.recall import Recall


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
            place = f" in the {thing.place}" if thing.place else ""
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
