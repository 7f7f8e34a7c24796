"""The names behind class numbers: COCO's, a labels file's, or those a model's own config.json gives."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lastseen.encoders.lexicon import classes
from lastseen.errors import InvalidValue

COCO = (
    "person, bicycle, car, motorcycle, airplane, bus, train, truck, boat, traffic light, fire hydrant, stop sign, "
    "parking meter, bench, bird, cat, dog, horse, sheep, cow, elephant, bear, zebra, giraffe, backpack, umbrella, "
    "handbag, tie, suitcase, frisbee, skis, snowboard, sports ball, kite, baseball bat, baseball glove, skateboard, "
    "surfboard, tennis racket, bottle, wine glass, cup, fork, knife, spoon, bowl, banana, apple, sandwich, orange, "
    "broccoli, carrot, hot dog, pizza, donut, cake, chair, couch, potted plant, bed, dining table, toilet, tv, "
    "laptop, mouse, remote, keyboard, cell phone, microwave, oven, toaster, sink, refrigerator, book, clock, vase, "
    "scissors, teddy bear, hair drier, toothbrush"
)
COCO_NAMES: tuple[str, ...] = tuple(COCO.split(", "))
"""The 80 classes in the order in which RT-DETR and D-FINE number them."""

_COCO_GAPS = frozenset({0, 12, 26, 29, 30, 45, 66, 68, 69, 71, 83})
_ids = iter(COCO_NAMES)
COCO_BY_ID: tuple[str, ...] = tuple("" if number in _COCO_GAPS else next(_ids) for number in range(91))
"""COCO's own numbers, 0 to 90 with gaps, as the first DETR has them; a gap has no name."""


def read_labels(path: str | Path) -> tuple[str, ...]:
    """Read a labels file: one name per line in the order of the class numbers.

    A class that shall not be reported has the line ``-``.
    """
    file = Path(path)
    try:
        lines = file.read_text(encoding="utf-8-sig").rstrip().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue("labels", str(path), f"cannot be read ({error})", remedy="one name per line") from error
    names = tuple(line.strip() for line in lines)
    if not names:
        raise InvalidValue("labels", str(path), "is empty", remedy="write one name per line")
    blank = next((number for number, name in enumerate(names, start=1) if not name), None)
    if blank is not None:
        raise InvalidValue(
            "labels", str(path), f"line {blank} is blank", remedy="write - for a class that is not wanted"
        )
    return tuple("" if name == "-" else name for name in names)


def names_of_config(config: dict[str, Any]) -> tuple[str, ...] | None:
    """The names in a model's config.json (``id2label``), by number; None where it has none or placeholders."""
    table = config.get("id2label")
    if not isinstance(table, dict) or not table:
        return None
    try:
        by_number = {int(number): str(name).strip() for number, name in table.items()}
    except ValueError as error:
        raise InvalidValue(
            "config.json id2label", table, "has keys that are no numbers", remedy="give --labels instead"
        ) from error
    if min(by_number) < 0 or max(by_number) >= 100_000:
        raise InvalidValue("config.json id2label", table, "has numbers out of range", remedy="give --labels instead")
    if all(name == f"LABEL_{number}" for number, name in by_number.items()):
        return None
    unnamed = {"N/A", ""}
    return tuple(
        "" if by_number.get(number, "") in unnamed else by_number[number] for number in range(max(by_number) + 1)
    )


def names_of_metadata(metadata: Mapping[str, str]) -> tuple[str, ...] | None:
    """The names that an exporter of the YOLO family wrote into the graph (``names``), by number; None without any."""
    text = metadata.get("names")
    if not text:
        return None
    try:
        table = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        table = None
    if isinstance(table, list | tuple):
        table = dict(enumerate(table))
    if not isinstance(table, dict) or not table or sorted(table) != list(range(len(table))):
        raise InvalidValue("metadata names", text[:60], "are no table of names", remedy="give --labels FILE")
    return tuple(str(table[number]).strip() for number in range(len(table)))


def sides_of(metadata: Mapping[str, str]) -> tuple[int, int] | None:
    """Height and width in pixels that the exporter wrote down (``imgsz``); None where it did not, or oddly."""
    try:
        sides = ast.literal_eval(metadata.get("imgsz", ""))
    except (ValueError, SyntaxError):
        return None
    if not isinstance(sides, list | tuple) or len(sides) != 2:
        return None
    height, width = sides
    fits = all(isinstance(side, int) and 32 <= side <= 4096 for side in sides)
    return (height, width) if fits else None


def in_words_of(targets: Sequence[str], names: Mapping[str, float]) -> dict[str, float]:
    """The same scores with a target's own word where a name means it: "couch" becomes "sofa" for that target."""
    words = {_meaning(target): target for target in reversed(targets)}
    renamed: dict[str, float] = {}
    for name, score in names.items():
        word = name if name in targets else words.get(_meaning(name), name)
        renamed[word] = max(score, renamed.get(word, 0.0))
    return renamed


def _meaning(name: str) -> str:
    return _meanings().get(name.strip().lower(), name.strip().lower())


@cache
def _meanings() -> dict[str, str]:
    """Every household word and the class it stands for; the first class that claims a word has it."""
    table: dict[str, str] = {}
    for kind, (words, _) in classes().items():
        table[kind] = kind
        for word in words:
            table.setdefault(word, kind)
    return table
