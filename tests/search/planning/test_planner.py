from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pytest

from lastseen.config import Settings
from lastseen.config.search import Planner
from lastseen.errors import BackendError
from lastseen.search.planning.plan import PLAN_SCHEMA, Plan, parse_plan, plan_client
from lastseen.vlm.mock import ScriptedBackend
from lastseen.vlm.protocol import EncodedImage

GOOD = json.dumps(
    {"goal_flag": False, "angle": 30, "discovered_context": {"goal_scene_type": "kitchen", "why": "mugs"}}
)
FAR = GOOD.replace("30", "300")


def test_a_good_answer_is_taken_at_once() -> None:
    backend = ScriptedBackend([GOOD])
    asked = plan_client(backend).ask("find the mug")
    assert (asked.answer, asked.failures) == (parse_plan(GOOD), ())
    assert backend.prompts == ["find the mug"]


def test_one_retry_that_says_what_was_wrong() -> None:
    backend = ScriptedBackend([FAR, GOOD])
    assert plan_client(backend).ask("find the mug").answer == parse_plan(GOOD)
    first, second = backend.prompts
    assert second.startswith(f"{first}\n\nYOUR LAST ANSWER WAS REFUSED: angle = 300: is outside -180 to 180")


def test_no_answer_after_the_second_failure() -> None:
    backend = ScriptedBackend(["nonsense", FAR, GOOD])
    planner = plan_client(backend)
    assert planner.ask("find the mug").answer is None
    assert len(backend.prompts) == 2
    assert dict(planner.failures) == {"not_json": 1, "out_of_range": 1}
    assert dict(planner.given_up) == {"out_of_range": 1}


def test_a_backend_without_an_answer_is_retried_and_counted() -> None:
    down = BackendError("server", "is down", remedy="wait", transient=True)
    planner = plan_client(ScriptedBackend([down, GOOD, down, down]))
    assert planner.ask("find the mug").answer is not None
    assert planner.ask("find the mug").answer is None
    assert (dict(planner.failures), dict(planner.given_up)) == ({"backend": 3}, {"backend": 1})


def test_a_model_that_refuses_the_first_question_for_good_is_an_error_and_is_not_asked_again() -> None:
    refused = BackendError("server", "refused with status 403", remedy="check the key", lasting=True)
    backend = ScriptedBackend([refused, GOOD])
    with pytest.raises(BackendError, match="status 403"):
        plan_client(backend).ask("find the mug")
    assert len(backend.prompts) == 1


def test_a_model_that_refuses_later_on_is_fallen_back_from() -> None:
    refused = BackendError("server", "refused with status 401", remedy="check the key", lasting=True)
    planner = plan_client(ScriptedBackend([GOOD, refused]))
    planner.ask("find the mug")
    assert planner.ask("find the mug").answer is None
    assert planner.refused is refused


def test_ignored_keys_are_counted() -> None:
    planner = plan_client(ScriptedBackend([GOOD[:-1] + ', "mood": 1}'] * 2))
    planner.ask("a")
    planner.ask("b")
    assert dict(planner.ignored_keys) == {"mood": 2}


class Silent:
    """A server that holds the line until the test lets go of it."""

    name = "silent"

    def __init__(self) -> None:
        self.release = threading.Event()

    def complete(
        self, prompt: str, images: Sequence[EncodedImage] = (), schema: Mapping[str, Any] | None = None
    ) -> str:
        self.release.wait(30)
        return GOOD


def test_a_silent_server_costs_the_time_limit_only() -> None:
    backend = Silent()
    planner = plan_client(backend, Settings(planner=Planner(time_limit=0.1)))
    asked = planner.ask("find the mug")
    backend.release.set()
    assert asked.answer is None
    assert dict(planner.given_up) == {"time_limit": 1}


def test_the_limit_covers_the_retry_too() -> None:
    ticks = iter([0.0, 0.0, 70.0, 70.0])
    backend = ScriptedBackend(["nonsense", GOOD])
    asked = plan_client(backend, clock=lambda: next(ticks)).ask("find the mug")
    assert [failure.reason for failure in asked.failures] == ["not_json", "time_limit"]
    assert len(backend.prompts) == 1


def test_a_fault_of_the_backend_that_is_no_answer_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        plan_client(ScriptedBackend([ZeroDivisionError()])).ask("find the mug")


def test_the_schema_agrees_with_the_reader() -> None:
    assert PLAN_SCHEMA["required"] == list(json.loads(GOOD))
    assert PLAN_SCHEMA["properties"]["discovered_context"]["required"] == ["goal_scene_type", "why"]


def test_ten_thousand_fuzzed_answers_give_a_plan_or_none_and_never_an_exception(soak: int) -> None:
    rng = random.Random(8)
    count = 1_000 * soak
    answers = [fuzzed(rng) for _ in range(2 * count)]
    planner = plan_client(ScriptedBackend(answers))
    good = 0
    for _ in range(count):
        plan = planner.ask("find the mug").answer
        if plan is not None:
            assert_valid(plan)
            good += 1
    assert sum(planner.given_up.values()) == count - good
    assert 0 < good < count


def assert_valid(plan: Plan) -> None:
    assert isinstance(plan.goal_flag, bool)
    assert -180.0 <= plan.angle <= 180.0
    assert plan.discovered_context.goal_scene_type.strip()
    assert 0 < len(plan.discovered_context.why) <= 200
    json.dumps(asdict(plan)).encode("utf-8")


VALUES: list[Any] = [
    True,
    False,
    None,
    0,
    1,
    -180,
    180.5,
    1e308,
    10**400,
    "",
    "kitchen",
    "\ud800",
    [],
    {},
    [[]],
    "\x00",
]


def fuzzed(rng: random.Random) -> str:
    """A good answer, more or less damaged: values swapped, keys lost, text cut, doubled, or overwritten."""
    answer = json.loads(GOOD)
    for _ in range(rng.randrange(3)):
        target = rng.choice([answer, answer.get("discovered_context")])
        if not isinstance(target, dict) or not target:
            continue
        key = rng.choice([*target, "extra"])
        if rng.random() < 0.3:
            target.pop(key, None)
        else:
            target[key] = rng.choice(VALUES)
    text = json.dumps(answer)
    damage = rng.randrange(6)
    if damage == 0:
        return text[: rng.randrange(len(text))]
    if damage == 1:
        at = rng.randrange(len(text))
        return text[:at] + chr(rng.randrange(0x110000)) + text[at + 1 :]
    if damage == 2:
        return f"```json\n{text}\n```"
    return text
