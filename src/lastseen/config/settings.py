"""The whole tree of settings, one section per part of the system, and how it is read.

A misspelt key that is silently ignored costs an afternoon on a robot, so every unknown name is an error that
suggests the nearest valid one. Later sources win: defaults, then the TOML file, then the environment.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lastseen.config import memory as of_memory
from lastseen.config import perception as of_perception
from lastseen.config import programs as of_programs
from lastseen.config import search as of_search
from lastseen.config.section import Section, describe, read_toml, toml_value
from lastseen.errors import SettingsError

ENVIRONMENT_PREFIX = "LASTSEEN__"


@dataclass(frozen=True, kw_only=True)
class Settings(Section):
    """Every setting of lastseen; ``Settings()`` holds the defaults.

    >>> Settings().association.radius
    0.3
    """

    association: of_memory.Association = field(default_factory=of_memory.Association)
    promotion: of_memory.Promotion = field(default_factory=of_memory.Promotion)
    views: of_memory.Views = field(default_factory=of_memory.Views)
    lifecycle: of_memory.Lifecycle = field(default_factory=of_memory.Lifecycle)
    absence: of_memory.Absence = field(default_factory=of_memory.Absence)
    labels: of_memory.Labels = field(default_factory=of_memory.Labels)
    store: of_memory.Store = field(default_factory=of_memory.Store)
    retention: of_memory.Retention = field(default_factory=of_memory.Retention)
    find: of_memory.Find = field(default_factory=of_memory.Find)
    lift: of_perception.Lift = field(default_factory=of_perception.Lift)
    dead_reckoning: of_memory.DeadReckoning = field(default_factory=of_memory.DeadReckoning)
    places: of_memory.Places = field(default_factory=of_memory.Places)
    localization: of_memory.Localization = field(default_factory=of_memory.Localization)
    patterns: of_memory.Patterns = field(default_factory=of_memory.Patterns)
    retrieval: of_search.Retrieval = field(default_factory=of_search.Retrieval)
    discovered_context: of_search.DiscoveredContext = field(default_factory=of_search.DiscoveredContext)
    context: of_search.Context = field(default_factory=of_search.Context)
    panorama: of_search.Panorama = field(default_factory=of_search.Panorama)
    planner: of_search.Planner = field(default_factory=of_search.Planner)
    scene: of_search.Scene = field(default_factory=of_search.Scene)
    search: of_search.Search = field(default_factory=of_search.Search)
    policy: of_search.Policy = field(default_factory=of_search.Policy)
    explored: of_search.Explored = field(default_factory=of_search.Explored)
    pixel_nav: of_search.PixelNav = field(default_factory=of_search.PixelNav)
    stop: of_search.Stop = field(default_factory=of_search.Stop)
    evaluation: of_programs.Evaluation = field(default_factory=of_programs.Evaluation)
    robot: of_programs.Robot = field(default_factory=of_programs.Robot)
    camera: of_programs.Camera = field(default_factory=of_programs.Camera)
    homes: of_programs.Homes = field(default_factory=of_programs.Homes)
    segment: of_perception.Segment = field(default_factory=of_perception.Segment)
    detector: of_perception.Detector = field(default_factory=of_perception.Detector)
    encoding: of_perception.Encoding = field(default_factory=of_perception.Encoding)
    server: of_programs.Server = field(default_factory=of_programs.Server)
    live: of_programs.Live = field(default_factory=of_programs.Live)
    vocabulary: of_perception.Vocabulary = field(default_factory=of_perception.Vocabulary)
    grounding: of_perception.Grounding = field(default_factory=of_perception.Grounding)
    outlines: of_perception.Outlines = field(default_factory=of_perception.Outlines)


def load(path: str | Path | None = None, *, environment: Mapping[str, str] | None = None) -> Settings:
    """Read settings from a TOML file and ``LASTSEEN__SECTION__NAME`` variables over the defaults.

    >>> load(environment={"LASTSEEN__ASSOCIATION__RADIUS": "0.4"}).association.radius
    0.4
    """
    tree: dict[str, Any] = {}
    if path is not None:
        tree = read_toml(Path(path), "settings file", remedy="see what `lastseen config` prints")
    for name, text in sorted((os.environ if environment is None else environment).items()):
        if name.startswith(ENVIRONMENT_PREFIX):
            _put(tree, name, text)
    return settings_from_mapping(tree)


def settings_from_mapping(tree: Mapping[str, Any]) -> Settings:
    """Build settings from nested mappings, as TOML and JSON give them."""
    settings = _build(Settings, tree, prefix="")
    assert isinstance(settings, Settings)
    return settings


def _build(section: type[Section], tree: Mapping[str, Any], *, prefix: str) -> Section:
    fields = {field.name: field for field in dataclasses.fields(section)}
    values: dict[str, Any] = {}
    for key, value in tree.items():
        name = f"{prefix}{key}"
        if key not in fields:
            raise SettingsError(name, value, "is not a setting", remedy=_suggest(name))
        factory: object = fields[key].default_factory
        if isinstance(factory, type) and issubclass(factory, Section):
            if not isinstance(value, Mapping):
                raise SettingsError(name, value, "is a section", remedy=f"write it as [{name}] with keys below")
            values[key] = _build(factory, value, prefix=f"{name}.")
        else:
            values[key] = value
    return section(**values)


def _suggest(name: str) -> str:
    known = [described.name for described in describe(Settings())]
    known += sorted({leaf.rpartition(".")[0] for leaf in known})
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if not near:
        last = name.rpartition(".")[2]
        near = [leaf for leaf in known if leaf.endswith(f".{last}")][:1]
    return f"did you mean {near[0]}?" if near else "see `lastseen config` for all of them"


def _put(tree: dict[str, Any], variable: str, text: str) -> None:
    """Place one environment variable in the tree, its text read as a TOML value where it is one."""
    keys = variable.removeprefix(ENVIRONMENT_PREFIX).lower().split("__")
    node = tree
    for key in keys[:-1]:
        node = node.setdefault(key, {})
        if not isinstance(node, dict):
            raise SettingsError(variable, text, "goes below a single value", remedy=_suggest(".".join(keys)))
    node[keys[-1]] = toml_value(text)
