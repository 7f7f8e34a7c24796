"""Statements that point at one thing of a room ("the chair closest to the table"), and false ones that fit none.

Reads folders in the layout of IRef-VLA: ``object_result.csv`` (boxes, labels, up to three dominant colours) and
``referential_statements.json``. Each region becomes a memory of its own, and every statement is put to
``Memory.find``: a true one is right when it is found and is the thing meant, a false one when it is refused, and its
reason when the part that is false is the one that was refused.
"""

from __future__ import annotations

import csv
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.encoders.colors import COLOR_WORDS, COLORS
from lastseen.errors import InvalidValue
from lastseen.memory.memory import Memory

_OBJECTS, _STATEMENTS = "object_result.csv", "referential_statements.json"
_NONE = ("", "_", "N/A")
_REASONS = {
    "false_target_color": "colour",
    "false_target_class": "thing",
    "false_anchor_color": "anchor colour",
    "false_anchor_class": "anchor",
    "false_relation": "relation",
}
"""The part of a statement that each kind of falsehood is about, as ``Answer.refused`` names it."""


@dataclass(frozen=True, slots=True)
class Box:
    """A thing of a room; metres, z up, extents along the axes of the world."""

    index: str
    region: str
    label: str
    center: tuple[float, float, float]
    extent: tuple[float, float, float]
    colors: Mapping[str, float]


@dataclass(slots=True)
class Score:
    """How many statements were answered rightly, and by relation and kind of falsehood."""

    statements: int = 0
    true_right: int = 0
    false_statements: int = 0
    false_refused: int = 0
    false_reason_right: int = 0
    by_relation: dict[str, Counter[str]] = field(default_factory=dict)
    by_falsehood: dict[str, Counter[str]] = field(default_factory=dict)
    wrong: list[dict[str, Any]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Counts, and the fractions that are compared with goals."""
        return {
            "statements": self.statements,
            "true_right": self.true_right,
            "false_statements": self.false_statements,
            "false_refused": self.false_refused,
            "false_reason_right": self.false_reason_right,
            "true_right_fraction": round(self.true_right / max(self.statements, 1), 4),
            "false_refused_fraction": round(self.false_refused / max(self.false_statements, 1), 4),
            "false_reason_right_fraction": round(self.false_reason_right / max(self.false_statements, 1), 4),
            "by_relation": {name: dict(counts) for name, counts in sorted(self.by_relation.items())},
            "by_falsehood": {name: dict(counts) for name, counts in sorted(self.by_falsehood.items())},
            "wrong": self.wrong,
        }


def evaluate(folder: Path) -> Score:
    """Put every statement of a folder to a memory of its room.

    Raises:
        InvalidValue: A file is missing or not of this layout.
    """
    boxes = read_boxes(folder / _OBJECTS)
    score = Score()
    for region, statements in _read_statements(folder / _STATEMENTS).items():
        inside = [box for box in boxes if box.region == region]
        with remembered(inside) as memory:
            ids = _ids(memory, inside)
            for text, cases in statements.items():
                for case in cases:
                    _put(memory, ids, text, case, score)
    return score


def remembered(boxes: list[Box]) -> Memory:
    """A memory that was told every box, each exactly where it is and of its colours; it ends with the process.

    They are told and not shown: a camera would take a door and the frame around it for one thing.
    """
    memory = Memory.open(wall_clock=None)
    for box in boxes:
        fact = memory.tell(f"there is a {box.label}", position=box.center, extent=box.extent)
        shares = np.array([box.colors.get(color, 0.0) for color in COLORS], dtype=np.float32)
        if fact.object_id is not None and shares.any():
            memory.store.colors[fact.object_id] = shares
            memory.store.table.columns.colors[memory.store.table.row_of[fact.object_id]] = shares
    return memory


def read_boxes(path: Path) -> list[Box]:
    """The things of a room; a turned box is taken as turned by the nearest quarter."""
    found = []
    with _opened(path) as lines:
        for row in csv.DictReader(lines):
            try:
                heading = float(row["object_bbox_heading"])
                x, y, z = (float(row[f"object_bbox_{axis}length"]) for axis in "xyz")
                center = tuple(float(row[f"object_bbox_c{axis}"]) for axis in "xyz")
                label = row["nyu_label"] if row["nyu_label"] not in _NONE else row["raw_label"]
                index, region = row["object_id"], row["region_id"]
            except (KeyError, TypeError, ValueError) as error:
                raise InvalidValue(str(path), row, f"cannot be read ({error})", remedy="see IRef-VLA") from None
            # boxes of the memory are not turned: to the nearest quarter turn, which keeps their volume
            extent = (x, y, z) if abs(math.cos(heading)) >= abs(math.sin(heading)) else (y, x, z)
            found.append(Box(index, region, label, center, extent, _colors(row)))  # type: ignore[arg-type]
    return found


def _read_statements(path: Path) -> dict[str, dict[str, list[dict[str, Any]]]]:
    with _opened(path) as file:
        try:
            regions = json.load(file)["regions"]
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidValue(str(path), "regions", f"cannot be read ({error})", remedy="see IRef-VLA") from None
    if not isinstance(regions, dict):
        raise InvalidValue(str(path), "regions", "is no object of regions", remedy="see IRef-VLA")
    return regions


def _opened(path: Path) -> Any:
    try:
        return path.open(encoding="utf-8", newline="")
    except OSError as error:
        reason = error.strerror or "cannot be opened"
        remedy = f"give a folder with {_OBJECTS} and {_STATEMENTS}"
        raise InvalidValue("folder", str(path), reason.lower(), remedy=remedy) from None


def _colors(row: Mapping[str, str]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for number in (1, 2, 3):
        name = row.get(f"object_color_scheme{number}", "")
        share = row.get(f"object_color_scheme_percentage{number}", "")
        basic = COLOR_WORDS.get((name or "").strip().lower())
        if basic is not None and share not in _NONE:
            shares[basic] = shares.get(basic, 0.0) + float(share)
    return shares


def _ids(memory: Memory, boxes: list[Box]) -> dict[str, str]:
    """The id under which each box is remembered: that of the object of its label nearest to it."""
    objects = memory.objects(include_tentative=True)
    found = {}
    for box in boxes:
        near = [(math.dist(one.position, box.center), one.id) for one in objects if one.label == box.label.lower()]
        if near:
            found[box.index] = min(near)[1]
    return found


def _put(memory: Memory, ids: Mapping[str, str], text: str, case: Mapping[str, Any], score: Score) -> None:
    answer = memory.find(text)
    right = answer.status == "found" and answer.hits[0].id == ids.get(str(case["target_index"]))
    score.statements += 1
    score.true_right += right
    counts = score.by_relation.setdefault(str(case.get("relation")), Counter(asked=0, right=0))
    counts.update(asked=1, right=int(right))
    if not right:
        score.wrong.append({"statement": text, "status": answer.status, "reason": answer.reason})
    for kind, false in _falsehoods(case.get("false_statements") or {}):
        refused = memory.find(false)
        is_refused = refused.status == "not_found"
        names_it = is_refused and refused.refused == _REASONS.get(kind)
        score.false_statements += 1
        score.false_refused += is_refused
        score.false_reason_right += names_it
        counts = score.by_falsehood.setdefault(kind, Counter(asked=0, refused=0, reason_right=0))
        counts.update(asked=1, refused=int(is_refused), reason_right=int(names_it))
        if not names_it:
            score.wrong.append({"false": false, "kind": kind, "status": refused.status, "reason": refused.reason})


def _falsehoods(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for kind, value in found.items():
        if isinstance(value, str) and value not in _NONE:
            yield kind, value
        elif isinstance(value, Mapping):
            yield from _falsehoods(value)
