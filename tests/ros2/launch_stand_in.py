"""Stands in for ROS's launch, which is not among the wheels: reads a launch file and gives the command it starts."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock


@dataclass(frozen=True)
class _Argument:
    name: str
    default_value: Any
    description: str


@dataclass(frozen=True)
class _Process:
    cmd: list[Any]
    output: str
    sigterm_timeout: str


@dataclass(frozen=True)
class _Configuration:
    name: str


@dataclass(frozen=True)
class _Joined:
    parts: list[Any]


@dataclass(frozen=True)
class _Share:
    package: str


def command_of(file: Path, prefix: Path, **given: str) -> list[str]:
    """The one command of a launch file, with ``name:=value`` of a user and packages installed below ``prefix``."""
    parts: Mapping[str, Mapping[str, Any]] = {
        "launch": {"LaunchDescription": list},
        "launch.actions": {"DeclareLaunchArgument": _Argument, "ExecuteProcess": _Process},
        "launch.substitutions": {"LaunchConfiguration": _Configuration, "PathJoinSubstitution": _Joined},
        "launch_ros": {},
        "launch_ros.substitutions": {"FindPackageShare": _Share},
    }
    modules: dict[str, ModuleType] = {name: SimpleNamespace(**held) for name, held in parts.items()}  # type: ignore[misc]
    with mock.patch.dict(sys.modules, modules):
        described = runpy.run_path(str(file))["generate_launch_description"]()
    arguments = {one.name: one.default_value for one in described if isinstance(one, _Argument)}
    assert given.keys() <= arguments.keys()
    (process,) = [one for one in described if isinstance(one, _Process)]

    def text(one: Any) -> str:
        match one:
            case _Configuration():
                return text(given.get(one.name, arguments[one.name]))
            case _Joined():
                return str(Path(*map(text, one.parts)))
            case _Share():
                return str(prefix / "share" / one.package)
            case list():
                return "".join(map(text, one))
        return str(one)

    return [text(word) for word in process.cmd]
