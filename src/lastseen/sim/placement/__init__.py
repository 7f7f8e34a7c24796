"""Putting furniture and small things into a floor plan."""

from __future__ import annotations

from lastseen.sim.placement.clutter import Clutterer
from lastseen.sim.placement.furniture import Furnisher
from lastseen.sim.placement.space import Placed, Space

__all__ = ["Clutterer", "Furnisher", "Placed", "Space"]
