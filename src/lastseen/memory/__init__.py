"""What the robot remembers. Frames with what was seen in them go in through ``Memory.observe``.

Objects, places, explored floor and viewpoints come out, and answers to questions about them; all of it is kept in one
file that a later run, or another program, opens again.
"""

from typing import TYPE_CHECKING

from lastseen._lazy import lazy_exports

if TYPE_CHECKING:
    from lastseen.memory.memory import Memory as Memory
    from lastseen.memory.object import Answer as Answer
    from lastseen.memory.object import Object as Object

__all__ = ["Answer", "Memory", "Object"]

__getattr__ = lazy_exports(
    __name__,
    {"Answer": "lastseen.memory.object", "Memory": "lastseen.memory.memory", "Object": "lastseen.memory.object"},
)
