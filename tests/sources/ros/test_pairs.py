from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.sources import SourceOptions
from lastseen.sources.record import NO_DEPTH, Intake
from lastseen.sources.ros.pairs import MAX_WAITING, Pairs


def paired(events: list[tuple[str, float]], **options: float) -> tuple[list[tuple[float, float]], Intake]:
    """Feed colour ("c") and depth ("d") stamps in this order; the pairs that came out, and what was counted."""
    intake = Intake()
    pairs: Pairs[str] = Pairs(SourceOptions.from_mapping(options), intake, max_bytes=10**9)
    found = []
    for kind, stamp in events:
        found += list((pairs.color if kind == "c" else pairs.depth)(stamp, kind, 1))
    found += list(pairs.end())
    return [(pair.color.stamp, pair.depth.stamp) for pair in found], intake


def test_the_nearest_depth_is_taken_even_when_it_comes_later() -> None:
    found, intake = paired([("d", 0.99), ("c", 1.0), ("d", 1.005)])
    assert found == [(1.0, 1.005)]
    assert not intake.skipped


def test_colour_without_depth_is_counted() -> None:
    found, intake = paired([("c", 1.0), ("d", 1.5), ("c", 1.5)])
    assert found == [(1.5, 1.5)]
    assert intake.skipped == {NO_DEPTH: 1}
    assert "0.500 s away" in intake.examples[NO_DEPTH]


def test_two_images_may_share_a_depth_image() -> None:
    assert paired([("d", 1.0), ("c", 0.99), ("c", 1.01)])[0] == [(0.99, 1.0), (1.01, 1.0)]


def test_a_late_depth_clock_is_put_right() -> None:
    found, _ = paired([("c", 1.0), ("d", 1.5)], depth_delay=0.5)
    assert found == [(1.0, 1.0)]


def test_swapped_images_come_out_in_order() -> None:
    assert [color for color, _ in paired([("c", 2.0), ("c", 1.0), ("d", 1.0), ("d", 2.0)])[0]] == [1.0, 2.0]


@pytest.mark.parametrize("kind", ["c", "d"])
def test_a_stream_without_its_partner_does_not_pile_up(kind: str) -> None:
    pairs: Pairs[str] = Pairs(SourceOptions(), Intake(), max_bytes=10**9)
    for number in range(10 * MAX_WAITING):
        list((pairs.color if kind == "c" else pairs.depth)(float(number), kind, 1))
    assert len(pairs._colors) + len(pairs._depths) <= MAX_WAITING + 1


def test_bytes_that_wait_are_limited() -> None:
    pairs: Pairs[str] = Pairs(SourceOptions(), Intake(), max_bytes=100)
    for number in range(50):
        list(pairs.depth(float(number), "d", 30))
    assert sum(one.size for one in pairs._depths) <= 100


@given(st.permutations([(kind, float(number)) for number in range(5) for kind in "cd"]))
def test_every_pair_is_found_in_whatever_order_they_come(events: list[tuple[str, float]]) -> None:
    found, intake = paired(events, max_stamp_difference=0.1)
    # an image that is overtaken by far may lose its partner, and is then counted
    assert len(found) + sum(intake.skipped.values()) == 5
    assert all(color == depth for color, depth in found)
