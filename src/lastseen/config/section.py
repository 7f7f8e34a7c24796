"""How one setting is declared and checked: a dataclass field that carries unit, reason and range."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lastseen.errors import SettingsError
from lastseen.finite import is_finite

T = TypeVar("T")


def setting(
    default: T,
    *,
    why: str,
    unit: str = "",
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> T:
    """Declare a setting: its default, the reason for it, its unit and the values allowed (bounds included)."""
    field: Any = dataclasses.field(
        default=default,
        metadata={"why": why, "unit": unit, "low": low, "high": high, "choices": choices},
    )
    return field


@dataclass(frozen=True, kw_only=True)
class Section:
    """A group of settings; building one checks every value against its declaration."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.metadata:
                object.__setattr__(self, field.name, _checked(type(self), field, value))


@dataclass(frozen=True)
class Described:
    """One setting as ``lastseen config`` shows it."""

    name: str
    value: object
    default: object
    unit: str
    why: str


def describe(section: Section, *, prefix: str = "") -> Iterator[Described]:
    """Walk a settings tree and yield every leaf with its dotted name, in declaration order."""
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        name = f"{prefix}{field.name}"
        if isinstance(value, Section):
            yield from describe(value, prefix=f"{name}.")
        else:
            yield Described(name, value, field.default, field.metadata["unit"], field.metadata["why"])


def _checked(section: type[Section], field: dataclasses.Field[Any], value: object) -> object:
    """Return the value in the type of its default, or raise an error that names what would fit."""
    name = f"{section_key(section)}.{field.name}"
    default = field.default
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_finite(value):
        raise SettingsError(name, value, "must be finite", remedy=f"the default is {default!r}")
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if isinstance(default, tuple) and isinstance(value, list):
        value = tuple(value)
    if isinstance(default, str) and isinstance(value, str):
        value = str(value)  # members of a StrEnum are welcome and become plain text
    if type(value) is not type(default):
        raise SettingsError(name, value, f"must be {_kind(default)}", remedy=f"leave it out to get {default!r}")
    if isinstance(value, tuple) and not all(isinstance(item, str) for item in value):
        raise SettingsError(name, value, "must be a list of text", remedy=f"for example {list(value)!r}")
    low, high = field.metadata["low"], field.metadata["high"]
    if isinstance(value, int | float) and ((low is not None and value < low) or (high is not None and value > high)):
        bounds = f"{'-inf' if low is None else low} to {'inf' if high is None else high}"
        raise SettingsError(name, value, f"is outside {bounds}", remedy=f"the default is {default!r}")
    choices: tuple[str, ...] = field.metadata["choices"]
    if choices and value not in choices:
        raise SettingsError(name, value, "is not a choice", remedy=f"choose one of {', '.join(choices)}")
    return value


def read_toml(path: Path, name: str, *, remedy: str) -> dict[str, Any]:
    """The tree of a TOML file; errors call it ``name``, and give the remedy where it is none."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(name, str(path), f"cannot be read ({error.strerror})", remedy="check the path") from error
    except RecursionError as error:
        raise SettingsError(name, str(path), "is nested too deeply", remedy=remedy) from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(name, str(path), f"is not TOML ({error})", remedy=remedy) from error


def toml_value(text: str) -> Any:
    """A word as TOML would read it: true, 5000, 0.5; anything else stays text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return text


def section_key(section: type[Section]) -> str:
    """The key a section has in the tree: DeadReckoning is dead_reckoning."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", section.__name__).lower()


def _kind(default: object) -> str:
    names = {
        bool: "true or false",
        int: "a whole number",
        float: "a number",
        str: "text",
        tuple: "a list of text",
    }
    return names.get(type(default), type(default).__name__)
