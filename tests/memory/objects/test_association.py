from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.config.memory import Association
from lastseen.memory.objects import ObjectMemory
from lastseen.memory.objects.association import Pairs, agree_in_space, in_box, match_best, size_agreement
from lastseen.memory.objects.columns import BODY, Gate
from lastseen.memory.objects.store import ObjectStore
from lastseen.observation import Observation

DOCUMENT = Settings(association=Association(radius_growth=0.0, size_weight=0.0))
RULES = Association()


def remembered(memory: ObjectMemory) -> list[tuple[str, list[float], int]]:
    return [
        (one.id, [round(value, 3) for value in one.xyz_world.tolist()], one.hits)
        for one in memory.states(include_tentative=True)
    ]


def observed_twice(first: Observation, second: Observation, settings: Settings | None = None) -> int:
    """How many objects two frames with one observation each leave behind."""
    memory = ObjectMemory(settings)
    memory.observe(frame_at(0), [first])
    memory.observe(frame_at(1), [second])
    return len(memory)


def test_the_same_thing_seen_again_is_the_same_object() -> None:
    assert observed_twice(seen([2, 0, 1], embedding=unit(1)), seen([2.05, 0, 1], embedding=unit(1))) == 1


def test_beyond_the_radius_it_is_another_object() -> None:
    assert observed_twice(seen([2, 0, 1], embedding=unit(1)), seen([2.31, 0, 1], embedding=unit(1)), DOCUMENT) == 2


def test_an_equal_mug_seen_alone_beside_a_remembered_one_is_new() -> None:
    assert observed_twice(seen([2, 0, 1], embedding=unit(1)), seen([2.25, 0, 1], embedding=unit(1))) == 2


def test_an_opposite_look_in_nearly_the_same_place_is_another_object() -> None:
    assert observed_twice(seen([2, 0, 1], embedding=unit(1)), seen([2.12, 0, 1], embedding=-unit(1))) == 2


def test_labels_never_decide() -> None:
    first = seen([2, 0, 1], embedding=unit(1), labels={"mug": 1.0})
    assert observed_twice(first, seen([2, 0, 1], embedding=unit(1), labels={"vase": 1.0})) == 1


def test_a_small_thing_inside_the_box_of_a_large_one_is_itself() -> None:
    sofa = seen([2, 0, 0.4], size=(2.0, 0.9, 0.8), embedding=unit(1))
    assert observed_twice(sofa, seen([2.1, 0, 0.5], size=0.1, embedding=unit(2))) == 2


def test_a_part_of_a_large_thing_is_the_large_thing() -> None:
    sofa = seen([2, 0, 0.4], size=(2.0, 0.9, 0.8), embedding=unit(1))
    assert observed_twice(sofa, seen([2.5, 0, 0.4], size=(1.0, 0.9, 0.8), embedding=unit(1))) == 1


def test_a_large_thing_finds_the_part_seen_before() -> None:
    part = seen([2.6, 0, 0.4], size=(0.8, 0.9, 0.8), embedding=unit(1))
    assert observed_twice(part, seen([2, 0, 0.4], size=(2.0, 0.9, 0.8), embedding=unit(1))) == 1


@pytest.mark.parametrize("embedding", [None, unit(3)])
def test_two_equal_mugs_in_one_frame_stay_two(embedding: np.ndarray | None) -> None:
    memory = ObjectMemory()
    for number in range(5):
        mugs = [seen([2, y, 1], embedding=embedding) for y in (0.0, 0.2)]
        memory.observe(frame_at(number), mugs[:: 1 if number % 2 else -1])
    assert remembered(memory) == [("obj-1", [2.0, 0.0, 1.0], 5), ("obj-2", [2.0, 0.2, 1.0], 5)]


def test_the_sum_of_scores_decides_and_not_the_first_choice() -> None:
    """Greedy would give observation 0 its best object and leave observation 1 without any."""
    store = ObjectStore(Settings())
    rows = store.allocate(2)
    one, other = rows.tolist()
    index = np.array([0, 0, 1])
    pairs = Pairs(index, np.array([one, other, one]), np.array([0.95, 0.9, 0.85]), np.full(3, np.nan))
    matched = np.full(2, -1)
    match_best(pairs, np.ones(3, dtype=np.bool_), store, matched)
    assert matched.tolist() == [other, one]


def test_a_score_at_the_threshold_is_no_match() -> None:
    memory = ObjectMemory(Settings(association=Association(spatial_weight=1.0, threshold=1.0)))
    for number in range(2):
        memory.observe(frame_at(number), [seen([2, 0, 1])])
    assert len(memory) == 2


def test_without_growth_and_size_the_spatial_score_is_the_document_s() -> None:
    body = np.zeros((1, BODY.width))
    body[0, BODY.parts["extent"]], body[0, BODY.parts["reach"]] = 0.3, 0.3
    places = np.array([[0.0, 0.0, 0.0], [0.15, 0.0, 0.0], [0.0, 0.3, 0.0], [0.0, 0.18, 0.24]])
    rules, size = Gate.of(DOCUMENT.association), np.full((4, 3), 0.1)
    seen = [in_box(places[at], size[at], 0.0, body[0]) for at in range(4)]
    score = [agree_in_space(one, 0.05, False, body[0], rules) for one in seen]
    assert score == pytest.approx([1.0, 0.5, 0.0, 0.0])


def test_sizes_agree_symmetrically_and_less_the_more_they_differ() -> None:
    mug, cup, sofa = np.array([0.1, 0.1, 0.1]), np.array([0.08, 0.1, 0.1]), np.array([2.0, 0.9, 0.8])
    assert size_agreement(mug, mug) == pytest.approx(1.0)
    assert size_agreement(mug, sofa) == size_agreement(sofa, mug)
    assert size_agreement(mug, sofa) < 0.3 < 0.9 < size_agreement(mug, cup)


points = st.tuples(st.floats(1.0, 3.0, width=16), st.floats(-1.0, 1.0, width=16), st.sampled_from([0.5, 1.0]))
observations = st.builds(
    lambda xyz, look, size, quality: seen(
        xyz, embedding=None if look == 0 else unit(look), size=size, quality=quality, labels={f"thing {look}": 0.9}
    ),
    points,
    st.integers(0, 3),
    st.sampled_from([0.0, 0.1, 0.6]),
    st.sampled_from([0.5, 1.0]),
)


@given(st.lists(st.lists(observations, max_size=8), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_observations_in_a_frame_does_not_matter(
    frames: list[list[Observation]], shuffle: Random
) -> None:
    one, other = ObjectMemory(), ObjectMemory()
    for number, frame in enumerate(frames):
        mixed = list(frame)
        shuffle.shuffle(mixed)
        assert one.observe(frame_at(number), frame) == other.observe(frame_at(number), mixed)
    for name in one.store.names:
        assert (
            one.store.column(name)[one.store.live()].tobytes()
            == other.store.column(name)[other.store.live()].tobytes()
        ), name


@given(st.lists(observations, min_size=1, max_size=30), st.lists(observations, min_size=1, max_size=8))
def test_the_grid_finds_every_pair_that_a_full_search_finds(
    known: list[Observation], frame: list[Observation]
) -> None:
    from lastseen.memory.objects.association import KNOWN_HITS, SEVERAL_TIMES, _times_as_large, associate
    from lastseen.memory.objects.batch import batch_observations

    memory = ObjectMemory()
    for number, one in enumerate(known):
        memory.observe(frame_at(number), [one])
    store = memory.store
    batch = batch_observations(frame_at(99), frame, store.labels)
    found, _ = associate(store, batch)

    def place(index: int, row: int) -> Any:
        return in_box(batch.xyz[index], batch.extent[index], batch.yaw[index], store.body[row])

    everything = {
        (index, row)
        for index in range(len(batch))
        for row in store.live().tolist()
        if agree_in_space(
            place(index, row),
            batch.sigma[index],
            batch.cut[index],
            store.body[row],
            store.gate,
        )
        > 0.0
        # containment is not identity: a well-known thing is no part of what is several times as large
        and not (
            store.hits[row] >= KNOWN_HITS and _times_as_large(place(index, row), store.body[row]) > SEVERAL_TIMES
        )
    }
    assert set(zip(found.index.tolist(), found.rows.tolist(), strict=True)) == everything
