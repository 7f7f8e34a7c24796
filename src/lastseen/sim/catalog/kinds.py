"""What a class of objects is: how large, which colours, how built. One registry holds them all."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.sim.catalog.palette import PALETTE, Rgb
from lastseen.sim.catalog.sculptor import Sculptor, Shape

Range = tuple[float, float]
Size = tuple[float, float, float]
Builder = Callable[[Sculptor, Size, Rgb, np.random.Generator], None]


class Group(StrEnum):
    """What part a class plays in a home."""

    FURNITURE = "furniture"
    APPLIANCE = "appliance"
    SMALL = "small"
    """Can be carried: what people look for."""
    HUNG = "hung"
    """Hangs on a wall."""
    RUG = "rug"
    """Flat on the floor: walked over, and furniture may stand on it."""


@dataclass(frozen=True)
class ObjectClass:
    """Size ranges in metres, the colour names a thing of the class may have, and its builder."""

    name: str
    group: Group
    depth: Range
    width: Range
    height: Range
    colors: tuple[str, ...]
    build: Builder

    def make(self, rng: np.random.Generator, *, color: str | None = None) -> tuple[str, Shape]:
        """One thing of the class: its colour name and its shape."""
        name = self.colors[int(rng.integers(len(self.colors)))] if color is None else color
        if name not in self.colors:
            raise InvalidValue("color", name, f"no {self.name} has it", remedy=f"one of {', '.join(self.colors)}")
        size = tuple(round(float(rng.uniform(*limits)), 3) for limits in (self.depth, self.width, self.height))
        sculptor = Sculptor()
        self.build(sculptor, (size[0], size[1], size[2]), PALETTE[name], rng)
        return name, sculptor.shape()


CLASSES: dict[str, ObjectClass] = {}


def kind(
    name: str,
    group: Group,
    *,
    depth: Range,
    width: Range,
    height: Range,
    colors: tuple[str, ...],
) -> Callable[[Builder], Builder]:
    """Register a builder as an object class."""

    def register(build: Builder) -> Builder:
        if name in CLASSES:
            raise InvalidValue("catalog", name, "is registered twice", remedy="one builder per class")
        CLASSES[name] = ObjectClass(name, group, depth, width, height, colors, build)
        return build

    return register


def check_class(name: str, *, field: str) -> str:
    """The name itself when it is a class of the catalogue, or an error with the nearest one."""
    if name not in CLASSES:
        near = difflib.get_close_matches(name, CLASSES, n=1)
        hint = f"did you mean {near[0]}?" if near else "see lastseen.sim.catalog.CLASSES"
        raise InvalidValue(field, name, "is not an object class", remedy=hint)
    return name
