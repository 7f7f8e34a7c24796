from __future__ import annotations

import json

import pytest

from lastseen import schemas
from lastseen.belief import validate_hypothesis
from lastseen.errors import BackendError, InvalidValue
from lastseen.vlm import open_backend
from lastseen.vlm.mock import ScriptedBackend

HYPOTHESIS = schemas.schema("hypothesis")


def test_valid_answers_fit_the_hypothesis_schema() -> None:
    backend = open_backend("mock", seed=1)
    for _ in range(50):
        validate_hypothesis(json.loads(backend.complete("p", schema=HYPOTHESIS)))


def test_invalid_answers_are_json_that_breaks_the_schema() -> None:
    backend = open_backend("mock:invalid", seed=1)
    for _ in range(50):
        answer = json.loads(backend.complete("p", schema=HYPOTHESIS))
        with pytest.raises(InvalidValue):
            validate_hypothesis(answer)


def test_garbage_is_no_json_object_of_use() -> None:
    backend = open_backend("mock:garbage", seed=1)
    for _ in range(50):
        answer = backend.complete("p", schema=HYPOTHESIS)
        try:
            parsed = json.loads(answer)
        except json.JSONDecodeError:
            continue
        assert not isinstance(parsed, dict)


def test_equal_seeds_give_equal_answers() -> None:
    said = [[open_backend("mock", seed=s).complete("p") for _ in range(5)] for s in (7, 7, 8)]
    assert said[0] == said[1]


def test_a_schema_with_an_angle_gets_planner_output() -> None:
    answer = json.loads(open_backend("mock").complete("p", schema={"properties": {"angle": {}}}))
    assert set(answer) == {"goal_flag", "angle", "discovered_context"}


def test_down_raises() -> None:
    with pytest.raises(BackendError, match="mock:down is down"):
        open_backend("mock:down").complete("p")


def test_an_unknown_behaviour_is_refused() -> None:
    with pytest.raises(InvalidValue, match="choose one of valid, invalid"):
        open_backend("mock:clever")


def test_a_script_is_said_in_turn_and_then_ends() -> None:
    backend = ScriptedBackend(["one", BackendError("scripted", "broke", remedy="none")])
    assert backend.complete("first") == "one"
    with pytest.raises(BackendError, match="broke"):
        backend.complete("second")
    with pytest.raises(BackendError, match="no answer left"):
        backend.complete("third")
    assert backend.prompts == ["first", "second", "third"]
