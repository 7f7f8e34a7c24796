"""The whole tree: one section per part of the system."""

from __future__ import annotations

from dataclasses import dataclass, field

from lastseen.config.evaluation import Evaluation
from lastseen.config.models import Detector, Encoding, Grounding, Outlines, Vocabulary
from lastseen.config.moving import Branches, DeadReckoning, Localization, Patterns, Places
from lastseen.config.objects import Absence, Association, Labels, Lifecycle, Promotion, Relations, Views
from lastseen.config.perception import Keyframes, Lift, MaskFilter, Segment
from lastseen.config.policy import Explored, PixelNav, Policy, Stop
from lastseen.config.section import Section
from lastseen.config.seeking import (
    Context,
    DiscoveredContext,
    Panorama,
    Planner,
    Retrieval,
    Scene,
    Search,
)
from lastseen.config.serving import Live, Server
from lastseen.config.sim import Camera, Homes, Robot
from lastseen.config.store import Find, Retention, Store


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
    relations: Relations = field(default_factory=Relations)
    labels: Labels = field(default_factory=Labels)
    store: Store = field(default_factory=Store)
    retention: Retention = field(default_factory=Retention)
    find: Find = field(default_factory=Find)
    lift: Lift = field(default_factory=Lift)
    dead_reckoning: DeadReckoning = field(default_factory=DeadReckoning)
    places: Places = field(default_factory=Places)
    localization: Localization = field(default_factory=Localization)
    patterns: Patterns = field(default_factory=Patterns)
    branches: Branches = field(default_factory=Branches)
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
    keyframes: Keyframes = field(default_factory=Keyframes)
    segment: Segment = field(default_factory=Segment)
    mask_filter: MaskFilter = field(default_factory=MaskFilter)
    detector: Detector = field(default_factory=Detector)
    encoding: Encoding = field(default_factory=Encoding)
    server: Server = field(default_factory=Server)
    live: Live = field(default_factory=Live)
    vocabulary: Vocabulary = field(default_factory=Vocabulary)
    grounding: Grounding = field(default_factory=Grounding)
    outlines: Outlines = field(default_factory=Outlines)
