"""What the robot remembers: objects, places, nodes, and the one facade over them."""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.memory.answer import Answer as Answer
    from lastseen.memory.answer import Hit as Hit
    from lastseen.memory.facade import Memory as Memory

__all__ = ["Answer", "Hit", "Memory"]

__getattr__ = lazy_exports(
    __name__,
    {"Answer": "lastseen.memory.answer", "Hit": "lastseen.memory.answer", "Memory": "lastseen.memory.facade"},
)
