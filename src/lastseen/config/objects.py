"""Settings of the object memory: from observations to objects that persist."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Association(Section):
    """When is an observation the same thing as a remembered object?"""

    radius: float = setting(
        0.3, unit="m", low=0.01, high=5.0, why="the document's gate; the floor of the grown radius"
    )
    radius_growth: float = setting(
        1.0,
        low=0.0,
        high=4.0,
        why="share of the object's half extent and of the observation's own sigma added to the radius, because "
        "the visible centre of a large or distant thing wanders; 0 gives the document's fixed radius",
    )
    spatial_weight: float = setting(
        0.5,
        low=0.0,
        high=1.0,
        why="the document's alpha; position and look count alike until one is known better",
    )
    threshold: float = setting(
        0.5,
        low=0.0,
        high=1.0,
        why="a match needs more than this; at alpha 0.5 an unrelated look (cosine 0) at zero distance is 0.75, "
        "so the threshold is passed by place with a plausible look and missed by place with an opposite look",
    )


@dataclass(frozen=True, kw_only=True)
class Promotion(Section):
    """When does a proto-object become a confirmed object?"""

    min_hits: int = setting(2, unit="observations", low=1, why="the document: filters single-frame noise")
    min_stability: float = setting(
        0.5, low=0.0, high=1.0, why="the document: filters detections whose look is inconsistent"
    )
    min_view_bins: int = setting(
        2,
        unit="view bins",
        low=1,
        high=36,
        why="the document: a thing seen from one angle only stays tentative",
    )


@dataclass(frozen=True, kw_only=True)
class Views(Section):
    """How directions from an object to the camera are divided into view bins."""

    azimuth_bins: int = setting(12, unit="bins", low=1, high=72, why="30 degrees each, the turn of one action")
    elevation_bins: int = setting(3, unit="bins", low=1, high=18, why="from below, level, from above")


@dataclass(frozen=True, kw_only=True)
class Lifecycle(Section):
    """How an object ages."""

    position_ema: float = setting(
        0.3,
        low=0.0,
        high=1.0,
        why="weight of an observation of typical noise in the moving average of position",
    )
    label_ewma: float = setting(
        0.2, low=0.0, high=1.0, why="weight of an observation's labels; five sightings outvote a wrong one"
    )
    gallery_size: int = setting(4, unit="views", low=1, high=16, why="distinct looks kept per object, in float16")
    proto_ttl: float = setting(
        30.0, unit="s", low=0.0, why="a proto-object not seen again within this frame time was noise"
    )
    stale_after: float = setting(
        600.0, unit="s", low=0.0, why="ten minutes unseen: flagged in answers, never removed for it"
    )
    remove_after: float = setting(
        60.0, unit="s", low=0.0, why="a missing object is removed only by a second look this much later"
    )
    max_protos: int = setting(
        5000, unit="objects", low=1, why="bounds memory under a noisy detector; the oldest proto goes first"
    )


@dataclass(frozen=True, kw_only=True)
class Absence(Section):
    """What counts as having seen that an object is gone."""

    min_visible_share: float = setting(
        0.5, low=0.0, high=1.0, why="share of the object's surface points that must be in view and unoccluded"
    )
    depth_margin: float = setting(
        0.15,
        unit="m",
        low=0.0,
        why="measured depth must lie this far behind a point before the point is empty",
    )
    max_range: float = setting(4.0, unit="m", low=0.1, why="beyond it depth noise and detector misses dominate")
    min_views: int = setting(3, unit="views", low=1, why="distinct camera poses that must agree")


@dataclass(frozen=True, kw_only=True)
class Labels(Section):
    """What is never remembered."""

    ignore: tuple[str, ...] = setting(
        ("person", "people", "man", "woman", "child", "boy", "girl", "baby", "face", "human"),
        why="a home robot has no business remembering people",
    )
