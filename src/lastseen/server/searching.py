"""``/search``: the search of a robot that this server drives, for pages that watch it and people who ask for it.

One search runs at a time, on the thread that feeds the memory. A simulated robot goes at once; a real one only where
the server was started with ``--robot`` and a token, and the request says that it may move.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lastseen.memory.object import Object as Thing
from lastseen.memory.objects import Event
from lastseen.protocols import Environment
from lastseen.server import schemas
from lastseen.server.live import Runner
from lastseen.server.responses import READ_ERRORS, WRITE_ERRORS, errors, json_response
from lastseen.server.serializers import Json, rest_object_json
from lastseen.server.service import Service

if TYPE_CHECKING:
    from lastseen.search.search import Search

_REASONS = 12
"""The last reasons that are told: a search changes its mind some dozens of times."""
_STEP = 0.1
"""Metres between points of what was walked."""
_NO_ROBOT = "this server drives no robot: start it with --demo, or --robot sim://7 (docs/robot.md)"


class Goal(schemas.StrictBody):
    """What to look for."""

    goal: Annotated[str, Field(min_length=1, max_length=200, examples=["red mug"])]
    may_move: Annotated[bool, Field(description="A real robot moves only where this is true.")] = False


class Reason(BaseModel):
    """Why the robot goes where it goes; ``source`` is memory, planner or fallback."""

    step: int
    source: str
    why: str


class RoomShare(BaseModel):
    """How much of the belief lies in one room, 0 to 1."""

    place_id: int | None
    place: str
    share: float


class SearchState(BaseModel):
    """A search that runs or has ended; all but ``robot`` and ``status`` is empty before the first."""

    robot: Literal["none", "simulated", "real"]
    status: Literal["idle", "searching", "found", "not_found", "asked", "stopped", "failed"]
    started: int = Field(description="How many searches have begun.")
    goal: str | None
    reason: str | None
    steps: int
    metres: float
    candidates: list[schemas.Object]
    rooms: list[RoomShare]
    reasons: list[Reason]
    path: list[list[float]] = Field(description="The planned path, (x, y) in metres.")
    walked: list[list[float]] = Field(description="What was walked since the search began, (x, y) in metres.")


class ServedSearch:
    """Takes goals for the robot of a server and tells how its search goes; safe for several threads."""

    def __init__(self, robot: Literal["none", "simulated", "real"]) -> None:
        self.robot = robot
        self.started = 0
        self._lock = threading.Lock()
        self._wanted: str | None = None
        self._stop = False
        self._state: Json = {"status": "idle", "goal": None, "reason": None, "steps": 0, "metres": 0.0}
        self._candidates: tuple[Thing, ...] = ()
        self._rooms: list[Json] = []
        self._reasons: deque[Json] = deque(maxlen=_REASONS)
        self._path: list[list[float]] = []
        self._walked: list[list[float]] = []

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

    def run(self, service: Service, robot: Environment, *, over: Callable[[Search], bool]) -> None:
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
                self._note(service, search, record)
                service.show(search.world.frame)
                service.publish(heard)
                heard.clear()
                if over(search):
                    break
            self._end(search)
        except Exception as error:
            with self._lock:
                self._state |= {"status": "failed", "reason": str(error)}
            raise
        finally:
            end()
            service.publish(heard)
            service.flush()

    def to_json(self) -> Json:
        """How the search goes."""
        with self._lock:
            return {
                "robot": self.robot,
                "started": self.started,
                **self._state,
                "candidates": [rest_object_json(one) for one in self._candidates],
                "rooms": list(self._rooms),
                "reasons": list(self._reasons),
                "path": list(self._path),
                "walked": list(self._walked),
            }

    def _begin(self, goal: str, search: Search) -> None:
        with self._lock:
            says = search.recall.says()
            self._state = {"status": "searching", "goal": goal, "reason": says, "steps": 0, "metres": 0.0}
            self._candidates = search.recall.answer.fitting
            self._rooms, self._path, self._walked = [], [], []
            self._reasons.clear()
            self.started += 1

    def _note(self, service: Service, search: Search, record: Json) -> None:
        decision, pose = record["decision"], search.world.pose
        shares = _shares(service, record["belief"]["candidate_nodes"])
        with self._lock:
            self._state |= {"steps": search.loop.steps, "metres": round(search.world.metres, 2)}
            self._rooms = shares
            if decision is not None and (not self._reasons or self._reasons[-1]["why"] != decision["why"]):
                self._reasons.append(
                    {"step": search.loop.steps, "source": decision["source"], "why": decision["why"]}
                )
            self._path = [[round(one.x, 3), round(one.y, 3)] for one in search.world.path]
            last = self._walked[-1] if self._walked else None
            if last is None or max(abs(pose.x - last[0]), abs(pose.y - last[1])) >= _STEP:
                self._walked.append([round(pose.x, 3), round(pose.y, 3)])

    def _end(self, search: Search) -> None:
        result = search.result
        with self._lock:
            if result is None:
                self._state |= {"status": "stopped", "reason": "the search was given up"}
            else:
                self._state |= {"status": result.status, "reason": result.question or result.reason}
            self._path = []


def _shares(service: Service, nodes: list[Json]) -> list[Json]:
    """The scores of the belief's candidate nodes, which are anchors, added up by room."""
    memory, anchors = service.memory, service.memory.spatial.graph.anchors
    known = [
        (anchors[node["node_id"]].world_pose, float(node["score"])) for node in nodes if node["node_id"] in anchors
    ]
    posed = [(pose, score) for pose, score in known if pose is not None]
    rooms = memory.room_at([(pose.x, pose.y, 0.0) for pose, _ in posed])
    total = sum(score for _, score in posed) or 1.0
    found: dict[int | None, Json] = {}
    for room, (_, score) in zip(rooms, posed, strict=True):
        key = None if room is None else room.id
        one = found.setdefault(
            key, {"place_id": key, "place": "unknown" if room is None else room.name, "share": 0.0}
        )
        one["share"] += score / total
    ranked = sorted(found.values(), key=lambda one: (-one["share"], one["place"]))
    return [{**one, "share": round(one["share"], 3)} for one in ranked]


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
                self.search.run(self.service, self.robot, over=lambda _: self.stopped.is_set())
                self.service.source.state = "waiting"


def routes(service: Service, *, has_token: bool) -> APIRouter:
    """The routes over one service."""
    router = APIRouter(tags=["search"])

    def served() -> ServedSearch:
        if service.search is None:
            raise HTTPException(409, f"search: {_NO_ROBOT}")
        return service.search

    def state() -> Json:
        return (service.search or ServedSearch("none")).to_json()

    @router.get("/search", response_model=SearchState, responses=READ_ERRORS)
    def search() -> Response:
        """How the robot's search goes: belief by room, candidates, reasons, planned path and what was walked."""
        return json_response(state())

    @router.post("/search", response_model=SearchState, responses={**WRITE_ERRORS, **errors(403)})
    def begin(body: Goal) -> Response:
        """Let the robot look for something; a real one needs a token on this server and ``may_move``."""
        from lastseen.search.goal import check_goal

        robot = served()
        check_goal(body.goal)
        if robot.robot == "real" and not (has_token and body.may_move):
            raise HTTPException(403, "search: a real robot moves only with a token and may_move = true")
        robot.ask(body.goal)
        return json_response(state())

    @router.delete("/search", response_model=SearchState, responses=WRITE_ERRORS)
    def give_up() -> Response:
        """Give up the search that runs; the robot stops after the action in hand."""
        served().stop()
        return json_response(state())

    return router
