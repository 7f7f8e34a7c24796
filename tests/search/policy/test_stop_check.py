from __future__ import annotations

import pytest

from lastseen.search.policy.stop_check import StopCheck, distance_to
from tests.search.policy.box_world import BoxWorld

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
