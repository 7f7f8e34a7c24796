"""Statements in the form of IRef-VLA, made for rooms that come without any, and put to a memory of those rooms.

    python benchmarks/referring.py DIR [DIR ...] [--most 40]

A DIR holds ``object_result.csv`` and ``region_result.csv``. Relations follow the definitions that the data set's page
gives (near by a hundredth of the room's volume, closest and farthest by centres, on, in, above, below, between by
turned boxes), each statement points at exactly one thing, and its false variants name a colour or a class that does
not fit. The memory knows nothing of these definitions: the table tells how far its own differ from them.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lastseen.evaluation.referring import evaluate

LEFT_OUT = {"wall", "floor", "ceiling", "unknown", "otherprop", "otherstructure", "otherfurniture", "void"}
SAID = {
    "above": ("above", "over"),
    "below": ("below", "under", "beneath", "underneath"),
    "near": ("near", "next to", "close to", "adjacent to", "beside"),
    "in": ("in", "inside", "within"),
    "on": ("on", "on top of"),
    "between": ("between", "in between", "in the middle of"),
    "closest": ("closest to", "nearest to"),
    "farthest": ("farthest from", "most distant from"),
}
ORDINALS = ("", "second ", "third ")
COLORS = ("red", "green", "blue", "white", "black", "yellow", "purple", "orange", "pink", "navy", "olive")
CLASSES = ("piano", "bicycle", "microwave", "bathtub", "computer", "guitar", "stove", "ladder", "umbrella", "trophy")


@dataclass(frozen=True, eq=False)
class Thing:
    """One row of the table of objects, its box turned as it is given."""

    index: str
    label: str
    center: NDArray[np.float64]
    lengths: NDArray[np.float64]
    heading: float
    colors: dict[str, float]

    @property
    def corners(self) -> NDArray[np.float64]:
        """The eight corners."""
        signs = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=np.float64)
        cos, sin = np.cos(self.heading), np.sin(self.heading)
        turn = np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])
        corners: NDArray[np.float64] = self.center + (signs * self.lengths / 2.0) @ turn.T
        return corners

    @property
    def bottom(self) -> float:
        return float(self.center[2] - self.lengths[2] / 2.0)

    @property
    def top(self) -> float:
        return float(self.center[2] + self.lengths[2] / 2.0)

    @property
    def face(self) -> float:
        """Square metres of the largest face."""
        x, y, z = self.lengths.tolist()
        return float(max(x * y, y * z, x * z))

    def holds(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether points (n, 2) lie over its footprint."""
        cos, sin = np.cos(-self.heading), np.sin(-self.heading)
        off = (points - self.center[:2]) @ np.array([[cos, sin], [-sin, cos]])
        inside: NDArray[np.bool_] = (np.abs(off) <= self.lengths[:2] / 2.0).all(axis=1)
        return inside


def covered(one: Thing, other: Thing) -> float:
    """Share of the smaller footprint that both cover."""
    small, large = sorted((one, other), key=lambda each: float(each.lengths[:2].prod()))
    steps = (np.arange(12) + 0.5) / 12 - 0.5
    u, v = np.meshgrid(steps * small.lengths[0], steps * small.lengths[1])
    cos, sin = np.cos(small.heading), np.sin(small.heading)
    points = small.center[:2] + np.stack([cos * u - sin * v, sin * u + cos * v], axis=-1).reshape(-1, 2)
    return float(large.holds(points).mean())


def related(kind: str, one: Thing, other: Thing, near: float) -> bool:
    """Whether a thing is near, on, in, above or below another."""
    if kind == "near":
        apart = np.linalg.norm(one.corners[:, None] - other.corners[None], axis=2)
        return min(float(apart.min()), float(np.linalg.norm(one.center - other.center))) < near
    if kind == "in":
        inside = bool(other.holds(one.center[None, :2])[0]) and bool((other.lengths > one.lengths).all())
        return inside and one.top < other.top and one.bottom > other.bottom
    if covered(one, other) <= 0.5:
        return False
    if kind == "on":
        larger = other.lengths[:2].prod() > one.lengths[:2].prod()
        return bool(larger) and other.bottom + 0.01 <= one.bottom <= other.top + 0.01 and one.top > other.top
    return one.bottom >= other.top + 0.01 if kind == "above" else one.top <= other.bottom


def between(one: Thing, first: Thing, second: Thing) -> bool:
    """Whether a thing stands in the line of two others, apart from both and about half way."""
    line = (second.center - first.center)[:2]
    length = float(np.linalg.norm(line))
    if length < 0.1:
        return False
    axes = np.array([line / length, [-line[1] / length, line[0] / length]])
    spans = [(each.corners[:, :2] @ axes.T) for each in (first, one, second)]
    along = [(float(span[:, 0].min()), float(span[:, 0].max())) for span in spans]
    across = [(float(span[:, 1].min()), float(span[:, 1].max())) for span in spans]
    height = [(each.bottom, each.top) for each in (first, one, second)]
    gaps = along[1][0] - along[0][1], along[2][0] - along[1][1]
    if min(gaps) < 0.0 or max(gaps) > max(along[1][1] - along[1][0], 0.5) or abs(gaps[0] - gaps[1]) > 0.5:
        return False
    return all(shared(spans[1], spans[at]) > 0.5 for spans in (across, height) for at in (0, 2))


def shared(one: tuple[float, float], other: tuple[float, float]) -> float:
    """Share of the shorter of two spans that both cover."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common / max(min(one[1] - one[0], other[1] - other[0]), 1e-6)


class Room:
    """The things of one region and the statements that hold there."""

    def __init__(self, things: list[Thing], volume: float) -> None:
        self.things = [thing for thing in things if thing.label not in LEFT_OUT]
        self.near = 0.01 * volume
        self.of: dict[str, list[Thing]] = defaultdict(list)
        for thing in self.things:
            self.of[thing.label].append(thing)

    def name(self, thing: Thing, among: list[Thing]) -> str | None:
        """What tells a thing from others of its class: nothing, a colour, a size; None where nothing does."""
        others = [one for one in among if one is not thing]
        if not others:
            return ""
        for color, share in thing.colors.items():
            if share > 0.25 and not any(color in one.colors for one in others):
                return f"{color} "
        faces = [one.face for one in others]
        if 1.2 * thing.face < min(faces):
            return "small "
        return "big " if thing.face > 1.2 * max(faces) else None

    def statements(self) -> Iterator[tuple[str, str, Thing, str, Thing]]:
        """Relation, text, target, and what the anchor is called, of every statement."""
        for anchor in self.things:
            called = self.name(anchor, self.of[anchor.label])
            if called is None:
                continue
            for kind in ("near", "on", "in", "above", "below"):
                for label, targets in self.of.items():
                    meant = [one for one in targets if one is not anchor and related(kind, one, anchor, self.near)]
                    for target in meant:
                        word = self.name(target, meant)
                        if word is not None:
                            other = "other " if label == anchor.label and not (word or called) else ""
                            for said in SAID[kind]:
                                text = f"the {word}{label} that is {said} the {other}{called}{anchor.label}"
                                yield kind, text, target, f"{called}{anchor.label}", anchor
            yield from self._ordered(anchor, called)
        yield from self._between()

    def _ordered(self, anchor: Thing, called: str) -> Iterator[tuple[str, str, Thing, str, Thing]]:
        for label, targets in self.of.items():
            others = [one for one in targets if one is not anchor]
            if label == anchor.label or len(others) < 2:
                continue
            for kind, sign in (("closest", 1.0), ("farthest", -1.0)):
                away = sorted((sign * float(np.linalg.norm(one.center - anchor.center)), one.index) for one in others)
                if min(b[0] - a[0] for a, b in itertools.pairwise(away[:4])) < 0.2:
                    continue
                for rank, (_, index) in enumerate(away[:3]):
                    target = next(one for one in others if one.index == index)
                    for said in SAID[kind]:
                        text = f"the {label} that is {ORDINALS[rank]}{said} the {called}{anchor.label}"
                        yield f"{ORDINALS[rank]}{kind}", text, target, f"{called}{anchor.label}", anchor

    def _between(self) -> Iterator[tuple[str, str, Thing, str, Thing]]:
        found: dict[tuple[str, str, str], list[tuple[Thing, Thing, Thing]]] = defaultdict(list)
        for at, first in enumerate(self.things):
            for second in self.things[at + 1 :]:
                if float(np.linalg.norm(first.center - second.center)) < 8.0:
                    for one in self.things:
                        if one is not first and one is not second and between(one, first, second):
                            labels = sorted((first.label, second.label))
                            found[(one.label, labels[0], labels[1])].append((one, first, second))
        for (label, here, there), triples in found.items():
            if len(triples) == 1:
                pair = f"both of the {here}s" if here == there else f"the {here} and the {there}"
                if here == there and len(self.of[here]) != 2:
                    continue
                for said in SAID["between"]:
                    yield "between", f"the {label} that is {said} {pair}", triples[0][0], here, triples[0][1]


def falsehoods(text: str, room: Room, target: Thing, *, called: str, anchor: Thing, draw: random.Random) -> Any:
    """False variants: a colour that no thing of the class has, a class that is not there, of target and anchor."""

    def color(label: str) -> str:
        seen = {name for one in room.of[label] for name in one.colors}
        return draw.choice([name for name in COLORS if name not in seen])

    head, link, tail = text.partition(" that is ")
    absent = draw.choice([name for name in CLASSES if name not in room.of])
    return {
        "false_target_color": f"the {color(target.label)} {target.label}{link}{tail}",
        "false_target_class": f"{head.replace(target.label, absent)}{link}{tail}",
        "false_anchors": {
            "anchor1": {
                "false_anchor_color": text[: len(head + link)]
                + tail.replace(called, f"{color(anchor.label)} {anchor.label}", 1),
                "false_anchor_class": text[: len(head + link)] + tail.replace(anchor.label, absent, 1),
            }
        },
    }


def read(folder: Path) -> dict[str, Room]:
    """The rooms of a folder by their region."""
    volumes = {}
    with (folder / "region_result.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            volumes[row["region_id"]] = float(np.prod([float(row[f"region_bbox_{axis}length"]) for axis in "xyz"]))
    things: dict[str, list[Thing]] = defaultdict(list)
    with (folder / "object_result.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            colors = {
                row[f"object_color_scheme{number}"]: float(row[f"object_color_scheme_percentage{number}"])
                for number in (1, 2, 3)
                if row.get(f"object_color_scheme{number}") not in (None, "", "_", "N/A")
            }
            center, lengths = (
                np.array([float(row[f"object_bbox_{name.format(axis)}"]) for axis in "xyz"])
                for name in ("c{}", "{}length")
            )
            things[row["region_id"]].append(
                Thing(row["object_id"], row["nyu_label"], center, lengths, float(row["object_bbox_heading"]), colors)
            )
    return {region: Room(things[region], volume) for region, volume in volumes.items() if things[region]}


def main() -> None:
    """Make the statements, put them to memories, print how many were right by relation."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--most", type=int, default=40, help="statements of one relation in one room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wrong", type=int, default=0, help="wrong ones to list")
    options = parser.parse_args()
    for folder in options.folders:
        draw = random.Random(options.seed)
        regions = {}
        for region, room in read(folder).items():
            by_kind: dict[str, list[Any]] = defaultdict(list)
            for statement in room.statements():
                by_kind[statement[0]].append(statement)
            made: dict[str, list[dict[str, Any]]] = {}
            for kind, found in sorted(by_kind.items()):
                for _, text, target, called, anchor in draw.sample(found, min(options.most, len(found))):
                    false = falsehoods(text, room, target, called=called, anchor=anchor, draw=draw)
                    made[text] = [{"target_index": target.index, "relation": kind, "false_statements": false}]
            regions[region] = made
        with tempfile.TemporaryDirectory() as place:
            table = (folder / "object_result.csv").read_text()
            (Path(place) / "object_result.csv").write_text(table)
            (Path(place) / "referential_statements.json").write_text(json.dumps({"regions": regions}))
            score = evaluate(Path(place))
        found_json = score.to_json()
        wrong = found_json.pop("wrong")
        print(folder.name, json.dumps(found_json, indent=1))
        for each in wrong[: options.wrong]:
            print(each)


if __name__ == "__main__":
    main()
