from __future__ import annotations

import pytest

from lastseen.policy.stop_check import StopCheck, distance_to
from tests.policy.box_world import BoxWorld

NEAR = BoxWorld(boxes=[((0.7, -0.2, 0.0), (1.0, 0.2, 0.9))])
FAR = BoxWorld(boxes=[((2.0, -0.2, 0.0), (2.3, 0.2, 0.9))])
EMPTY = BoxWorld()


def check_of(*worlds: BoxWorld) -> StopCheck:
    check = StopCheck("chair")
    for world in worlds:
        check.see(world.look(), world.detect("chair"))
    return check


def test_two_consecutive_near_views_are_believed() -> None:
    assert check_of(NEAR, NEAR).verify().accepted


@pytest.mark.parametrize(
    ("worlds", "reason"),
    [
        ([NEAR], "seen in 1 consecutive views, not 2"),
        ([], "seen in 0 consecutive views"),
        ([NEAR, EMPTY, NEAR], "seen in 1 consecutive views"),
        ([NEAR, NEAR, EMPTY], "seen in 0 consecutive views"),
        ([FAR, FAR], "is 2.00 m away, not within 0.9 m"),
    ],
)
def test_anything_less_is_rejected_with_the_reason(worlds: list[BoxWorld], reason: str) -> None:
    verdict = check_of(*worlds).verify()
    assert not verdict.accepted
    assert reason in verdict.reason


def test_another_thing_does_not_count() -> None:
    check = StopCheck("sofa")
    for _ in range(3):
        check.see(NEAR.look(), NEAR.detect("chair"))
    assert not check.verify().accepted


def test_the_distance_is_to_the_near_side() -> None:
    distance = distance_to(FAR.detect("chair")[0], FAR.look())
    assert distance == pytest.approx(2.0, abs=0.02)
