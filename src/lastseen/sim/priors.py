"""Which furniture stands in which room, and which small things lie where.

Source: our own common sense about European and North American homes, written down by hand in ``priors.toml``. The
shape of the tables (room type -> furniture with a rule; support -> small things with a weight) follows the practice
of procedural scene generators such as ProcTHOR; none of the figures is taken or learnt from a data set, so scenes
from elsewhere stay an independent test.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from lastseen.errors import InvalidValue


class Rule(StrEnum):
    """Where a piece of furniture goes."""

    WALL = "wall"
    """Its back to a wall, anywhere along it."""
    MIDDLE_OF_WALL = "middle of wall"
    CORNER = "corner"
    CENTRE = "centre"
    """In the room, as far from the walls as it goes."""
    RUN = "run"
    """Side by side with the run before it along a wall: kitchens."""
    BESIDE = "beside"
    """Next to another, with the same back line: nightstands."""
    AROUND = "around"
    """On the sides of another, facing it: chairs at a table."""
    BEFORE = "before"
    """In front of another: the coffee table, the chair at a desk."""
    FLANKING = "flanking"
    """At the sides of another, turned towards it: armchairs at the coffee table."""
    OPPOSITE = "opposite"
    """At the wall that another looks at: the television's stand."""
    ON = "on"
    """On top of another, facing the same way."""
    OVER = "over"
    """On the wall above another: the mirror over the basin."""
    HUNG = "hung"
    """On any free wall at eye height."""
    UNDERFOOT = "underfoot"
    """Flat in free floor; furniture placed later may stand on it."""
    AT_DOOR = "at door"
    """Flat before the front door, or else before another door."""


@dataclass(frozen=True, slots=True)
class Furnishing:
    """One row: what, where, how many (drawn from ``count``), how often, and whether a room is refused without."""

    label: str
    rule: Rule
    target: str = ""
    count: tuple[int, int] = (1, 1)
    chance: float = 1.0
    essential: bool = False


_ROW = re.compile(rf"([a-z ]+?)(!?) ({'|'.join(Rule)})((?: [a-z]+)*)(?: (\d)-(\d))?(?: (0\.\d+))?")


def _furnishings(text: str) -> dict[str, tuple[Furnishing, ...]]:
    """Rows by room type: ``corridor: plant corner 0-2; shelf wall 0.3;``; only a room's first row names it."""
    found: dict[str, tuple[Furnishing, ...]] = {}
    for row in (" ".join(each.split()) for each in text.split(";") if each.strip()):
        room, _, words = row.rpartition(": ")
        match = _ROW.fullmatch(words)
        if match is None:
            raise InvalidValue("FURNISHINGS", row, "is no row", remedy="class rule target count or chance")
        label, must, rule, target, least, most, chance = match.groups()
        count = (int(least), int(most)) if least else (1, 1)
        made = Furnishing(label, Rule(rule), target.strip(), count, float(chance or 1.0), essential=bool(must))
        room = room or next(reversed(found))
        found[room] = (*found.get(room, ()), made)
    return found


def _numbers(text: str) -> dict[str, float]:
    """Names with their numbers: ``mug 3, wine glass 1.5``."""
    pairs = (" ".join(item.split()).rsplit(" ", 1) for item in text.split(","))
    return {name: float(number) for name, number in pairs}


def _table(text: str) -> dict[str, dict[str, float]]:
    """Rows of a name and numbers: ``stove: pot 2, pan 2; toilet: candle 0.5;``."""
    rows = (row.split(":") for row in text.split(";") if row.strip())
    return {name.strip(): _numbers(numbers) for name, numbers in rows}


_TABLES: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
FURNISHINGS = _furnishings(_TABLES["furnishings"])
"""What stands in a room of each type, in the order in which it is placed.

A row is a class, a rule and what the rule refers to, then how many (``0-2``: drawn evenly; else one) or how likely
(``0.6``); ``!`` marks what a room is refused without.
"""
FRONT = _numbers(_TABLES["front"])
"""Metres in front of a thing that stay free of other furniture, so that it can be used and seen."""
ON_SUPPORT = _table(_TABLES["on_support"])
"""Weights of the small things that lie on a support, by its class."""
IN_ROOM = _table(_TABLES["in_room"])
"""What a support of these rooms holds instead of what its class usually does."""
ON_FLOOR = _table(_TABLES["on_floor"])
"""Weights of the small things that lie on the floor, by room type."""
ONE_ROOM = _numbers(_TABLES["one_room"])
"""How many of a class one room may hold, where it is not ``USUAL_IN_ONE_ROOM``."""
USUAL_IN_ONE_ROOM = 2

DENSITY = _numbers(_TABLES["density"])
"""Small things to a square metre of support, before the clutter factor."""
USUAL_DENSITY = 4.0
FLOOR_THINGS = (0, 2)
"""How many small things lie on the floor of a room, drawn evenly."""
