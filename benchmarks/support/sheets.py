"""Sheets of numbered object pictures that people judge blind, and the score of their judgements.

A sheet has no names, hits or version: pictures in a fixed grid, in an order drawn from the pictures themselves. A
judgement is a JSON file: {"sheet": {"1": "thing", "2": "part", "3": "structure", "4": "patch"}}.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageDraw

from lastseen.memory.memory import Memory
from lastseen.memory.objects import ObjectState

SIDE, COLUMNS, LINE = 150, 8, 16
"""Pixels of a picture's side, pictures of a row, and pixels for the number above each."""
VERDICTS = ("thing", "part", "structure", "patch")
"""A thing, once; a part of a thing, or a second picture of one; wall, floor, door, front; light, print, nothing."""


def draw_sheet(memory: Memory, states: list[ObjectState], path: Path) -> int:
    """Write the sheet of some objects; returns how many pictures it has."""
    crops = [memory.object(state.id).image_crops for state in states]
    pictures = sorted((crop[0] for crop in crops if crop), key=lambda one: hashlib.sha256(one).hexdigest())
    rows = max(1, -(-len(pictures) // COLUMNS))
    sheet = Image.new("RGB", (COLUMNS * SIDE, rows * (SIDE + LINE)), "white")
    pen = ImageDraw.Draw(sheet)
    for index, picture in enumerate(pictures):
        x, y = index % COLUMNS * SIDE, index // COLUMNS * (SIDE + LINE)
        with Image.open(BytesIO(picture)) as crop:
            scale = (SIDE - 4) / max(crop.size)
            shown = crop.resize((max(1, round(crop.width * scale)), max(1, round(crop.height * scale))))
            sheet.paste(shown, (x + 2, y + LINE))
        pen.text((x + 2, y + 2), str(index + 1), fill="black")
    sheet.save(path)
    return len(pictures)


def scores(judgements: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, float]]:
    """Of each sheet, and of all, how many pictures got each verdict, and the share of structure and patches."""
    result: dict[str, dict[str, float]] = {}
    for sheet, verdicts in [*judgements.items(), ("all", _all(judgements))]:
        counts = Counter(verdicts.values())
        wrong = sorted(set(counts) - set(VERDICTS))
        if wrong:
            raise SystemExit(f"sheet {sheet}: {wrong[0]!r} is no verdict; use one of {', '.join(VERDICTS)}")
        total = max(len(verdicts), 1)
        result[sheet] = {
            **{name: counts[name] for name in VERDICTS},
            "structure_share": round((counts["structure"] + counts["patch"]) / total, 3),
            "part_share": round(counts["part"] / total, 3),
        }
    return result


def agreement(one: Mapping[str, Mapping[str, str]], other: Mapping[str, Mapping[str, str]]) -> float:
    """The share of pictures judged by both to which both gave the same verdict."""
    first, second = _all(one), _all(other)
    both = sorted(first.keys() & second.keys())
    return round(sum(first[at] == second[at] for at in both) / max(len(both), 1), 3)


def score_files(files: list[Path]) -> dict[str, object]:
    """The scores of each judge's file and, of two or more, how far the first two agree."""
    judged = [json.loads(file.read_text()) for file in files]
    result: dict[str, object] = {file.stem: scores(one) for file, one in zip(files, judged, strict=True)}
    if len(judged) > 1:
        result["agreement"] = agreement(judged[0], judged[1])
    return result


def _all(judgements: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    return {f"{sheet} {at}": verdict for sheet, one in judgements.items() for at, verdict in one.items()}
