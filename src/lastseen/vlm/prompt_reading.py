"""Reads a prompt as a model would: the target, the views and the lines of the navigation context, and no more.

Every quoted text is JSON, so a label that looks like a line of the prompt is still only a label.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LABEL = re.compile(r'("(?:[^"\\]|\\.)*") (\d\.\d\d)')
_ANGLE = r"([+-]?\d+) deg"
_VIEW = re.compile(rf"view {_ANGLE}: ")
_FREE = re.compile(r"; free (\d+\.\d) m$")
_CANDIDATE = re.compile(rf"candidate node \d+: score (\d\.\d\d), (\d+\.\d) m at {_ANGLE}, ")
_TRIED = re.compile(rf"tried {_ANGLE}: ")
_VISITED = re.compile(rf"visited {_ANGLE}: (\d+) anchors, nearest (\d+\.\d) m$")
_UNEXPLORED = re.compile(rf"unexplored {_ANGLE}: (\d+\.\d) m of path, (\d+\.\d) m wide")
_SIGHTING = re.compile(rf"target seen {_ANGLE}: (\d+\.\d) m of path, in (\d+) views")
_REMEMBERED = re.compile(rf"target remembered {_ANGLE}: (\d+\.\d) m of path")
_IN_VAIN = re.compile(r"discovered \d+: goal not seen, went for ")
_PLACE = re.compile(rf"place \d+: (?:\"(?:[^\"\\]|\\.)*\"), (?:here|(\d+\.\d) m at {_ANGLE})")


@dataclass(frozen=True, slots=True)
class SeenView:
    """One view line."""

    angle: float
    labels: tuple[tuple[str, float], ...]
    free: float | None


@dataclass(frozen=True, slots=True)
class Toward:
    """Something the context places in a direction: a candidate, a try, a visited sector or a place."""

    angle: float
    weight: float = 0.0
    distance: float = 0.0
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of what was explored: where the path to it begins, how long it is, and what is seen near it."""

    angle: float
    distance: float
    width: float
    labels: tuple[tuple[str, float], ...] = ()


@dataclass(slots=True)
class ReadPrompt:
    """What a prompt says."""

    target: str = ""
    views: list[SeenView] = field(default_factory=list)
    candidates: list[Toward] = field(default_factory=list)
    blocked: list[Toward] = field(default_factory=list)
    tried: list[Toward] = field(default_factory=list)
    visited: list[Toward] = field(default_factory=list)
    sightings: list[Toward] = field(default_factory=list)
    remembered: list[Toward] = field(default_factory=list)
    unexplored: list[Edge] = field(default_factory=list)
    places: list[Toward] = field(default_factory=list)
    in_vain: Counter[str] = field(default_factory=Counter)
    stuck: bool = False
    ababa: bool = False
    no_progress: bool = False


def read_prompt(prompt: str) -> ReadPrompt:
    """Take a prompt apart; lines it does not know are passed over, as a reader would."""
    read = ReadPrompt()
    for line in prompt.split("\n"):
        if line.startswith("TARGET: "):
            read.target = (_texts(line) or [""])[0]
        elif line.startswith("avoid: "):
            read.stuck, read.ababa = "pattern:STUCK" in line, "pattern:ABABA" in line
        elif line.startswith("progress: "):
            read.no_progress = line.endswith("pattern:NO_PROGRESS")
        elif view := _VIEW.match(line):
            labels = _scored(line)
            free = _FREE.search(_QUOTED.sub("", line))
            read.views.append(SeenView(float(view[1]), labels, None if free is None else float(free[1])))
        elif found := _CANDIDATE.match(line):
            read.candidates.append(Toward(float(found[3]), float(found[1]), float(found[2]), tuple(_texts(line))))
        elif found := _TRIED.match(line):
            into = read.blocked if line.endswith(", blocked") else read.tried
            into.append(Toward(float(found[1]), words=tuple(_texts(line))))
        elif _IN_VAIN.match(line):
            read.in_vain.update(_texts(line)[:1])
        elif found := _VISITED.match(line):
            read.visited.append(Toward(float(found[1]), float(found[2]), float(found[3])))
        elif found := _SIGHTING.match(line):
            read.sightings.append(Toward(float(found[1]), float(found[3]), float(found[2])))
        elif found := _REMEMBERED.match(line):
            read.remembered.append(Toward(float(found[1]), distance=float(found[2])))
        elif found := _UNEXPLORED.match(line):
            read.unexplored.append(Edge(float(found[1]), float(found[2]), float(found[3]), _scored(line)))
        elif (found := _PLACE.match(line)) and found[2] is not None:
            read.places.append(Toward(float(found[2]), distance=float(found[1]), words=tuple(_texts(line))))
    return read


def _scored(line: str) -> tuple[tuple[str, float], ...]:
    return tuple((str(json.loads(text)), float(score)) for text, score in _LABEL.findall(line))


def _texts(line: str) -> list[str]:
    return [str(json.loads(text)) for text in _QUOTED.findall(line)]
