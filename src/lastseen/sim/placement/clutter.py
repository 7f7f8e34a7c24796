"""Small things: on supports by their weights, on the floor along the walls, doubles as chance gives them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from lastseen.config.programs import Homes
from lastseen.sim.catalog import CLASSES, Shape, Surface
from lastseen.sim.placement.furniture import Furnisher
from lastseen.sim.placement.space import Placed, Space, ground_below, overlaps, world_parts
from lastseen.sim.priors import (
    DENSITY,
    FLOOR_THINGS,
    IN_ROOM,
    ON_FLOOR,
    ON_SUPPORT,
    ONE_ROOM,
    USUAL_DENSITY,
    USUAL_IN_ONE_ROOM,
)

_TRIES = 12
_FACES_FRONT = (
    "laptop", "monitor", "keyboard", "printer", "microwave", "toaster", "coffee maker", "photo frame", "speaker",
    "router", "pillow", "blanket", "book", "cardboard box", "basket", "shoes", "towel", "guitar", "teddy bear",
)  # fmt: skip
"""Things that people set down square to what they stand on; all others lie at any angle."""
_TWICE = 0.3
"""Chance that a second thing of a class has the colour of the first: equal distractors."""


class Clutterer:
    """Places small things in one furnished room."""

    def __init__(self, furnisher: Furnisher, rng: np.random.Generator, ids: Iterator[int], settings: Homes) -> None:
        self.space: Space = furnisher.space
        self.placed: list[Placed] = []
        self._furniture = list(furnisher.placed)
        self._rng = rng
        self._ids = ids
        self._settings = settings
        self._colors: dict[str, str] = {}

    def clutter(self) -> list[Placed]:
        """Fill every support to its density and leave a few things on the floor."""
        for support in self._furniture:
            weights = self._weights(support)
            for surface in self._surfaces(support):
                area = (surface.x_max - surface.x_min) * (surface.y_max - surface.y_min)
                mean = area * DENSITY.get(support.label, USUAL_DENSITY) * self._settings.clutter
                for _ in range(int(self._rng.poisson(mean))):
                    label = self._draw(weights)
                    if label is not None:
                        self.place_on(label, support, surface)
        weights = ON_FLOOR[self.space.room.type]
        count = int(self._rng.integers(FLOOR_THINGS[0], FLOOR_THINGS[1] + 1))
        for _ in range(round(count * self._settings.clutter)):
            label = self._draw(weights)
            if label is not None:
                self.place_on_floor(label)
        return self.placed

    def add(self, label: str) -> bool:
        """Place one more thing of a class wherever the priors allow it."""
        for support in self._furniture:
            if label in self._weights(support):
                for surface in self._surfaces(support):
                    if self.place_on(label, support, surface):
                        return True
        return label in ON_FLOOR[self.space.room.type] and self.place_on_floor(label)

    def _weights(self, support: Placed) -> Mapping[str, float]:
        return IN_ROOM.get(f"{support.label} in {self.space.room.type}", ON_SUPPORT.get(support.label, {}))

    def _surfaces(self, support: Placed) -> tuple[Surface, ...]:
        # the head of a bed belongs to its pillows
        return support.shape.surfaces[1:] if support.label == "bed" else support.shape.surfaces

    def _draw(self, weights: Mapping[str, float]) -> str | None:
        names = [name for name in weights if name not in self._settings.exclude and not self._has_enough(name)]
        if not names:
            return None
        shares = np.array([weights[name] for name in names], dtype=np.float64)
        return names[int(self._rng.choice(len(names), p=shares / shares.sum()))]

    def _has_enough(self, label: str) -> bool:
        count = sum(thing.label == label for thing in (*self._furniture, *self.placed))
        return count >= ONE_ROOM.get(label, USUAL_IN_ONE_ROOM)

    def _make(self, label: str) -> tuple[str, Shape]:
        known = self._colors.get(label)
        again = known if known is not None and self._rng.random() < _TWICE else None
        color, shape = CLASSES[label].make(self._rng, color=again)
        self._colors[label] = color
        return color, shape

    def _angle(self, label: str, front: float) -> float:
        if label in _FACES_FRONT:
            return front + float(self._rng.normal(0.0, 0.06))
        return float(self._rng.uniform(-math.pi, math.pi))

    def place_on(self, label: str, support: Placed, surface: Surface) -> bool:
        """Try some places on a surface; whether one was free."""
        color, shape = self._make(label)
        if float(shape.size[2]) > surface.clearance:
            return False
        x0, y0, x1, y1 = support.surface_box(surface)
        z = support.z + surface.z
        for _ in range(_TRIES):
            yaw = self._angle(label, support.yaw)
            own = world_parts(shape, 0.0, 0.0, 0.0, yaw)
            low, high = own[:, 0].min(axis=0), own[:, 1].max(axis=0)
            if high[0] - low[0] > x1 - x0 or high[1] - low[1] > y1 - y0:
                continue
            x = float(self._rng.uniform(x0 - low[0], x1 - high[0]))
            y = float(self._rng.uniform(y0 - low[1], y1 - high[1]))
            parts = world_parts(shape, x, y, z, yaw)
            if self.space.is_free(parts, on_floor=False):
                self._put(label, color, shape, (x, y, z, yaw), support.id)
                return True
        return False

    def place_on_floor(self, label: str) -> bool:
        """Try some places along the walls or on the open floor; whether one was free and the room stays walkable."""
        color, shape = self._make(label)
        reach = max(float(shape.size[0]), float(shape.size[1])) / 2
        for attempt in range(_TRIES):
            side = self.space.sides[int(self._rng.integers(len(self.space.sides)))]
            if side.end - side.start < 2 * reach + 0.1:
                continue
            along = float(self._rng.uniform(side.start + reach, side.end - reach))
            out = reach + 0.03 + float(self._rng.uniform(0.0, 0.15 if attempt % 3 else 0.8))
            x, y = side.point(along, out)
            yaw = self._angle(label, side.yaw)
            z, support = ground_below(self._furniture, world_parts(shape, x, y, 0.0, yaw))
            parts = world_parts(shape, x, y, z, yaw)
            # what lies below a bed or a table would be hard to see
            tall = parts.copy()
            tall[:, 1, 2] = np.maximum(tall[:, 1, 2], 1.0)
            if (
                self.space.is_free(parts, on_floor=True)
                and not overlaps(tall, self.space.taken)
                and self.space.stays_walkable(parts)
            ):
                self._put(label, color, shape, (x, y, z, yaw), support)
                return True
        return False

    def _put(
        self, label: str, color: str, shape: Shape, at: tuple[float, float, float, float], support: int | None
    ) -> None:
        thing = Placed(next(self._ids), label, color, shape, *at, room_id=self.space.room.id, support_id=support)
        self.placed.append(thing)
        self.space.take(thing.parts)
