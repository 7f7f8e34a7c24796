"""The storeys of a building: which one a frame was taken on, by the height of its camera, and what floor each has.

The floor that a memory begins on is storey 0, at height 0 of the world frame. Another one is believed when the camera
has stayed at another height for a while and depth shows floor below it: a camera that is lifted, a stair and a
balcony found none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.memory.space.floor import FloorGrid

APART = 1.9
"""Metres between the floors of two storeys at least: the landing of a stair is half a storey up."""
_LIFTED = 0.5
"""Metres by which the camera may be off its usual height for that to go on being learnt: not on a stair."""
_LEVEL = 0.15
"""Metres within which floor seen from several spots is one floor."""
_LOOKS = 6
"""Looks at one level floor, each after a movement, that make a storey: a stair rises by more meanwhile."""
_SHARE = 0.05
"""Share of a depth image that must show that floor."""
_BELOW = 0.3
"""Metres by which a thing's middle may lie below the floor that it stands on: depth is noisy."""
_LEARNT = 200
"""Looks after which the camera's usual height changes slowly."""


@dataclass(frozen=True, slots=True, eq=False)
class Storey:
    """One storey: its number, the height of its floor in metres (world frame), its explored floor and its walls."""

    number: int
    height: float
    floor: FloorGrid
    walls: FloorGrid


class Storeys:
    """The storeys of one memory in the order they were found; ``current`` is the one of the newest frame.

    ``grids`` makes the empty grids (floor, walls) of a storey, given its number.
    """

    def __init__(self, grids: Callable[[int], tuple[FloorGrid, FloorGrid]]) -> None:
        self._grids = grids
        self._all = [Storey(0, 0.0, *grids(0))]
        self.current = self._all[0]
        self._camera, self._looks = 0.0, 0
        self._level: list[float] = []

    def __iter__(self) -> Iterator[Storey]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, camera: float, points: NDArray[np.float32]) -> Storey | None:
        """Take one look at the floor: the storey it is of, None between storeys.

        ``camera`` is the height of the camera in the world frame, ``points`` are body points with heights in it.
        """
        if not self._looks:
            self._camera = camera
        off = [camera - self._camera - storey.height for storey in self._all]
        nearest = min(range(len(off)), key=lambda number: (abs(off[number]), number))
        if abs(off[nearest]) < APART:
            self.current, self._level = self._all[nearest], []
            if abs(off[nearest]) < _LIFTED:
                self._looks = min(self._looks + 1, _LEARNT)
                self._camera += off[nearest] / self._looks
            return self.current
        self._look_for_floor(camera - self._camera, points)
        return self.current if not self._level else None

    def at(self, height: float) -> Storey:
        """The storey whose floor lies at a height (metres, world frame), made where there is none."""
        nearest = min(self._all, key=lambda storey: (abs(storey.height - height), storey.number))
        return nearest if abs(nearest.height - height) < APART else self._add(round(height, 3))

    def numbers(self, heights: Sequence[float] | NDArray[np.float64]) -> NDArray[np.int64]:
        """The number of the storey that things at these heights (metres, world frame) stand on."""
        heights = np.asarray(heights, dtype=np.float64).reshape(-1)
        found = np.zeros(len(heights), dtype=np.int64)
        if len(self._all) == 1:
            return found
        order = sorted(self._all, key=lambda storey: storey.height)
        at = np.searchsorted([storey.height - _BELOW for storey in order], heights, side="right") - 1
        found[:] = np.array([storey.number for storey in order])[np.maximum(at, 0)]
        return found

    def is_here(self, height: float) -> bool:
        """Whether a thing at this height stands on the storey that the robot is on."""
        return int(self.numbers([height])[0]) == self.current.number

    def named(self, name: str) -> frozenset[int]:
        """The numbers of the storeys that a word means: upstairs, downstairs, top floor, this floor, ground floor.

        Up and down are seen from the storey the robot is on; from the top one, upstairs is the top one.
        """
        here, heights = self.current.height, [storey.height for storey in self._all]
        low, high = min(heights), max(heights)
        least, most = {
            "upstairs": (min(here + APART, high), high),
            "downstairs": (low, max(here - APART, low)),
            "ground floor": (0.0, 0.0),
            "top floor": (high, high),
            "this floor": (here, here),
        }[name]
        return frozenset(storey.number for storey in self._all if least <= storey.height <= most)

    def to_dict(self) -> dict[str, Any]:
        """What the next frame depends on, in plain JSON values."""
        return {
            "heights": [storey.height for storey in self._all],
            "current": self.current.number,
            "camera": self._camera,
            "looks": self._looks,
            "level": self._level,
        }

    def restore(self, values: Mapping[str, Any]) -> None:
        """Take up what ``to_dict`` wrote."""
        for height in values["heights"][1:]:
            self._add(float(height))
        self.current = self._all[int(values["current"])]
        self._camera, self._looks = float(values["camera"]), int(values["looks"])
        self._level = [float(height) for height in values["level"]]

    def _look_for_floor(self, expected: float, points: NDArray[np.float32]) -> None:
        """Count looks that show one level floor about where it is expected; enough of them make a storey."""
        heights = points[..., 2]
        known = np.isfinite(heights)
        near = heights[known & (np.abs(heights - np.float32(expected)) <= 2.0 * _LEVEL)]
        if len(near) < _SHARE * max(int(known.sum()), 1) or not known.any():
            self._level = [expected]
            return
        height = float(np.median(near))
        if self._level and abs(height - self._level[0]) > _LEVEL:
            self._level = []
        self._level.append(height)
        if len(self._level) >= _LOOKS:
            self.current = self._add(round(float(np.median(self._level)), 3))
            self._level = []

    def _add(self, height: float) -> Storey:
        number = len(self._all)
        storey = Storey(number, height, *self._grids(number))
        self._all.append(storey)
        return storey
