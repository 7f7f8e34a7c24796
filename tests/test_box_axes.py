"""Boxes are measured along the walls and furniture in view, however the map is turned."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lastseen.box_axes import axes_of, in_axes, in_world, quarter
from lastseen.observation import Observation
from tests.rendered_room import walk

ANGLES = [0.0, 0.2, 0.7, 0.78, 0.8, 1.9, -2.6]


@pytest.mark.parametrize("yaw", ANGLES)
def test_the_axes_are_those_of_the_room(yaw: float) -> None:
    for frame in walk(yaw, (3.0, -1.0), count=3):
        assert abs(quarter(axes_of(frame) - yaw)) < math.radians(0.5)


@pytest.mark.parametrize("yaw", ANGLES)
def test_a_turned_map_turns_the_axes_of_the_same_view_with_it(yaw: float) -> None:
    frame = next(walk(count=1))
    noisy = replace(
        frame, depth=frame.depth + np.random.default_rng(4).normal(0, 0.02, frame.depth.shape).astype("f4")
    )
    turned = in_axes(noisy, -yaw)
    assert quarter(axes_of(turned) - axes_of(noisy) - yaw) == pytest.approx(0.0, abs=1e-6)


def test_where_nothing_stands_upright_the_camera_tells() -> None:
    frame = next(walk(count=1))
    blind = replace(frame, depth=np.full_like(frame.depth, np.nan))
    assert quarter(axes_of(in_axes(blind, -0.4)) - axes_of(blind) - 0.4) == pytest.approx(0.0, abs=1e-9)


def test_an_observation_comes_back_to_the_world_with_the_yaw_of_its_box() -> None:
    one = Observation(
        position=np.array([1.0, 0.0, 0.5]),
        extent=np.array([2.0, 1.0, 0.5]),
        view_direction=np.array([1.0, 0.0, 0.0]),
        stamp=0.0,
        points=np.array([[2.0, 0.0, 0.0]], dtype=np.float32),
    )
    (turned,) = in_world([one], 0.5)
    assert turned.position == pytest.approx([math.cos(0.5), math.sin(0.5), 0.5])
    assert turned.view_direction == pytest.approx([math.cos(0.5), math.sin(0.5), 0.0])
    assert turned.points is not None
    assert turned.points[0] == pytest.approx([2 * math.cos(0.5), 2 * math.sin(0.5), 0.0], abs=1e-6)
    assert (turned.yaw, turned.extent.tolist()) == (0.5, [2.0, 1.0, 0.5])


def test_a_quarter_turn_of_a_box_exchanges_its_sides() -> None:
    one = Observation(
        position=np.zeros(3),
        extent=np.array([2.0, 1.0, 0.5]),
        view_direction=np.array([1.0, 0.0, 0.0]),
        stamp=0.0,
        yaw=math.pi / 2.0 + 0.1,
    )
    assert one.yaw == pytest.approx(0.1)
    assert one.extent.tolist() == [1.0, 2.0, 0.5]
