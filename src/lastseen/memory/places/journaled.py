"""The spatial memory as one entry of the journal, so that a memory file remembers where the robot has been."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lastseen.config import Settings
from lastseen.memory.places.spatial_memory import SpatialMemory

META_KEY = "places.state"


def spatial_to_meta(spatial: SpatialMemory) -> dict[str, str]:
    """The journal's meta entry that holds the whole state."""
    return {META_KEY: json.dumps(spatial.to_dict())}


def spatial_from_meta(meta: Mapping[str, str], settings: Settings) -> SpatialMemory:
    """The spatial memory of a journal; an empty one where the journal has none yet."""
    if META_KEY not in meta:
        return SpatialMemory(settings)
    return SpatialMemory.from_dict(json.loads(meta[META_KEY]), settings=settings)
