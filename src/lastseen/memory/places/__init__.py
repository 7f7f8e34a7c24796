"""Where the robot has been: dead reckoning, anchors on its path, places around them, and patterns in both.

Everything here follows from actions and scene types alone; no camera pose, map or model is needed.
"""

from lastseen.memory.places.anchor import Anchor
from lastseen.memory.places.graph import PlaceGraph
from lastseen.memory.places.place import Place, is_corridor, normalize_scene_type
from lastseen.memory.places.spatial_memory import SpatialMemory

__all__ = ["Anchor", "Place", "PlaceGraph", "SpatialMemory", "is_corridor", "normalize_scene_type"]
