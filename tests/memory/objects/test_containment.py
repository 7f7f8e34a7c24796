"""Containment is not identity: what stands on or in something larger stays itself; pieces of one thing are joined."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Promotion
from lastseen.memory.objects import EventKind, ObjectMemory, ObjectState
from lastseen.memory.objects.association import SEVERAL_TIMES
from lastseen.memory.objects.duplicates import DUPLICATE_TOLERANCE, STRAY_SHARE
from lastseen.observation import Observation
from lastseen.perception.pipeline import Perception
from lastseen.sources.options import SourceOptions
from lastseen.sources.registry import open_source

SIDES = ((0.0, 0.0, 1.4), (4.0, 0.3, 1.4))
TABLE = unit(1, 64)


def blended(share: float) -> NDArray[np.float32]:
    """An embedding that agrees with the table's to this cosine."""
    aside = unit(2, 64) - float(unit(2, 64) @ TABLE) * TABLE
    aside /= np.linalg.norm(aside)
    mixed: NDArray[np.float32] = (share * TABLE + np.sqrt(1.0 - share**2) * aside).astype(np.float32)
    return mixed


def table(number: int, *, height: float = 0.75) -> Observation:
    eye = SIDES[number % 2]
    return seen([2.0, 0.0, height / 2], eye=eye, size=(0.9, 1.4, height), embedding=TABLE)


def cup(number: int, cosine: float) -> Observation:
    eye = SIDES[number % 2]
    return seen([2.1, 0.2, 0.8], eye=eye, size=(0.09, 0.09, 0.11), embedding=blended(cosine))


@pytest.mark.parametrize("cosine", [0.72, 0.85, 0.95])
def test_a_cup_seen_on_its_table_is_never_absorbed_by_it(cosine: float) -> None:
    memory = ObjectMemory()
    for number in range(22):
        memory.observe(frame_at(number), [table(number), cup(number, cosine)])
    # then the segmenter gives the table with all that is on it, for long
    for number in range(22, 90):
        memory.observe(frame_at(number), [table(number, height=0.86)])
    assert len(memory.states()) == 2
    assert min(one.extent.max() for one in memory.states()) < 0.2


def test_a_cup_seen_from_close_by_and_beside_its_table_twice_is_not_absorbed() -> None:
    memory = ObjectMemory()
    for number in range(12):
        memory.observe(frame_at(number), [cup(number, 0.9), *([table(number)] if number >= 10 else [])])
    for number in range(12, 60):
        memory.observe(frame_at(number), [table(number, height=0.86)])
    assert len(memory.states()) == 2


def test_a_large_observation_does_not_become_a_known_small_thing_that_looks_like_it() -> None:
    memory = ObjectMemory()
    for number in range(6):
        memory.observe(frame_at(number), [cup(number, 0.98)])
    for number in range(6, 12):
        memory.observe(frame_at(number), [table(number, height=0.86)])
    small, large = sorted(memory.states(), key=lambda one: float(one.extent.max()))
    assert small.extent == pytest.approx([0.09, 0.09, 0.11], abs=0.01)
    assert large.extent == pytest.approx([0.9, 1.4, 0.86], abs=0.01)


def test_things_of_like_size_in_one_place_that_look_alike_are_joined() -> None:
    memory = ObjectMemory()
    for number in range(4):
        memory.observe(frame_at(number), [seen([2, 0, 0.5], eye=SIDES[number % 2], size=0.5, embedding=TABLE)])
    for number in range(4, 30):
        eye = SIDES[number % 2]
        memory.observe(frame_at(number), [seen([2.25, 0, 0.5], eye=eye, size=0.6, embedding=blended(0.8))])
    assert len(memory.states(include_tentative=True)) == 1


def test_the_two_ends_of_a_bed_that_look_different_are_one_bed() -> None:
    memory = ObjectMemory()
    head, foot = blended(1.0), blended(0.6)
    for number in range(40):
        end, embedding = ((1.6, head), (2.5, foot))[number // 2 % 2]
        eye = SIDES[number % 2]
        one = seen([end, 0, 0.3], eye=eye, size=(1.3, 1.6, 0.5), embedding=embedding, labels={"bed": 0.9})
        memory.observe(frame_at(number), [one])
    (bed,) = memory.states(include_tentative=True)
    assert bed.extent == pytest.approx([2.2, 1.6, 0.5], abs=0.15)


def test_two_beds_side_by_side_stay_two() -> None:
    memory = ObjectMemory()
    for number in range(40):
        beds = [
            seen([2.0, y, 0.3], eye=SIDES[number % 2], size=(2.0, 0.9, 0.5), embedding=TABLE, labels={"bed": 0.9})
            for y in (-0.5, 0.5)
        ]
        memory.observe(frame_at(number), beds if number % 3 else beds[:1])
    assert len(memory.states()) == 2


def test_the_front_of_a_wardrobe_called_a_wardrobe_is_no_second_one() -> None:
    memory = ObjectMemory()
    for number in range(40):
        eye = SIDES[number % 2]
        whole = seen([2.0, 0, 1.0], eye=eye, size=(0.6, 1.2, 2.0), embedding=TABLE, labels={"wardrobe": 0.9})
        front = seen([1.75, 0, 1.0], eye=eye, size=(0.1, 1.1, 1.7), embedding=blended(0.9), labels={"wardrobe": 0.8})
        memory.observe(frame_at(number), [whole] if number >= 10 else [front] if number % 8 else [whole, front])
    (wardrobe,) = memory.states(include_tentative=True)
    assert wardrobe.extent == pytest.approx([0.6, 1.2, 2.0], abs=0.1)


def test_a_cup_of_another_name_in_a_cupboard_that_looks_like_it_stays() -> None:
    memory = ObjectMemory()
    for number in range(40):
        eye = SIDES[number % 2]
        whole = seen([2.0, 0, 1.0], eye=eye, size=(0.6, 1.2, 2.0), embedding=TABLE, labels={"cupboard": 0.9})
        within = seen([2.0, 0, 1.0], eye=eye, size=0.1, embedding=blended(0.97), labels={"cup": 0.9})
        memory.observe(frame_at(number), [whole] if number >= 10 else [within] if number % 8 else [whole, within])
    assert {one.label for one in memory.states()} == {"cupboard", "cup"}


@pytest.mark.parametrize(("apart", "left"), [(0.1, 1), (0.8, 2)])
def test_large_things_met_side_by_side_are_one_where_two_do_not_fit(apart: float, left: int) -> None:
    memory = ObjectMemory()
    for number in range(12):
        shelves = [seen([2, y, 0.5], eye=SIDES[number % 2], size=(0.5, 1, 1), embedding=TABLE) for y in (0, 1.05)]
        memory.observe(frame_at(number), shelves)
    # what the detector gave twice has grown into one place
    second = memory.store.row("obj-2")
    memory.store.xyz[second, 1] = apart
    memory.store.update_grid(np.array([second]))
    for number in range(12, 18):
        shelf = seen([2, 0, 0.5], eye=SIDES[number % 2], size=(0.5, 1, 1), embedding=TABLE)
        memory.observe(frame_at(number), [shelf])
    assert len(memory.states()) == left


RECORDINGS = [
    ("lens_clip", SourceOptions(world_up="y", image_rotation="90")),
    ("tum_fr1_rpy_60", SourceOptions()),
    ("tum_fr3_cabinet", SourceOptions()),
    ("open3d_livingroom", SourceOptions()),
]


@pytest.mark.integration
@pytest.mark.parametrize(("name", "options"), RECORDINGS)
def test_no_confirmed_thing_of_a_recording_is_absorbed_by_a_box_several_times_its_volume(
    name: str, options: SourceOptions, shared_data: Path
) -> None:
    settings = Settings(promotion=Promotion(min_view_bins=1))
    memory, perception = ObjectMemory(settings), Perception(settings, with_crops=False)
    together: dict[tuple[str, str], int] = {}
    before: dict[str, ObjectState] = {}
    merges = 0
    for frame in open_source(shared_data / name, options=options):
        perceived = perception.perceive(frame)
        if perceived.refusal is not None:
            continue
        events = memory.observe(frame, perceived.observations)
        for event in events:
            if event.kind is not EventKind.MERGED:
                continue
            merges += 1
            pair = [before.get(event.object_id), before.get(str(event.evidence["absorbed"]))]
            if None in pair:
                continue
            small, large = sorted((one for one in pair if one is not None), key=_volume)
            if small.state == "confirmed" and _volume(large) > 1.5 * SEVERAL_TIMES * _volume(small):
                met = together.get((min(small.id, large.id), max(small.id, large.id)), 0)
                assert met <= max(2 * STRAY_SHARE * min(small.hits, large.hits), 1), (small.id, large.id, frame.id)
        ids = sorted({one for one in memory.matched if one is not None})
        for at, one in enumerate(ids):
            for other in ids[at + 1 :]:
                together[one, other] = together.get((one, other), 0) + 1
        before = {one.id: one for one in memory.states(kind=None, include_tentative=True)}
    assert memory.states(kind=None)
    print(name, "merges", merges, "objects", len(memory.states()), "surfaces", len(memory.states(kind="surface")))


def _volume(one: ObjectState) -> float:
    return float((one.extent + DUPLICATE_TOLERANCE).prod())
