"""Hostile belief JSON is refused with one line that names the field, and never ends in another error."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from lastseen.belief import new_belief, validate_belief, validate_hypothesis
from lastseen.errors import InvalidValue

HOSTILE: list[object] = [
    None,
    True,
    -1,
    2**70,
    1e308,
    float("nan"),
    float("inf"),
    "",
    "\x00",
    "x" * 5000,
    [],
    {},
    [[]],
    {"a": 1},
]


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where values stand in a tree of JSON."""
    keys = list(tree) if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else []
    return [path, *(found for key in keys for found in places(tree[key], (*path, key)))]


def test_hostile_values_anywhere_in_a_belief(soak: int) -> None:
    rng, whole = np.random.default_rng(0), new_belief("red mug")
    whole["candidate_nodes"] = [{"node_id": 1, "score": 0.5}]
    validate_belief(whole)
    said: list[str] = []
    for _ in range(300 * soak):
        belief: Any = json.loads(json.dumps(whole))
        every = places(belief)
        path = every[int(rng.integers(1, len(every)))]
        inner = belief
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = HOSTILE[int(rng.integers(len(HOSTILE)))]
        for validate in (validate_belief, validate_hypothesis):
            try:
                validate(belief)
            except InvalidValue as error:
                said.append(str(error))
    assert len(said) > 300 * soak
    assert not [line for line in said if "\n" in line or len(line) > 2000]


@pytest.mark.parametrize("tree", [None, 1, "x", [], {}, [{}], {"a": {}}])
def test_what_is_no_belief_is_refused(tree: object) -> None:
    with pytest.raises(InvalidValue):
        validate_belief(tree)


def test_a_belief_nested_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(InvalidValue):
        validate_belief({**new_belief("mug"), "candidate_nodes": deep})
