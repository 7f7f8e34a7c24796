"""Stand-ins for the native modules that habitat-lab imports and, with a simulator of ours, never calls.

habitat-sim, magnum and corrade are not on PyPI; habitat-lab names their classes in type hints, base classes and a few
constants. A stand-in is a class for every name asked for, and takes any call, attribute and operator.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

NATIVE = ("magnum", "corrade", "habitat_sim")


class _Named(type):
    """A class that has every attribute: each is such a class again."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Named(name, (_Anything,), {})
        setattr(cls, name, found)
        return found

    def __or__(cls, other: object) -> Any:
        return cls

    def __ror__(cls, other: object) -> Any:
        return cls


class _Anything(metaclass=_Named):
    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *args: object, **kwargs: object) -> Any:
        return _Anything()

    def __mul__(self, other: object) -> Any:
        return _Anything()

    __rmul__ = __add__ = __sub__ = __truediv__ = __matmul__ = __mul__


class _Placeholder(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = _Named(name, (_Anything,), {})
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in NATIVE:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Placeholder(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def stand_in() -> None:
    """Put the stand-ins where Python looks last, so that the real modules win where they are installed."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
