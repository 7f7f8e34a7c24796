"""Model answers read strictly: JSON and nothing else, types as asked, no silent repair; see docs/places.md.

A lenient reader hides that a model drifts; a strict one lets the retry tell the model what was wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from lastseen.errors import PlanError

_REMEDY = "answer with the JSON object only"


def parse_object(text: object) -> dict[str, Any]:
    """The JSON object that the text is; fences, other text, NaN and repeated keys are refused."""
    if not isinstance(text, str):
        raise PlanError("answer", text, "is not text", remedy=_REMEDY, reason="not_json")
    try:
        value = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique)
    except PlanError:
        raise
    except RecursionError:
        raise PlanError("answer", text, "is nested too deeply", remedy=_REMEDY, reason="not_json") from None
    except ValueError as error:
        raise PlanError("answer", text, f"is not JSON ({error})", remedy=_REMEDY, reason="not_json") from None
    if not isinstance(value, dict):
        raise PlanError("answer", value, "is not a JSON object", remedy=_REMEDY, reason="not_object")
    return value


def require(values: dict[str, Any], name: str, *, within: str = "") -> Any:
    """The field of this name, which must be there."""
    field = f"{within}{name}"
    if name not in values:
        raise PlanError(field, None, "is missing", remedy="give every field of the format", reason="missing_field")
    return values[name]


def boolean(field: str, value: object) -> bool:
    """True or false; numbers and words are not."""
    if not isinstance(value, bool):
        raise PlanError(field, value, "must be true or false", remedy="no number, no text", reason="wrong_type")
    return value


def number(field: str, value: object, *, low: float, high: float) -> float:
    """A number in a closed range; text and booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PlanError(field, value, "must be a number", remedy=f"{low:g} to {high:g}", reason="wrong_type")
    # compared before the conversion: a whole number may be too large for a float
    if not low <= value <= high:
        raise PlanError(field, value, f"is outside {low:g} to {high:g}", remedy="stay inside", reason="out_of_range")
    return float(value)


def text(field: str, value: object) -> str:
    """Text that is not blank."""
    if not isinstance(value, str):
        raise PlanError(field, value, "must be text", remedy="put it in quotes", reason="wrong_type")
    if not value.strip():
        raise PlanError(field, value, "is blank", remedy="write a word", reason="blank")
    return value


def unknown_keys(text: str, schema: Mapping[str, Any]) -> list[str]:
    """The keys of an answer, as ``outer.inner``, that its schema does not name: ignored, but counted."""
    return _unknown(parse_object(text), schema, "")


def _unknown(values: Mapping[str, Any], schema: Mapping[str, Any], within: str) -> list[str]:
    known = schema["properties"]
    found = sorted(f"{within}{key}" for key in values if key not in known)
    for key, value in values.items():
        if isinstance(value, dict) and "properties" in known.get(key, ()):
            found += _unknown(value, known[key], f"{within}{key}.")
    return found


def _no_constant(name: str) -> NoReturn:
    raise PlanError("answer", name, "is not a JSON number", remedy="write a finite number", reason="not_json")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        twice = sorted({key for key, _ in pairs if [other for other, _ in pairs].count(key) > 1})
        raise PlanError("answer", twice, "holds a key twice", remedy="give each key once", reason="not_json")
    return values
