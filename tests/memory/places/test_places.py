from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lastseen.action import Action
from lastseen.config import Settings
from lastseen.config.memory import Places
from lastseen.errors import InvalidValue
from lastseen.memory.places import SpatialMemory

F, L = Action.FORWARD, Action.TURN_LEFT


class Walk:
    """A memory that is led along, told the scene from a function of its x coordinate whenever it asks."""

    def __init__(self, scene: Callable[[float], str], settings: Settings | None = None) -> None:
        self.memory = SpatialMemory(settings)
        self.scene = scene
        self.events: list[dict[str, Any]] = []
        self.asked: list[int] = []
        self._look()

    def go(self, *actions: Action) -> Walk:
        for action in actions:
            self.events += self.memory.step(action)
            self._look()
        return self

    def _look(self) -> None:
        if self.memory.needs_scene_analysis:
            self.asked.append(self.memory.step_id)
            self.events += self.memory.scene_analyzed(self.scene(self.memory.pose.x))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["event"] == name]


def two_rooms(x: float) -> str:
    return "kitchen" if x < 1.0 else "bedroom"


def test_the_first_place_and_anchor_come_at_step_0_without_dwell() -> None:
    memory = SpatialMemory()
    assert memory.needs_scene_analysis
    events = memory.scene_analyzed("Kitchen.", ["stove"], "A small kitchen.")
    assert [event["event"] for event in events] == ["place_created", "anchor_created"]
    assert memory.graph.place(0).to_dict() == {
        "place_id": 0,
        "place_type": "Kitchen.",
        "episode": 0,
        "objects_list": ["stove"],
        "semantic_description": "A small kitchen.",
        "anchors": [0],
    }


def test_the_scene_is_analyzed_every_twenty_steps() -> None:
    assert Walk(lambda _: "kitchen").go(*[L] * 60).asked == [0, 20, 40, 60]


def test_place_update_period_and_dwell() -> None:
    assert (Settings().places.update_period, Settings().places.dwell) == (20, 3)


def test_a_change_is_confirmed_by_three_agreeing_analyses() -> None:
    walk = Walk(two_rooms).go(*[F] * 22)
    assert walk.asked == [0, 20, 21, 22]
    assert [(e["step_id"], e["place_type"]) for e in walk.named("place_created")] == [
        (0, "kitchen"),
        (22, "bedroom"),
    ]


def test_a_change_waits_while_fewer_than_three_agree() -> None:
    walk = Walk(two_rooms).go(*[F] * 21)
    assert walk.memory.current_place_id == 0
    assert walk.memory.to_dict()["dwell"]["scene_type"] == "bedroom"


@pytest.mark.parametrize("opinions", [["bedroom", "kitchen"], ["bedroom", "bathroom"], ["bedroom", ""]])
def test_disagreement_ends_the_attempt_until_the_next_period(opinions: list[str]) -> None:
    told = iter(["kitchen", *opinions, "kitchen"])
    walk = Walk(lambda _: next(told)).go(*[L] * 40)
    assert walk.asked == [0, 20, 21, 40]
    assert len(walk.memory.graph.places) == 1


def test_types_are_compared_normalised() -> None:
    told = iter(["Hallway", "corridor."])
    assert len(Walk(lambda _: next(told)).go(*[L] * 20).memory.graph.places) == 1


def test_a_change_makes_a_place_whose_first_anchor_is_here() -> None:
    walk = Walk(two_rooms).go(*[F] * 22)
    place = walk.memory.graph.place(1)
    first = walk.memory.graph.anchor(place.anchors[0])
    assert (first.pose, first.place_id, first.step) == (walk.memory.pose, 1, 22)
    assert walk.memory.current_anchor is first


def test_objects_add_up_and_the_newest_description_stays() -> None:
    memory = SpatialMemory()
    memory.scene_analyzed("kitchen", ["stove", " "], "One. Two. Three.")
    for _ in range(20):
        memory.step(L)
    memory.scene_analyzed("kitchen", ["sink"], "")
    place = memory.graph.place(0)
    assert place.to_dict()["objects_list"] == ["sink", "stove"]
    assert place.semantic_description == "One. Two."


def test_what_is_seen_of_a_new_place_never_lands_in_the_old_one() -> None:
    memory = SpatialMemory()
    memory.scene_analyzed("kitchen", ["stove"])
    for _ in range(20):
        memory.step(L)
    for thing in ["bed", "lamp"]:
        memory.scene_analyzed("bedroom", [thing])
        memory.step(L)
    memory.scene_analyzed("bedroom", ["rug"], "A bedroom.")
    assert [sorted(place.objects_list) for place in memory.graph.places.values()] == [
        ["stove"],
        ["bed", "lamp", "rug"],
    ]


def test_a_place_left_and_found_again_is_re_entered() -> None:
    walk = Walk(two_rooms).go(*[F] * 5, *[L] * 18, *[F] * 5, *[L] * 14)
    assert [event["place_id"] for event in walk.named("place_entered")] == [0]
    assert len(walk.memory.graph.places) == 2
    assert walk.memory.graph.place(0).anchors[-1] == walk.memory.current_anchor_id


def test_the_room_above_is_not_re_entered() -> None:
    walk = Walk(two_rooms).go(*[F] * 5)
    below = set(walk.memory.graph.anchors)
    walk.memory.on_other_storey = below.__contains__
    walk.go(*[L] * 18, *[F] * 5, *[L] * 14)
    assert walk.named("place_entered") == []
    assert not {one.anchor_id for one in walk.memory.nearby()} & below


def test_a_place_of_the_same_type_out_of_reach_is_a_new_one() -> None:
    walk = Walk(lambda x: "bedroom" if 1.0 <= x < 8.0 else "kitchen").go(*[F] * 62)
    assert [event["place_type"] for event in walk.named("place_created")] == ["kitchen", "bedroom", "kitchen"]


def test_a_corridor_is_never_re_entered() -> None:
    told = iter(["corridor", *["kitchen"] * 3, *["corridor"] * 3])
    walk = Walk(lambda _: next(told)).go(*[L] * 42)
    assert walk.named("place_entered") == []
    assert len(walk.memory.graph.places) == 3


def test_reenter_off_makes_a_new_place_every_time_and_ababa_compares_types() -> None:
    settings = Settings(places=Places(reenter=False))
    told = iter(["a", *["b"] * 3, *["a"] * 3, *["b"] * 3])
    walk = Walk(lambda _: next(told), settings).go(*[L] * 62)
    assert len(walk.memory.graph.places) == 4
    assert walk.memory.progress.avoid_hint() == "pattern:ABABA"


def test_only_recent_places_can_be_re_entered() -> None:
    types = ["a", "b", "c", "d"]
    told = iter([types[0], *(scene for scene in [*types[1:], "a"] for _ in range(3))])
    settings = Settings(places=Places(reenter_window=2))
    walk = Walk(lambda _: next(told), settings).go(*[L] * 82)
    assert walk.named("place_entered") == []


def test_swinging_between_two_places_is_ababa_once() -> None:
    told = iter(["a", *(scene for scene in "bababa" for _ in range(3))])
    walk = Walk(lambda _: next(told)).go(*[L] * 122)
    assert len(walk.memory.graph.places) == 2
    assert [event["step_id"] for event in walk.named("ababa")] == [62]
    assert walk.memory.progress.onsets["ababa"] == 1


def test_standing_in_one_place_is_stuck_from_the_tenth_step_on() -> None:
    walk = Walk(lambda _: "kitchen").go(*[L] * 40)
    assert [event["step_id"] for event in walk.named("stuck")] == [10]
    assert walk.memory.progress.avoid_hint() == "pattern:STUCK"


def test_entering_a_place_ends_stuck_at_that_very_step() -> None:
    walk = Walk(two_rooms).go(*[F] * 22)
    assert walk.memory.progress.avoid_hint() is None
    walk.go(*[L] * 9)
    assert [event["step_id"] for event in walk.named("stuck")] == [10, 31]


def test_panorama_turns_are_no_lack_of_progress() -> None:
    memory = SpatialMemory()
    memory.scene_analyzed("kitchen")
    turning = [event for _ in range(19) for event in memory.step(L, panorama=True)]
    assert "no_progress" not in [event["event"] for event in turning]
    policy = [event for _ in range(20) for event in memory.step(L)]
    assert [event["step_id"] for event in policy if event["event"] == "no_progress"] == [39]


def test_walking_before_any_analysis_makes_an_unknown_place_and_says_what_was_missed() -> None:
    memory = SpatialMemory()
    events = memory.step(F)
    assert [event["event"] for event in events] == ["place_created", "anchor_created", "scene_missed"]
    assert memory.graph.place(0).place_type == "unknown"


def test_a_scene_that_could_not_be_told_changes_nothing() -> None:
    memory = SpatialMemory()
    memory.scene_analyzed("kitchen")
    for _ in range(20):
        memory.step(L)
    assert [event["event"] for event in memory.scene_analyzed(None)] == ["no_progress"]
    assert memory.current_place_id == 0
    assert not memory.needs_scene_analysis


def test_one_step_takes_one_analysis() -> None:
    memory = SpatialMemory()
    memory.scene_analyzed("kitchen")
    with pytest.raises(InvalidValue, match="comes second in step 0; analyze once per step"):
        memory.scene_analyzed("kitchen")


def test_a_new_episode_starts_at_the_origin_with_no_edge_to_the_last() -> None:
    walk = Walk(lambda _: "kitchen").go(F, F)
    memory = walk.memory
    memory.begin_episode()
    assert (memory.step_id, memory.pose.x, memory.current_place) == (0, 0.0, None)
    memory.scene_analyzed("kitchen")
    assert memory.current_anchor is not None
    assert (memory.current_anchor.neighbors, memory.current_anchor.episode) == ([], 1)
    assert len(memory.graph.places) == 2
    assert memory.nearby() == []
