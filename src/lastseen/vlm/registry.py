"""Backends by name, loaded on first use: the settings name one as text, and only that one is imported.

A name may carry an argument after a colon, which the backend reads: ``mock:garbage``, ``recorded:run.jsonl``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from lastseen.config.seeking import Planner
from lastseen.errors import InvalidValue
from lastseen.vlm.protocol import Backend

Factory = Callable[[str, Planner, int], Backend]
"""(argument, settings, seed) -> backend; the argument is what follows the colon, or empty."""

_BACKENDS: dict[str, str] = {
    "endpoint": "lastseen.vlm.gemini:endpoint_from_settings",
    "gemini": "lastseen.vlm.gemini:from_settings",
    "mock": "lastseen.vlm.mock:from_settings",
    "offline": "lastseen.vlm.offline:from_settings",
    "openai": "lastseen.vlm.openai_compatible:from_settings",
    "record": "lastseen.vlm.recorded:recorder_from_settings",
    "recorded": "lastseen.vlm.recorded:from_settings",
}


def register_backend(name: str, factory: str) -> None:
    """Add a backend of your own: ``register_backend("mine", "my_package.my_module:from_settings")``."""
    if not name or ":" in name:
        raise InvalidValue("backend", name, "must be a word without a colon", remedy="choose another name")
    module, _, function = factory.partition(":")
    if not module or not function:
        raise InvalidValue("factory", factory, "must be module:function", remedy="for example my_package.vlm:make")
    if _BACKENDS.get(name, factory) != factory:
        raise InvalidValue("backend", name, "is taken", remedy=f"choose another name than {backend_names()}")
    _BACKENDS[name] = factory


def backend_names() -> list[str]:
    """Every backend that can be opened, sorted."""
    return sorted(_BACKENDS)


def open_backend(name: str, settings: Planner | None = None, *, seed: int = 0) -> Backend:
    """Open a backend by its name; equal names, settings and seeds give equal behaviour where the model does.

    >>> open_backend("mock").name
    'mock:valid'
    """
    kind, _, argument = name.partition(":")
    if kind not in _BACKENDS:
        raise InvalidValue("backend", name, "is not known", remedy=f"choose one of {', '.join(backend_names())}")
    module, _, function = _BACKENDS[kind].partition(":")
    factory = cast("Factory", getattr(importlib.import_module(module), function))
    return factory(argument, settings or Planner(), seed)
