"""Every object class that procedural homes are furnished with; ``CLASSES`` holds them by name."""

from __future__ import annotations

from lastseen.sim.catalog import appliances, belongings, fittings, furniture, kitchenware
from lastseen.sim.catalog.object_class import CLASSES, Group, ObjectClass, check_class
from lastseen.sim.catalog.palette import PALETTE
from lastseen.sim.catalog.shape import Shape, ShapeBuilder, Surface

__all__ = ["CLASSES", "PALETTE", "Group", "ObjectClass", "Shape", "ShapeBuilder", "Surface", "check_class"]

# importing a module registers its classes
_REGISTERED = (appliances, belongings, fittings, furniture, kitchenware)
