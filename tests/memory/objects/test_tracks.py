"""Observations that a segmenter follows go to one object, and what it takes for one becomes one."""

from __future__ import annotations

from dataclasses import replace

from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Promotion
from lastseen.memory.objects import ObjectMemory
from lastseen.observation import SURFACE

SETTINGS = Settings(promotion=Promotion(min_view_bins=1))


def test_a_followed_thing_is_one_object_wherever_its_piece_is_seen() -> None:
    memory = ObjectMemory(SETTINGS)
    for at, x in enumerate((2.0, 2.0, 2.0, 2.8)):
        memory.observe(frame_at(at), [replace(seen((x, 0.0, 0.5), stamp=float(at), size=0.3), thing=7)])
    assert len(memory.states(include_tentative=True)) == 1


def test_two_numbers_at_one_place_are_two_objects() -> None:
    memory = ObjectMemory(SETTINGS)
    for at in range(4):
        pair = [
            replace(seen((2.0, y, 0.5), stamp=float(at), size=0.1, embedding=unit(1)), thing=7 + number)
            for number, y in enumerate((0.0, 0.06))
        ]
        memory.observe(frame_at(at), pair)
    assert len({one for one in memory.matched if one is not None}) == 2


def test_pieces_that_the_segmenter_joins_are_merged() -> None:
    memory = ObjectMemory(SETTINGS)
    for at in range(4):
        pieces = [
            replace(seen((2.0, y, 0.5), stamp=float(at), size=0.4, embedding=unit(number)), thing=7 + number)
            for number, y in enumerate((-0.25, 0.25))
        ]
        memory.observe(frame_at(at), pieces)
    assert len(memory.states()) == 2
    whole = seen((2.0, 0.0, 0.5), stamp=5.0, size=(0.4, 0.9, 0.4), embedding=unit(0))
    memory.observe(frame_at(5), [replace(whole, thing=7, joined=(8,))])
    assert [state.extent[1] for state in memory.states()] == [0.9]


def test_a_confirmed_thing_never_goes_into_one_several_times_its_size_beside_which_it_was_seen() -> None:
    memory = ObjectMemory(SETTINGS)
    table = (1.0, 1.6, 0.7)
    for at in range(5):
        both = [
            replace(seen((2.5, 0.0, 0.4), stamp=float(at), size=table, embedding=unit(1)), thing=7),
            replace(seen((2.2, 0.0, 0.7), stamp=float(at), size=0.1, embedding=unit(2)), thing=8),
        ]
        memory.observe(frame_at(at), both)
    whole = seen((2.5, 0.0, 0.4), stamp=6.0, size=table, embedding=unit(1))
    memory.observe(frame_at(6), [replace(whole, thing=7, joined=(8,))])
    assert len(memory.states()) == 2


def test_a_confirmed_panel_never_goes_into_a_thing_several_times_its_size() -> None:
    memory = ObjectMemory(SETTINGS)
    cupboard = (1.0, 1.6, 0.7)
    for at in range(10):
        one = seen((2.5, 0.0, 0.4), stamp=float(at), size=cupboard, embedding=unit(1))
        panel = seen((2.5, 0.0, 0.4), stamp=float(at), size=(0.05, 0.3, 0.3), embedding=unit(2), kind=SURFACE)
        # never in one frame
        memory.observe(frame_at(at), [replace(panel, thing=8) if at % 2 else replace(one, thing=7)])
    whole = seen((2.5, 0.0, 0.4), stamp=11.0, size=cupboard, embedding=unit(1))
    memory.observe(frame_at(11), [replace(whole, thing=7, joined=(8,))])
    assert len(memory.states(kind=None)) == 2


def test_what_may_be_a_part_of_another_is_confirmed_only_when_it_is_settled() -> None:
    memory = ObjectMemory(SETTINGS)
    for at in range(4):
        piece = seen((2.0, 0.0, 0.5), stamp=float(at), size=0.3)
        memory.observe(frame_at(at), [replace(piece, thing=7, settled=False)])
    assert not memory.states()
    memory.observe(frame_at(4), [replace(seen((2.0, 0.0, 0.5), stamp=4.0, size=0.3), thing=7)])
    assert len(memory.states()) == 1


def test_a_name_confirms_what_is_not_settled() -> None:
    memory = ObjectMemory(SETTINGS)
    for at in range(2):
        cup = seen((2.0, 0.0, 0.5), stamp=float(at), size=0.1, labels={"cup": 0.9})
        memory.observe(frame_at(at), [replace(cup, settled=False)])
    assert len(memory.states()) == 1
