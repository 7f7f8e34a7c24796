"""The text files of a TUM-layout recording: a stamp and values per line, ``#`` for comments."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lastseen.errors import SourceError
from lastseen.sources.record import Intake, Trajectory


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """Stamps with one file name each, sorted by stamp."""

    stamps: NDArray[np.float64]
    names: tuple[str, ...]

    def nearest(self, stamp: float) -> int:
        """The index of the entry nearest in time; the earlier one of two equally near."""
        right = int(np.searchsorted(self.stamps, stamp))
        options = [index for index in (right - 1, right) if 0 <= index < len(self.stamps)]
        return min(options, key=lambda index: (abs(self.stamps[index] - stamp), index))


def read_listing(path: Path, intake: Intake) -> Listing:
    """Read ``stamp filename`` lines; malformed lines are counted, lines out of order are counted and sorted."""
    rows: list[tuple[float, str]] = []
    for number, words in _lines(path):
        stamp = _number(words[0])
        if len(words) < 2 or stamp is None:
            intake.skip(f"malformed line in {path.name}", f"line {number}: {' '.join(words)[:60]}")
            continue
        rows.append((stamp, words[1]))
    if not rows:
        raise SourceError(path.name, str(path), "lists no images", remedy="write lines `stamp filename`")
    intake.out_of_order += sum(later[0] < earlier[0] for earlier, later in pairwise(rows))
    rows.sort(key=lambda row: row[0])
    return Listing(np.array([stamp for stamp, _ in rows]), tuple(name for _, name in rows))


def read_trajectory(path: Path, intake: Intake) -> Trajectory:
    """Read ``stamp tx ty tz q q q q`` lines; lines with NaN or missing numbers are counted and left out."""
    rows: list[list[float]] = []
    for number, words in _lines(path):
        values = [_number(word) for word in words[:8]]
        if len(values) < 8 or values[0] is None:
            intake.skip(f"malformed line in {path.name}", f"line {number}: {' '.join(words)[:60]}")
        elif any(value is None for value in values):
            intake.skip(f"NaN pose in {path.name}", f"line {number}")
        else:
            rows.append([value for value in values if value is not None])
    if not rows:
        raise SourceError(path.name, str(path), "holds no valid pose", remedy="write `stamp tx ty tz qx qy qz qw`")
    intake.out_of_order += sum(later[0] < earlier[0] for earlier, later in pairwise(rows))
    table = np.array(sorted(rows, key=lambda row: row[0]))
    return Trajectory(table[:, 0], table[:, 1:4], table[:, 4:8])


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise SourceError(
            path.name,
            str(path),
            f"cannot be read ({error.strerror})",
            remedy="a TUM-layout folder has rgb.txt, depth.txt, groundtruth.txt and camera.json",
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(path.name, str(path), "is not text", remedy="check the recording") from error
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.replace(",", " ").split()
        if words and not words[0].startswith("#"):
            yield number, words


def _number(word: str) -> float | None:
    """The finite number a word holds, or None."""
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
