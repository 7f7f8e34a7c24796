"""JSON Schemas of everything that crosses a border, and their validation from package data alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from itertools import islice
from typing import Any

from lastseen.errors import InvalidValue

_MOST_ERRORS = 1000
"""Errors that are looked at for the first: a hostile file may hold millions, each a kilobyte."""
PREFIX = "urn:lastseen:schema:"


@cache
def schema(name: str) -> Mapping[str, Any]:
    """The JSON Schema of this name, for example ``belief_state``."""
    text = resources.files(__package__).joinpath(f"{name}.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def validate(name: str, value: object) -> None:
    """Raise ``InvalidValue`` naming the first path in ``value`` that breaks the schema of this name."""
    try:
        found = list(islice(_validator(name).iter_errors(value), _MOST_ERRORS))
    except RecursionError:
        problem = "is nested too deeply"
        raise InvalidValue(name, type(value).__name__, problem, remedy="see docs/interface-contract.md") from None
    errors = sorted(found, key=lambda error: (list(map(str, error.path)), error.message))
    if errors:
        path = ".".join([name, *(str(part) for part in errors[0].path)])
        raise InvalidValue(
            path,
            errors[0].instance,
            f"breaks the schema ({errors[0].message[:200]})",
            remedy="see docs/interface-contract.md",
        )


@cache
def _validator(name: str) -> Any:
    # references resolve by urn in this registry: no file path is ever built, so it works the same on every system
    from jsonschema import Draft202012Validator
    from referencing import Registry, Resource

    names = sorted(
        entry.name.removesuffix(".schema.json")
        for entry in resources.files(__package__).iterdir()
        if entry.name.endswith(".schema.json")
    )
    registry: Registry[Any] = Registry().with_resources(
        [(PREFIX + entry, Resource.from_contents(dict(schema(entry)))) for entry in names]
    )
    return Draft202012Validator(dict(schema(name)), registry=registry)
