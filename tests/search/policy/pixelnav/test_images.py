from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.search.policy.goal_pixel import GoalPixel
from lastseen.search.policy.pixelnav.policy import goal_image, goal_mask, network_image, resized
from tests.search.policy.pixelnav.views import NO_TORCH, view


def pixel(u: int, v: int) -> GoalPixel:
    return GoalPixel(u, v, "floor", (1.0, 0.0, 0.0))


def test_red_arrives_in_the_last_channel() -> None:
    red = np.zeros((60, 80, 3), np.uint8)
    red[..., 0] = 200
    image = network_image(red, size=224)
    assert image.shape == (224, 224, 3)
    assert (image == [0, 0, 200]).all()


def test_the_goal_mask_is_a_square_around_the_pixel() -> None:
    mask = goal_mask(view(), pixel(40, 30))
    rows, columns = np.nonzero(mask)
    assert mask.shape == (60, 80)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (22, 38, 32, 48)
    assert (mask[22:39, 32:49] == 255).all()


@given(u=st.integers(0, 79), v=st.integers(0, 59))
def test_the_borders_cut_the_mask_off(u: int, v: int) -> None:
    mask = goal_mask(view(), pixel(u, v))
    wide = min(u + 8, 79) - max(u - 8, 0) + 1
    high = min(v + 8, 59) - max(v - 8, 0) + 1
    assert np.count_nonzero(mask) == wide * high
    assert mask[v, u] == 255


def test_a_pixel_of_a_smaller_depth_image_is_marked_where_it_is_in_colour() -> None:
    mask = goal_mask(view(depth_scale=4), pixel(10, 5))
    rows, columns = np.nonzero(mask)
    assert (columns.mean(), rows.mean()) == (42, 22)


@pytest.mark.parametrize(("u", "v"), [(-1, 0), (80, 0), (0, 60)])
def test_a_pixel_outside_the_view_is_refused(u: int, v: int) -> None:
    with pytest.raises(InvalidValue, match="outside the view of 80 x 60"):
        goal_mask(view(), pixel(u, v))


def test_the_mask_is_drawn_before_resizing_and_shrinks_with_the_image() -> None:
    large = view(width=640, height=480)
    goal = goal_image(large, pixel(320, 240), size=224)
    marked = goal[..., 3] >= 128
    assert goal.shape == (224, 224, 4)
    # 17 of 640 pixels are 6 of 224, 17 of 480 are 8
    assert int(marked.any(axis=0).sum()) == pytest.approx(17 * 224 / 640, abs=1)
    assert int(marked.any(axis=1).sum()) == pytest.approx(17 * 224 / 480, abs=1)
    np.testing.assert_array_equal(goal[..., :3], network_image(large.rgb, size=224))


def test_an_image_of_the_right_size_stays_as_it_is() -> None:
    image = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    np.testing.assert_array_equal(resized(image, 64), image)


@given(height=st.integers(1, 70), width=st.integers(1, 70), size=st.integers(1, 60))
def test_resizing_is_bilinear_as_torch_understands_it(height: int, width: int, size: int) -> None:
    torch = pytest.importorskip("torch", reason=NO_TORCH)
    image = np.random.default_rng(height * 100 + width).integers(0, 256, (height, width, 3), dtype=np.uint8)
    planes = torch.from_numpy(image).permute(2, 0, 1)[None].double()
    expected = torch.nn.functional.interpolate(planes, (size, size), mode="bilinear", align_corners=False)
    difference = resized(image, size) - expected[0].permute(1, 2, 0).numpy()
    assert np.abs(difference).max() <= 0.5 + 1e-3
