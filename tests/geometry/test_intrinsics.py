from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.geometry import Intrinsics
from tests.geometry.strategies import cameras

CAMERA = Intrinsics(fx=500, fy=510, cx=320, cy=240, width=640, height=480)


@given(cameras, st.floats(-100, 1500), st.floats(-100, 1500), st.floats(0.01, 100))
def test_projecting_undoes_unprojecting(camera: Intrinsics, u: float, v: float, depth: float) -> None:
    point = camera.unproject([u, v], depth)
    assert point[2] == depth
    assert np.allclose(camera.project(point), [u, v], atol=1e-6)


def test_right_in_the_image_is_plus_x_and_down_is_plus_y() -> None:
    u, v = CAMERA.project([0.1, 0.2, 1.0])
    assert u > CAMERA.cx
    assert v > CAMERA.cy


def test_points_behind_the_camera_have_no_pixel() -> None:
    assert np.isnan(CAMERA.project([[0, 0, -1], [0, 0, 0]])).all()


@given(st.integers(2, 12), st.integers(2, 12))
def test_a_depth_image_unprojects_like_its_pixels(width: int, height: int) -> None:
    camera = Intrinsics(fx=7.0, fy=8.0, cx=width / 3, cy=height / 4, width=width, height=height)
    depth = np.linspace(1, 3, width * height, dtype=np.float32).reshape(height, width)
    depth[0, 0] = np.nan
    pixels = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1)
    expected = camera.unproject(pixels, depth)
    assert np.allclose(camera.unproject_image(depth), expected, atol=1e-5, equal_nan=True)


def test_a_depth_image_of_another_size_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"must be 480 x 640; use the intrinsics of this image"):
        CAMERA.unproject_image(np.ones((2, 2), np.float32))


@given(cameras, st.integers(1, 4))
def test_resizing_keeps_pixel_edges(camera: Intrinsics, factor: int) -> None:
    larger = camera.resized(camera.width * factor, camera.height * factor)
    ray = [0.3, -0.2, 1.0]
    edge = camera.project(ray) + 0.5
    assert np.allclose(larger.project(ray) + 0.5, edge * factor, rtol=1e-9)


def test_the_field_of_view_spans_the_pixel_edges() -> None:
    camera = Intrinsics.from_fov(320, 240, horizontal_deg=90)
    left = camera.unproject([-0.5, camera.cy], 1.0)
    assert math.degrees(math.atan2(-left[0], left[2])) == pytest.approx(45)


def test_contains_takes_whole_pixels_and_no_nan() -> None:
    inside = CAMERA.contains([[-0.5, 0], [-0.6, 0], [639.4, 479.4], [639.5, 0], [np.nan, 1]])
    assert inside.tolist() == [True, False, True, False, False]


def test_the_matrix_is_the_usual_k() -> None:
    assert CAMERA.matrix.tolist() == [[500, 0, 320], [0, 510, 240], [0, 0, 1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fx": -500.0}, r"intrinsics\.fx = -500\.0: must be positive; give the focal length in pixels"),
        ({"fy": 0.0}, r"intrinsics\.fy = 0\.0: must be positive"),
        ({"cx": math.nan}, r"intrinsics\.cx = nan: must be finite"),
        ({"width": 0}, r"intrinsics\.width = 0: must be a positive whole number"),
        ({"height": 1.5}, r"intrinsics\.height = 1\.5: must be a positive whole number"),
    ],
)
def test_a_bad_camera_is_named(change: dict[str, float], message: str) -> None:
    good: dict[str, float] = {"fx": 500.0, "fy": 500.0, "cx": 1.0, "cy": 1.0, "width": 4, "height": 4}
    with pytest.raises(InvalidValue, match=message):
        Intrinsics(**{**good, **change})  # type: ignore[arg-type]


def test_an_impossible_field_of_view_is_refused() -> None:
    with pytest.raises(InvalidValue, match="must lie between 0 and 180"):
        Intrinsics.from_fov(10, 10, horizontal_deg=180)
