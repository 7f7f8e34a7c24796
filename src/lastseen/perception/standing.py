"""What cannot stand by itself is one thing with what holds it: bars, and what is wider than its foot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from lastseen.perception.cubes import CUBE
from lastseen.perception.parts import FEWEST, RESTS, Group, PartMap

CONTACT = 2
"""Pairs of neighbouring cubes at which a bar touches a thing."""


def with_bars(groups: dict[int, Group], parts: PartMap, is_bar: Callable[[Group], bool]) -> dict[int, Group]:
    """Groups in which tubes and bars go with the largest thing that they touch: none stands by itself."""
    for group in sorted(set(groups.values()), key=min):
        if groups[min(group)] is not group or not is_bar(group):
            continue
        # what is not in sight has no group here: the part stands for it
        near = [part for part, contacts in Counter(parts.contacts(group)).items() if contacts >= CONTACT]
        if near:
            best = max(near, key=lambda part: (len(parts.of_part[part]), -part))
            _join(groups, group, groups.get(best, frozenset((best,))))
    return groups


def with_tops(groups: dict[int, Group], parts: PartMap) -> dict[int, Group]:
    """Groups in which what stands on something narrower than itself is one thing with it.

    Nothing is set down on what is narrower than itself in both directions: so stand the shade of a lamp, the
    leaves of a plant over its pot, a screen, a seat.
    """
    for group in sorted(set(groups.values()), key=min):
        if groups[min(group)] is not group:
            continue
        below = Counter(groups.get(part, frozenset((part,))) for part in parts.carriers(group))
        under = max(below, key=lambda one: (below[one], -min(one)), default=None)
        if under is not None and _overhangs(group, under, parts):
            _join(groups, group, under)
    return groups


def touches(group: Group, parts: PartMap) -> bool:
    """Whether a group touches any other part."""
    met = parts.contacts(group)
    return all(next(met, None) is not None for _ in range(CONTACT))


def neighbours(group: Group, groups: Mapping[int, Group], parts: PartMap) -> list[Group]:
    """The groups that a group touches; a part that is not in sight has none and stands for it."""
    met = Counter(groups.get(part, frozenset((part,))) for part in parts.contacts(group))
    return sorted((other for other, contacts in met.items() if contacts >= CONTACT), key=min)


def _join(groups: dict[int, Group], one: Group, other: Group) -> None:
    joined = one | other
    groups.update(dict.fromkeys(joined, joined))


def _overhangs(upper: Group, lower: Group, parts: PartMap) -> bool:
    """Whether one group begins where the other ends and covers it, seen from above, to all sides."""
    top, foot = parts.places(upper, sure=1), parts.places(lower, sure=1)
    if min(len(top), len(foot)) < FEWEST:
        return False
    (low, high), (foot_low, foot_high) = (np.quantile(at, [0.05, 0.95], axis=0) for at in (top, foot))
    covers = (low <= foot_low)[:2].all() and (high >= foot_high)[:2].all()
    wider = (high - low > foot_high - foot_low)[:2].all()
    return bool(covers and wider and foot_high[2] <= low[2] + RESTS * CUBE)
