"""A home with enough things to be recognised by, looked at in a frame of the robot's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from lastseen.frame import Frame
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from tests.memory.homes import Item, stream

HOME = (
    Item("mug", "red", (0.0, 0.0, 0.8)),
    Item("bowl", "white", (0.4, 2.1, 0.8)),
    Item("chair", "green", (-1.5, -1.0, 0.4)),
    Item("sofa", "blue", (2.6, 2.0, 0.4)),
    Item("lamp", "white", (3.9, -1.6, 1.2)),
    Item("book", "red", (1.7, -2.4, 0.7)),
    Item("plant", "green", (-2.8, 1.3, 0.3)),
    Item("table", "white", (4.6, 0.7, 0.5)),
    Item("bed", "blue", (-2.2, 3.9, 0.5)),
    Item("clock", "red", (1.1, 4.4, 1.6)),
)


def house(seed: int, count: int = 30) -> tuple[Item, ...]:
    """Things of ten kinds strewn over 64 square metres: the same kinds in every house, set differently."""
    spots = np.random.default_rng(seed).uniform((-3.0, -3.0, 0.2), (5.0, 5.0, 1.6), (count, 3)).tolist()
    kinds = [HOME[number % len(HOME)] for number in range(count)]
    return tuple(Item(kind.label, kind.color, (x, y, z)) for kind, (x, y, z) in zip(kinds, spots, strict=True))


def in_frame(
    seen: Iterator[tuple[Frame, list[Observation]]], frame: FrameTransform
) -> Iterator[tuple[Frame, list[Observation]]]:
    """The same frames told in a map of their own, which lies in the first by ``frame``."""
    back = frame.inverse()
    for image, observations in seen:
        yield (
            replace(image, T_world_camera=back.pose @ image.T_world_camera),
            [
                replace(
                    one,
                    position=back.apply(one.position[None])[0],
                    view_direction=back.turn(one.view_direction[None])[0],
                    yaw=one.yaw + back.yaw,
                    points=None
                    if one.points is None
                    else back.apply(one.points.astype(np.float64)).astype(np.float32),
                )
                for one in observations
            ],
        )


def look(memory: Memory, items: Sequence[Item], frame: FrameTransform, *, count: int = 6, start: int = 0) -> Memory:
    """Let a memory see things in a frame of its own."""
    for image, observations in in_frame(stream(count, items, start=start), frame):
        memory.observe(image, observations)
    return memory
