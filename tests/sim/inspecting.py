"""What the tests of homes measure, from the finished home alone: they share no code with the generator."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from lastseen.sim.home import Home, Room, Thing
from lastseen.sim.mesh import Mesh
from lastseen.sim.scene import Scene

CELL = 0.05
Boxes = NDArray[np.float64]


def part_boxes(mesh: Mesh) -> Boxes:
    """The boxes (n, 2, 3) about the connected parts of a mesh."""
    size = len(mesh.vertices)
    a, b, c = mesh.faces.T
    joined = coo_matrix((np.ones(2 * len(a)), (np.concatenate([a, b]), np.concatenate([b, c]))), shape=(size, size))
    count, part = connected_components(joined, directed=False)
    boxes = np.empty((count, 2, 3))
    for index in range(count):
        points = mesh.vertices[part == index]
        boxes[index] = points.min(axis=0), points.max(axis=0)
    return boxes


def world_boxes(thing: Thing) -> Boxes:
    return part_boxes(thing.mesh.moved(thing.pose))


def depth_of_overlap(first: Boxes, second: Boxes) -> float:
    """How far the worst pair of boxes reaches into each other, in metres; 0 when none does."""
    low = np.maximum(first[:, None, 0], second[None, :, 0])
    high = np.minimum(first[:, None, 1], second[None, :, 1])
    return float(np.clip((high - low).min(axis=-1), 0.0, None).max(initial=0.0))


def worst_overlap(home: Home) -> tuple[float, str, str]:
    """The deepest overlap between two things of a home, and what they are."""
    things = list(home.things.values())
    boxes = [world_boxes(thing) for thing in things]
    owner = np.repeat(np.arange(len(things)), [len(each) for each in boxes])
    parts = np.concatenate(boxes)
    low = np.maximum(parts[:, None, 0], parts[None, :, 0])
    high = np.minimum(parts[:, None, 1], parts[None, :, 1])
    depth = np.clip((high - low).min(axis=-1), 0.0, None)
    depth[owner[:, None] == owner[None, :]] = 0.0
    row, column = np.unravel_index(int(depth.argmax()), depth.shape)
    return float(depth[row, column]), things[owner[row]].label, things[owner[column]].label


def rests_on(thing: Thing, support: Thing) -> bool:
    """Whether the thing's bottom lies on top of some part of its support."""
    low, high = thing.box
    parts = world_boxes(support)
    level = np.abs(parts[:, 1, 2] - low[2]) < 2e-3
    over = (parts[:, 0, :2] < high[:2]).all(axis=1) & (parts[:, 1, :2] > low[:2]).all(axis=1)
    return bool((level & over).any())


def hidden_things(home: Home, standing: NDArray[np.float64], *, eye: float) -> list[Thing]:
    """Small things of which no point is seen from any of some nearby places to stand."""
    scene = Scene(home)
    rng = np.random.default_rng(0)
    hidden = []
    for thing in home.things.values():
        if not thing.movable:
            continue
        mesh = thing.mesh.moved(thing.pose)
        points = mesh.vertices[mesh.faces].mean(axis=1)
        points = points[rng.permutation(len(points))[:40]]
        near = standing[np.linalg.norm(standing - thing.position[:2], axis=1) < 4.0]
        near = near[rng.permutation(len(near))[:40]]
        eyes = np.column_stack([near, np.full(len(near), eye)])
        origins = np.repeat(eyes, len(points), axis=0).astype(np.float32)
        rays = np.tile(points, (len(eyes), 1)).astype(np.float32) - origins
        seen = scene.first_ids(origins, rays).reshape(len(eyes), -1) == thing.id
        # a tenth of its surface from one place: more than a sliver
        if not len(eyes) or seen.mean(axis=1).max() < 0.1:
            hidden.append(thing)
    return hidden


class Floor:
    """An occupancy grid of a home for a robot of some radius and height."""

    def __init__(self, home: Home, *, radius: float, height: float = 1.2, step: float = 0.03) -> None:
        parts = np.array([part for room in home.rooms for part in room.rectangles])
        self.low = parts[:, :2].min(axis=0) - 0.5
        self.shape = tuple(np.ceil((parts[:, 2:].max(axis=0) + 0.5 - self.low) / CELL).astype(int))
        inside = np.zeros(self.shape, dtype=bool)
        for part in parts:
            inside[self._cells(part[:2], part[2:])] = True
        boxes = [part_boxes(home.structure), *(world_boxes(thing) for thing in home.things.values())]
        for box in np.concatenate(boxes):
            if box[1, 2] > step and box[0, 2] < height:
                inside[self._cells(box[0], box[1])] = False
        self.free = ndimage.distance_transform_edt(inside) * CELL > radius
        self.labels, _ = ndimage.label(self.free, structure=np.ones((3, 3)))

    def _cells(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> tuple[slice, slice]:
        first = np.floor((low[:2] - self.low) / CELL + 1e-6).astype(int)
        last = np.ceil((high[:2] - self.low) / CELL - 1e-6).astype(int)
        return slice(max(first[0], 0), max(last[0], 0)), slice(max(first[1], 0), max(last[1], 0))

    def areas(self, room: Room) -> dict[int, int]:
        """Free cells of a room by the connected region they belong to."""
        found: dict[int, int] = {}
        for part in room.rectangles:
            values, counts = np.unique(
                self.labels[self._cells(np.array(part[:2]), np.array(part[2:]))], return_counts=True
            )
            for value, count in zip(values, counts, strict=True):
                if value:
                    found[int(value)] = found.get(int(value), 0) + int(count)
        return found

    def region_of_all(self, rooms: Iterable[Room]) -> set[int]:
        """The regions that have floor in every one of these rooms."""
        common: set[int] | None = None
        for room in rooms:
            # a sliver through a doorway is not standing in the room
            here = {label for label, cells in self.areas(room).items() if cells * CELL * CELL > 0.1}
            common = here if common is None else common & here
        return common or set()

    def points(self, region: int, *, spacing: float) -> NDArray[np.float64]:
        """Free points of a region on a coarse grid, (n, 2)."""
        stride = max(1, math.floor(spacing / CELL))
        rows, columns = np.nonzero(self.labels[::stride, ::stride] == region)
        middle: NDArray[np.float64] = np.stack([rows, columns], axis=-1) * stride * CELL + CELL / 2 + self.low
        return middle
