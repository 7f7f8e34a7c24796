"""Each small wrong change to the rules of motion and patterns must be noticed by a handful of known answers."""

from __future__ import annotations

import inspect
import math
from types import ModuleType
from typing import Any

import pytest

from lastseen import action as action_module
from lastseen.memory.places import progress as patterns_module
from lastseen.memory.places.anchor import AnchorRule
from lastseen.pose2d import Pose2D

MOTION_MUTANTS = [
    ("pose.x + motion.forward_step", "pose.x - motion.forward_step"),
    ("pose.y + motion.forward_step", "pose.y - motion.forward_step"),
    ("* math.cos(pose.yaw)", "* math.sin(pose.yaw)"),
    ("* math.sin(pose.yaw)", "* math.cos(pose.yaw)"),
    ("pose.yaw + math.radians(motion.turn_angle)", "pose.yaw - math.radians(motion.turn_angle)"),
    ("pose.yaw - math.radians(motion.turn_angle)", "pose.yaw + math.radians(motion.turn_angle)"),
    ("pose.yaw + math.radians(motion.turn_angle)", "pose.yaw + motion.turn_angle"),
    ("is Action.TURN_LEFT", "is Action.STOP"),
    ("is Action.TURN_RIGHT", "is Action.LOOK_UP"),
    ("is Action.FORWARD", "is Action.LOOK_DOWN"),
    ("    return pose\n", "    return Pose2D(0.0, 0.0, 0.0)\n"),
]
PATTERN_MUTANTS = [
    ("place_by_step[-window:]", "place_by_step[:window]"),
    ("place_by_step[-window:]", "place_by_step[-window - 1:]"),
    ("len(recent) >= window", "len(recent) > 0"),
    ("len(recent) >= window", "len(recent) > window"),
    ("<= 1", "<= 2"),
    ("<= 1", "< 1"),
    ("(place_visits)[-4:]", "(place_visits)[:4]"),
    ("(place_visits)[-4:]", "(place_visits)[-3:]"),
    ("without_repeats(place_visits)", "list(place_visits)"),
    ("visits[0] == visits[2] and", "visits[0] != visits[2] and"),
    ("visits[0] == visits[2] and", ""),
    ("and visits[1] == visits[3]", ""),
    ("len(poses) > window", "len(poses) >= window"),
    ("poses[-1 - window]", "poses[0]"),
    ("< distance", "<= distance"),
    ("visit != visits[index - 1]", "visit == visits[index - 1]"),
    ("index == 0 or", "index != 0 and"),
]


def test_the_known_answers_hold_for_the_code_as_it_is() -> None:
    assert motion_answers_hold(vars(action_module))
    assert pattern_answers_hold(vars(patterns_module))


@pytest.mark.parametrize(("old", "new"), MOTION_MUTANTS)
def test_a_mutant_of_dead_reckoning_is_noticed(old: str, new: str) -> None:
    assert not motion_answers_hold(mutant(action_module, old, new))


@pytest.mark.parametrize(("old", "new"), PATTERN_MUTANTS)
def test_a_mutant_of_the_patterns_is_noticed(old: str, new: str) -> None:
    assert not pattern_answers_hold(mutant(patterns_module, old, new))


def test_the_anchor_rule_counts_what_it_should() -> None:
    rule = AnchorRule(2)
    forward = action_module.Action.FORWARD
    assert rule.reasons(forward, moved=False, branch=False) == []
    assert rule.reasons(forward, moved=True, branch=False) == []
    assert rule.reasons(forward, moved=True, branch=True) == ["branch", "distance"]


def mutant(module: ModuleType, old: str, new: str) -> dict[str, Any]:
    source = inspect.getsource(module)
    assert old in source, f"{old!r} is no longer in {module.__name__}: mend the mutant"
    code = source.replace(old, new, 1)
    names: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(code, module.__name__, "exec"), names)
    return names


def motion_answers_hold(names: dict[str, Any]) -> bool:
    apply, action = names["apply"], names["Action"]
    start = Pose2D(1.0, 2.0, math.pi / 6)
    turned = math.pi / 6
    cos, sin = math.cos(turned), math.sin(turned)
    expected = {
        action.FORWARD: (1 + 0.25 * cos, 2 + 0.25 * sin, turned),
        action.TURN_LEFT: (1, 2, turned + math.radians(30)),
        action.TURN_RIGHT: (1, 2, turned - math.radians(30)),
        action.LOOK_UP: (1, 2, turned),
        action.LOOK_DOWN: (1, 2, turned),
        action.STOP: (1, 2, turned),
    }
    ended = {each: apply(start, each) for each in expected}
    return all((ended[each].x, ended[each].y, ended[each].yaw) == pytest.approx(expected[each]) for each in expected)


def pattern_answers_hold(names: dict[str, Any]) -> bool:
    stuck, ababa, still = names["is_stuck"], names["is_ababa"], names["no_progress"]
    origin, near, far = Pose2D(0, 0, 0), Pose2D(0.4, 0, 0), Pose2D(0.5, 0, 0)
    try:
        answers = [
            (stuck([1] * 10), True),
            (stuck([2] + [1] * 10), True),
            (stuck([1] * 10 + [2]), False),
            (stuck([1] * 5 + [2] * 5), False),
            (stuck([1] * 9), False),
            (ababa([1, 2, 1, 2]), True),
            (ababa([1, 1, 2, 2, 1, 1, 2, 2]), True),
            (ababa([1, 2, 1, 2, 3]), False),
            (ababa([3, 1, 2, 1, 2]), True),
            (ababa([1, 2, 1, 3]), False),
            (ababa([3, 2, 1, 2]), False),
            (ababa([1, 1, 1, 1]), False),
            (still([origin] * 20), False),
            (still([Pose2D(5, 0, 0)] + [origin] * 20 + [near]), True),
            (still([origin] * 20 + [far]), False),
        ]
    except IndexError:
        return False
    return all(bool(said) == known for said, known in answers)
