"""A scene analyzer that takes its time: no frame waits for it, and its answer counts from when it comes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future

import pytest

from lastseen.action import Action
from lastseen.errors import BackendError
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.places.events import SpatialEvent
from lastseen.memory.places.tracker import Step
from lastseen.protocols import Scene
from tests.memory.objects.scenes import frame_at, seen

KITCHEN = Scene("kitchen", ("stove",), "A kitchen with a stove.")


class Slow:
    """Answers when the test says so."""

    name = "slow"

    def __init__(self) -> None:
        self.asked: list[tuple[int, tuple[str, ...]]] = []
        self.answers: list[Future[Scene | None]] = []

    def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
        self.asked.append((frame.id, tuple(label for label, _ in seen)))
        self.answers.append(Future())
        return self.answers[-1]


class Walk:
    """A robot that goes 25 cm a frame; ``events`` are those of places, in order."""

    def __init__(self, memory: Memory, *, by_action: bool = False) -> None:
        self.memory, self.by_action = memory, by_action
        self.number = 0
        self.events: list[SpatialEvent] = []

    def go(self, frames: int, *, at: float = 0.0) -> list[SpatialEvent]:
        happened: list[SpatialEvent] = []
        for _ in range(frames):
            x = at + 0.25 * self.number
            step = Step(action=Action.FORWARD if self.number else None) if self.by_action else None
            thing = seen([x + 2.0, 0.0, 0.8], stamp=float(self.number), labels={"mug": 0.9})
            frame = frame_at(self.number, eye=(x, 0.0, 1.2), target=(x + 2.0, 0.0, 1.2))
            self.memory.observe(frame, [thing], step=step)
            happened += self.memory.place_events
            self.number += 1
        self.events += happened
        return happened

    def names(self) -> list[str]:
        return [event["event"] for event in self.events]


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture(params=[False, True], ids=["poses", "actions"])
def walk(request: pytest.FixtureRequest, slow: Slow) -> Walk:
    return Walk(Memory.open(scene_analyzer=slow), by_action=request.param)


def test_no_frame_waits_and_one_question_is_open_at_a_time(walk: Walk, slow: Slow) -> None:
    walk.go(50)
    assert slow.asked == [(0, ("mug",))]
    assert "scene_missed" not in walk.names()
    assert "scene_analyzed" not in walk.names()


def test_the_answer_enters_with_the_next_frame_under_the_frame_it_was_asked_of(walk: Walk, slow: Slow) -> None:
    walk.go(4)
    slow.answers[0].set_result(KITCHEN)
    (told,) = [event for event in walk.go(1) if event["event"] == "scene_analyzed"]
    assert told["frame_id"] == 0
    assert (told["scene_type"], told["objects"]) == ("kitchen", ["stove"])
    assert "scene_missed" not in walk.names()


def test_until_then_the_place_is_unknown_and_then_it_has_the_name(walk: Walk, slow: Slow) -> None:
    walk.go(4)
    (place,) = walk.memory.places()
    assert place.place_type == "unknown"
    anchors = walk.memory.spatial.graph.anchors
    assert all(anchor.world_pose is not None for anchor in anchors.values())
    slow.answers[0].set_result(KITCHEN)
    walk.go(1)
    (place,) = walk.memory.places()
    assert (place.place_type, place.semantic_description) == ("kitchen", "A kitchen with a stove.")


def test_after_an_answer_the_next_question_is_asked_when_it_is_due(walk: Walk, slow: Slow) -> None:
    walk.go(4)
    slow.answers[0].set_result(KITCHEN)
    walk.go(30)
    assert [frame_id for frame_id, _ in slow.asked] == [0, walk.memory.settings.places.update_period]
    assert "scene_missed" not in walk.names()


def test_an_answer_about_a_walk_that_ended_names_nothing_in_the_next(slow: Slow) -> None:
    walk = Walk(Memory.open(scene_analyzer=slow))
    walk.go(2)
    walk.go(2, at=50.0)
    assert len(slow.asked) == 1
    slow.answers[0].set_result(KITCHEN)
    walk.go(1, at=50.0)
    assert "scene_analyzed" not in walk.names()
    assert {place.place_type for place in walk.memory.places()} == {"unknown"}
    walk.go(30, at=50.0)
    assert len(slow.asked) == 2


def test_an_analyzer_that_fails_leaves_the_scene_unknown_and_warns_once(
    walk: Walk, slow: Slow, caplog: pytest.LogCaptureFixture
) -> None:
    walk.go(2)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            slow.answers[-1].set_exception(BackendError("slow", "is down", remedy="wait"))
            walk.go(25)
    told = [event for event in walk.events if event["event"] == "scene_analyzed"]
    assert [event["scene_type"] for event in told] == [None, None]
    assert len([record for record in caplog.records if "could not be named" in record.message]) == 1
    assert [place.place_type for place in walk.memory.places()] == ["unknown"]


def test_an_analyzer_that_refuses_a_frame_fails_like_one_that_cannot_answer(caplog: pytest.LogCaptureFixture) -> None:
    class Refusing(Slow):
        def submit(self, frame: Frame, seen: Sequence[tuple[str, float]]) -> Future[Scene | None]:
            raise BackendError("slow", "is not there", remedy="start it")

    walk = Walk(Memory.open(scene_analyzer=Refusing()))
    walk.go(3)
    assert [place.place_type for place in walk.memory.places()] == ["unknown"]
    assert "is not there" in caplog.text


def test_a_question_that_was_cancelled_is_asked_again_when_due(walk: Walk, slow: Slow) -> None:
    walk.go(2)
    slow.answers[0].cancel()
    walk.go(25)
    assert len(slow.asked) == 2


def test_a_mistake_in_an_analyzer_is_raised_and_the_memory_goes_on(walk: Walk, slow: Slow) -> None:
    walk.go(2)
    slow.answers[0].set_exception(ZeroDivisionError("a mistake"))
    lamp = seen([1.0, 5.0, 0.8], stamp=2.0, labels={"lamp": 0.9})
    with pytest.raises(ZeroDivisionError):
        walk.memory.observe(frame_at(2), [lamp], step=Step(action=Action.FORWARD) if walk.by_action else None)
    walk.memory.flush()
    assert ("appeared", 2.0) in [(event.kind, event.time) for event in walk.memory.store.journal.events()]
    walk.number += 1
    walk.go(25)
    assert len(slow.asked) == 2


def test_what_waits_for_an_answer_is_written_and_asked_again_after_a_restart(slow: Slow, tmp_path: object) -> None:
    path = f"{tmp_path}/home.lastseen"
    with Memory.open(path, scene_analyzer=slow) as memory:
        Walk(memory).go(1)
    with Memory.open(path, scene_analyzer=slow) as memory:
        assert [place.place_type for place in memory.places()] == ["unknown"]
        walk = Walk(memory)
        walk.number = 1
        walk.go(1)
        assert [frame_id for frame_id, _ in slow.asked] == [0, 1]
