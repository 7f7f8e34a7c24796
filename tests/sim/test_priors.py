from __future__ import annotations

import numpy as np

from lastseen.sim import priors
from lastseen.sim.catalog import CLASSES, Group
from lastseen.sim.floorplan.layout import ROOM_SIZES


def test_every_room_type_is_furnished_and_has_a_floor_row() -> None:
    assert set(priors.FURNISHINGS) == set(ROOM_SIZES)
    assert set(priors.ON_FLOOR) == set(ROOM_SIZES)


def test_every_name_in_the_tables_is_a_class() -> None:
    names = {row.label for rows in priors.FURNISHINGS.values() for row in rows}
    names |= {row.target for rows in priors.FURNISHINGS.values() for row in rows if row.target}
    for table in (*priors.ON_SUPPORT.values(), *priors.IN_ROOM.values(), *priors.ON_FLOOR.values()):
        names |= set(table)
    names |= set(priors.ON_SUPPORT) | {row.split(" in ")[0] for row in priors.IN_ROOM}
    names |= set(priors.DENSITY) | set(priors.FRONT) | set(priors.ONE_ROOM)
    assert names <= set(CLASSES)


def test_every_small_class_lies_somewhere() -> None:
    placed = {name for table in (*priors.ON_SUPPORT.values(), *priors.ON_FLOOR.values()) for name in table}
    placed |= {row.label for rows in priors.FURNISHINGS.values() for row in rows}
    placed |= {name for table in priors.IN_ROOM.values() for name in table}
    assert {name for name, kind in CLASSES.items() if kind.group is Group.SMALL} <= placed


def test_every_support_has_a_surface() -> None:
    for name in priors.ON_SUPPORT:
        assert CLASSES[name].make(np.random.default_rng(0))[1].surfaces, name


def test_a_target_is_placed_before_what_needs_it() -> None:
    for rows in priors.FURNISHINGS.values():
        seen: set[str] = set()
        for row in rows:
            assert not row.target or row.target in seen
            seen.add(row.label)
