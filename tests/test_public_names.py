from __future__ import annotations

import ast
from pathlib import Path

import pytest

import lastseen

PUBLIC = [
    "Action",
    "Answer",
    "Detection",
    "Event",
    "Frame",
    "Intrinsics",
    "LastseenError",
    "Memory",
    "Object",
    "Observation",
    "Pose2D",
    "Pose3D",
    "Robot",
    "Search",
    "SearchResult",
    "Settings",
    "Step",
    "open",
    "open_source",
]


def test_the_public_names_are_these() -> None:
    assert lastseen.__all__ == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_loads_and_is_documented(name: str) -> None:
    assert getattr(lastseen, name).__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lastseen.nothing


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(lastseen.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = [alias.asname for node in guarded.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted([*(str(name) for name in seen), "open"]) == PUBLIC
