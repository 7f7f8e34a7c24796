from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lastseen.errors import InvalidValue
from lastseen.observation import MAX_SURFACE_POINTS, Observation


def make_observation(**changes: Any) -> Observation:
    values: dict[str, Any] = {
        "position": [1.0, 2.0, 0.5],
        "extent": [0.1, 0.1, 0.2],
        "view_direction": [0.0, -2.0, 0.0],
        "stamp": 3.0,
    }
    return Observation(**{**values, **changes})


def test_directions_and_embeddings_are_kept_at_unit_length() -> None:
    seen = make_observation(embedding=[3.0, 4.0])
    assert seen.view_direction.tolist() == [0.0, -1.0, 0.0]
    assert seen.embedding is not None
    assert seen.embedding.dtype == np.float32
    assert seen.embedding.tolist() == pytest.approx([0.6, 0.8])


def test_the_label_is_the_likeliest_and_ties_are_alphabetical() -> None:
    assert make_observation(labels={"mug": 0.4, "cup": 0.4, "bowl": 0.1}).label == "cup"
    assert make_observation().label is None


def test_an_observation_does_not_share_the_callers_arrays() -> None:
    position = np.array([1.0, 2.0, 3.0])
    seen = make_observation(position=position)
    position[0] = 9.0
    assert seen.position[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        seen.position[0] = 9.0


@given(st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3))
def test_any_finite_position_is_kept_exactly(position: list[float]) -> None:
    assert make_observation(position=position).position.tolist() == position


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"position": [1, 2]}, r"observation\.position = \[1, 2\]: must have shape \(3,\)"),
        ({"position": [np.nan, 0, 0]}, r"observation\.position = .*NaN or infinity; drop invalid depth"),
        ({"position": "here"}, r"observation\.position = 'here': is not numbers"),
        ({"labels": ["mug"]}, r"observation\.labels = \['mug'\]: must map labels to scores"),
        ({"extent": [-1, 0, 0]}, r"observation\.extent = .*must not be negative"),
        ({"view_direction": [0, 0, 0]}, r"observation\.view_direction = .*has no direction"),
        ({"stamp": np.inf}, r"observation\.stamp = inf: must be finite"),
        ({"labels": {"": 0.5}}, r"observation\.labels = '': must be text"),
        ({"labels": {"mug": 1.5}}, r"observation\.labels\['mug'\] = 1\.5: must lie in 0 to 1"),
        ({"embedding": [0.0, 0.0]}, r"observation\.embedding = .*has no direction; leave it out"),
        ({"embedding": [[1.0]]}, r"observation\.embedding = .*must have shape \(1,\)"),
        ({"points": np.zeros((0, 3))}, r"observation\.points = .*must hold 1 to 64"),
        ({"points": np.zeros((MAX_SURFACE_POINTS + 1, 3))}, r"observation\.points = .*sample fewer"),
        ({"points": np.zeros((4, 2))}, r"observation\.points = .*must have shape \(4, 3\)"),
        ({"stamp": 1e300}, r"observation\.stamp = 1e\+300: must be finite, within"),
        ({"position": [0.0, -1e7, 0.0]}, r"observation\.position = .*is beyond 1e\+06 m"),
        ({"extent": [1e300, 0.1, 0.1]}, r"observation\.extent = .*is beyond 1e\+06 m"),
        ({"sigma": 1e300}, r"observation\.sigma = 1e\+300"),
        ({"labels": {"mug": "high"}}, r"observation\.labels\['mug'\] = 'high': must lie in 0 to 1"),
        ({"sigma": 0.0}, r"observation\.sigma = 0\.0: must be positive"),
        ({"quality": 2.0}, r"observation\.quality = 2\.0: must lie in 0 to 1"),
    ],
)
def test_bad_data_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make_observation(**changes)
