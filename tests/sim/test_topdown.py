from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lastseen.errors import InvalidValue
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.maplabels import Labels, meets
from lastseen.sim.mesh import Mesh, cut, is_closed
from lastseen.sim.topdown import Raster, draw_map, save_map, solid

WALL = (64, 66, 72)


@pytest.fixture(scope="module")
def house() -> Home:
    return generate_home(7, rooms=5)


def box_mesh(low: tuple[float, float, float], high: tuple[float, float, float], parts: int = 1) -> Mesh:
    from lastseen.sim.catalog import ShapeBuilder

    builder = ShapeBuilder()
    for part in range(parts):
        size = (high[0] - low[0], high[1] - low[1], high[2] - low[2])
        builder.box(size, (part * 5.0, 0.0, low[2]), (1, 2, 3))
    return builder.shape().mesh


def test_the_map_is_to_scale(house: Home) -> None:
    plain = draw_map(house, scale=40.0, key=False)
    parts = np.array([part for room in house.rooms for part in room.rectangles])
    wide = (parts[:, 2].max() - parts[:, 0].min() + 1.0) * 40.0
    assert plain.width == pytest.approx(wide, abs=1.0)


def test_the_same_home_gives_the_same_picture(house: Home) -> None:
    assert draw_map(house, scale=30.0).tobytes() == draw_map(house, scale=30.0).tobytes()


def test_walls_are_dark_and_doorways_are_not(house: Home) -> None:
    picture = np.array(draw_map(house, scale=40.0, labels=False, key=False))
    assert (np.abs(picture.astype(int) - WALL).max(axis=2) < 12).sum() > 1000


def test_a_path_changes_the_picture_where_it_runs(house: Home) -> None:
    x, y = house.rooms[0].center
    without = np.array(draw_map(house, scale=30.0, labels=False, key=False)).astype(int)
    along = np.array(draw_map(house, path=[(x, y), (x + 0.8, y)], scale=30.0, labels=False, key=False)).astype(int)
    changed = np.abs(along - without).max(axis=2) > 30
    assert 20 < changed.sum() < 0.05 * changed.size


def test_the_key_names_the_small_things(house: Home) -> None:
    assert draw_map(house, scale=30.0).width > draw_map(house, scale=30.0, key=False).width


@pytest.mark.parametrize("path", [[(float("nan"), 0.0)], [(1.0,)]])
def test_a_path_that_is_none_is_refused(house: Home, path: list[tuple[float, float]]) -> None:
    with pytest.raises(InvalidValue, match="path"):
        draw_map(house, path=path)


@pytest.mark.parametrize("scale", [0.0, -3.0, float("inf"), 1e6])
def test_a_scale_that_cannot_be_drawn_is_refused(house: Home, scale: float) -> None:
    with pytest.raises(InvalidValue, match="scale"):
        draw_map(house, scale=scale)


def test_a_map_is_saved_as_an_image(house: Home, tmp_path: Path) -> None:
    with Image.open(save_map(house, tmp_path / "house.png", scale=20.0)) as image:
        assert image.width > 100


@pytest.mark.parametrize("name", ["house.txt", "house", "no/such/folder/house.png"])
def test_a_map_that_cannot_be_saved_is_refused_before_it_is_drawn(house: Home, tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidValue, match="file"):
        save_map(house, tmp_path / name)


def test_the_section_of_a_box_is_its_outline() -> None:
    mesh = box_mesh((0, 0, 0), (2.0, 1.0, 3.0))
    segments, faces = cut(mesh, 1.4)
    assert np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1).sum() == pytest.approx(6.0)
    assert len(faces) == len(segments)
    assert not len(cut(mesh, 5.0)[0])


def test_inside_is_where_the_box_is() -> None:
    mesh = box_mesh((0, 0, 0), (2.0, 1.0, 3.0), parts=2)
    low, high = mesh.bounds[0, :2] - 1.0, mesh.bounds[1, :2] + 1.0
    raster = Raster(low, high, 20.0)
    inside = solid(mesh, 1.0, raster)
    assert inside.sum() / 20.0**2 == pytest.approx(4.0, rel=0.1)


def test_a_mesh_with_a_hole_is_not_closed() -> None:
    mesh = box_mesh((0, 0, 0), (1.0, 1.0, 1.0))
    assert is_closed(mesh)
    assert not is_closed(Mesh(mesh.vertices, mesh.faces[1:], mesh.colors[1:], mesh.patterns[1:]))


def test_labels_never_cover_each_other() -> None:
    from PIL import ImageDraw

    image = Image.new("RGB", (200, 100))
    labels = Labels(ImageDraw.Draw(image, "RGBA"), (0.0, 0.0, 200.0, 100.0))
    assert labels.put("sofa", (100, 50), points=12)
    assert not labels.put("table", (104, 52), points=12)
    assert labels.put("table", (100, 80), points=12)
    assert not labels.put("outside", (199, 50), points=12)
    assert not any(meets(a, b) for i, a in enumerate(labels.taken) for b in labels.taken[:i])
