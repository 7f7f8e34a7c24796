from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen.errors import MissingExtra
from lastseen.geometry import Intrinsics
from lastseen.pose2d import Pose2D
from lastseen.sim.home import Home
from lastseen.sim.render import Renderer, View, camera_pose
from tests.sim.tiny import tiny_home

HEIGHT = 0.88


def away_from_edges(depth: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Pixels whose 5 x 5 neighbourhood lies on one smooth surface."""
    padded = np.pad(depth, 2, constant_values=np.nan)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    span = windows.max(axis=(2, 3)) - windows.min(axis=(2, 3))
    smooth: NDArray[np.bool_] = span < 0.06 * depth
    return smooth


@pytest.mark.parametrize("step", [(0.3, 0.0, 0.0), (0.2, 0.25, 0.4), (-0.1, 0.2, -0.5)])
def test_depth_of_one_view_lands_on_the_depth_of_another(
    renderer: Renderer, step: tuple[float, float, float]
) -> None:
    camera = Intrinsics.from_fov(320, 240, horizontal_deg=79.0)
    here, there = Pose2D(2.6, 2.0, 0.2), Pose2D(2.6 + step[0], 2.0 + step[1], 0.2 + step[2])
    T_here, T_there = camera_pose(here, height=HEIGHT), camera_pose(there, height=HEIGHT)
    first, second = renderer.render(T_here, camera), renderer.render(T_there, camera)
    points = camera.unproject_image(first.depth)[away_from_edges(first.depth)]
    moved = T_there.inverse().transform(T_here.transform(points))
    pixels = camera.project(moved)
    seen = camera.contains(pixels)
    column, row = np.rint(pixels[seen]).astype(int).T
    sure = away_from_edges(second.depth)[row, column]
    # the nearest pixel's plane is not the point's own: compare in 3-D, along the line of sight's neighbourhood
    there_points = camera.unproject_image(second.depth)
    window = np.stack(
        [
            np.linalg.norm(
                there_points[np.clip(row + dv, 0, 239), np.clip(column + du, 0, 319)] - moved[seen], axis=1
            )
            for dv in (-1, 0, 1)
            for du in (-1, 0, 1)
        ]
    )
    depth_error = np.abs(_interpolated(second.depth, pixels[seen]) - moved[seen, 2])
    near = window.min(axis=0) < 0.15  # hidden by something nearer in the second view: not the same surface
    assert (sure & near).sum() > 5000
    assert np.percentile(depth_error[sure & near], 99.5) < 0.01


def _interpolated(depth: NDArray[np.float32], pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Depth between pixels: its inverse is linear on a plane."""
    height, width = depth.shape
    u, v = np.clip(pixels[:, 0], 0, width - 1.001), np.clip(pixels[:, 1], 0, height - 1.001)
    i, j = np.floor(u).astype(int), np.floor(v).astype(int)
    a, b = u - i, v - j
    inverse = 1.0 / depth.astype(np.float64)
    value: NDArray[np.float64] = (
        inverse[j, i] * (1 - a) * (1 - b)
        + inverse[j, i + 1] * a * (1 - b)
        + inverse[j + 1, i] * (1 - a) * b
        + inverse[j + 1, i + 1] * a * b
    )
    return 1.0 / value


def test_depth_is_metres_along_the_optical_axis(renderer: Renderer, small: Intrinsics) -> None:
    view = renderer.render(camera_pose(Pose2D(6.0, 2.0, -math.pi / 2), height=HEIGHT), small)
    assert view.depth[36, :].max() == pytest.approx(2.0, abs=1e-4)
    assert view.depth[36, 48] == pytest.approx(2.0, abs=1e-4)


def test_ids_lie_on_the_boxes_of_their_things(renderer: Renderer, home: Home, small: Intrinsics) -> None:
    T = camera_pose(Pose2D(2.8, 2.0, -2.6), height=HEIGHT)
    view = renderer.render(T, small)
    points = T.transform(small.unproject_image(view.depth))
    found = set(np.unique(view.ids)) - {0}
    assert {1, 2, 3} <= found
    for key in found:
        low, high = home.thing(int(key)).box
        here = points[view.ids == key]
        assert ((here >= low - 1e-3) & (here <= high + 1e-3)).all()


def test_a_thing_is_drawn_in_its_colour(renderer: Renderer, small: Intrinsics) -> None:
    view = renderer.render(camera_pose(Pose2D(1.0, 1.6, -math.pi / 2), height=HEIGHT), small)
    red, green, blue = view.rgb[view.ids == 2].mean(axis=0)
    assert red > 2 * green
    assert red > 2 * blue


def test_looking_up_shows_the_ceiling_and_looking_down_the_floor(renderer: Renderer, small: Intrinsics) -> None:
    for pitch, height in ((1.2, 2.5), (-1.2, 0.0)):
        T = camera_pose(Pose2D(2.5, 3.0, 0.0), height=HEIGHT, pitch=pitch)
        centre = T.transform(small.unproject_image(renderer.render(T, small).depth))[36, 48]
        assert centre[2] == pytest.approx(height, abs=1e-3)


def test_nothing_is_nan_in_depth_and_sky_in_colour(home: Home, small: Intrinsics) -> None:
    view = Renderer(home).render(camera_pose(Pose2D(20.0, 0.0, 0.0), height=HEIGHT), small)
    assert np.isnan(view.depth).all()
    assert (view.ids == 0).all()
    assert len(np.unique(view.rgb.reshape(-1, 3), axis=0)) == 1


def test_the_same_home_gives_the_same_bytes(renderer: Renderer, small: Intrinsics) -> None:
    T = camera_pose(Pose2D(2.8, 2.0, -2.6), height=HEIGHT)
    assert same(renderer.render(T, small), Renderer(tiny_home()).render(T, small))


def test_a_changed_home_is_drawn_like_a_new_one(renderer: Renderer, home: Home, small: Intrinsics) -> None:
    T = camera_pose(Pose2D(1.0, 1.6, -math.pi / 2), height=HEIGHT)
    without = home.without_thing(2)
    changed = renderer.changed(without).render(T, small)
    assert same(changed, Renderer(without).render(T, small))
    assert 2 not in changed.ids
    assert 2 in renderer.render(T, small).ids


def test_without_the_extra_it_says_what_to_install(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("embreex"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra, match=r"lastseen\[sim\]"):
        Renderer(home)


def same(a: View, b: View) -> bool:
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("rgb", "depth", "ids"))
