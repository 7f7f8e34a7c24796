"""What a class of objects is: how large, which colours, how built. ``CLASSES`` holds them all by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lastseen.errors import InvalidValue
from lastseen.sim.catalog.palette import PALETTE, Rgb, color_names
from lastseen.sim.catalog.shape import Shape, ShapeBuilder

Range = tuple[float, float]
Builder = Callable[[ShapeBuilder, float, float, float, Rgb], None]
"""Makes a thing of a depth (along x), width (y) and height (z) in metres and a colour out of parts."""


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
        depth, width, height = (round(float(rng.uniform(*size)), 3) for size in (self.depth, self.width, self.height))
        builder = ShapeBuilder(rng)
        self.build(builder, depth, width, height, PALETTE[name])
        return name, builder.shape()


CLASSES: dict[str, ObjectClass] = {}


def object_class(group: Group, size: str, colors: str) -> Callable[[Builder], Builder]:
    """Register a builder as the class of its name, ``coffee_table`` as "coffee table".

    ``size`` is depth x width x height in metres, each a number or a range ("0.5-0.62 x 0.8 x 0.4-0.46"); ``colors``
    are names and sets of the palette, separated by commas.
    """

    def register(build: Builder) -> Builder:
        name = build.__name__.replace("_", " ")
        if name in CLASSES:
            raise InvalidValue("catalog", name, "is registered twice", remedy="one builder per class")
        depth, width, height = (_range(text) for text in size.split(" x "))
        CLASSES[name] = ObjectClass(name, group, depth, width, height, color_names(colors), build)
        return build

    return register


def check_class(name: str, *, field: str) -> str:
    """The name itself when it is a class of the catalogue, or an error with the nearest one."""
    if name not in CLASSES:
        near = difflib.get_close_matches(name, CLASSES, n=1)
        hint = f"did you mean {near[0]}?" if near else "see lastseen.sim.catalog.CLASSES"
        raise InvalidValue(field, name, "is not an object class", remedy=hint)
    return name


def _range(text: str) -> Range:
    values = [float(value) for value in text.split("-")]
    return values[0], values[-1]
