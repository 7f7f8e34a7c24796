"""Each small wrong change to the rules of association and absence must be noticed by a handful of known answers."""

from __future__ import annotations

import inspect
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.memory.objects.scenes import Room, frame_at, seen

from lastseen.compiled import Compiled
from lastseen.config import Settings
from lastseen.config.memory import Absence, Association
from lastseen.frame import Frame
from lastseen.memory.objects import Event, EventKind, ObjectMemory, State, absence, association, depth_evidence
from lastseen.memory.objects import memory as memory_module
from lastseen.memory.objects.columns import BODY, Gate
from lastseen.observation import Observation

ASSOCIATION_MUTANTS = [
    ("score[at] > rules.threshold", "score[at] < rules.threshold"),
    ("score[at] > rules.threshold", "score[at] > 0.0"),
    ("score[count] = rules.spatial_weight * spatial + ", "score[count] = "),
    ("spatial + (1.0 - rules.spatial_weight) * appearance\n", "spatial\n"),
    ("0.5 + 0.5 * alike", "alike"),
    ("maximize=True", "maximize=False"),
    ("pairs.score[passing] - store.settings.association.threshold", "1.0"),
    ("rules.radius + rules.radius_growth * min(sigma, MAX_SIGMA)", "rules.radius"),
    ("min(sigma, MAX_SIGMA)", "sigma"),
    ("- explained, 0.0) ** 2", ", 0.0) ** 2"),
    ("max(agreement, CUT_AGREEMENT)", "agreement"),
    ("1.0 - rules.size_weight * (1.0 - agreement)", "1.0"),
    ("(min(one, other) + SIZE_TOLERANCE)", "min(one, other)"),
    ("and cosine[at] < SAME_APPEARANCE", ""),
    ("objects.state[rows[at]] > CONFIRMED and ", ""),
]
ABSENCE_MUTANTS = [
    ("present_share >= PRESENT_SHARE", "present_share >= 2.0"),
    ("empty_share[at] >= EMPTY_SHARE", "empty_share[at] >= 2.0"),
    ("side, ahead + margin)", "side, -10.0)"),
    ("if not depth[row, column] > limit", "if depth[row, column] > limit"),
    ("depth[row, left] > limit and depth[row, right] > limit and above > limit", "True"),
    ("share >= FAR_SHARE", "share < FAR_SHARE"),
    ("(mask.size and mask[line, column])", "False"),
    ("gauge[_DOUBT] >= limit", "gauge[_DOUBT] <= limit"),
    ("rules.missed_weight * _weight", "0.0 * _weight"),
    ("count[_HITS] >= MIN_HITS", "True"),
    ("proven = there and not flat", "proven = there and flat"),
    ("if not behind >= -margin", "if behind >= -margin"),
    ("< VIEW_BASELINE", "< 0.0"),
    (" and count[_EMPTY_VIEWS] >= MIN_MISSED_VIEWS", ""),
    ("empty and count[_EMPTY_VIEWS] >= views", "empty"),
    ("if depth_decides and fits >= FIT_SHARE", "if False"),
    ("min(misses, MAX_VIEWS)", "misses"),
    ("min(NOTICED_RANGE + NOTICED_PER_SIZE * size, max_range)", "max_range"),
]
Stream = list[tuple[Frame, list[Observation]]]
MUG = (2.0, 0.0, 0.8)
LOOK, OTHER = np.eye(16, dtype=np.float32)[:2]


def test_the_known_answers_hold_for_the_code_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert association_holds(vars(association), monkeypatch)
    assert absence_holds(vars(absence), monkeypatch)


@pytest.mark.parametrize(("old", "new"), ASSOCIATION_MUTANTS)
def test_a_mutant_of_association_is_noticed(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not association_holds(mutant([association], old, new), monkeypatch)


@pytest.mark.parametrize(("old", "new"), ABSENCE_MUTANTS)
def test_a_mutant_of_absence_is_noticed(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not absence_holds(mutant([depth_evidence, absence], old, new), monkeypatch)


def mutant(modules: list[ModuleType], old: str, new: str) -> dict[str, Any]:
    """The names of the last module with one change made in the first that holds it; each uses those before it."""
    made: dict[str, Any] = {}
    names: dict[str, Any] = {}
    changed = False
    for module in modules:
        source = inspect.getsource(module)
        if not changed and old in source:
            source, changed = source.replace(old, new, 1), True
        names = {"__name__": module.__name__}
        exec(compile(source, module.__name__, "exec"), names)
        # as written: to compile a mutant takes longer than to run it
        functions = {name: value.py_func for name, value in names.items() if isinstance(value, Compiled)}
        made = functions | made
        names |= {name: made[name] for name in functions}
    assert changed, f"{old!r} is no longer in {modules[-1].__name__}: mend the mutant"
    return names


def score_of(
    names: dict[str, Any],
    *,
    apart: float = 0.0,
    sizes: tuple[float, float] = (0.1, 0.1),
    sigma: float = 0.0,
    cut: bool = False,
) -> float:
    body = np.zeros((1, BODY.width))
    body[0, BODY.parts["extent"]], body[0, BODY.parts["reach"]] = sizes[1], 1.0
    place = (apart, 0.0, 0.0), (sizes[0], sizes[0], sizes[0])
    return float(names["agree_in_space"](place, sigma, cut, body[0], Gate.of(Association())))


def association_holds(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(memory_module, "associate", names["associate"])
    scores = [
        (score_of(names), 1.0),
        (score_of(names, apart=0.15), 0.5),
        (score_of(names, apart=0.2, sigma=0.1), 0.5),
        (score_of(names, apart=0.2, sigma=0.5), 0.5),
        (score_of(names, apart=0.25, sizes=(0.1, 0.6)), 0.3 / 0.8),
        (score_of(names, apart=0.25, sizes=(0.1, 0.6), cut=True), 0.5),
    ]
    if any(said != pytest.approx(known) for said, known in scores):
        return False
    seconds = {
        # what is seen after a mug at the origin, and how many objects that makes
        "same": ([seen([0.05, 0, 1], embedding=LOOK)], 1),
        "far": ([seen([0.28, 0, 1], embedding=LOOK)], 2),
        "other look": ([seen([0.08, 0, 1], embedding=-LOOK)], 2),
        "other look, same place": ([seen([0.0, 0, 1], embedding=OTHER)], 1),
        "somewhat other look, near": ([seen([0.08, 0, 1], embedding=0.4 * LOOK + 0.9 * OTHER)], 1),
        "unrelated look, near": ([seen([0.1, 0, 1], embedding=OTHER)], 2),
        "two": ([seen([0.02, 0, 1], embedding=LOOK), seen([-0.15, 0, 1], embedding=LOOK)], 2),
    }
    for sights, count in seconds.values():
        memory = ObjectMemory()
        memory.observe(frame_at(0), [seen([0, 0, 1], embedding=LOOK)])
        events = memory.observe(frame_at(1), sights)
        # a thing that was taken for two and then joined was not associated
        if len(memory) != count or any(event.kind is EventKind.MERGED for event in events):
            return False
        if len(sights) == 2 and memory.state("obj-1").xyz_world[0] < -0.01:
            return False
    return comes_back() and is_told_from_another()


def is_told_from_another() -> bool:
    """Something else in the place of a thing that is gone is another; a known thing may look otherwise at times."""
    third = np.eye(16, dtype=np.float32)[2]
    objects = []
    for state in (State.CONFIRMED, State.MISSING):
        memory = ObjectMemory()
        for number in range(6):
            memory.observe(frame_at(number), [seen([0, 0, 1], embedding=LOOK)])
        memory.store.state[memory.store.row("obj-1")] = state
        memory.observe(frame_at(9), [seen([0, 0, 1], embedding=0.75 * LOOK + 0.66 * third)])
        objects.append(len(memory))
    return objects == [1, 2]


def comes_back() -> bool:
    """A thing that was seen to be gone comes back by its look under the same id."""
    _, events = after(gone_and_back())
    return [event.object_id for event in events if event.kind is EventKind.REAPPEARED] == ["obj-1"]


def swaying(room: Room, count: int, start: int = 0, *, still: bool = False, stride: float = 1.2) -> Stream:
    return [
        room.see(number, eye=(0.0, 0.0 if still else stride * np.sin(0.7 * number), 1.4), stamp=0.5 * number)
        for number in range(start, start + count)
    ]


@cache
def gone_and_back() -> Stream:
    room, empty = Room(), Room()
    room.put("mug", MUG)
    return swaying(room, 12) + swaying(empty, 12, 12) + swaying(room, 2, 24)


def _room(*boxes: tuple[str, tuple[float, ...], Any]) -> Room:
    room = Room()
    for name, xyz, size in boxes:
        room.put(name, xyz, size)
    return room


@cache
def streams() -> dict[str, tuple[Stream, int]]:
    """What happens, and how many things are missing in the end."""
    mug, board = ("mug", MUG, 0.3), ("board", (2.06, 0.0, 0.8), (0.04, 2.0, 2.0))
    poster, pole = ("poster", MUG, (0.02, 0.3, 0.3)), ("pole", MUG, (0.1, 0.1, 0.7))
    screen = ("screen", (1.0, 0.0, 1.0), (0.02, 3.0, 3.0))
    vase, wall = ("vase", MUG, 0.15), ("wall", (3.0, 0.0, 0.8), (0.04, 3.0, 3.0))
    upright = swaying(_room(vase, wall), 12)
    known, behind = swaying(_room(mug), 12), swaying(_room(poster, board), 12)
    away = swaying(_room(), 12, 12)
    rarely = [(frame, seen_[: number % 2]) for number, (frame, seen_) in enumerate(swaying(_room(mug), 24))]
    silent: Stream = [(frame, []) for frame, _ in swaying(_room(mug), 30, 12)]
    beside: Stream = [(frame, []) for frame, _ in swaying(_room(("pole", (2.0, 0.12, 0.8), (0.1, 0.1, 0.7))), 12, 12)]
    blind: Stream = [(blanked(frame), []) for frame, _ in away]
    far = [room_far(number) for number in range(12, 30)]
    return {
        "stays": (swaying(_room(mug), 24), 0),
        "taken": (known + away, 1),
        "not detected": (known + silent, 0),
        "hidden": (known + [(frame, []) for frame, _ in swaying(_room(mug, screen), 20, 12)], 0),
        "stared at": (known + swaying(_room(), 20, 12, still=True), 0),
        "two looks": (known + swaying(_room(), 2, 12), 0),
        "no depth": (known + blind, 0),
        "rarely detected": (rarely + swaying(_room(), 4, 24), 0),
        "poster taken": (behind + [(frame, seen_[1:]) for frame, seen_ in swaying(_room(poster, board), 24, 12)], 1),
        "vase unnoticed": (upright + [(f, s[1:]) for f, s in swaying(_room(vase, wall), 30, 12)], 0),
        "poster missed five times": (behind + [(f, s[1:]) for f, s in swaying(_room(poster, board), 5, 12)], 0),
        "poster seen thrice": (behind[:3] + [(f, s[1:]) for f, s in swaying(_room(poster, board), 40, 3)], 0),
        "pole beside its place": (swaying(_room(pole), 12) + beside, 0),
        "small and far": (swaying(_room(("vase", MUG, 0.2)), 12) + far, 0),
    }


def room_far(number: int) -> tuple[Frame, list[Observation]]:
    eye = (-1.6, 1.2 * float(np.sin(0.7 * number)), 1.2)
    return _room().see(number, eye=eye, target=MUG, stamp=0.5 * number)


def blanked(frame: Frame) -> Frame:
    """Depth in every fifth column only: too little of anything."""
    depth = frame.depth.copy()
    depth[:, np.arange(depth.shape[1]) % 5 > 0] = np.nan
    return Frame(frame.id, frame.stamp, frame.rgb, depth, frame.T_world_camera, frame.intrinsics)


def absence_holds(names: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setattr(memory_module, "find_absent", names["find_absent"])
    if [names["views_needed"](rate, Absence().chance, Absence().min_views) for rate in (0.99, 0.5, 0.1)] != [3, 7, 8]:
        return False
    covered, _ = after(streams()["taken"][0], body_from=12)
    rates = {name: after(streams()[name][0])[0].state("obj-1").detection_rate for name in ("stays", "not detected")}
    if covered.state("obj-1").state != "confirmed" or rates["stays"] < 0.9 or rates["not detected"] > 0.5:
        return False
    return all(missing(after(stream)[1]) == count for stream, count in streams().values())


def missing(events: list[Event]) -> int:
    return sum(event.kind is EventKind.MISSING for event in events)


def after(stream: Stream, *, body_from: int | None = None) -> tuple[ObjectMemory, list[Event]]:
    """A memory that saw a stream, the robot's body all over the image from some frame on; missed detections count."""
    memory = ObjectMemory(Settings(absence=Absence(missed_detection_weight=0.6)))
    events: list[Event] = []
    for number, (frame, observations) in enumerate(stream):
        if number == body_from:
            memory.set_body_mask(np.ones(frame.depth.shape, dtype=np.bool_))
        events += memory.observe(frame, observations)
    return memory, events
