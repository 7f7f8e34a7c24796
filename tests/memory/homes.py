"""A small room for the tests of memory: things on a table, seen by a camera that walks around them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from tests.memory.objects.scenes import frame_at, seen

RGB = {"red": (200, 30, 30), "blue": (40, 70, 190), "white": (240, 240, 238), "green": (40, 150, 50)}


@dataclass(frozen=True)
class Item:
    """A thing with a label, a colour and a place."""

    label: str
    color: str
    xyz: tuple[float, float, float]


ROOM = (
    Item("mug", "red", (0.0, 0.0, 0.8)),
    Item("mug", "blue", (1.0, 0.0, 0.8)),
    Item("bowl", "white", (0.0, 1.0, 0.8)),
    Item("chair", "green", (-1.5, -1.0, 0.4)),
    Item("sofa", "blue", (2.0, 2.0, 0.4)),
)


def picture(color: str, *, seed: int = 0) -> NDArray[np.uint8]:
    """A plain patch of a colour with a little noise."""
    noise = np.random.default_rng(seed).normal(0, 4, (24, 24, 3))
    return np.clip(np.array(RGB[color]) + noise, 0, 255).astype(np.uint8)


def jpeg(color: str) -> bytes:
    """The patch as a JPEG."""
    out = io.BytesIO()
    Image.fromarray(picture(color)).save(out, format="JPEG", quality=90)
    return out.getvalue()


def stream(
    count: int, items: Sequence[Item] = ROOM, *, looks: str = "look", start: int = 0, step: float = 1.0
) -> Iterator[tuple[Frame, list[Observation]]]:
    """Frames on a circle around the room; ``looks`` is look, random or none."""
    encoder = ColorShapeEncoder()
    for number in range(start, start + count):
        eye = (4 * math.cos(number * 0.7), 4 * math.sin(number * 0.7), 1.4)
        observations = []
        for i, item in enumerate(items):
            rng = np.random.default_rng([number, i])
            embedding = None
            if looks == "look":
                embedding = encoder.encode_image([picture(item.color, seed=number)])[0]
            elif looks == "random":
                embedding = (np.random.default_rng(i).normal(size=16) + rng.normal(0, 0.05, 16)).astype(np.float32)
            observations.append(
                seen(
                    np.array(item.xyz) + rng.normal(0, 0.01, 3),
                    eye=eye,
                    stamp=number * step,
                    labels={item.label: 0.9},
                    embedding=embedding,
                    crop=jpeg(item.color) if looks == "random" else None,
                )
            )
        yield frame_at(number, stamp=number * step, eye=eye, target=(0.0, 0.0, 0.8)), observations


def walk(memory: Memory, count: int = 6, items: Sequence[Item] = ROOM, **options: object) -> Memory:
    """Let a memory see the room."""
    for frame, observations in stream(count, items, **options):  # type: ignore[arg-type]
        memory.observe(frame, observations)
    return memory
