from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import SourceError
from lastseen.sources.conversion import Box
from lastseen.sources.lens import Lens, Undistorter
from tests.sources.room import CAMERA, looking, render

LENSES = {
    "plumb_bob": Lens("plumb_bob", (-0.28, 0.09, 0.001, -0.002, -0.01)),
    "rational_polynomial": Lens("rational_polynomial", (0.3, 0.05, 0.0005, 0.0004, 0.002, 0.6, 0.1, 0.01)),
    "equidistant": Lens("equidistant", (0.02, -0.01, 0.004, -0.001)),
}
SIZE = (CAMERA.width, CAMERA.height)
POSE = looking(-0.5, 0.1, yaw=0.2)


@pytest.mark.parametrize("model", LENSES)
@given(x=st.floats(-0.6, 0.6), y=st.floats(-0.45, 0.45))
def test_undistorted_points_are_those_the_lens_distorts_here(model: str, x: float, y: float) -> None:
    lens, points = LENSES[model], np.array([[x, y]])
    assert np.allclose(lens.undistort(lens.distort(points)), points, atol=1e-5)


@pytest.mark.parametrize("model", LENSES)
def test_an_undistorted_image_is_what_a_pinhole_sees(model: str) -> None:
    undistorter = Undistorter(CAMERA, LENSES[model])
    distorted_rgb, distorted_depth = render(POSE, lens=LENSES[model])
    rgb, depth = render(POSE)
    mine = undistorter.depth(distorted_depth)
    seen = mine > 0
    assert seen.mean() > 0.75
    off_before = np.abs(distorted_depth - depth)[seen].mean()
    off_after = np.abs(mine - depth)[seen].mean()
    assert off_after < 0.25 * off_before
    colors = undistorter.color(distorted_rgb).astype(int)
    assert np.abs(colors - rgb)[seen].mean() < 0.5 * np.abs(distorted_rgb.astype(int) - rgb)[seen].mean()


def test_a_large_image_needs_few_bytes_per_pixel() -> None:
    image = np.zeros((900, 1200, 3), dtype=np.uint8)
    undistorter = Undistorter(CAMERA, LENSES["rational_polynomial"])
    tracemalloc.start()
    try:
        undistorter.color(image)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    pixels = image.shape[0] * image.shape[1]
    assert kept < 15 * pixels
    assert peak < 40 * pixels


def shown(box: Box | None) -> Box:
    assert box is not None
    return box


def test_a_box_follows_the_image() -> None:
    undistorter = Undistorter(CAMERA, LENSES["plumb_bob"])
    left, top, right, bottom = shown(undistorter.box((4.0, 3.0, 40.0, 30.0), SIZE))
    # barrel distortion pulls the corners in, so the undistorted box lies further out
    assert left < 4.0
    assert top < 3.0
    assert abs(right - 40.0) < 5.0
    assert abs(bottom - 30.0) < 5.0


@pytest.mark.parametrize("model", LENSES)
def test_a_box_of_an_image_twice_the_size_is_twice_the_size(model: str) -> None:
    undistorter = Undistorter(CAMERA, LENSES[model])
    small = shown(undistorter.box((4.0, 3.0, 40.0, 30.0), SIZE))
    large = shown(undistorter.box((8.0, 6.0, 80.0, 60.0), (2 * SIZE[0], 2 * SIZE[1])))
    assert large == pytest.approx([2.0 * value for value in small])


@pytest.mark.parametrize("coefficients", [(-0.28, 0.09, 0.0, 0.0, -0.01), (-1.5, 0.3), (0.9, 3.0), (-0.9, 4.0)])
@given(left=st.floats(0.0, 158.0), top=st.floats(0.0, 118.0), side=st.floats(1.0, 60.0))
def test_a_box_lies_in_the_undistorted_image_or_is_none(
    coefficients: tuple[float, ...], left: float, top: float, side: float
) -> None:
    box = Undistorter(CAMERA, Lens("plumb_bob", coefficients)).box((left, top, left + side, top + side), SIZE)
    if box is not None:
        assert 0.0 <= box[0] < box[2] <= SIZE[0]
        assert 0.0 <= box[1] < box[3] <= SIZE[1]


def test_coefficients_of_nothing_are_no_lens() -> None:
    assert Lens.of("plumb_bob", (0.0, 0.0, 0.0, 0.0, 0.0)) is None
    assert Lens.of("mei", ()) is None


def test_coefficients_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(SourceError, match="must be finite"):
        Lens.of("plumb_bob", (float("nan"),) * 5)


def test_padding_with_zeros_changes_nothing() -> None:
    assert Lens.of("plumb_bob", (0.1, 0.2) + (0.0,) * 10) == Lens("plumb_bob", (0.1, 0.2))


@pytest.mark.parametrize(("model", "count"), [("mei", 4), ("plumb_bob", 8), ("rational_polynomial", 14)])
def test_what_is_not_undone_is_said(model: str, count: int) -> None:
    with pytest.raises(SourceError, match="lens"):
        Lens.of(model, (0.1,) * count)
