"""Settings of the object memory: from observations to objects that persist."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Association(Section):
    """When is an observation the same thing as a remembered object?"""

    radius: float = setting(0.3, unit="m", low=0.01, high=5.0, why="gate of a match; the floor of the grown radius")
    radius_growth: float = setting(
        1.0,
        low=0.0,
        high=4.0,
        why="share of the object's half extent and of the observation's own sigma added to the radius, because "
        "the visible centre of a large or distant thing wanders; 0 gives a fixed radius",
    )
    spatial_weight: float = setting(
        0.45,
        low=0.0,
        high=1.0,
        why="alpha, the part of position and size in the score; on simulated walks embeddings of one thing agree to "
        "a cosine of 0.88 in 19 of 20 sightings and those of neighbours to 0.63 in 3 of 4, so appearance may count "
        "for more than half",
    )
    threshold: float = setting(
        0.66,
        low=0.0,
        high=1.0,
        why="a match needs more than this; at equal size an equal appearance then has to lie within 0.22 m, one of "
        "cosine 0.6 within 0.15 m, an unrelated one (cosine 0) within 0.04 m",
    )
    size_weight: float = setting(
        1.0,
        low=0.0,
        high=1.0,
        why="how much a difference in size takes from the spatial score: a mug on a sofa lies inside the sofa's "
        "box; 0 gives a score from distance alone",
    )


@dataclass(frozen=True, kw_only=True)
class Promotion(Section):
    """When does a tentative object become a confirmed object?"""

    min_hits: int = setting(2, unit="observations", low=1, why="filters single-frame noise")
    min_stability: float = setting(0.5, low=0.0, high=1.0, why="filters detections whose appearance is inconsistent")
    min_view_bins: int = setting(
        2,
        unit="view bins",
        low=1,
        high=36,
        why="a thing seen from one angle only stays tentative",
    )


@dataclass(frozen=True, kw_only=True)
class Views(Section):
    """How directions from an object to the camera are divided into view bins."""

    azimuth_bins: int = setting(12, unit="bins", low=1, high=72, why="30 degrees each, the turn of one action")
    elevation_bins: int = setting(3, unit="bins", low=1, high=18, why="from below, level, from above")


@dataclass(frozen=True, kw_only=True)
class Lifecycle(Section):
    """How an object is updated and ages."""

    position_ema: float = setting(
        0.3,
        low=0.0,
        high=1.0,
        why="weight of an observation of typical noise in the moving average of position",
    )
    label_ewma: float = setting(
        0.2, low=0.0, high=1.0, why="weight of an observation's labels; five sightings outvote a wrong one"
    )
    gallery_size: int = setting(
        4, unit="views", low=1, high=16, why="embeddings of distinct views kept per object, in float16"
    )
    tentative_ttl: float = setting(
        30.0, unit="s", low=0.0, why="a tentative object not seen again within this frame time was noise"
    )
    max_tentative: int = setting(
        5000, unit="objects", low=1, why="bounds memory under a noisy detector; the longest unseen goes first"
    )
    stale_after: float = setting(
        600.0, unit="s", low=0.0, why="ten minutes unseen: flagged in answers, never removed for it"
    )
    remove_after: float = setting(
        60.0, unit="s", low=0.0, why="a missing object is removed only by a second look this much later"
    )


@dataclass(frozen=True, kw_only=True)
class Absence(Section):
    """What counts as having seen that an object is gone."""

    enabled: bool = setting(True, why="false where depth or poses cannot be trusted; objects then only go stale")
    min_range: float = setting(0.2, unit="m", low=0.0, why="closer than it, depth cameras are blind")
    max_range: float = setting(4.0, unit="m", low=0.1, why="beyond it depth noise and detector misses dominate")
    min_views: int = setting(3, unit="views", low=1, high=1000, why="distinct camera places that must agree")
    chance: float = setting(
        0.01, low=0.0, high=1.0, why="misses are enough when the object's detection rate makes them this unlikely"
    )
    missed_detection_weight: float = setting(
        1.0,
        low=0.0,
        high=1.0,
        why="how far it is believed that a flat thing is gone because it was not detected in a view without "
        "occlusion, by the detector's record of finding it in such views; 0 trusts depth alone",
    )
    missed_detection_range: float = setting(
        1.0,
        unit="of the usual range",
        low=0.0,
        why="missed detections from farther count for nothing: up to 1.3, homes that nothing was tuned on have "
        "things called missing that are there",
    )


@dataclass(frozen=True, kw_only=True)
class Relations(Section):
    """When one thing is next to another."""

    next_to: float = setting(0.5, unit="m", low=0.0, why="within an arm's width and at overlapping heights")


@dataclass(frozen=True, kw_only=True)
class Labels(Section):
    """What is never remembered."""

    ignore: tuple[str, ...] = setting(
        ("person", "people", "man", "woman", "child", "boy", "girl", "baby", "face", "human"),
        why="a home robot has no business remembering people",
    )
