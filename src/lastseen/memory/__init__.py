"""What the robot remembers: objects, places, nodes, and the one facade over them."""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.memory.answer import Answer as Answer
    from lastseen.memory.memory import Memory as Memory
    from lastseen.memory.object import Object as Object

__all__ = ["Answer", "Memory", "Object"]

__getattr__ = lazy_exports(
    __name__,
    {"Answer": "lastseen.memory.answer", "Memory": "lastseen.memory.memory", "Object": "lastseen.memory.object"},
)
