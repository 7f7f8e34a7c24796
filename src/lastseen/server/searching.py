"""``/search``: the search of a robot that this server drives, for pages that watch it and people who ask for it.

One search runs at a time, on the thread that feeds the memory. A simulated robot goes at once; a real one only where
the server was started with ``--robot`` and a token, and the request says that it may move.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.memory.object import Point
from lastseen.memory.objects import Event
from lastseen.protocols import Environment
from lastseen.server import schemas
from lastseen.server.live import Runner
from lastseen.server.responses import READ_ERRORS, WRITE_ERRORS, errors, json_response
from lastseen.server.serializers import Json, rest_object_json
from lastseen.server.service import Service

if TYPE_CHECKING:
    from lastseen.search.recall import Recall
    from lastseen.search.search import Search

_REASONS = 12
"""The last reasons that are told: a search changes its mind some dozens of times."""
_MOST_CANDIDATES = 12
_IN_REACH = 2.0
"""Metres from the robot within which something that it found stands."""
_STEP = 0.1
"""Metres between points of what was walked."""
_NO_ROBOT = "this server drives no robot: start it with --demo, or --robot sim://7 (docs/robot.md)"


class Goal(schemas.StrictBody):
    """What to look for."""

    goal: Annotated[str, Field(min_length=1, max_length=200, examples=["red mug"])]
    may_move: Annotated[bool, Field(description="A real robot moves only where this is true.")] = False


class Reason(BaseModel):
    """Why the robot goes where it goes."""

    step: int
    source: str = Field(
        description="Who says so: memory, panorama or hypothesis (the planner), rules, or fallback (where the "
        "planner's answer was of no use).",
        examples=["memory"],
    )
    why: str


class RoomShare(BaseModel):
    """How much of what is left to try lies in one room, 0 to 1."""

    place_id: int | None
    place: str
    share: float


class SearchState(BaseModel):
    """A search that runs or has ended; all but ``robot`` and ``status`` is empty before the first."""

    robot: Literal["none", "simulated", "real"]
    status: Literal["idle", "searching", "found", "not_found", "asked", "stopped", "failed"] = "idle"
    started: int = Field(default=0, description="How many searches have begun.")
    goal: str | None = None
    reason: str | None = None
    steps: int = 0
    metres: float = 0.0
    candidates: list[schemas.Object] = Field(
        default=[], description="What memory takes for the goal, best first, as it was when the search began."
    )
    given_up: list[str] = Field(
        default=[], description="Ids of the candidates that were looked for in vain, or are out of reach."
    )
    rooms: list[RoomShare] = Field(
        default=[],
        description="Where the candidates are that are left; where none is, places that are described like the goal.",
    )
    reasons: list[Reason] = []
    path: list[list[float]] = Field(default=[], description="The planned path, (x, y) in metres.")
    walked: list[list[float]] = Field(default=[], description="What was walked since it began, (x, y) in metres.")


class ServedSearch:
    """Takes goals for the robot of a server, from any thread; ``state`` tells how its search goes."""

    def __init__(self, robot: Literal["none", "simulated", "real"]) -> None:
        self.state = SearchState(robot=robot)
        self._lock = threading.Lock()
        self._wanted: str | None = None
        self._recall: Recall | None = None
        self._stop = False

    def ask(self, goal: str) -> None:
        """Let the robot look for something; whatever it looked for before is given up."""
        with self._lock:
            self._wanted, self._stop = goal, True

    def stop(self) -> None:
        """Give up the search that runs."""
        with self._lock:
            self._wanted, self._stop = None, True

    @property
    def wanted(self) -> bool:
        """Whether a goal waits for the robot."""
        return self._wanted is not None

    def run(self, service: Service, robot: Environment, *, over: Callable[[], bool]) -> None:
        """Look for the goal that waits; returns when it is found, given up, or ``over`` after a step says so."""
        with self._lock:
            goal, self._wanted, self._stop = self._wanted, None, False
        if goal is None:
            return
        # a question to the memory needs none of this
        from lastseen.search.search import Search

        heard: list[Event] = []
        # corrections that people make meanwhile publish their own
        end = service.memory.subscribe(lambda event: None if "how" in event.evidence else heard.append(event))
        try:
            search = Search(goal, robot, service.memory)
            self._begin(goal, search)
            while search.result is None and not self._stop:
                record = search.step()
                self._note(search, record)
                service.show(search.world.frame, people=search.world.people)
                service.publish(heard)
                heard.clear()
                if over():
                    break
            self._end(search)
        except Exception as error:
            self._update(status="failed", reason=str(error))
            raise
        finally:
            end()
            service.publish(heard)
            service.flush()

    def _begin(self, goal: str, search: Search) -> None:
        self.state = SearchState(
            robot=self.state.robot,
            status="searching",
            started=self.state.started + 1,
            goal=goal,
            reason=search.recall.says(),
            candidates=_candidates(search.recall),
        )
        self._recall = search.recall

    def _note(self, search: Search, record: Json) -> None:
        decision, pose = record["decision"], search.world.pose
        if search.recall is not self._recall:
            # the robot is in another map than its poses said, and another memory speaks
            self._recall = search.recall
            self._update(candidates=_candidates(search.recall), reason=search.recall.says())
        reasons, walked = self.state.reasons, self.state.walked
        if decision is not None and (not reasons or reasons[-1].why != decision["why"]):
            why = Reason(step=search.loop.steps, source=decision["source"], why=decision["why"])
            reasons = [*reasons, why][-_REASONS:]
        if not walked or max(abs(pose.x - walked[-1][0]), abs(pose.y - walked[-1][1])) >= _STEP:
            walked = [*walked, [round(pose.x, 3), round(pose.y, 3)]]
        left = {one.id for one in search.recall.left()}
        self._update(
            steps=search.loop.steps,
            metres=round(search.world.metres, 2),
            rooms=_shares(search),
            given_up=[one.id for one in search.recall.known if one.id not in left],
            reasons=reasons,
            path=[[round(one.x, 3), round(one.y, 3)] for one in search.world.path],
            walked=walked,
        )

    def _end(self, search: Search) -> None:
        result = search.result
        if result is None:
            self._update(status="stopped", reason="the search was given up", path=[])
            return
        changes: Json = {"status": result.status, "reason": result.question or result.reason, "path": []}
        if result.status == "found":
            # it was looked for from here before it was recognised
            here = search.world.pose
            near = {
                one.id for one in search.recall.known if math.dist((here.x, here.y), one.position[:2]) <= _IN_REACH
            }
            changes["given_up"] = [key for key in self.state.given_up if key not in near]
        self._update(**changes)

    def _update(self, **changes: Any) -> None:
        self.state = self.state.model_copy(update=changes)


def _candidates(recall: Recall) -> list[schemas.Object]:
    return [schemas.Object(**rest_object_json(one)) for one in recall.known[:_MOST_CANDIDATES]]


def _shares(search: Search) -> list[RoomShare]:
    """How much of what the search has left to try lies in each room: remembered objects, else likely places."""
    memory, left = search.memory.current, search.recall.left()
    spots = [(one.position, one.score or 1.0) for one in left] or _places(search)
    total = sum(weight for _, weight in spots) or 1.0
    shares: dict[tuple[int | None, str], float] = {}
    for room, (_, weight) in zip(memory.room_at([spot for spot, _ in spots]), spots, strict=True):
        place = (None, "unknown") if room is None else (room.id, room.name)
        shares[place] = shares.get(place, 0.0) + weight / total
    ranked = sorted(shares.items(), key=lambda one: (-one[1], one[0][1]))
    return [RoomShare(place_id=key, place=name, share=round(share, 3)) for (key, name), share in ranked]


def _places(search: Search) -> list[tuple[Point, float]]:
    """The candidate nodes of the belief that are worth a visit, which are anchors, with their scores."""
    belief = search.loop.belief
    worth = set(search.loop.decider.attempts.left(belief)) - search.recall.exhausted()
    anchors = search.memory.current.spatial.graph.anchors
    found = [
        (anchors[node["node_id"]].world_pose, float(node["score"]))
        for node in belief["candidate_nodes"]
        if node["node_id"] in worth and node["node_id"] in anchors
    ]
    return [((pose.x, pose.y, 0.0), score) for pose, score in found if pose is not None]


class RobotRunner(Runner):
    """Lets a robot search when somebody asks for it, and stand otherwise."""

    def __init__(self, service: Service, robot: Environment, search: ServedSearch) -> None:
        super().__init__(service)
        self.robot, self.search = robot, search

    def feed(self) -> None:
        """Wait for goals, and look for each."""
        while not self.stopped.wait(0.1):
            if self.search.wanted:
                self.service.source.state = "running"
                self.search.run(self.service, self.robot, over=self.stopped.is_set)
                self.service.source.state = "waiting"


def routes(service: Service, *, has_token: bool) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["search"])

    def served() -> ServedSearch:
        if service.search is None:
            raise HTTPException(409, f"search: {_NO_ROBOT}")
        return service.search

    def state() -> Response:
        return json_response((service.search or ServedSearch("none")).state.model_dump())

    @router.get("/search", response_model=SearchState, responses=READ_ERRORS)
    def search() -> Response:
        """How the robot's search goes: belief by room, candidates, reasons, planned path and what was walked."""
        return state()

    @router.post("/search", response_model=SearchState, responses={**WRITE_ERRORS, **errors(403)})
    def begin(body: Goal) -> Response:
        """Let the robot look for something; a real one needs a token on this server and ``may_move``."""
        from lastseen.search.goal import check_goal

        robot = served()
        check_goal(body.goal)
        if robot.state.robot == "real" and not (has_token and body.may_move):
            raise HTTPException(403, "search: a real robot moves only with a token and may_move = true")
        robot.ask(body.goal)
        return state()

    @router.delete("/search", response_model=SearchState, responses=WRITE_ERRORS)
    def give_up() -> Response:
        """Give up the search that runs; the robot stops after the action in hand."""
        served().stop()
        return state()

    return router
