"""The whole search in a simulated home: from memory first, remembering on the way, and durable at every step."""

from __future__ import annotations

import json
import math
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lastseen import schemas
from lastseen.action import Action
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.pose2d import Pose2D
from lastseen.protocols import Scene, StepResult
from lastseen.search.log import RunLog, read_log
from lastseen.search.loop import SearchResult
from lastseen.search.policy.geometric import GeometricPixelPolicy
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.robot import Driven, Robot
from lastseen.search.search import Search
from lastseen.search.timing import TimingLog
from lastseen.vlm.mock import ScriptedBackend
from tests.search.logged import replay
from tests.search.policy.box_world import BoxWorld
from tests.search.test_robot_world import BoxEnvironment

pytest.importorskip("embreex")

from tests.search.tiny_search import SETTINGS, TinyRobot, with_thing_at
from tests.sim.tiny import tiny_home

ROOT = Path(__file__).parents[2]
VISIT = """
import sys
from lastseen.memory.memory import Memory
from tests.search.tiny_search import SETTINGS, visit
with Memory.open(sys.argv[1], settings=SETTINGS, wall_clock=None) as memory:
    visit(memory)
"""
SEARCH = """
import sys
from dataclasses import replace
from lastseen.memory.memory import Memory
from lastseen.search.search import Search
from tests.search.tiny_search import SETTINGS, TinyRobot
every_frame = replace(SETTINGS, store=replace(SETTINGS.store, upsert_period=0.0))
memory = Memory.open(sys.argv[1], settings=every_frame, wall_clock=None)
search = Search("zeppelin", TinyRobot(), memory)
while True:
    search.step()
    print(*(each.id for each in memory.objects()), flush=True)
"""


def python(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, *arguments]


@pytest.fixture(scope="module")
def visited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The memory file of a visit that another process made."""
    file = tmp_path_factory.mktemp("visited") / "home.lastseen"
    subprocess.run(python(VISIT, str(file)), check=True, cwd=ROOT)
    return file


@pytest.fixture
def memory(visited: Path, tmp_path: Path) -> Iterator[Memory]:
    """A copy of that file, open."""
    file = shutil.copy(visited, tmp_path / "home.lastseen")
    with Memory.open(file, settings=SETTINGS, wall_clock=None) as opened:
        yield opened


@pytest.fixture(scope="module")
def unprepared() -> SearchResult:
    """The search for the plant without a memory of the home."""
    return Search("plant", TinyRobot(), settings=SETTINGS).run()


def test_the_file_of_a_visit_is_enough_to_walk_to_what_it_saw(memory: Memory, unprepared: SearchResult) -> None:
    robot = TinyRobot()
    result = Search("plant", robot, memory).run()
    assert (result.status, result.planner_calls) == ("found", 0)
    assert unprepared.status == "found"
    assert unprepared.planner_calls > 0
    assert result.steps < unprepared.steps
    plant = tiny_home().thing(8).pose.translation
    assert math.dist((robot.agent.pose.x, robot.agent.pose.y), plant[:2]) < 1.5


def test_a_second_search_is_shorter_for_what_the_first_one_saw(unprepared: SearchResult) -> None:
    robot, memory = TinyRobot(), Memory.open(settings=SETTINGS, wall_clock=None)
    first = Search("plant", robot, memory).run()
    second = Search("plant", robot, memory).run()
    assert (first.steps, first.planner_calls) == (unprepared.steps, unprepared.planner_calls)
    assert (second.status, second.planner_calls) == ("found", 0)
    assert second.steps < first.steps


def test_what_was_found_is_remembered_though_it_was_seen_from_one_side_only(tmp_path: Path) -> None:
    doubtful = replace(SETTINGS, promotion=replace(SETTINGS.promotion, min_view_bins=36))
    file = tmp_path / "home.lastseen"
    with Memory.open(file, settings=doubtful, wall_clock=None) as memory:
        first = Search("plant", TinyRobot(), memory).run()
        assert [each.label for each in memory.objects()] == ["plant"]
    with Memory.open(file, settings=doubtful, wall_clock=None) as memory:
        second = Search("plant", TinyRobot(), memory).run()
    assert (first.status, second.status, second.planner_calls) == ("found", "found", 0)
    assert second.steps < first.steps


def test_what_memory_does_not_hold_is_left_to_the_explorer(memory: Memory) -> None:
    search = Search("bathtub", TinyRobot(), memory)
    records = [search.step() for _ in range(14)]
    sources = {record["decision"]["source"] for record in records if record["decision"] is not None}
    assert sources == {"panorama"}


def test_without_memory_first_the_planner_is_asked_though_memory_knows(memory: Memory) -> None:
    result = Search("plant", TinyRobot(), memory, memory_first=False).run()
    assert result.planner_calls > 0


def test_what_a_killed_search_had_seen_is_there_and_the_next_one_finds_it(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    seen: set[str] = set()
    with subprocess.Popen(python(SEARCH, str(file)), stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        for count, line in enumerate(process.stdout):
            seen |= set(line.split())
            if count == 40:
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    with Memory.open(file, settings=SETTINGS, wall_clock=None) as memory:
        kept = {each.id for each in memory.objects(include_tentative=True, include_removed=True)}
        assert seen
        assert seen <= kept
        result = Search("table", TinyRobot(), memory).run()
    assert (result.status, result.planner_calls) == ("found", 0)


def test_a_thing_that_was_moved_is_looked_for_where_it_was_then_elsewhere_and_memory_learns_it(
    memory: Memory,
) -> None:
    (before,) = memory.find("red mug").hits
    home = with_thing_at(tiny_home(), 2, 7.6, 1.5, 0.5, support_id=6, room_id=2)
    robot = TinyRobot(home)
    longer = replace(SETTINGS, search=replace(SETTINGS.search, max_steps=200))
    search = Search("red mug", robot, memory, settings=longer)
    sources, nearest = [], math.inf
    while search.result is None:
        record = search.step()
        x, y, _ = record["world_pose"]
        if record["decision"] is not None:
            sources.append(record["decision"]["source"])
        if "panorama" not in sources:
            nearest = min(nearest, math.dist((x, y), before.position[:2]))
    assert sources[0] == "memory"
    assert nearest < 2.0
    assert "panorama" in sources
    now = {each.id: each for each in memory.objects(include_removed=True)}[before.id]
    assert now.state in {"missing", "removed"} or math.dist(now.position, before.position) > 1.0
    assert search.result.status == "found"
    assert robot.agent.pose.x > 4.0


def test_a_search_goes_on_in_the_map_that_the_robot_turns_out_to_be_in(memory: Memory) -> None:
    search = Search("red mug", TinyRobot(), memory, settings=SETTINGS)
    before = search.world.pose
    search.step()
    # the robot's poses turn out to be of another map: here its own, shifted, so that all it knows lies elsewhere
    memory._sessions.transform = FrameTransform(0.0, 0.4, 0.0, 0.0)
    search.step()
    assert search.world.maps_entered == 1
    assert search.world.recall is search.recall
    assert search.world.pose.x > before.x + 0.1
    assert search.world.metres < 0.3
    search.run()
    assert search.result is not None


def test_planner_calls_are_counted_once_each_and_rules_are_no_calls() -> None:
    timing = TimingLog()
    search = Search("plant", TinyRobot(), settings=SETTINGS, timing=timing)
    result = search.run()
    steps = [record for record in search.log.records if record["type"] == "step"]
    called = [step for step in steps if step["planner_called"]]
    assert result.status == "found"
    assert result.planner_calls == len(called) == timing.calls["planner"]
    assert steps[result.steps - 1]["decision"]["source"] == "rules"
    assert not any(step["meta"]["fallback"] for step in steps)


def test_every_step_says_what_was_retrieved(unprepared: SearchResult) -> None:
    del unprepared
    search = Search("plant", TinyRobot(), settings=SETTINGS)
    for _ in range(14):
        meta = search.step()["meta"]
        assert meta["retrieval_ran"] is True
        assert meta["retrieval_topk"]
        assert meta["retrieval_best_score"] == meta["retrieval_topk"][0]["score"]
    assert search.memory.spatial.graph.anchors


def logged(path: Path, steps: int = 45) -> Search:
    settings = replace(SETTINGS, search=replace(SETTINGS.search, max_steps=steps))
    with RunLog(path) as log:
        search = Search("zeppelin", TinyRobot(), settings=settings, log=log, seed=3)
        search.run()
    return search


def test_every_line_of_a_log_fits_its_schema_and_equal_searches_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        logged(tmp_path / name)
    lines = (tmp_path / "a").read_text(encoding="utf-8").splitlines()
    for line in lines:
        schemas.validate("run_log", json.loads(line))
    assert {json.loads(line)["type"] for line in lines} == {"header", "step", "event"}
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_places_of_a_search_are_built_again_from_its_log(tmp_path: Path) -> None:
    search = logged(tmp_path / "run.jsonl")
    run = read_log(tmp_path / "run.jsonl")
    # which frame an anchor was made at is for corrected poses, and no part of a log
    search.spatial.retire_frames()
    assert replay(run).to_dict() == search.spatial.to_dict()
    assert len(search.spatial.graph.anchors) > 3
    assert {event["step_id"] for event in run.events} <= {step["step_id"] for step in run.steps}


class Slow:
    """A scene analyzer that answers when it is let."""

    name = "slow"

    def __init__(self) -> None:
        self.let, self.asked = threading.Event(), 0
        self._thread = ThreadPoolExecutor(1)

    def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
        self.asked += 1
        return self._thread.submit(self._answer)

    def _answer(self) -> Scene | None:
        self.let.wait(60.0)
        return Scene("kitchen", (), "A kitchen.")


def test_a_slow_scene_analyzer_stalls_no_search_and_is_asked_one_thing_at_a_time() -> None:
    slow = Slow()
    memory = Memory.open(settings=SETTINGS, scene_analyzer=slow, wall_clock=None)
    search = Search("zeppelin", TinyRobot(), memory)
    for _ in range(42):
        search.step()
    assert (slow.asked, {place.scene_type for place in memory.places()}) == (1, {"unknown"})
    slow.let.set()
    for _ in range(42):
        search.step()
    assert slow.asked > 1
    assert "kitchen" in {place.scene_type for place in memory.places()}


class LooksDown(GeometricPixelPolicy):
    """Looks down once at the beginning of every walk, as PixelNav does before a low goal."""

    def follow(self, pixel: GoalPixel) -> None:
        super().follow(pixel)
        self._down = True

    def act(self) -> Action:
        if getattr(self, "_down", False):
            self._down = False
            return Action.LOOK_DOWN
        return super().act()


def test_the_camera_is_level_in_every_view_of_a_look_around() -> None:
    robot = TinyRobot()
    search = Search("zeppelin", robot, settings=SETTINGS, policy=LooksDown(SETTINGS.policy))
    tilts, taken = [], search.world._around.add

    def add(frame: Frame, detections: Sequence[Detection]) -> None:
        tilts.append(robot.agent.pitch)
        taken(frame, detections)

    search.world._around.add = add  # type: ignore[method-assign]
    while search.loop.calls < 3:
        search.step()
    actions = [record["action"] for record in search.log.records if record["type"] == "step"]
    assert actions.count("look_down") == actions.count("look_up") >= 2
    assert len(tilts) >= 24
    assert set(tilts) == {0.0}


def test_with_trust_planner_a_stop_at_a_flagged_goal_ends_the_search_unchecked() -> None:
    literal = replace(SETTINGS, stop=replace(SETTINGS.stop, trust_planner=True))
    flagged = json.dumps(
        {"goal_flag": True, "angle": 0.0, "discovered_context": {"goal_scene_type": "hall", "why": "there"}}
    )
    found = Search("zeppelin", TinyRobot(), settings=literal, planner=ScriptedBackend([flagged])).run()
    checked = Search("zeppelin", TinyRobot(), settings=SETTINGS, planner=ScriptedBackend([flagged])).run()
    assert (found.status, found.planner_calls) == ("found", 1)
    assert checked.status == "not_found"


def scripted(*, goal_flag: bool, angle: float = 0.0) -> ScriptedBackend:
    seen = {"goal_scene_type": "hall", "why": "there"}
    return ScriptedBackend([json.dumps({"goal_flag": goal_flag, "angle": angle, "discovered_context": seen})] * 40)


LITERAL = replace(
    SETTINGS, stop=replace(SETTINGS.stop, trust_planner=True), search=replace(SETTINGS.search, max_steps=60)
)


def test_with_trust_planner_a_sighting_ends_nothing_where_the_planner_flags_nothing() -> None:
    unflagged = scripted(goal_flag=False)
    result = Search("plant", TinyRobot(), settings=LITERAL, planner=unflagged, use_context=False).run()
    assert result.status == "not_found"
    assert result.belief["target_status"] != "visible"
    assert result.planner_calls > 1


def test_with_confirm_flag_a_goal_that_the_detector_does_not_find_is_not_stopped_at() -> None:
    checked = replace(LITERAL, stop=replace(LITERAL.stop, confirm_flag=True))
    assert Search("zeppelin", TinyRobot(), settings=checked, planner=scripted(goal_flag=True)).run().status != "found"


class WithoutDepth(TinyRobot):
    """A robot with a colour camera alone."""

    def reset(self) -> Frame:
        return self._blind(super().reset())

    def step(self, action: Action) -> StepResult:
        result = super().step(action)
        return StepResult(self._blind(result.frame), result.collided)

    def _blind(self, frame: Frame) -> Frame:
        return replace(frame, depth=np.full_like(frame.depth, np.nan))


class ByColour(GeometricPixelPolicy):
    """Walks three steps and stops, whatever depth says."""

    needs_depth = False

    def follow(self, pixel: GoalPixel) -> None:
        self._left = 3

    def act(self) -> Action:
        self._left -= 1
        self.stop_reason = None if self._left else "reached"
        return Action.FORWARD if self._left else Action.STOP


def test_without_depth_a_policy_of_colour_alone_searches_by_pixelnavs_rules() -> None:
    flagged = scripted(goal_flag=True)
    result = Search(
        "zeppelin", WithoutDepth(), settings=LITERAL, planner=flagged, policy=ByColour(SETTINGS.policy)
    ).run()
    assert result.status == "found"


@pytest.mark.parametrize(("settings", "policy"), [(LITERAL, GeometricPixelPolicy), (SETTINGS, ByColour)])
def test_without_depth_what_needs_it_is_refused(settings: Settings, policy: type[GeometricPixelPolicy]) -> None:
    search = Search("plant", WithoutDepth(), settings=settings, policy=policy(SETTINGS.policy))
    with pytest.raises(
        InvalidValue, match=r"^depth = None: is needed to walk by it, or to check a stop; use --policy"
    ):
        search.run()


@pytest.mark.parametrize("goal", ["", "   ", "!!!", "🤖"])
def test_a_goal_without_words_is_one_clear_line(goal: str) -> None:
    with pytest.raises(InvalidValue, match=r'^goal = .*: has no words; say what to look for, for example "red mug"$'):
        Search(goal, TinyRobot(), settings=SETTINGS)


def test_a_memory_opened_for_reading_is_refused(visited: Path) -> None:
    with (
        Memory.open(visited, read_only=True, settings=SETTINGS) as memory,
        pytest.raises(InvalidValue, match=r"^memory = .*: was opened for reading; open it for writing"),
    ):
        Search("plant", TinyRobot(), memory)


class BoxRobot(BoxEnvironment):
    """A room of boxes; nothing is ever detected in it."""

    class detector:  # noqa: N801 - an attribute of a robot
        @staticmethod
        def detect(frame: Frame, targets: Sequence[str] = ()) -> list[object]:
            return []


def test_a_robot_without_a_detector_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"^detector = None: is missing; give Search"):
        Search("mug", BoxEnvironment(), settings=SETTINGS)


def frames(room: BoxWorld, count: int) -> Iterator[Frame]:
    for number in range(count):
        yield replace(room.look(), id=number, stamp=0.5 * number)


def driven(drive: Callable[[BoxWorld, Pose2D], Driven], *, count: int = 1000) -> Search:
    """A search by a robot that is driven so; it sees nothing it looks for."""
    room = BoxWorld()
    robot = Robot(frames(room, count), lambda goal: drive(room, goal), detector=BoxRobot.detector)  # type: ignore[arg-type]
    return Search("mug", robot, planner=ScriptedBackend([]), settings=SETTINGS)


def go(room: BoxWorld, goal: Pose2D) -> Driven:
    room.pose = goal
    return "reached"


@pytest.mark.parametrize("told", ["reached", "failed"])
def test_a_robot_that_never_moves_ends_the_search_with_the_reason(told: Driven) -> None:
    result = driven(lambda room, goal: told).run()
    assert (result.status, result.steps, result.metres) == ("not_found", 40, 0.0)
    assert result.reason == "the robot did not move in 40 actions: check that drive() drives and poses follow"


def test_an_answer_of_drive_that_is_none_ends_the_search_in_one_clear_line() -> None:
    with pytest.raises(InvalidValue, match=r'^drive = None: is no answer; return "reached" or "failed"$'):
        driven(lambda room, goal: None).run()  # type: ignore[arg-type, return-value]


def test_frames_that_end_end_the_search_in_one_clear_line_and_what_was_seen_is_kept() -> None:
    search = driven(go, count=8)
    with pytest.raises(InvalidValue, match=r"^frames = .*: have come to an end; use a live source$"):
        search.run()
    assert search.memory.spatial.graph.anchors


def test_what_drive_raises_comes_through_and_what_was_seen_is_on_disk(tmp_path: Path) -> None:
    room, calls = BoxWorld(), 0

    def drive(goal: Pose2D) -> Driven:
        nonlocal calls
        calls += 1
        if calls > 5:
            raise ConnectionError("the base does not answer")
        return go(room, goal)

    file = tmp_path / "home.lastseen"
    memory = Memory.open(file, settings=SETTINGS, wall_clock=None)
    robot = Robot(frames(room, 99), drive, detector=BoxRobot.detector)  # type: ignore[arg-type]
    with pytest.raises(ConnectionError, match="the base does not answer"):
        Search("mug", robot, memory).run()
    with Memory.open(file, read_only=True, settings=SETTINGS) as reader:
        assert reader.spatial.step_id == 5
    memory.close()


def test_steps_go_on_until_there_is_a_result_and_end_within_the_budget() -> None:
    settings = replace(SETTINGS, search=replace(SETTINGS.search, max_steps=15))
    search = Search("zeppelin", TinyRobot(), settings=settings)
    for _ in range(15):
        assert search.result is None
        search.step()
    assert search.result is not None
    assert (search.result.status, search.result.steps) == ("not_found", 15)


def test_a_world_that_is_over_ends_the_search() -> None:
    search = Search("zeppelin", TinyRobot(), settings=SETTINGS)
    result = search.run(over=lambda: search.loop.steps >= 5)
    assert (result.status, result.steps) == ("not_found", 5)


def test_a_memory_that_the_search_made_ends_with_it_and_one_it_was_given_does_not(memory: Memory) -> None:
    with Search("plant", TinyRobot(), settings=SETTINGS) as search:
        own = search.memory
    assert own._writes._closed
    with Search("plant", TinyRobot(), memory):
        pass
    assert memory.objects()
    assert not memory._writes._closed
