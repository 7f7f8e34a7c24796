"""Where the parts of things are: cubes of the world, each with the part it shows and how sure that is."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from lastseen.perception.cubes import AROUND, THIN, UP_BITS, keys_of, middles

Floats = NDArray[np.float32]

FEWEST = 3
"""Cubes that tell which piece shows a part, and where something begins and ends."""
SURE = 8
"""Views after which a cube is no surer of its part."""
THROUGH, THROUGH_SHARE = 0.12, 0.03
"""Metres, and share of depth, that the camera must see beyond a cube to see through it."""
RESTS = 2
"""Cubes, up and down, between what stands on something and that: noise, and the rim that folds take."""
DepthAt = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
Group = frozenset[int]


@dataclass(slots=True, eq=False)
class _Cube:
    part: int
    sure: int


@dataclass(slots=True, eq=False)
class PartMap:
    """The cubes of all parts so far, around a corner of theirs, ``origin``."""

    origin: NDArray[np.float64]
    of_part: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    _cubes: dict[int, _Cube] = field(default_factory=dict)

    def part_at(self, key: int) -> int | None:
        """The part that a cube shows; None where it shows none."""
        cube = self._cubes.get(key)
        return None if cube is None else cube.part

    def enter(self, part: int, keys: list[int], also: Collection[int] = ()) -> None:
        """Enter the cubes of a piece that shows a part; those of parts that it shows ``also`` stay with these."""
        for key in keys:
            cube = self._cubes.get(key)
            if cube is None:
                self._cubes[key] = _Cube(part, 1)
                self.of_part[part].add(key)
            elif cube.part == part or cube.part in also:
                cube.sure = min(cube.sure + 1, SURE)
            else:
                cube.sure -= 1
                if cube.sure <= 0:
                    self._move(key, cube, part)

    def split(self, whole: int, keys: list[int], part: int) -> None:
        """Give those of some cubes that show a part to another part."""
        for key in keys:
            cube = self._cubes.get(key)
            if cube is not None and cube.part == whole:
                self._move(key, cube, part)

    def _move(self, key: int, cube: _Cube, part: int) -> None:
        self.of_part[cube.part].discard(key)
        self.of_part[part].add(key)
        cube.part, cube.sure = part, 1

    def in_view(self, world: Floats, usable: NDArray[np.bool_]) -> Counter[int]:
        """How many cubes of each part the pixels of a frame fall on, whatever they show."""
        keys = keys_of(world[::THIN, ::THIN][usable[::THIN, ::THIN]], self.origin)
        found = (self._cubes.get(key) for key in np.unique(keys).tolist())
        return Counter(cube.part for cube in found if cube is not None)

    def size(self, group: Group) -> int:
        """How many cubes a group has."""
        return sum(len(self.of_part[part]) for part in group)

    def contacts(self, group: Group) -> Iterator[int]:
        """The part across each pair of neighbouring cubes of which one is of a group and the other of none of it."""
        for part in sorted(group):
            for key in self.of_part[part]:
                for step in AROUND:
                    cube = self._cubes.get(key + step)
                    if cube is not None and cube.part not in group:
                        yield cube.part

    def carriers(self, group: Group) -> Iterator[int]:
        """The part below each of a group's lowest cubes, where there is one within ``RESTS``."""
        lowest: dict[int, int] = {}
        for part in group:
            for key in self.of_part[part]:
                column = key >> UP_BITS
                lowest[column] = min(key, lowest.get(column, key))
        for key in lowest.values():
            for down in range(1, RESTS + 1):
                cube = self._cubes.get(key - down)
                if cube is not None:
                    yield cube.part
                    break

    def places(self, group: Collection[int], *, sure: int) -> NDArray[np.float64]:
        """The middles of the cubes of some parts, in metres; of those seen this often."""
        keys = [key for part in group for key in self.of_part[part] if self._cubes[key].sure >= sure]
        return self.origin + middles(np.array(sorted(keys), dtype=np.int64))

    def forget(self, part: int) -> None:
        """Drop a part and its cubes."""
        for key in self.of_part.pop(part, ()):
            del self._cubes[key]

    def clear(self, parts: set[int], depth_at: DepthAt) -> None:
        """Doubt cubes that the camera sees through: a person went on, a chair was moved."""
        keys = np.array(sorted(key for part in parts for key in self.of_part[part]), dtype=np.int64)
        if not len(keys):
            return
        measured, own = depth_at(self.origin + middles(keys))
        through = measured > own + THROUGH + THROUGH_SHARE * own
        for key in keys[through].tolist():
            cube = self._cubes[key]
            cube.sure -= 2
            if cube.sure <= 0:
                self.of_part[cube.part].discard(key)
                del self._cubes[key]
