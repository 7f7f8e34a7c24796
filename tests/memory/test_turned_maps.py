"""The same walk told in a turned and moved map gives the same objects: as many, of the same names, turned with it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from lastseen.box_axes import quarter
from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.object import Object
from lastseen.perception.pipeline import Perception
from tests.rendered_room import THINGS, in_map, mask_of, walk

SETTINGS = Settings()
ONE_SIDE = replace(SETTINGS, promotion=replace(SETTINGS.promotion, min_view_bins=1))
SHIFT = (4.0, -7.0)
ANGLES = [0.3, 0.77, 1.3, -2.9]


def seen_alone(frames: Iterable[Frame]) -> list[Object]:
    """What is remembered of a walk without a detector."""
    perception = Perception(ONE_SIDE)
    with Memory.open(settings=ONE_SIDE, wall_clock=None) as memory:
        for frame in frames:
            memory.observe(frame, perception.perceive(frame).observations)
        return memory.objects()


def seen_named(frames: Iterable[Frame]) -> list[Object]:
    """What is remembered of a walk with a detector that finds every thing."""
    with Memory.open(settings=ONE_SIDE, wall_clock=None) as memory:
        for frame in frames:
            found = []
            for number, name in enumerate(THINGS):
                mask = mask_of(frame, number)
                if mask.sum() > 30:
                    rows, columns = np.nonzero(mask)
                    box = float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0
                    found.append(Detection(box, 0.9, {name: 0.9}, mask=mask))
            memory.observe(frame, detections=found)
        return memory.objects()


@pytest.mark.parametrize("seen", [seen_alone, seen_named])
@pytest.mark.parametrize("yaw", ANGLES)
def test_a_turned_map_holds_the_same_objects_turned(seen, yaw: float) -> None:  # type: ignore[no-untyped-def]
    straight, turned = seen(walk()), seen(walk(yaw, SHIFT))
    assert len(straight) >= len(THINGS)
    assert len(turned) == len(straight)
    left = list(turned)
    for one in straight:
        place = in_map(np.array(one.position), yaw, SHIFT)
        same = min(left, key=lambda other: float(np.linalg.norm(np.array(other.position) - place)))
        left.remove(same)
        assert np.linalg.norm(np.array(same.position) - place) < 0.01
        assert same.label == one.label
        assert abs(quarter(same.yaw - one.yaw - yaw)) < 1e-3
        assert sorted(same.extent[:2]) == pytest.approx(sorted(one.extent[:2]), abs=0.01)


def test_a_box_fits_a_thing_in_a_turned_map() -> None:
    chest = next(one for one in seen_named(walk(0.6, SHIFT)) if one.label == "chest")
    assert chest.extent is not None
    assert sorted(chest.extent[:2]) == pytest.approx([0.7, 1.0], abs=0.12)
    assert abs(quarter(chest.yaw - 0.6)) < math.radians(1.0)
