"""Writes the golden file of the current version: ``python -m tests.memory.store.journal.make_golden``.

A golden file is made once per version and then kept: it stands for the files that people already have.
``v1_places.lastseen`` is the same walk as the last program of version 1 wrote it.
"""

from __future__ import annotations

from pathlib import Path

from tests.memory.objects.scenes import Room

from lastseen.memory.memory import Memory
from lastseen.memory.store.journal.schema import newest

KITCHEN, BEDROOM = ("stove", "refrigerator", "sink"), ("bed", "wardrobe", "pillow")

NOTE = "note: the boiler is serviced in May"


def walk(memory: Memory) -> None:
    """Eleven metres through a kitchen and into a bedroom; a vase is seen in the last frame alone."""
    room = Room()
    for start, names in ((3.0, KITCHEN), (11.0, BEDROOM)):
        for i, name in enumerate(names):
            room.put(name, (start, i - 1.0, 0.6), 0.3)
    for number in range(90):
        x = 0.125 * number
        if number == 89:
            room.put("vase", (13.0, 0.0, 0.8), 0.3)
        memory.observe(*room.see(number, eye=(x, 0.05, 1.2), target=(x + 2.0, 0.05, 0.9)))


def main() -> None:
    """Write vN.lastseen; refuses to replace one."""
    path = Path(__file__).parent / f"v{newest()}.lastseen"
    if path.exists():
        raise SystemExit(f"{path} exists: a golden file is never made again")
    with Memory.open(path, wall_clock=None) as memory:
        walk(memory)
        memory.tell(NOTE)
    path.with_name(path.name + ".lock").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
