from __future__ import annotations

from pathlib import Path

from lastseen.memory.memory import Memory
from tests.memory.objects.scenes import frame_at, seen, unit


def walk(file: Path, numbers: range, xyz: tuple[float, float, float], *, look: int | None = None) -> int:
    """See one thing from several sides and close; returns how many objects the file held before."""
    with Memory.open(file, wall_clock=None) as memory:
        before = len(memory.objects(include_tentative=True))
        for number in numbers:
            eye = (0.0, 0.6 * (number - numbers.start), 1.2)
            embedding = None if look is None else unit(look)
            memory.observe(frame_at(number, eye=eye), [seen(xyz, eye=eye, stamp=float(number), embedding=embedding)])
    return before


def test_looks_may_come_after_a_file_was_written_without_any(tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    assert walk(file, range(4), (2.0, 0.0, 0.8)) == 0
    assert walk(file, range(4, 8), (5.0, 3.0, 0.8), look=1) == 1
    assert walk(file, range(8, 12), (8.0, 3.0, 0.8), look=2) == 2
