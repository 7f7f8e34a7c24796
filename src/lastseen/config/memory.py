"""Settings of the memory: objects that persist, their file, asking it, and places on the robot's path."""

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
        0.05, low=0.0, high=1.0, why="least weight of an observation's labels: the mean of twenty, then a moving one"
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


@dataclass(frozen=True, kw_only=True)
class Labels(Section):
    """What is never remembered."""

    ignore: tuple[str, ...] = setting(
        ("person", "people", "man", "woman", "child", "boy", "girl", "baby", "face", "human"),
        why="a home robot has no business remembering people",
    )


@dataclass(frozen=True, kw_only=True)
class Store(Section):
    """The journal and its vector index."""

    upsert_period: float = setting(
        5.0, unit="s of frame time", low=0.0, why="what changed is written this often; see docs/object-memory.md"
    )
    index: str = setting("faiss", why="faiss is local and needs no server; a milvus:// address for many robots")
    store_crops: bool = setting(True, why="pictures make answers checkable; false where a home must stay private")
    surface: bool = setting(
        True, why="a coloured surface makes a file look like the home, 3 MB at most; false where it must stay private"
    )
    keyframes: str = setting(
        "people blanked",
        choices=("people blanked", "always", "never"),
        why="pictures of what the robot saw, 16 MB at most: where a detector that knows people looked, who are "
        "blanked; always, with whoever is in them; or never",
    )
    keep_crops: int = setting(3, unit="pictures per object", low=1, why="front, side and best; about 30 KB an object")
    keep_versions: int = setting(
        200,
        unit="versions per object",
        low=1,
        why="a thing moved daily is traced for half a year; oldest out first",
    )
    robot: str = setting("robot", why="whose memory this is, where several robots share one index")


@dataclass(frozen=True, kw_only=True)
class Retention(Section):
    """How much history is kept: the oldest events, earlier positions, pictures and paths go, objects never do."""

    days: float = setting(
        0.0, unit="days of memory time, 0 for all", low=0.0, why="nothing is too old by itself; set it where it is"
    )
    bytes: int = setting(
        1_000_000_000,
        unit="bytes of history, 0 for all",
        low=0,
        why="years of a home, and no disk is filled by the past",
    )


@dataclass(frozen=True, kw_only=True)
class Find(Section):
    """When an answer deserves to be believed."""

    encoder: str = setting("lexicon", why="meaning without a download; 'wordllama' with the extra text")
    k: int = setting(5, unit="hits", low=1, why="how many hits an answer lists at most")
    language_model: str = setting(
        "", why="what may phrase answers of `ask` for a server's clients, as openai:MODEL or gemini; empty: nothing"
    )
    clip_accept: float = setting(
        0.24, low=0.01, high=1.0, why="text against image in CLIP-like spaces, where true pairs lie near 0.3"
    )
    siglip_accept: float = setting(
        0.1, low=0.01, high=1.0, why="SigLIP's own sigmoid calls a text and an image a pair from about there on"
    )


@dataclass(frozen=True, kw_only=True)
class DeadReckoning(Section):
    """What each action does to the pose when nothing but the action is known."""

    forward_step: float = setting(0.25, unit="m", low=0.0, why="as Habitat moves")
    turn_angle: float = setting(30.0, unit="deg", low=0.0, high=180.0, why="as Habitat turns")
    trust_collisions: bool = setting(
        False, why="every forward advances the pose; true holds still when the robot reports a bump"
    )


@dataclass(frozen=True, kw_only=True)
class Places(Section):
    """When anchors and places are made."""

    update_period: int = setting(20, unit="steps", low=1, why="the scene is analyzed this often")
    dwell: int = setting(3, unit="analyses", low=1, why="so many analyses in a row must agree on a new place")
    anchor_forward_steps: int = setting(
        2, unit="forward steps", low=1, why="an anchor every half metre of a straight path"
    )
    detect_branches: bool = setting(False, why="true makes an anchor where depth shows a door or a fork")
    reenter: bool = setting(True, why="a place left and found again is one place; without it ABABA never fires")
    reenter_window: int = setting(8, unit="places", low=1, why="how many recent places can be re-entered")


@dataclass(frozen=True, kw_only=True)
class Localization(Section):
    """Which other anchors may be the same spot: a hint for the planner, never a merge."""

    radius: float = setting(1.5, unit="m", low=0.0, why="to be tuned to the drift of the robot")


@dataclass(frozen=True, kw_only=True)
class Patterns(Section):
    """When exploration counts as going nowhere."""

    stuck_window: int = setting(10, unit="steps", low=1, why="so many steps in one place are STUCK")
    no_progress_window: int = setting(20, unit="policy steps", low=1, why="one place update period")
    no_progress_distance: float = setting(
        0.5, unit="m", low=0.0, why="two forward steps: less in a whole window is no progress"
    )
