"""``lastseen eval questions``: questions with a truth from the home, and a short life that is asked them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from lastseen.evaluation.question_cases import Case, Sightings, cases
from lastseen.evaluation.questions import SEEN, _Life, evaluate
from lastseen.evaluation.sight import LOOKS
from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.memory import Memory
from lastseen.sim.change import ChangeKind
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.random_change import random_changes
from tests.memory.objects.scenes import look


@pytest.fixture(scope="module")
def home() -> Home:
    return generate_home(620)


def asked(home: Home) -> list[Case]:
    seen = Sightings(visited={room.id for room in home.rooms})
    seen.last = dict.fromkeys(home.things, 1.0)
    return list(cases(home, [], seen, seed=1))


@pytest.mark.integration
def test_twenty_kinds_of_questions_are_asked_of_homes_at_rest(home: Home) -> None:
    kinds = {case.kind for seed in (620, 621, 622) for case in asked(home if seed == 620 else generate_home(seed))}
    assert len(kinds) == 20
    assert [(case.kind, case.question) for case in asked(home)] == [
        (case.kind, case.question) for case in asked(home)
    ]


def test_an_empty_memory_is_right_about_what_is_absent_only(home: Home) -> None:
    with Memory.open() as memory:
        right = {case.kind for case in asked(home) if case.judge(memory.ask(case.question))}
    assert (
        right
        == {"is it on: no", "in a room: no", "near: no", "is there: no", "where: not there", "how often"} & right
    )
    assert {"is there: no", "where: not there"} <= right


def test_a_judge_wants_one_object_at_the_place(home: Home) -> None:
    case = next(case for case in asked(home) if case.kind == "where")
    thing = home.things[case.things[0]]
    with Memory.open() as memory:
        x, y, z = thing.position.tolist()
        memory.tell(f"there is a {thing.label}", position=(x, y, z))
        reply = memory.ask(case.question)
        assert case.judge(reply)
        assert not case.judge(replace(reply, objects=(*reply.objects, *reply.objects)))
        far = replace(reply.objects[0], position=(x + 3.0, y, z))
        assert not case.judge(replace(reply, objects=(far,)))


@pytest.mark.integration
def test_a_short_life_is_asked_the_same_twice() -> None:
    first = evaluate([620], level="typical", minutes=0.25)
    again = evaluate([620], level="typical", minutes=0.25)
    assert json.dumps(first.to_json()) == json.dumps(again.to_json())
    total = first.total()
    assert total.enough_right >= 0.7 * total.enough
    assert total.unseen_refused >= 0.9 * total.unseen


def test_the_spot_before_a_move_is_read_from_the_sentence(home: Home) -> None:
    after, changes = random_changes(home, [1.0] * 4, seed=1, kinds=(ChangeKind.MOVE,))
    case = next(case for case in cases(after, changes, Sightings(), seed=1) if case.kind == "before it moved")
    before = next(change.edits[0].before for change in changes if change.edits[0].thing_id == case.things[0])
    assert before is not None
    x, y = before.position[:2].tolist()
    with Memory.open() as memory:
        reply = memory.ask(case.question)
    assert case.judge(reply) is False
    assert case.judge(replace(reply, sentence=f"It was at ({x:.1f}, {y:.1f}) before it moved.")) is True


@pytest.mark.integration
def test_changes_are_asked_about_by_name(home: Home) -> None:
    after, changes = random_changes(
        home, [1.0] * 3, seed=1, kinds=(ChangeKind.ADD, ChangeKind.MOVE, ChangeKind.REMOVE)
    )
    found = [case for case in cases(after, changes, Sightings(), seed=1) if case.change]
    assert {"what has moved", "what is missing", "what is new since yesterday"} <= {case.kind for case in found}


def test_a_change_could_be_known_where_its_place_was_looked_at_on_both_days(home: Home) -> None:
    thing = next(one for one in home.things.values() if one.movable)
    life = _Life(home, seed=1, level="perfect")
    x, y, z = thing.position.tolist()
    towards = look([x + 1.0, y, z + 0.5], [x, y, z])
    open_view, hidden = (looking(towards, depth=depth) for depth in (5.0, 0.4))
    gone = Case("what is missing", "what is missing?", lambda _: True, (-1,), gone_from=thing)
    come = Case("what is new", "what is new?", lambda _: True, (thing.id,), came_to=thing)
    with life.memory:
        assert not life.could_know(gone)
        life.known = {-1}
        life.frames[1].extend([hidden] * LOOKS)
        assert not life.could_know(gone)
        life.frames[1].extend([open_view] * LOOKS)
        assert life.could_know(gone)
        life.known = set()
        assert not life.could_know(gone)
        life.today[thing.id] = SEEN
        assert not life.could_know(come)
        life.frames[0].extend([open_view] * LOOKS)
        assert life.could_know(come)


def looking(pose: Pose3D, *, depth: float) -> Frame:
    camera = Intrinsics(fx=40.0, fy=40.0, cx=31.5, cy=23.5, width=64, height=48)
    image = np.full((48, 64), depth, dtype=np.float32)
    return Frame(1, 1.0, np.zeros((48, 64, 3), dtype=np.uint8), image, pose, camera)
