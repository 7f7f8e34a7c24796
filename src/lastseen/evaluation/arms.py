"""The conditions that are compared: every arm is the same loop with other words in its prompt.

An arm says which parts of the navigation context the planner may read and whether they are its own. Only ``random``
and ``frontier`` put a baseline in the planner's place, which reads the same prompt and knows no rooms; ``oracle``
knows the map and is the ceiling.
"""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lastseen.errors import InvalidValue
from lastseen.vlm.offline import LEAST_FREE, OfflineBackend, sighting
from lastseen.vlm.prompt_reading import ReadPrompt, SeenView, read_prompt
from lastseen.vlm.protocol import EncodedImage


class _Chooser:
    """Answers scene questions and sightings as the offline planner does, and chooses directions its own way."""

    name: str
    """Which baseline it is."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self._offline = OfflineBackend(seed=seed)

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        """A plan for a schema with an ``angle``; everything else is the offline model's."""
        if "angle" not in (schema or {}).get("properties", {}):
            return self._offline.complete(prompt, images, schema)
        read = read_prompt(prompt)
        seen = sighting(read)
        digest = hashlib.sha256(f"{self.name}:{self.seed}:{prompt}".encode("utf-8", "replace")).digest()
        angle, why = self.choose(read, random.Random(digest)) if seen is None else (seen.angle, "in view")
        context = {"goal_scene_type": "unknown", "why": why}
        return json.dumps({"goal_flag": seen is not None, "angle": float(angle), "discovered_context": context})

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """The angle to take in degrees, and why."""
        raise NotImplementedError


class RandomBackend(_Chooser):
    """Draws one of the views that are not barred, seeded by the prompt."""

    name = "random"

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """Any view with room for a step, all alike."""
        views = _open(read)
        return (rng.choice(views).angle if views else 0.0), "drawn"


class FrontierBackend(_Chooser):
    """Goes to the unexplored edge with the shortest path; where none is left, to the farthest open floor."""

    name = "frontier"

    def choose(self, read: ReadPrompt, rng: random.Random) -> tuple[float, str]:
        """The nearest edge; ties by angle."""
        if read.unexplored:
            nearest = min(read.unexplored, key=lambda edge: (edge.distance, edge.angle))
            return nearest.angle, "the nearest unexplored edge"
        views = _open(read)
        return (rng.choice(views).angle if views else 0.0), "no edge is left"


def _open(read: ReadPrompt) -> list[SeenView]:
    return [view for view in read.views if view.free is None or view.free >= LEAST_FREE] or read.views


Context = dict[str, Any]
_EMPTY: dict[str, Any] = {
    "belief": {"target_status": None, "candidates": [], "constraints": []},
    "avoid_hint": None,
    "progress": None,
    "dropped": {},
}
"""What a blanked part of the context is; the others are empty lists."""
ALL_PARTS = frozenset(
    {
        *("belief", "avoid_hint", "progress", "discovered_context", "tried", "sightings", "remembered", "unexplored"),
        *("rooms", "places", "visited", "nearby", "neighbors", "path"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """What one arm may read.

    ``parts`` of the context are kept, the others blanked; ``shuffled`` takes the context of another episode;
    ``memory`` is the earlier visit that the search may remember: none, to this home, or to another one; ``lost``
    starts in its map at a pose that is wrong by metres; ``moved``: the goal itself was moved since the visit;
    ``ablation``: ``context`` without one of its parts; ``trust_planner``: PixelNav's own rules of flag and stop.
    """

    name: str
    about: str
    parts: frozenset[str] = frozenset()
    shuffled: bool = False
    memory: Literal["none", "home", "other_home"] = "none"
    lost: bool = False
    moved: bool = False
    ablation: bool = False
    trust_planner: bool = False
    chooser: Literal["backend", "random", "frontier", "oracle"] = "backend"

    @property
    def reads_context(self) -> bool:
        """Whether anything of memory reaches the prompt."""
        return bool(self.parts)


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm(
            name="frontier",
            about="goes to the nearest unexplored edge; geometry alone",
            parts=frozenset({"unexplored"}),
            chooser="frontier",
        ),
        Arm(name="random", about="draws an angle", chooser="random"),
        Arm(name="no_context", about="panorama and planner, no memory: PixelNav's agent loop, geometric policy"),
        Arm(
            name="pixelnav",
            about="PixelNav's own loop: ends at the policy's stop where planner and detector saw the goal, unchecked",
            trust_planner=True,
        ),
        Arm(name="context", about="with the navigation context of this episode", parts=ALL_PARTS),
        *(
            Arm(name=name, about=f"as context, without {what}", parts=ALL_PARTS - parts, ablation=True)
            for name, what, parts in (
                ("context_no_hint", "patterns and facts of progress", {"avoid_hint", "progress"}),
                ("context_no_queue", "the discovered-context queue", {"discovered_context"}),
                (
                    "context_no_places",
                    "rooms, places, anchors and the path",
                    {"rooms", "places", "visited", "nearby", "neighbors", "path"},
                ),
                ("context_no_edges", "unexplored edges", {"unexplored"}),
            )
        ),
        Arm(name="context_shuffled", about="with another episode's context", parts=ALL_PARTS, shuffled=True),
        Arm(
            name="lifelong",
            about="with context, and memory of an earlier visit before things were moved",
            parts=ALL_PARTS,
            memory="home",
        ),
        Arm(
            name="lifelong_shuffled",
            about="with context, and memory of another home",
            parts=ALL_PARTS,
            memory="other_home",
        ),
        Arm(
            name="lifelong_lost",
            about="as lifelong, but told a start pose that is wrong by metres and a quarter turn",
            parts=ALL_PARTS,
            memory="home",
            lost=True,
        ),
        Arm(
            name="lifelong_moved",
            about="as lifelong, but the goal itself was moved after the visit; for goals that a hand carries",
            parts=ALL_PARTS,
            memory="home",
            moved=True,
        ),
        Arm(name="oracle", about="walks the shortest path, knowing the map and the goal", chooser="oracle"),
    )
}


def arm_of(name: str) -> Arm:
    """The arm of this name, or an error that lists them."""
    try:
        return ARMS[name]
    except KeyError:
        raise InvalidValue("arm", name, "is not an arm", remedy=f"choose of {', '.join(ARMS)}") from None


def arms_of(names: Sequence[str]) -> list[Arm]:
    """The arms of these names, each once, in the order of the table.

    ``all`` stands for all but the ablations, ``ablation`` for context and its ablations.
    """
    wanted: set[str] = set()
    for name in names:
        if name in ("all", "ablation"):
            wanted |= {arm.name for arm in ARMS.values() if arm.ablation == (name == "ablation")}
            wanted |= {"context"}
        else:
            wanted.add(arm_of(name).name)
    if not wanted:
        raise InvalidValue("arms", names, "are none", remedy=f"choose of {', '.join(ARMS)}")
    return [arm for arm in ARMS.values() if arm.name in wanted]


def blanked(context: Context, parts: frozenset[str]) -> Context:
    """The context with every other part empty; where the robot is stays, a prompt without it says nothing."""
    kept = copy.deepcopy(context)
    for name in ALL_PARTS - parts:
        kept[name] = copy.deepcopy(_EMPTY.get(name, []))
    if "avoid_hint" not in parts:
        # the queue says of each call which hint it was given: without it, the hint would still be read
        for entry in kept["discovered_context"]:
            entry.pop("avoid_hint", None)
    if parts != ALL_PARTS:
        kept["dropped"] = {}
    return kept


def editor(arm: Arm, donor: Sequence[Context] = ()) -> Callable[[Context], Context]:
    """The edit an arm makes to each context; a shuffled one is told the donor's contexts, call by call."""
    calls = 0

    def edit(context: Context) -> Context:
        nonlocal calls
        calls += 1
        if not arm.shuffled:
            return blanked(context, arm.parts)
        if not donor:
            raise InvalidValue("donor", donor, "has no contexts", remedy="run another episode first")
        return blanked(donor[(calls - 1) % len(donor)], arm.parts)

    return edit
