from __future__ import annotations

import numpy as np
import pytest

from lastseen.errors import InvalidValue
from lastseen.sim.catalog import CLASSES, PALETTE, Group, ShapeBuilder, check_class
from lastseen.sim.mesh import is_closed
from tests.sim.inspecting import part_boxes

OBJECTNAV = {"chair", "bed", "plant", "toilet", "tv", "sofa"}
SOUGHT = {"mug", "keys", "phone", "remote", "book", "backpack", "laptop", "bottle", "pillow", "shoes"}


def test_there_are_classes_enough_and_the_wanted_ones() -> None:
    assert len(CLASSES) >= 60
    assert set(CLASSES) >= OBJECTNAV | SOUGHT


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_class_has_several_parts_and_known_colours(name: str) -> None:
    kind = CLASSES[name]
    assert set(kind.colors) <= set(PALETTE)
    _, shape = kind.make(np.random.default_rng(3))
    assert len(part_boxes(shape.mesh)) >= 2
    assert len(shape.parts) == len(part_boxes(shape.mesh))


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_shape_is_closed_centred_and_stands_on_the_ground(name: str) -> None:
    _, shape = CLASSES[name].make(np.random.default_rng(5))
    low, high = shape.mesh.bounds
    assert np.allclose(low[:2], -high[:2], atol=1e-5)
    assert low[2] == pytest.approx(0.0, abs=1e-5)
    assert is_closed(shape.mesh)
    corners = shape.mesh.vertices[shape.mesh.faces].astype(np.float64)
    volume = np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6.0
    assert volume > 0.0, "faces look inwards"


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_a_shape_keeps_about_to_its_sizes_and_is_cheap(name: str) -> None:
    kind = CLASSES[name]
    rng = np.random.default_rng(8)
    for _ in range(5):
        _, shape = kind.make(rng)
        for size, (low, high) in zip(shape.size, (kind.depth, kind.width, kind.height), strict=True):
            # taps, handles and round parts may stand out or fall short a little
            assert 0.4 * low <= size <= 1.1 * high + 0.3
        assert len(shape.mesh.faces) <= 1000


@pytest.mark.parametrize("name", sorted(name for name in CLASSES))
def test_a_surface_lies_on_top_of_a_part(name: str) -> None:
    _, shape = CLASSES[name].make(np.random.default_rng(2))
    for surface in shape.surfaces:
        middle = np.array([(surface.x_min + surface.x_max) / 2, (surface.y_min + surface.y_max) / 2])
        level = np.abs(shape.parts[:, 1, 2] - surface.z) < 1e-3
        under = (shape.parts[:, 0, :2] <= middle).all(axis=1) & (shape.parts[:, 1, :2] >= middle).all(axis=1)
        assert (level & under).any()
        assert surface.x_min < surface.x_max
        assert surface.y_min < surface.y_max


def test_supports_are_furniture_not_what_is_carried() -> None:
    assert not [name for name, kind in CLASSES.items() if kind.group is Group.SMALL and _surfaces(name)]
    for name in ("dining table", "desk", "bed", "sofa", "nightstand", "bookshelf", "kitchen counter"):
        assert _surfaces(name)


def _surfaces(name: str) -> int:
    return len(CLASSES[name].make(np.random.default_rng(0))[1].surfaces)


def test_the_same_generator_state_gives_the_same_shape() -> None:
    one, other = (CLASSES["plant"].make(np.random.default_rng(4))[1].mesh for _ in range(2))
    assert one.vertices.tobytes() == other.vertices.tobytes()


def test_a_colour_the_class_does_not_have_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no orange has it"):
        CLASSES["orange"].make(np.random.default_rng(0), color="blue")


def test_an_unknown_class_is_refused() -> None:
    with pytest.raises(InvalidValue, match="is not an object class"):
        check_class("xyzzy", field="label")


def test_a_tilted_box_keeps_its_volume() -> None:
    builder = ShapeBuilder()
    builder.box((1.0, 2.0, 3.0), (0.0, 0.0, 0.0), (1, 2, 3), pitch=0.3, yaw=0.7, roll=-0.2)
    mesh = builder.shape().mesh
    corners = mesh.vertices[mesh.faces].astype(np.float64)
    assert np.einsum("ij,ij->i", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])).sum() / 6 == pytest.approx(
        6.0, rel=1e-5
    )
