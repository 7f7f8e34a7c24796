"""``lastseen eval questions``: a robot lives in generated homes for two days, and its memory is asked about them.

On the first day it walks; then things are moved, taken away and added behind its back; on the second day it walks
again. The truth of every question comes from the home, never from the memory. A question counts as "seen enough"
where every thing it rests on is a confirmed object of this memory that was detected again on the second day. Where
the thing it asks for is no object of the memory at all ("unseen") it must be refused: ``not_remembered``, or a true
answer; "no" and "none" are no refusals. What lies between, some of its things seen, is judged by the same rule and
listed apart: a memory that saw two of three chairs cannot know of the third. A question about a change is "seen
enough" where the change could be known: the thing was a confirmed object before and its old place was looked at
again, or the place where it is new had been looked at before. The blind control answers from what homes are usually
like.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from lastseen.config import Settings
from lastseen.evaluation.question_cases import Case, Sightings, cases
from lastseen.evaluation.sight import looked_at
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.sim.change import Change, ChangeKind
from lastseen.sim.coverage import endless_tour
from lastseen.sim.detector import SimulatedDetector, source_of
from lastseen.sim.environment import Senses, SimEnvironment
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes

_DAY = 86_400.0
_BEGAN = 1_800_000_000.0
"""Seconds since 1970 at which the first day begins; any date would do."""
_CHANGES = 9
"""Things moved, taken away or added between the days."""
SEEN = 3
"""Detections on the second day from which it could be known that a thing is there."""


@dataclass(slots=True)
class Tally:
    """How many questions of a kind were asked and answered rightly, in all (``right``) and by how much was seen."""

    right: int = 0
    enough: int = 0
    enough_right: int = 0
    unseen: int = 0
    unseen_refused: int = 0
    partly: int = 0
    partly_refused: int = 0
    blind: int = 0

    @property
    def asked(self) -> int:
        """Questions in all."""
        return self.enough + self.unseen + self.partly

    def add(self, other: Tally) -> None:
        """Count another tally in."""
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def to_json(self) -> dict[str, int]:
        """The counts by name."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Score:
    """What one run of questions gave; ``wrong`` lists questions that were answered wrongly, with the sentence."""

    by_kind: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    changes: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    wrong: list[tuple[str, str]] = field(default_factory=list)

    def total(self, *, changes: bool = False) -> Tally:
        """All kinds together, without those about changes, or of those alone."""
        found = Tally()
        for tally in (self.changes if changes else self.by_kind).values():
            found.add(tally)
        return found

    def to_json(self) -> dict[str, Any]:
        """Totals, each kind, and what was wrong."""
        kinds, changed = self.by_kind, self.changes
        return {
            "total": self.total().to_json(),
            "changes": self.total(changes=True).to_json(),
            "by_kind": {kind: kinds[kind].to_json() for kind in sorted(kinds)},
            "by_change": {kind: changed[kind].to_json() for kind in sorted(changed)},
            "wrong": [list(each) for each in self.wrong],
        }


class _Life:
    """Two days of one robot in one home."""

    def __init__(self, home: Home, *, seed: int, level: str) -> None:
        self.settings = Settings()
        self.seed = seed
        self.world = SimEnvironment(home, seed=seed, senses=Senses.all(level), settings=self.settings)
        self.detector = SimulatedDetector(self.world, level=level, seed=seed)
        self.seen = Sightings()
        self.today: Counter[int] = Counter()
        self.frames: tuple[list[Frame], list[Frame]] = [], []
        """What was seen of each day."""
        self.known: set[int] = set()
        """Things that were confirmed objects at the end of the first day."""
        self.sources: dict[str, Counter[int]] = defaultdict(Counter)
        self.day = 0
        self.memory = Memory.open(wall_clock=lambda: _BEGAN + self.day * _DAY + self.world.stamp)

    def walk(self, minutes: float) -> None:
        """Tour the home for so long, from where the robot stands."""
        world, frames = self.world, max(1, round(60.0 * minutes / self.settings.camera.step_time))
        self._observe(world.reset())
        for action in islice(endless_tour(world.agent, (world.start.x, world.start.y)), frames - 1):
            self._observe(world.step(action).frame)

    def sleep(self) -> list[Change]:
        """Change the home behind the robot's back and begin the next day; returns the changes."""
        kinds = (ChangeKind.ADD, ChangeKind.MOVE, ChangeKind.REMOVE)
        stamps = [self.world.stamp] * _CHANGES
        self.known = self.held()
        after, made = random_changes(self.world.home, stamps, seed=self.seed, kinds=kinds)
        self.world.replace_home(after)
        self.memory.new_session()
        self.day += 1
        self.today = Counter()
        return made

    def held(self) -> set[int]:
        """The things that the confirmed objects of the memory mostly came from."""
        counts = (self.sources.get(one.id) for one in self.memory.states())
        return {each.most_common(1)[0][0] for each in counts if each}

    def could_know(self, case: Case) -> bool:
        """Whether a change could be known: it takes two looks at the place, of which one was before it."""
        thing, rules = case.things[0], self.settings.absence
        seen = self.today[thing] >= SEEN or thing not in self.world.home.things
        if case.gone_from is None:
            return seen and case.came_to is not None and looked_at(self.frames[0], case.came_to, rules=rules)
        return seen and thing in self.known and looked_at(self.frames[1], case.gone_from, rules=rules)

    def _observe(self, frame: Frame) -> None:
        self.frames[self.day].append(frame)
        detections = self.detector.detect(frame)
        ids = self.world.view_of(frame).ids
        of = [source_of(self.world.home, ids, one) for one in detections]
        events = self.memory.observe(frame, detections=detections)
        for event in events:
            absorbed = event.evidence.get("absorbed")
            if absorbed is not None:
                self.sources[event.object_id].update(self.sources.pop(str(absorbed), Counter()))
        now = self.memory.browse.now
        for thing in set(of):
            self.seen.count[thing] += 1
            self.seen.last[thing] = now
            self.today[thing] += 1
        # the objects of the frame, by where they are: lifting may leave detections out
        for object_id in {one for one in self.memory.matched if one is not None}:
            near = self._nearest(object_id, set(of))
            if near is not None:
                self.sources[object_id][near] += 1
        x, y, _ = frame.T_world_camera.translation.tolist()
        self.seen.visited |= {room.id for room in self.world.home.rooms if room.contains(x, y)}

    def _nearest(self, object_id: str, things: set[int]) -> int | None:
        """The detected thing whose box an object's centre is in or nearest to."""
        states = self.memory.browse.states([object_id])
        known = [thing for thing in sorted(things) if thing in self.world.home.things]
        if not states or not known:
            return None
        label, at = states[0].label, states[0].xyz_world

        def away(thing: int) -> tuple[bool, float]:
            one = self.world.home.things[thing]
            outside = np.maximum(np.maximum(one.box[0] - at, at - one.box[1]), 0.0)
            middle = float(np.linalg.norm(one.position - at))
            return one.label != label, float(np.linalg.norm(outside)) + 0.01 * middle

        return min(known, key=away)


def evaluate(seeds: Sequence[int], *, level: str, minutes: float) -> Score:
    """Live two days in each home, ``minutes`` of walking each, and put every question to the memory."""
    score = Score()
    for seed in seeds:
        life = _Life(generate_home(seed), seed=seed, level=level)
        with life.memory:
            life.walk(minutes)
            changes = life.sleep()
            life.walk(minutes)
            for case in cases(life.world.home, changes, life.seen, seed=seed):
                _put(life, case, score)
    return score


def _put(life: _Life, case: Case, score: Score) -> None:
    reply = life.memory.ask(case.question)
    right = case.judge(reply)
    tally = (score.changes if case.change else score.by_kind)[case.kind]
    tally.blind += case.blind
    tally.right += right
    held = life.held()
    if case.change:
        state = "enough" if life.could_know(case) else "partly"
    elif case.absent or all(thing in held and life.today[thing] for thing in case.things):
        state = "enough"
    else:
        state = "unseen" if case.things and case.things[0] not in held else "partly"
    fine = right or (state != "enough" and reply.status == "not_remembered")
    if state == "enough":
        tally.enough += 1
        tally.enough_right += fine
    elif state == "unseen":
        tally.unseen += 1
        tally.unseen_refused += fine
    else:
        tally.partly += 1
        tally.partly_refused += fine
    if state != "partly" and not fine:
        score.wrong.append((f"{case.question} [{state}]", reply.sentence))
