from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics
from lastseen.lift import lift
from lastseen.observation import OBJECT, SURFACE
from lastseen.perception.segment import GeometricSegmenter
from lastseen.protocols import Segmenter
from tests.sources.room import BOXES, looking, render

CAMERA = Intrinsics(280.0, 280.0, 159.5, 119.5, 320, 240)
POSE = looking(-0.6, 0.0, yaw=-0.8, pitch=-0.35)
THING = BOXES[4]
"""A cupboard on the floor: too small on every side for a table or a wall."""


def look(*, noise: float = 0.0, textured: bool = False) -> Frame:
    seen, depth = render(POSE, CAMERA)
    depth = depth + np.random.default_rng(1).normal(0.0, noise, depth.shape).astype(np.float32)
    return Frame(0, 0.0, seen if textured else _plain(depth), depth, POSE, CAMERA)


def _plain(depth: NDArray[np.float32]) -> NDArray[np.uint8]:
    """One grey for everything: what is found is found by shape."""
    return np.full((*depth.shape, 3), 128, dtype=np.uint8)


def middle_distance(frame: Frame, detections: list[Detection], box: NDArray[np.float64]) -> float:
    lifted = [lift(frame, detection) for detection in detections]
    return min(float(np.linalg.norm(one.position - box.mean(axis=0))) for one in lifted if one is not None)


def test_it_is_a_segmenter() -> None:
    assert isinstance(GeometricSegmenter(), Segmenter)


def test_a_thing_on_the_floor_is_found_in_its_place() -> None:
    frame = look()
    assert middle_distance(frame, GeometricSegmenter().segment(frame), THING) < 0.25


def test_noise_of_a_depth_camera_does_not_hide_it() -> None:
    frame = look(noise=0.006)
    assert middle_distance(frame, GeometricSegmenter().segment(frame), THING) < 0.25


def test_floor_and_walls_are_surfaces_and_no_things() -> None:
    frame = look()
    found = GeometricSegmenter().segment(frame)
    things = [lift(frame, one) for one in found if one.kind == OBJECT]
    assert all(one is None or float(one.extent.max()) < 2.0 for one in things)
    surfaces = [lift(frame, one) for one in found if one.kind == SURFACE]
    assert max(float(one.extent.max()) for one in surfaces if one is not None) > 2.0


def test_a_surface_has_the_box_of_all_views() -> None:
    segmenter = GeometricSegmenter()
    boxes = []
    for yaw in (-0.8, -0.4, 0.0):
        pose = looking(-0.6, 0.0, yaw=yaw, pitch=-0.35)
        rgb, depth = render(pose, CAMERA)
        found = segmenter.segment(Frame(0, 0.0, rgb, depth, pose, CAMERA))
        floor = max((one for one in found if one.kind == SURFACE), key=lambda one: one.box[3])
        assert floor.world_box is not None
        boxes.append(floor.world_box)
    assert (boxes[2][0] <= boxes[0][0]).all()
    assert (boxes[2][1] >= boxes[0][1]).all()
    assert float(np.ptp(boxes[2], axis=0)[1]) > float(np.ptp(boxes[0], axis=0)[1]) + 0.3


def test_colour_without_relief_on_a_wall_is_no_thing() -> None:
    pose = looking(-0.6, 0.0, yaw=np.pi)
    depth = render(pose, CAMERA)[1]
    rgb = _plain(depth)
    plain = GeometricSegmenter().segment(Frame(0, 0.0, rgb.copy(), depth, pose, CAMERA))
    rgb[100:120, 150:170] = (230, 230, 120)
    painted = GeometricSegmenter().segment(Frame(0, 0.0, rgb, depth, pose, CAMERA))
    assert [one.box for one in painted] == [one.box for one in plain]


def test_a_soft_shadow_is_no_thing() -> None:
    pose = looking(-0.6, 0.0, yaw=np.pi)
    depth = render(pose, CAMERA)[1]
    rgb = _plain(depth)
    v, u = np.mgrid[0:240, 0:320]
    fade = 60.0 * np.exp(-((v - 110.0) ** 2 + (u - 160.0) ** 2) / (2 * 20.0**2))
    rgb = (rgb - fade[..., np.newaxis]).astype(np.uint8)
    plain = GeometricSegmenter().segment(Frame(0, 0.0, _plain(depth), depth, pose, CAMERA))
    shaded = GeometricSegmenter().segment(Frame(0, 0.0, rgb, depth, pose, CAMERA))
    assert len(shaded) == len(plain)


@pytest.mark.parametrize("noise", [0.0, 0.006])
def test_the_end_of_a_wall_belongs_to_the_wall(noise: float) -> None:
    pose = looking(-0.9, 0.7, yaw=-0.6)
    wall = np.array([[[0.8, -2.5, 0.0], [0.95, -0.4, 2.6]]])
    depth = render(pose, CAMERA, boxes=wall)[1]
    depth += np.random.default_rng(2).normal(0.0, noise, depth.shape).astype(np.float32)
    found = GeometricSegmenter().segment(Frame(0, 0.0, _plain(depth), depth, pose, CAMERA))
    assert [one.box for one in found if one.kind == OBJECT] == []


def test_a_front_seen_in_part_between_things_is_no_thing() -> None:
    """A metre of a cupboard's front, framed by two posts nearer to the camera and cut off by the image."""
    pose = looking(-0.3, 0.0, yaw=0.0, height=1.0, pitch=0.0)
    front = [[0.6, -0.6, 0.0], [1.2, 0.6, 2.0]]
    posts = [[[0.2, -0.6, 0.0], [0.25, -0.22, 2.0]], [[0.2, 0.22, 0.0], [0.25, 0.6, 2.0]]]
    depth = render(pose, CAMERA, boxes=np.array([front, *posts]))[1]
    frame = Frame(0, 0.0, _plain(depth), depth, pose, CAMERA)
    lifted = [lift(frame, one) for one in GeometricSegmenter().segment(frame) if one.kind == OBJECT]
    assert not [one for one in lifted if one is not None and abs(one.position[1]) < 0.1]


def test_the_same_frame_gives_the_same_masks() -> None:
    first, second = (GeometricSegmenter().segment(look(noise=0.01)) for _ in range(2))
    assert [one.box for one in first] == [one.box for one in second]
    assert all((a.mask == b.mask).all() for a, b in zip(first, second, strict=True) if a.mask is not None)


def test_largest_comes_first_and_nothing_is_labelled() -> None:
    found = GeometricSegmenter().segment(look())
    sizes = [int(one.mask.sum()) for one in found if one.mask is not None]
    assert sizes == sorted(sizes, reverse=True)
    assert not any(one.labels for one in found)


def test_depth_of_another_size_than_colour_is_fine() -> None:
    small = CAMERA.resized(160, 120)
    depth = render(POSE, small)[1]
    frame = Frame(0, 0.0, look().rgb.copy(), depth, POSE, CAMERA, small)
    assert middle_distance(frame, GeometricSegmenter().segment(frame), THING) < 0.3


def test_an_image_without_depth_has_no_things() -> None:
    nothing = np.full((240, 320), np.nan, dtype=np.float32)
    assert GeometricSegmenter().segment(Frame(0, 0.0, look().rgb.copy(), nothing, POSE, CAMERA)) == []
