"""Objects as files for other programs: JSON with all facts, CSV for a spreadsheet, PLY boxes for a 3-D viewer."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

Facts = Mapping[str, Any]
_FORMULA = re.compile(r"((?:^|[,;|\"])\s*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Where a formula may begin: with one of the four marks that spreadsheets know, also in full width."""

_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if (a ^ b) in (1, 2, 4)]
"""Pairs of box corners that differ along one axis."""


def write_json(path: Path, objects: Sequence[Facts]) -> None:
    """All facts, one object per entry."""
    path.write_text(json.dumps(list(objects), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_csv(path: Path, objects: Sequence[Facts]) -> None:
    """One line per object; vectors in columns of their own."""
    names = ["id", "label", "x", "y", "z", "width", "depth", "height", "hits", "stability", "state", "stale"]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*names, "first_seen", "last_seen"])
        for facts in objects:
            writer.writerow(
                [
                    facts["id"],
                    _cell(facts["label"]),
                    *facts["xyz_world"],
                    *facts["extent"],
                    *(facts[name] for name in ("hits", "stability", "state", "stale", "first_seen", "last_seen")),
                ]
            )


def write_ply(path: Path, objects: Sequence[Facts]) -> None:
    """Each object's box as eight corners and twelve edges, in metres."""
    lines = ["ply", "format ascii 1.0"]
    lines += [f"comment {8 * i} {facts['id']} {_line(facts['label'])}" for i, facts in enumerate(objects)]
    lines += [f"element vertex {8 * len(objects)}", *(f"property float {axis}" for axis in "xyz")]
    lines += [f"element edge {12 * len(objects)}", "property int vertex1", "property int vertex2", "end_header"]
    for facts in objects:
        for signs in product((-0.5, 0.5), repeat=3):
            corner = (
                center + sign * size
                for center, sign, size in zip(facts["xyz_world"], signs, facts["extent"], strict=True)
            )
            lines.append(" ".join(f"{value:.4f}" for value in corner))
    lines += [f"{8 * i + a} {8 * i + b}" for i in range(len(objects)) for a, b in _EDGES]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _cell(text: str | None) -> str:
    """A label as plain text in one line: a spreadsheet would run what starts like a formula.

    Some split a line at other marks than commas, so each part of a label is taken for a cell of its own.
    """
    return _FORMULA.sub(r"\1'", _line(text))


def _line(text: str | None) -> str:
    # a nul or an escape is no text, and some readers stop there
    return " ".join("".join(mark if mark.isprintable() else " " for mark in text or "").split())


WRITERS: dict[str, Callable[[Path, Sequence[Facts]], None]] = {
    ".csv": write_csv,
    ".json": write_json,
    ".ply": write_ply,
}
"""How to write each kind of file, by its ending."""
