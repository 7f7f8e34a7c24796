"""The model that needs no key and no network: rules over the prompt's own lines (the default planner).

It is given the text that any model is given, with what the detector saw in each view, and reads nothing else:
no picture, no map, no simulator. What it knows of homes is in ``household``. Scores add up per view, and the choice
among views is a seeded softmax; the weights mean something only together, so they are constants.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from lastseen.config.search import Planner
from lastseen.errors import BackendError
from lastseen.vlm.household import best, describe_scene, likely_room, room_beliefs, rooms_of, same_thing, with_article
from lastseen.vlm.prompt_reading import Edge, ReadPrompt, SeenView, Toward, read_prompt
from lastseen.vlm.protocol import Backend, EncodedImage

GOAL_SCORE = 0.3
"""A detection of the target below this score is as often wrong as right."""
ROOM_WEIGHT = 2.0
"""A view of the right kind of room outweighs open floor."""
FULL_EVIDENCE = 1.5
"""Summed scores of detections that tell a room for sure: two sure things do, one doubtful one hardly sways."""
REPEAT_FACTOR = 0.6
"""Each time a kind of room was gone for in vain, the next of its kind is worth this share."""
FREE_WEIGHT = 1.0
"""Open floor is where something new can be seen; the unit of the other weights."""
FREE_RANGE = 4.0
"""Metres of free floor beyond which more tells nothing: a room is this deep."""
UNKNOWN_FREE = 2.0
"""Metres assumed where depth is not given: half of that."""
LEAST_FREE = 0.6
"""Metres, a robot and a step: with less the direction is barred."""
BARRED_PENALTY = 4.0
"""More than any room is worth."""
DOOR_BONUS = 0.5
"""A door leads elsewhere; half of open floor."""
CANDIDATE_WEIGHT = 12.0
"""A memory of the target beats common sense about rooms."""
CANDIDATE_FLOOR = 0.5
"""An unrelated node scores about 0.4: scores below this tell nothing."""
SIGHTING_WEIGHT = 12.0
"""The target itself, seen in this search, comes first."""
UNEXPLORED_WEIGHT = 8.0
"""What was not seen yet may hold the target, what was seen did not."""
UNEXPLORED_RANGE = 3.0
"""Metres by which an edge, or a remembered spot, farther than the nearest one is worth half as much."""
OPENING = 1.0
"""Metres, a doorway: narrower edges are mostly corners behind furniture, and worth down to half."""
SHOWN_SHARE = 0.4
"""How much a view's room and floor count where edges are known: it shows what was seen already."""
EXPLORED_PENALTY = 1.5
"""A direction without an unexplored edge, where memory knows of some elsewhere."""
BLOCKED_PENALTY = 3.0
"""A path that was blocked is seldom open the second time."""
TRIED_PENALTY = 1.0
"""Each time a direction was walked from here without finding the target."""
TRIED_MOST = 3.0
"""As much as a blocked path: the one door of a room may be gone through again. Twice that when the last steps led
nowhere: then anything else is better."""
VISITED_PENALTY = 0.2
"""Per anchor: five cost as much as open floor."""
VISITED_MOST = 1.5
"""Limits it, so that a path back through a known room stays possible."""
SWING_PENALTY = 2.0
"""After A-B-A-B-A neither of the last two places once more."""
TEMPERATURE = 0.25
"""Of the softmax over the scores: a clear winner is taken, near ties are broken by the seed."""

_REACH = 45.0
"""Degrees within which something lies in the direction of a view; it counts the less the farther off it lies."""
_WITHIN = 15.0
"""Degrees either side of a view's middle that are the view's own: what lies there counts in full."""
_HALF = 20.0
"""Degrees either side of a view's middle: what lies within is walked to exactly, not by the middle of the view."""
_NEUTRAL = 0.3
"""What a view without a hint of its room is worth: less than the right room, more than a wrong one."""


class OfflineBackend:
    """Chooses a direction, or names a scene, by the schema it is asked for; equal prompts give equal answers."""

    name = "offline"

    def __init__(self, *, seed: int = 0, temperature: float = TEMPERATURE) -> None:
        self.seed = seed
        self.temperature = temperature

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """Planner output for a schema with an ``angle``, a scene for one with a ``scene_type``."""
        del images
        asked = (schema or {}).get("properties", {})
        read = read_prompt(prompt)
        if "angle" in asked:
            return json.dumps(self._plan(read, prompt), ensure_ascii=False)
        if "scene_type" in asked:
            room, objects, description = describe_scene([label for view in read.views for label in view.labels])
            scene = {"scene_type": room, "objects": objects, "description": description}
            return json.dumps(scene, ensure_ascii=False)
        raise BackendError(
            self.name, "only plans directions and names scenes", remedy="ask with one of their schemas"
        )

    def _plan(self, read: ReadPrompt, prompt: str) -> dict[str, Any]:
        seen = sighting(read)
        if seen is not None:
            room = likely_room(seen.labels) or "unknown"
            return _answer(True, seen.angle, room, f"the {read.target} is in view")
        if not read.views:
            return _answer(False, 0.0, "corridor", "nothing can be seen")
        directions = _directions(read)
        scores = [score(read, view) for view in directions]
        # seeded by the prompt itself: no call depends on how many came before it
        digest = hashlib.sha256(f"{self.seed}:{prompt}".encode("utf-8", "replace")).digest()
        chosen = directions[_softmax_choice(scores, self.temperature, random.Random(digest))]
        room, why = _reason(read, chosen)
        return _answer(False, _exactly(read, chosen), room, why)


def from_settings(argument: str, settings: Planner, seed: int) -> Backend:
    """Open ``offline``."""
    del argument, settings
    return OfflineBackend(seed=seed)


def _exactly(read: ReadPrompt, view: SeenView) -> float:
    """The angle to go at: where the context points within the view, else the middle of the view."""
    pointed = [(_promise(read, each, view), each.angle) for each in (*read.remembered, *read.candidates)]
    pointed += [(_novelty(read, each) * _near(each, view), each.angle) for each in read.unexplored]
    pointed += [(1.0 + _near(each, view), each.angle) for each in read.sightings]
    pointed = [(worth, angle) for worth, angle in pointed if worth > 0.0 and _apart(angle, view.angle) <= _HALF]
    return max(pointed)[1] if pointed else view.angle


def sighting(read: ReadPrompt) -> SeenView | None:
    """The view in which the target is seen best, if it is."""
    best: tuple[float, SeenView] | None = None
    for view in read.views:
        if any(_near(each, view) > 0.5 for each in read.blocked):
            # the path straight to it was blocked: go round, by what else the context says
            continue
        for label, score in view.labels:
            if score >= GOAL_SCORE and is_named(label, read.target):
                best = (score, view) if best is None or score > best[0] else best
    return None if best is None else best[1]


def score(read: ReadPrompt, view: SeenView) -> float:
    """How promising a view is: rooms, open floor and memory for it, what was tried and visited against it."""
    free = UNKNOWN_FREE if view.free is None else view.free
    shown = ROOM_WEIGHT * _affinity(read, view)
    shown += FREE_WEIGHT * min(free, FREE_RANGE) / FREE_RANGE
    shown += DOOR_BONUS * any(same_thing(label, "door") for label, _ in view.labels)
    total = shown - BARRED_PENALTY * (free < LEAST_FREE)
    barred = max((_near(each, view) for each in read.blocked), default=0.0)
    remembered = CANDIDATE_WEIGHT * max(
        (_promise(read, each, view) for each in (*read.remembered, *read.candidates)), default=0.0
    )
    remembered += SIGHTING_WEIGHT * max((_near(each, view) for each in read.sightings), default=0.0)
    # what memory promises is not to be had by a path that was blocked a moment ago
    total += remembered * (1.0 - barred) - BLOCKED_PENALTY * barred
    total += _unexplored(read, view, shown) if read.unexplored else -_walked(read, view)
    return total - _repetition(read, view)


def _unexplored(read: ReadPrompt, view: SeenView, shown: float) -> float:
    """With edges known, they tell where something new is; what the view itself shows counts less."""
    best = max(_novelty(read, each) * _near(each, view) for each in read.unexplored)
    known = 1.0 - max(_near(each, view) for each in read.unexplored)
    return UNEXPLORED_WEIGHT * best - EXPLORED_PENALTY * known - (1.0 - SHOWN_SHARE) * shown


def _walked(read: ReadPrompt, view: SeenView) -> float:
    """Without edges, what is left is not to go where the robot has been."""
    visited = VISITED_PENALTY * sum(each.weight * _near(each, view) for each in read.visited)
    return min(visited * (2.0 if read.stuck else 1.0), VISITED_MOST)


def _repetition(read: ReadPrompt, view: SeenView) -> float:
    """What counts against doing the same again: each vain try, twice when stuck, and the swing of ABABA."""
    vain = sum(_near(each, view) for each in read.tried)
    most = TRIED_MOST * (2.0 if read.no_progress else 1.0)
    total = min(TRIED_PENALTY * vain * (2.0 if read.stuck else 1.0), most)
    if read.ababa:
        total += SWING_PENALTY * max((_near(each, view) for each in read.places[:1]), default=0.0)
    return total


def _novelty(read: ReadPrompt, edge: Edge) -> float:
    """0 to 1: an edge near a room that may hold the target, wide, and nearer than the others, is the best.

    However far the nearest one is, it is as good as any: what is left to see is there and nowhere else.
    """
    likely = 0.5 * (1.0 + room_affinity(edge.labels, read.target))
    roomy = 0.5 * (1.0 + min(1.0, edge.width / OPENING))
    farther = edge.distance - min(each.distance for each in read.unexplored)
    return likely * roomy / (1.0 + farther / UNEXPLORED_RANGE)


def _affinity(read: ReadPrompt, view: SeenView) -> float:
    """What the room in view is worth: little on little evidence, less where its kind was tried in vain."""
    discount = {room: REPEAT_FACTOR**times for room, times in read.in_vain.items()}
    judged = room_affinity(view.labels, read.target, discount=discount)
    seen = sum(score for label, score in view.labels if rooms_of(label))
    return _NEUTRAL + (judged - _NEUTRAL) * min(1.0, seen / FULL_EVIDENCE)


def _promise(read: ReadPrompt, candidate: Toward, view: SeenView) -> float:
    """What memory promises in a view: the nearest of all spots where it saw the target, the others less."""
    named = _where_seen(read)
    if candidate in named:
        farther = candidate.distance - min(each.distance for each in named)
        return _near(candidate, view) / (1.0 + farther / UNEXPLORED_RANGE)
    floor = CANDIDATE_FLOOR
    return _near(candidate, view) * max(0.0, candidate.weight - floor) / max(1e-9, 1.0 - floor)


def _reason(read: ReadPrompt, view: SeenView) -> tuple[str, str]:
    for candidate in _where_seen(read):
        if _near(candidate, view) > 0.3:
            return (candidate.words or ("unknown",))[0], f"memory saw {with_article(read.target)} there"
    room = likely_room(view.labels)
    expected = rooms_of(read.target)
    if room is not None and room in expected:
        return room, f"it looks like {with_article(room)}, where {with_article(read.target)} may be"
    if any(_near(each, view) > 0.5 for each in (*read.tried, *read.blocked)):
        return room or "corridor", "nothing better is left than a path that was tried"
    if room is not None:
        return room, "it leads somewhere new"
    if expected:
        return best(expected), "open space, perhaps the path there"
    return "corridor", "open space to explore"


def is_named(label: str, target: str) -> bool:
    """Whether a detector that says this label says that it sees the target: a red mug is called a mug.

    A kind of its own is something else to the detector that tells them apart, and no stop at it would be believed.

    >>> is_named("mug", "red mug"), is_named("office chair", "chair"), is_named("mug rack", "mug")
    (True, False, False)
    """
    words, wanted = label.lower().split(), target.lower().split()
    return bool(words) and wanted[-len(words) :] == words


def room_affinity(
    labels: Sequence[tuple[str, float]], target: str, *, discount: Mapping[str, float] | None = None
) -> float:
    """0 to 1: how much the room that a view seems to show is one that holds the target.

    ``discount`` is a factor per room, for rooms of a kind that was searched already.
    """
    expected, beliefs = rooms_of(target), room_beliefs(labels)
    if not expected or not beliefs:
        return _NEUTRAL
    most = max(expected.values())
    less = discount or {}
    return sum(belief * less.get(room, 1.0) * expected.get(room, 0.0) / most for room, belief in beliefs.items())


def _answer(goal_flag: bool, angle: float, scene_type: str, why: str) -> dict[str, Any]:
    context = {"goal_scene_type": scene_type, "why": why}
    return {"goal_flag": goal_flag, "angle": float(angle), "discovered_context": context}


def _where_seen(read: ReadPrompt) -> list[Toward]:
    """Where memory says it saw the target: the spots themselves, or, where none is told, nodes that name it."""
    naming = [each for each in read.candidates if any(same_thing(word, read.target) for word in each.words)]
    return read.remembered or naming


def _directions(read: ReadPrompt) -> list[SeenView]:
    """What can be chosen: the views, and where the target is remembered though nobody has looked that way yet."""
    unseen = [
        SeenView(each.angle, (), None)
        for each in read.remembered
        if all(_apart(each.angle, view.angle) > _WITHIN for view in read.views)
    ]
    return [*read.views, *unseen]


def _near(each: Toward | Edge, view: SeenView) -> float:
    beyond = max(0.0, _apart(each.angle, view.angle) - _WITHIN)
    return max(0.0, 1.0 - beyond / (_REACH - _WITHIN))


def _apart(a: float, b: float) -> float:
    return abs(math.remainder(a - b, 360.0))


def _softmax_choice(scores: Sequence[float], temperature: float, rng: random.Random) -> int:
    highest = max(scores)
    weights = [math.exp((score - highest) / temperature) for score in scores]
    return rng.choices(range(len(scores)), weights=weights)[0]
