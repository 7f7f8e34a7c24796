from __future__ import annotations

import io

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from lastseen.config.perception import Lift
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.lift import lift, lift_all
from lastseen.observation import Observation

COLOR = Intrinsics.from_fov(160, 120, horizontal_deg=79.0)
FORWARD_IS_X = Pose3D.from_matrix(np.array([[0, 0, 1, 1], [-1, 0, 0, 2], [0, -1, 0, 1.5], [0, 0, 0, 1]]))
"""A level camera at (1, 2, 1.5) that looks along +x."""
BOX = (70.0, 50.0, 90.0, 70.0)


def frame_of(depth: NDArray[np.float32], *, camera: Intrinsics = COLOR) -> Frame:
    rgb = np.zeros((COLOR.height, COLOR.width, 3), dtype=np.uint8)
    rgb[50:70, 70:90] = (250, 0, 0)
    return Frame(3, 7.0, rgb, depth, FORWARD_IS_X, COLOR, camera)


def textured_frame(*, blur: int = 1) -> Frame:
    """A wall at 2 m with fine texture, smeared over this many pixels."""
    noise = np.random.default_rng(3).integers(100, 140, (COLOR.height, COLOR.width)).astype(np.float64)
    smeared = np.mean([np.roll(noise, shift, axis=1) for shift in range(blur)], axis=0)
    rgb = np.repeat(smeared[..., np.newaxis], 3, axis=2).astype(np.uint8)
    return Frame(3, 7.0, rgb, np.full((120, 160), 2.0, dtype=np.float32), FORWARD_IS_X, COLOR, COLOR)


def wall_with_thing(*, wall: float = 4.0, thing: float = 2.0, camera: Intrinsics = COLOR) -> Frame:
    """A flat square thing that fills BOX, before a wall."""
    depth = np.full((camera.height, camera.width), wall, dtype=np.float32)
    s = camera.width // 80
    depth[25 * s : 35 * s, 35 * s : 45 * s] = thing
    return frame_of(depth, camera=camera)


def lifted(frame: Frame, detection: Detection, rules: Lift | None = None) -> Observation:
    observation = lift(frame, detection, rules)
    assert observation is not None
    return observation


def test_a_thing_before_the_camera_is_placed_in_the_world() -> None:
    one = lifted(wall_with_thing(), Detection(BOX, 0.9, {"mug": 0.8}))
    assert one.position == pytest.approx([3.0, 2.0, 1.5], abs=0.02)
    assert one.extent == pytest.approx([0.0, 0.41, 0.41], abs=0.03)
    assert one.view_direction == pytest.approx([-1, 0, 0], abs=0.02)
    assert (one.stamp, one.labels) == (7.0, {"mug": 0.8})


def test_depth_of_another_size_gives_the_same_place() -> None:
    small = COLOR.resized(80, 60)
    one = lifted(wall_with_thing(camera=small), Detection(BOX, 0.9))
    assert one.position == pytest.approx([3.0, 2.0, 1.5], abs=0.03)


def test_background_inside_a_loose_box_does_not_count() -> None:
    one = lifted(wall_with_thing(), Detection((64.0, 44.0, 96.0, 76.0), 0.9))
    assert one.position[0] == pytest.approx(3.0, abs=0.01)
    assert one.extent[0] < 0.05


def test_a_mask_decides_which_pixels_are_the_thing() -> None:
    mask = np.zeros((120, 160), dtype=np.bool_)
    mask[50:70, 70:80] = True
    one = lifted(wall_with_thing(), Detection(BOX, 0.9, mask=mask))
    assert one.extent[1] == pytest.approx(0.2, abs=0.03)
    assert one.position[1] > 2.05


def test_stray_depth_at_the_edges_of_a_mask_does_not_move_it() -> None:
    depth = np.array(wall_with_thing().depth)
    depth[50, 70:90] = 4.0
    depth[51, 70:75] = 0.3
    mask = np.zeros((120, 160), dtype=np.bool_)
    mask[50:70, 70:90] = True
    one = lifted(frame_of(depth), Detection(BOX, 0.9, mask=mask))
    assert one.position[0] == pytest.approx(3.0, abs=0.01)


def test_without_depth_there_is_no_observation() -> None:
    assert lift(frame_of(np.full((120, 160), np.nan, dtype=np.float32)), Detection(BOX, 0.9)) is None


def test_too_few_depth_pixels_are_not_enough() -> None:
    depth = np.full((120, 160), np.nan, dtype=np.float32)
    depth[60, 76:84] = 2.0
    assert lift(frame_of(depth), Detection(BOX, 0.9)) is None


def test_what_is_too_far_is_left_out() -> None:
    assert lift(wall_with_thing(thing=6.5, wall=9.0), Detection(BOX, 0.9)) is None


def test_noise_is_expected_to_grow_with_range() -> None:
    near, far = (lifted(wall_with_thing(thing=z, wall=5.5), Detection(BOX, 0.9)).sigma for z in (1.0, 4.0))
    assert near == pytest.approx(0.013, abs=1e-3)
    assert far == pytest.approx(0.058, abs=1e-3)


def test_surface_points_lie_on_the_thing() -> None:
    one = lifted(wall_with_thing(), Detection(BOX, 0.9))
    assert one.points is not None
    assert len(one.points) == 64
    assert (np.abs(one.points - one.position) <= 0.5 * one.extent + 1e-3).all()
    assert np.ptp(one.points, axis=0)[1:] == pytest.approx(one.extent[1:], rel=0.3)


def test_a_thing_cut_off_by_the_image_is_of_lower_quality() -> None:
    frame = textured_frame()
    whole, cut = lifted(frame, Detection(BOX, 0.8)), lifted(frame, Detection((0.0, 50.0, 20.0, 70.0), 0.8))
    assert cut.quality == pytest.approx(0.5 * whole.quality, rel=0.1)


def test_of_two_views_the_sharp_one_is_better() -> None:
    sharp, blurred = textured_frame(), textured_frame(blur=5)
    assert lifted(blurred, Detection(BOX, 0.8)).quality < 0.9 * lifted(sharp, Detection(BOX, 0.8)).quality


def test_a_view_with_margin_is_better_than_one_that_touches_the_border() -> None:
    tight, free = (40.0, 1.0, 60.0, 21.0), (40.0, 30.0, 60.0, 50.0)
    frame = textured_frame()
    assert lifted(frame, Detection(tight, 0.8)).quality < lifted(frame, Detection(free, 0.8)).quality


def test_the_crop_shows_the_thing() -> None:
    one = lift(wall_with_thing(), Detection(BOX, 0.9), with_crop=True)
    assert one is not None
    picture = one.picture()
    assert picture is not None
    image = np.asarray(Image.open(io.BytesIO(picture)))
    assert image.shape == (24, 24, 3)
    assert image[12, 12, 0] > 200 > 60 > image[12, 12, 1]


def test_lifting_all_keeps_the_order_and_leaves_out_what_has_no_depth() -> None:
    depth = np.array(wall_with_thing().depth)
    depth[:, 100:] = np.nan
    detections = [Detection(BOX, 0.9, {"a": 1.0}), Detection((110.0, 10.0, 150.0, 40.0), 0.9, {"b": 1.0})]
    detections.append(Detection((10.0, 10.0, 50.0, 40.0), 0.5, {"c": 1.0}))
    assert [one.label for one in lift_all(frame_of(depth), detections)] == ["a", "c"]


def test_a_box_outside_the_image_is_harmless() -> None:
    assert lift(wall_with_thing(), Detection((-50.0, -40.0, -10.0, -5.0), 0.9)) is None


def test_people_behind_a_thing_are_blanked_in_its_crop() -> None:
    camera = Intrinsics(200.0, 200.0, 99.5, 99.5, 200, 200)
    rgb: NDArray[np.uint8] = np.full((200, 200, 3), 250, dtype=np.uint8)
    frame = Frame(0, 0.0, rgb, np.full((200, 200), 2.0, np.float32), Pose3D.identity(), camera)
    mask = np.zeros((200, 200), dtype=np.bool_)
    mask[80:120, 80:120] = True
    cup = Detection(box=(80, 80, 120, 120), score=0.9, labels={"cup": 0.9}, mask=mask)
    person = Detection(box=(100, 0, 200, 200), score=0.9, labels={"person": 0.9})
    own, theirs = lift_all(frame, [cup, person], with_crops=True)
    own_picture, their_picture = own.picture(), theirs.picture()
    assert own_picture is not None
    assert their_picture is not None
    with Image.open(io.BytesIO(own_picture)) as crop:
        shown = np.asarray(crop).astype(int)
    # the crop has a margin of 4 pixels; the right one is the person's, the thing itself stays
    assert abs(shown[24, -2].mean() - 128) < 40
    assert shown[24, 24].min() > 200
    assert shown[24, 1].min() > 200
    with Image.open(io.BytesIO(their_picture)) as crop:
        assert int(np.asarray(crop).min()) > 200
