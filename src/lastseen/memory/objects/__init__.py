"""Working memory of objects: from observations to things that persist.

``ObjectMemory`` is the way in; ``export_rows`` and ``restore`` (see ``snapshot``) are the seam for a journal.
"""

from lastseen.memory.objects.columns import State
from lastseen.memory.objects.lifecycle import Event, EventKind
from lastseen.memory.objects.memory import Crop, CropSink, ObjectMemory
from lastseen.memory.objects.relations import Relation, RelationKind
from lastseen.memory.objects.snapshot import ObjectState, Rows
from lastseen.memory.objects.warm_up import warm_up

__all__ = [
    "Crop",
    "CropSink",
    "Event",
    "EventKind",
    "ObjectMemory",
    "ObjectState",
    "Relation",
    "RelationKind",
    "Rows",
    "State",
    "warm_up",
]
