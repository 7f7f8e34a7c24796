"""What a home holds: classes with their other names, grouped by what they are for.

It is written out by hand, once, so that meaning needs no download. ``household.txt`` has the classes: a group is
``group | words for its use`` and lines of ``class = other names``; ``~`` joins classes that people mix up (cup and
mug). ``uses.txt`` has what people ask for by its use, where that fits fewer classes than the whole group.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_HERE = Path(__file__).parent
HOUSEHOLD = "\n" + (_HERE / "household.txt").read_text(encoding="utf-8")
USES: dict[str, tuple[str, ...]] = {
    use: tuple(names.split(", "))
    for use, names in (line.split(" = ") for line in (_HERE / "uses.txt").read_text(encoding="utf-8").splitlines())
}
"""The classes that serve a use."""


@cache
def classes() -> dict[str, tuple[tuple[str, ...], str]]:
    """Every class with its names (itself first) and its group, in the order written."""
    table: dict[str, tuple[tuple[str, ...], str]] = {}
    group = ""
    for line in HOUSEHOLD.strip().splitlines():
        if "|" in line:
            group = line.split("|")[0].strip()
        elif line.strip():
            left, _, right = line.partition("=")
            name = left.partition("~")[0].strip()
            table[name] = ((name, *(other.strip() for other in right.split(","))), group)
    return table


@cache
def confusable() -> dict[str, str]:
    """Classes that people mix up (a cup and a mug): each to the one key the two share."""
    joined: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "~" in line:
            one, _, other = line.partition("=")[0].partition("~")
            pair = sorted((one.strip(), other.strip()))
            joined[one.strip()] = joined[other.strip()] = "/".join(pair)
    return joined


@cache
def group_uses() -> dict[str, str]:
    """Words of use and the group each belongs to; the first group that claims a word has it."""
    words: dict[str, str] = {}
    for line in HOUSEHOLD.splitlines():
        if "|" in line:
            group, _, uses = line.partition("|")
            for use in uses.split():
                words.setdefault(use, group.strip())
    return words
