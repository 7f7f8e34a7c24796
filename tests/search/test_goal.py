"""Which detections are the goal: by name, by another word for it, by colour, and by what memory takes it for."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from lastseen.detection import Detection
from lastseen.encoders import open_encoder
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.objects.snapshot import ObjectState
from lastseen.protocols import Encoder
from lastseen.search.goal import Goal, Names, StopCheck, distance_to
from tests.memory.objects.scenes import frame_at
from tests.memory.objects.scenes import seen as observed
from tests.search.policy.box_world import BoxWorld

CAMERA = Intrinsics.from_fov(64, 48, horizontal_deg=79.0)
RED, BLUE, GREY = (190, 30, 30), (40, 60, 190), (120, 120, 120)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder("lexicon")


def view(*things: tuple[str, tuple[int, int, int]]) -> tuple[Frame, list[Detection]]:
    """A grey picture with coloured patches side by side, each detected by its label."""
    rgb = np.full((48, 64, 3), GREY, dtype=np.uint8)
    found = []
    for index, (label, color) in enumerate(things):
        left, right = 2 + 20 * index, 18 + 20 * index
        rgb[10:40, left:right] = color
        mask = np.zeros((48, 64), dtype=np.bool_)
        mask[10:40, left:right] = True
        found.append(Detection((left, 10, right, 40), 0.9, {label: 0.8}, mask=mask))
    depth = np.full((48, 64), 2.0, dtype=np.float32)
    return Frame(0, 0.0, rgb, depth, Pose3D.identity(), CAMERA), found


def labels(goal: Goal, *things: tuple[str, tuple[int, int, int]]) -> list[str | None]:
    return [detection.label for detection in goal.marked(*view(*things))]


def test_a_red_mug_is_a_mug_that_is_red(encoder: Encoder) -> None:
    goal = Goal("red mug", encoder)
    assert labels(goal, ("mug", RED), ("mug", BLUE), ("bowl", RED)) == ["red mug", "mug", "bowl"]


def test_without_a_colour_every_mug_will_do(encoder: Encoder) -> None:
    assert labels(Goal("mug", encoder), ("mug", RED), ("mug", BLUE)) == ["mug", "mug"]


def test_a_colour_alone_means_anything_that_has_it(encoder: Encoder) -> None:
    assert labels(Goal("something red", encoder), ("mug", RED), ("mug", BLUE)) == ["something red", "mug"]


def test_another_word_for_the_same_thing_is_the_goal(encoder: Encoder) -> None:
    goal = Goal("couch", encoder)
    assert goal.names("sofa")
    assert labels(goal, ("sofa", BLUE), ("bed", BLUE)) == ["couch", "bed"]


@pytest.mark.parametrize(("goal", "other"), [("mug", "bowl"), ("chair", "table"), ("mug", "mug rack")])
def test_a_thing_of_its_own_is_not_the_goal(goal: str, other: str, encoder: Encoder) -> None:
    assert not Goal(goal, encoder).names(other)


def test_a_paraphrase_is_known_by_the_labels_that_memory_takes_it_for(encoder: Encoder) -> None:
    goal = Goal("somewhere to sit", encoder, also=["sofa", "chair"])
    assert labels(goal, ("sofa", BLUE), ("lamp", RED)) == ["somewhere to sit", "lamp"]
    assert not Goal("somewhere to sit", encoder).names("lamp")


def test_a_marked_detection_keeps_box_score_and_how_sure_the_label_was(encoder: Encoder) -> None:
    frame, found = view(("mug", RED))
    (marked,) = Goal("red mug", encoder).marked(frame, found)
    assert (marked.box, marked.score, marked.labels["red mug"]) == (found[0].box, 0.9, 0.8)
    assert found[0].label == "mug"


@pytest.mark.parametrize("text", ["", "  ", "!!!", "🤖"])
def test_a_goal_without_words_is_refused(text: str, encoder: Encoder) -> None:
    with pytest.raises(InvalidValue, match=r"^goal = .*: has no words"):
        Goal(text, encoder)


def test_spaces_do_not_matter(encoder: Encoder) -> None:
    assert Goal("  red   mug ", encoder).text == "red mug"


NEAR = BoxWorld(boxes=[((0.7, -0.2, 0.0), (1.0, 0.2, 0.9))])
FAR = BoxWorld(boxes=[((2.0, -0.2, 0.0), (2.3, 0.2, 0.9))])
EMPTY = BoxWorld()


def bed(distance: float, *, height: float) -> BoxWorld:
    return BoxWorld(boxes=[((distance, -0.9, 0.0), (distance + 2.0, 0.9, height))])


def check_of(*worlds: BoxWorld) -> StopCheck:
    check = StopCheck("chair")
    for world in worlds:
        check.see(world.look(), world.detect("chair"))
    return check


def test_two_consecutive_near_views_are_believed() -> None:
    assert check_of(NEAR, NEAR).believed(within=0.9)


@pytest.mark.parametrize(
    "worlds",
    [
        pytest.param([], id="never seen"),
        pytest.param([NEAR], id="seen once"),
        pytest.param([NEAR, EMPTY, NEAR], id="seen twice, not running"),
        pytest.param([NEAR, NEAR, EMPTY], id="seen no more"),
        pytest.param([FAR, FAR], id="too far"),
    ],
)
def test_anything_less_is_not_believed(worlds: list[BoxWorld]) -> None:
    assert not check_of(*worlds).believed(within=0.9)


def test_another_thing_does_not_count() -> None:
    check = StopCheck("sofa")
    for _ in range(3):
        check.see(NEAR.look(), NEAR.detect("chair"))
    assert not check.believed(within=0.9)


def test_the_distance_is_to_the_near_side() -> None:
    distance = distance_to(FAR.detect("chair")[0], FAR.look(), reach=0.9)
    assert distance == pytest.approx(2.0, abs=0.02)


@pytest.mark.parametrize("distance", [0.9, 0.6, 0.3])
def test_a_low_bed_is_within_reach_though_its_near_side_is_below_the_picture(distance: float) -> None:
    low = bed(distance, height=0.3)
    measured = distance_to(low.detect("bed")[0], low.look(), reach=0.9)
    assert measured is not None
    assert measured <= 1.0


@pytest.mark.parametrize("height", [0.1, 0.3, 0.5])
def test_what_is_farther_off_is_never_within_reach_however_low(height: float) -> None:
    far = bed(1.1, height=height)
    measured = distance_to(far.detect("bed")[0], far.look(), reach=0.9)
    assert measured is not None
    assert measured > 1.05


def test_what_a_view_from_within_reach_shows_is_measured_at_its_near_side() -> None:
    high = bed(0.8, height=0.5)
    assert distance_to(high.detect("bed")[0], high.look(), reach=0.9) == pytest.approx(0.85, abs=0.1)


def test_what_is_in_front_of_a_far_thing_is_not_its_near_side() -> None:
    behind = BoxWorld(boxes=[*FAR.boxes, ((0.6, -0.4, 0.0), (0.8, 0.4, 0.7))])
    (found,) = behind.detect("chair")
    assert found.mask is not None
    ragged = dataclasses.replace(found, mask=found.mask | np.roll(found.mask, 3, axis=0))
    assert distance_to(ragged, behind.look(), reach=0.9) == pytest.approx(2.0, abs=0.05)


def thing(label: str, sightings: int) -> ObjectState:
    """What memory holds of one thing after so many sightings from all sides."""
    memory = Memory.open(wall_clock=None)
    for number in range(sightings):
        eye = (-1.5, 0.0, 1.2) if number % 2 else (1.5, 0.0, 1.2)
        frame = frame_at(number, eye=eye, target=(0.0, 0.0, 0.8))
        memory.observe(frame, [observed((0.0, 0.0, 0.8), eye=eye, stamp=frame.stamp, labels={label: 0.9})])
    (state,) = memory.states(include_tentative=True)
    return state


def called(encoder: Encoder, state: ObjectState, *words: str) -> tuple[list[str | None], list[int | None]]:
    """What one thing counts as in views that call it these words, and by how many votes it is then the tv."""
    names, counted, leads = Names(Goal("tv", encoder)), [], []
    for word in words:
        (found,) = names.vote([Detection((2, 2, 9, 9), 0.9, {word: 0.8})], [state])
        counted.append(found.label)
        leads.append(names.lead(found))
    return counted, leads


def test_a_thing_that_most_views_called_otherwise_is_not_the_goal_for_two_views(encoder: Encoder) -> None:
    counted, leads = called(encoder, thing("monitor", 1), "monitor", "monitor", "monitor", "tv", "tv")
    assert counted == ["monitor"] * 5
    assert leads == [-1, -2, -3, -2, -1]


def test_a_view_that_misnames_the_goal_does_not_lose_it(encoder: Encoder) -> None:
    counted, leads = called(encoder, thing("tv", 1), "tv", "tv", "monitor")
    assert counted == ["tv"] * 3
    assert leads == [1, 2, 1]


def test_a_name_from_before_the_search_counts_and_can_be_outvoted(encoder: Encoder) -> None:
    assert called(encoder, thing("monitor", 9), "tv", "tv", "tv", "tv")[0] == ["monitor", "monitor", "tv", "tv"]
    assert called(encoder, thing("tv", 9), "monitor")[0] == ["tv"]


def test_a_detection_that_memory_did_not_place_is_what_it_is_called(encoder: Encoder) -> None:
    names = Names(Goal("tv", encoder))
    (found,) = names.vote([Detection((2, 2, 9, 9), 0.9, {"tv": 0.8})], [None])
    assert (found.label, names.lead(found)) == ("tv", None)


def test_two_views_of_a_thing_that_was_never_seen_before_are_too_few_to_stop_at_it(encoder: Encoder) -> None:
    names, check, state = Names(Goal("chair", encoder)), StopCheck("chair"), thing("chair", 1)
    believed = []
    for _ in range(3):
        check.see(NEAR.look(), names.vote(NEAR.detect("chair"), [state]), names)
        believed.append(check.believed(within=0.9))
    assert believed == [False, False, True]
