"""Every object class that procedural homes are furnished with."""

from __future__ import annotations

from lastseen.sim.catalog import (
    appliances,
    bathroom,
    belongings,
    decor,
    gadgets,
    seating,
    storage,
    tables,
    tableware,
    toys,
)
from lastseen.sim.catalog.kinds import CLASSES, Group, ObjectClass, check_class
from lastseen.sim.catalog.palette import PALETTE
from lastseen.sim.catalog.sculptor import Sculptor, Shape, Surface

__all__ = ["CLASSES", "PALETTE", "Group", "ObjectClass", "Sculptor", "Shape", "Surface", "check_class"]

# importing a module registers its classes
_REGISTERED = (appliances, bathroom, belongings, decor, gadgets, seating, storage, tables, tableware, toys)
