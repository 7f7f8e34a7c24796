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

from lastseen.config.memory import (
    Absence,
    Association,
    DeadReckoning,
    Find,
    Labels,
    Lifecycle,
    Localization,
    Patterns,
    Places,
    Promotion,
    Retention,
    Store,
    Views,
)
from lastseen.config.perception import (
    Detector,
    Encoding,
    Grounding,
    Lift,
    Outlines,
    Segment,
    Vocabulary,
)
from lastseen.config.programs import Camera, Evaluation, Homes, Live, Robot, Server
from lastseen.config.search import (
    Context,
    DiscoveredContext,
    Explored,
    Panorama,
    PixelNav,
    Planner,
    Policy,
    Retrieval,
    Scene,
    Search,
    Stop,
)
from lastseen.config.section import Section, describe, read_toml, toml_value
from lastseen.errors import SettingsError

ENVIRONMENT_PREFIX = "LASTSEEN__"


@dataclass(frozen=True, kw_only=True)
class Settings(Section):
    """Every setting of lastseen; ``Settings()`` holds the defaults.

    >>> Settings().association.radius
    0.3
    """

    association: Association = field(default_factory=Association)
    promotion: Promotion = field(default_factory=Promotion)
    views: Views = field(default_factory=Views)
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    absence: Absence = field(default_factory=Absence)
    labels: Labels = field(default_factory=Labels)
    store: Store = field(default_factory=Store)
    retention: Retention = field(default_factory=Retention)
    find: Find = field(default_factory=Find)
    lift: Lift = field(default_factory=Lift)
    dead_reckoning: DeadReckoning = field(default_factory=DeadReckoning)
    places: Places = field(default_factory=Places)
    localization: Localization = field(default_factory=Localization)
    patterns: Patterns = field(default_factory=Patterns)
    retrieval: Retrieval = field(default_factory=Retrieval)
    discovered_context: DiscoveredContext = field(default_factory=DiscoveredContext)
    context: Context = field(default_factory=Context)
    panorama: Panorama = field(default_factory=Panorama)
    planner: Planner = field(default_factory=Planner)
    scene: Scene = field(default_factory=Scene)
    search: Search = field(default_factory=Search)
    policy: Policy = field(default_factory=Policy)
    explored: Explored = field(default_factory=Explored)
    pixel_nav: PixelNav = field(default_factory=PixelNav)
    stop: Stop = field(default_factory=Stop)
    evaluation: Evaluation = field(default_factory=Evaluation)
    robot: Robot = field(default_factory=Robot)
    camera: Camera = field(default_factory=Camera)
    homes: Homes = field(default_factory=Homes)
    segment: Segment = field(default_factory=Segment)
    detector: Detector = field(default_factory=Detector)
    encoding: Encoding = field(default_factory=Encoding)
    server: Server = field(default_factory=Server)
    live: Live = field(default_factory=Live)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    grounding: Grounding = field(default_factory=Grounding)
    outlines: Outlines = field(default_factory=Outlines)


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
