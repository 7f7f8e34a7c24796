from __future__ import annotations

import json
import pickle
from dataclasses import asdict
from typing import Any

import pytest

from lastseen.errors import PlanError
from lastseen.search.planning.plan import FALLBACK_PLAN, PLAN_SCHEMA, DiscoveredContext, Plan, parse_plan
from lastseen.search.planning.strict_json import unknown_keys

GOOD: dict[str, Any] = {
    "goal_flag": True,
    "angle": 15.0,
    "discovered_context": {"goal_scene_type": "kitchen", "why": "주방은 목표와 연관된 물체가 있을 확률이 높음"},
}


def changed(**changes: Any) -> str:
    return json.dumps({**GOOD, **changes})


def inner(**changes: Any) -> str:
    return changed(discovered_context={**GOOD["discovered_context"], **changes})


def without(key: str) -> str:
    return json.dumps({name: value for name, value in GOOD.items() if name != key})


def test_the_example_of_the_document_is_read() -> None:
    plan = parse_plan(json.dumps(GOOD))
    assert plan == Plan(True, 15.0, DiscoveredContext("kitchen", "주방은 목표와 연관된 물체가 있을 확률이 높음"))
    assert asdict(plan) == GOOD


@pytest.mark.parametrize("angle", [-180, 180, 0, -0.5, 179.999])
def test_angles_from_minus_180_to_180(angle: float) -> None:
    assert parse_plan(changed(angle=angle)).angle == angle


@pytest.mark.parametrize("angle", [180.001, -181, 1e9, 10**400])
def test_an_angle_out_of_range_is_refused(angle: float) -> None:
    with pytest.raises(PlanError, match=r"angle = .*outside -180 to 180") as error:
        parse_plan(changed(angle=angle))
    assert error.value.reason == "out_of_range"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the kitchen",
        "{",
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here it is: {json.dumps(GOOD)}",
        f"{json.dumps(GOOD)} I hope this helps",
        json.dumps(GOOD) * 2,
        changed(angle=float("nan")),
        changed(angle=float("inf")),
        '{"goal_flag": true, "goal_flag": false}',
        "[" * 100_000,
        "1" * 5000,
    ],
)
def test_only_json_is_read(text: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_plan(text)
    assert error.value.reason == "not_json"


@pytest.mark.parametrize("text", ["[]", "null", "3", '"kitchen"'])
def test_only_an_object_is_read(text: str) -> None:
    with pytest.raises(PlanError, match="not a JSON object"):
        parse_plan(text)


@pytest.mark.parametrize("key", ["goal_flag", "angle", "discovered_context"])
def test_a_missing_field_is_named(key: str) -> None:
    with pytest.raises(PlanError, match=f"{key} = None: is missing") as error:
        parse_plan(without(key))
    assert error.value.reason == "missing_field"


@pytest.mark.parametrize("key", ["goal_scene_type", "why"])
def test_a_missing_inner_field_is_named(key: str) -> None:
    context = {name: value for name, value in GOOD["discovered_context"].items() if name != key}
    with pytest.raises(PlanError, match=rf"discovered_context\.{key} = None: is missing"):
        parse_plan(changed(discovered_context=context))


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (changed(goal_flag=1), "goal_flag"),
        (changed(goal_flag="true"), "goal_flag"),
        (changed(goal_flag=None), "goal_flag"),
        (changed(angle="15"), "angle"),
        (changed(angle=True), "angle"),
        (changed(angle=[15]), "angle"),
        (changed(discovered_context="kitchen"), "discovered_context"),
        (inner(goal_scene_type=3), "discovered_context.goal_scene_type"),
        (inner(why=None), "discovered_context.why"),
    ],
)
def test_wrong_types_are_refused_not_repaired(text: str, field: str) -> None:
    with pytest.raises(PlanError) as error:
        parse_plan(text)
    assert (error.value.field, error.value.reason) == (field, "wrong_type")


@pytest.mark.parametrize("blank", ["", "  ", "\x00", "\n"])
def test_blank_text_is_refused(blank: str) -> None:
    for text in (inner(goal_scene_type=blank), inner(why=blank)):
        with pytest.raises(PlanError) as error:
            parse_plan(text)
        assert error.value.reason == "blank"


def test_unknown_keys_are_ignored_and_named() -> None:
    text = json.dumps({**GOOD, "mood": 1, "discovered_context": {**GOOD["discovered_context"], "x": 2}})
    assert parse_plan(text) == parse_plan(json.dumps(GOOD))
    assert unknown_keys(text, PLAN_SCHEMA) == ["mood", "discovered_context.x"]


def test_a_long_why_is_cut() -> None:
    assert len(parse_plan(inner(why="w" * 5000)).discovered_context.why) == 200


def test_text_from_a_model_is_one_clean_line() -> None:
    plan = parse_plan(inner(why="first\n\u2028second\x1b[31m \ud800end"))
    assert plan.discovered_context.why == "first second [31m end"


def test_the_fallback() -> None:
    assert asdict(FALLBACK_PLAN) == {
        "goal_flag": False,
        "angle": 0.0,
        "discovered_context": {"goal_scene_type": "corridor", "why": "fallback"},
    }


def test_a_plan_error_survives_the_trip_between_processes() -> None:
    with pytest.raises(PlanError) as error:
        parse_plan("{}")
    again = pickle.loads(pickle.dumps(error.value))
    assert (str(again), again.reason) == (str(error.value), "missing_field")
