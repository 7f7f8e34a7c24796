from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.memory.objects.scenes import frame_at, seen, unit

from lastseen.config import Settings
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.memory.objects import Crop, ObjectMemory, ObjectState
from lastseen.observation import Observation


def after(*frames: Observation, settings: Settings | None = None) -> ObjectState:
    memory = ObjectMemory(settings)
    for number, observation in enumerate(frames):
        memory.observe(frame_at(number), [observation])
    (only,) = memory.states(include_tentative=True)
    return only


def test_an_object_has_every_field_of_the_document() -> None:
    one = after(seen([2, 0, 1], labels={"Mug": 0.9}, embedding=unit(1, 512)))
    assert one.id == "obj-1"
    assert one.xyz_world.tolist() == [2.0, 0.0, 1.0]
    assert one.emb_mean is not None
    assert one.emb_mean.shape == (512,)
    assert one.emb_gallery is not None
    assert one.emb_gallery.shape == (1, 512)
    assert one.emb_gallery.dtype == np.float16
    assert len(one.view_bins) == 1
    assert one.label_scores == {"mug": pytest.approx(0.9)}
    assert one.stability == pytest.approx(1.0)
    assert one.hits == 1
    assert one.confirmed is False
    assert one.image_crops == ()
    assert one.last_seen == 0.0


def test_position_is_a_moving_average_between_old_and_new() -> None:
    x = after(seen([2, 0, 1]), seen([2.1, 0, 1])).xyz_world[0]
    assert x == pytest.approx(2.05)


def test_the_average_keeps_the_weight_of_a_typical_sighting() -> None:
    x = after(*[seen([2, 0, 1])] * 20, seen([2.1, 0, 1])).xyz_world[0]
    assert x == pytest.approx(2.0 + 0.3 * 0.1)


def test_a_poor_sighting_moves_an_object_less() -> None:
    sharp = after(*[seen([2, 0, 1])] * 5, seen([2.1, 0, 1], sigma=0.02)).xyz_world[0]
    poor = after(*[seen([2, 0, 1])] * 5, seen([2.1, 0, 1], sigma=0.2)).xyz_world[0]
    assert 2.0 < poor < 2.01 < sharp


def test_a_part_at_the_border_of_the_image_does_not_pull_a_large_thing() -> None:
    wide = (0.8, 6.0, 0.8)
    one = after(seen([2, 0, 0.4], size=wide), seen([2, 1, 0.4], size=(0.8, 4.0, 0.8)))
    assert one.xyz_world == pytest.approx([2, 0, 0.4])
    assert one.extent == pytest.approx(wide)


def test_a_larger_view_of_it_extends_a_thing() -> None:
    one = after(seen([2, 0, 0.8], size=(0.4, 0.4, 0.4)), *[seen([2, 0.1, 0.8], size=(0.4, 0.6, 0.4))] * 30)
    assert one.extent == pytest.approx([0.4, 0.6, 0.4], abs=0.01)
    assert one.xyz_world == pytest.approx([2, 0.1, 0.8], abs=0.01)


def test_stability_is_the_mean_cosine_between_different_sightings() -> None:
    looks = [unit(1), unit(1), unit(2)]
    one = after(*[seen([2, 0, 1], embedding=look) for look in looks])
    assert one.hits == 3
    assert one.emb_mean == pytest.approx(np.mean(looks, axis=0), abs=1e-6)
    pairs = [float(a @ b) for a, b in itertools.combinations(looks, 2)]
    assert one.stability == pytest.approx(np.mean(pairs), abs=1e-6)


def test_stability_lies_between_0_and_1() -> None:
    one, other = np.eye(4, dtype=np.float32)[:2]
    opposed = after(seen([2, 0, 1], embedding=one), seen([2, 0, 1], embedding=other - 0.1 * one))
    assert opposed.stability == 0.0
    assert after(*[seen([2, 0, 1], embedding=unit(1))] * 5).stability == pytest.approx(1.0, abs=1e-6)


def test_at_one_embedding_the_spread_of_positions_stands_in_for_stability() -> None:
    once = after(seen([2, 0, 1], embedding=unit(1)))
    assert once.stability == 1.0
    restless = after(
        seen([2, 0, 1], embedding=unit(1)), *[seen([2, 0.1 * (number % 2), 1]) for number in range(1, 6)]
    )
    assert 0.0 < restless.stability < 1.0


def test_cosines_do_not_depend_on_how_stable_an_appearance_is() -> None:
    memory = ObjectMemory()
    for number, sign in enumerate((1.0, -1.0, 1.0, -1.0)):
        memory.observe(frame_at(number), [seen([2, 0, 1], embedding=unit(1) + sign * 0.9 * unit(2))])
    row = memory.store.row("obj-1")
    assert memory.store.emb_norm[row] == pytest.approx(np.linalg.norm(memory.store.emb_mean[row]), abs=1e-6)
    assert memory.store.stability[row] < memory.store.emb_norm[row]


@pytest.mark.parametrize("size", [0.1, 0.6])
def test_position_is_a_moving_average_also_where_the_box_leaves_the_view(size: float) -> None:
    memory = ObjectMemory()
    # the camera looks along x: y = 1.6 at x = 2 is its border
    for number in range(13):
        y = 1.6 if number == 0 else 1.7
        memory.observe(frame_at(number, target=(2, 0, 1.2)), [seen([2, y, 1.2], size=size)])
    one = memory.state("obj-1")
    assert one.xyz_world[1] == pytest.approx(1.7, abs=0.01)
    assert one.extent == pytest.approx([size] * 3, abs=0.01)


def test_observations_without_a_camera_update_by_a_plain_moving_average() -> None:
    memory = ObjectMemory()
    pose = frame_at(0).T_world_camera
    memory.observe(Frame.without_camera(0, 0.0, pose), [seen([2, 0, 1], size=0.1)])
    memory.observe(Frame.without_camera(1, 1.0, pose), [seen([2, 0.1, 1], size=0.2, sigma=0.2)])
    one = memory.state("obj-1")
    ema = memory.settings.lifecycle.position_ema
    assert one.xyz_world == pytest.approx([2, ema * 0.1, 1])
    assert one.extent == pytest.approx([0.1 + ema * 0.1] * 3)


def test_without_looks_stability_falls_with_the_spread_of_positions() -> None:
    still = after(*[seen([2, 0, 1])] * 6)
    restless = after(*[seen([2, 0.1 * (number % 2), 1]) for number in range(6)])
    assert still.emb_mean is None
    assert restless.stability < still.stability == 1.0


def test_views_are_counted_by_direction_from_the_object_to_the_camera() -> None:
    around = [(0, 0, 1), (0.1, 0, 1), (4, 0, 1), (2, 2, 1), (2, -2, 1), (2, 0.01, 3), (2, 0.01, -1)]
    one = after(*[seen([2, 0, 1], eye=eye) for eye in around])
    assert len(one.view_bins) == 6
    assert {elevation for _, elevation in one.view_bins} == {0, 1, 2}


def test_the_gallery_keeps_four_looks_that_differ() -> None:
    base, aside = unit(1), unit(2)
    angles = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    mixed = [base + 0.02 * number * aside for number in range(12)]
    one = after(
        *[
            seen([2, 0, 1], eye=(2 + np.cos(angle), np.sin(angle), 1), embedding=look)
            for angle, look in zip(angles, mixed, strict=True)
        ]
    )
    assert one.emb_gallery is not None
    assert len(one.emb_gallery) == 4
    last = mixed[-1] / np.linalg.norm(mixed[-1])
    assert float((one.emb_gallery.astype(np.float32) @ last).max()) > 0.999
    assert float((one.emb_gallery.astype(np.float32) @ base).max()) > 0.999


def test_labels_are_the_mean_of_what_was_said() -> None:
    one = after(seen([2, 0, 1], labels={"mug": 1.0}), seen([2, 0, 1], labels={"cup": 1.0, "mug": 0.5}))
    assert one.label_scores == {"mug": pytest.approx(0.75), "cup": pytest.approx(0.5)}
    assert one.label == "mug"


def test_the_last_views_do_not_outvote_the_many_before() -> None:
    told = [seen([2, 0, 1], labels={"tv": 0.9})] * 12 + [seen([2, 0, 1], labels={"laptop": 0.9})] * 8
    assert after(*told).label == "tv"


def test_a_sighting_without_a_name_leaves_the_names() -> None:
    assert after(seen([2, 0, 1], labels={"mug": 0.7}), seen([2, 0, 1])).label_scores == {"mug": pytest.approx(0.7)}


def test_the_weakest_of_too_many_names_gives_way() -> None:
    names = [f"name {number}" for number in range(9)]
    one = after(*[seen([2, 0, 1], labels={name: 0.1 if name == names[1] else 1.0}) for name in names])
    assert len(one.label_scores) == 8
    assert names[-1] in one.label_scores
    assert names[1] not in one.label_scores


def test_crops_go_to_the_sink_when_they_are_better_or_show_a_new_side() -> None:
    handed: list[Crop] = []
    memory = ObjectMemory(crop_sink=handed.append)
    here, behind = (0.0, 0.0, 1.0), (4.0, 0.0, 1.0)
    for number, (eye, quality) in enumerate([(here, 0.5), (here, 0.4), (here, 0.8), (behind, 0.3)]):
        crop = bytes([number])
        memory.observe(frame_at(number), [seen([2, 0, 1], eye=eye, quality=quality, crop=crop)])
    assert [(crop.object_id, crop.jpeg) for crop in handed] == [
        ("obj-1", b"\0"),
        ("obj-1", b"\2"),
        ("obj-1", b"\3"),
    ]


def test_embeddings_of_another_length_are_refused() -> None:
    memory = ObjectMemory()
    memory.observe(frame_at(0), [seen([2, 0, 1], embedding=unit(1, 16))])
    with pytest.raises(InvalidValue, match="another length than the 16 of this memory"):
        memory.observe(frame_at(1), [seen([2, 0, 1], embedding=unit(1, 8))])
    assert len(memory) == 1
