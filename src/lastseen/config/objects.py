"""Settings of the object memory: from observations to objects that persist."""

from __future__ import annotations

import math
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
    max_sigma: float = setting(
        0.1,
        unit="m",
        low=0.0,
        high=1.0,
        why="an observation's sigma widens its gate by at most this; worse guesses are judged by look",
    )
    spatial_weight: float = setting(
        0.45,
        low=0.0,
        high=1.0,
        why="the document's alpha; on simulated walks the looks of one thing agree to a cosine of 0.88 in 19 of 20 "
        "sightings and those of neighbours to 0.63 in 3 of 4, so looks may count for more than half",
    )
    threshold: float = setting(
        0.66,
        low=0.0,
        high=1.0,
        why="a match needs more than this; at equal size an equal look then has to lie within 0.22 m, one of cosine "
        "0.6 within 0.15 m, an unrelated one (cosine 0) within 0.04 m",
    )
    unknown_look: float = setting(
        0.9,
        low=0.0,
        high=1.0,
        why="the look score of a pair without embeddings: place and size then have to agree a little better than "
        "they would between equal looks",
    )
    size_weight: float = setting(
        1.0,
        low=0.0,
        high=1.0,
        why="how much a difference in size takes from the spatial score: a mug on a sofa lies inside the sofa's "
        "box; 0 gives the document's score from distance alone",
    )
    cut_agreement: float = setting(
        0.5,
        low=0.0,
        high=1.0,
        why="sizes agree at least this much when the image cuts the observation off: how large it is was not seen",
    )
    cut_slack: float = setting(
        0.05,
        unit="m",
        low=0.0,
        why="a cut-off observation that is smaller than an object and reaches no farther than this out of its box "
        "may be a sliver of it, whose look is not known",
    )
    size_tolerance: float = setting(
        0.2,
        unit="m",
        low=0.001,
        why="added to sizes before they are compared: views are partial, and noise of poses blurs boxes",
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
    typical_sigma: float = setting(
        0.02, unit="m", low=0.001, why="the noise position_ema is meant for; better observations weigh more"
    )
    extent_shrink: float = setting(
        0.15,
        low=0.0,
        high=1.0,
        why="share of a sighting's weight with which a smaller box counts: views are partial far more often than "
        "things shrink; less and noise would blow boxes up",
    )
    spread_ewma: float = setting(
        0.2, low=0.0, high=1.0, why="weight of a sighting in the position spread that stands in for stability"
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

    @property
    def precision_cap(self) -> float:
        """Inverse variance a position can gather: at it, a sighting of typical noise weighs ``position_ema``."""
        if self.position_ema == 0.0:
            return math.inf
        return (1.0 - self.position_ema) / self.position_ema / self.typical_sigma**2


@dataclass(frozen=True, kw_only=True)
class Absence(Section):
    """What counts as having seen that an object is gone."""

    enabled: bool = setting(True, why="false where depth or poses cannot be trusted; objects then only go stale")
    min_visible_share: float = setting(
        0.5, low=0.0, high=1.0, why="share of the object's surface points that must be in view and unoccluded"
    )
    present_share: float = setting(
        0.2,
        low=0.0,
        high=1.0,
        why="share of surface points met at their depth that says the thing stands there; its far side is hidden",
    )
    flat: float = setting(
        0.2,
        unit="m",
        low=0.0,
        why="a thing thinner than this lies before a wall or on a table whose depth fits it nearly as well: "
        "whether it is there is then for the detector to say",
    )
    small: float = setting(
        0.6, unit="m", low=0.0, why="only things up to this size: of larger ones detectors see parts, not wholes"
    )
    open_share: float = setting(
        0.8, low=0.0, high=1.0, why="share of a flat thing's points with nothing before them, so that it would show"
    )
    silence: float = setting(
        1.0,
        low=0.0,
        high=1.0,
        why="how far a detector's silence about a flat thing's open place is believed: by its record of finding the "
        "thing in such views; 0 trusts depth alone",
    )
    silent_views: int = setting(
        4,
        unit="views",
        low=1,
        high=1000,
        why="distinct camera places that must agree where silence is part of the evidence: one more than for depth",
    )
    surely_within: float = setting(
        0.85,
        unit="of the usual range",
        low=0.0,
        why="as near as this a thing is found as often as ever; beyond, less in proportion to range, as walks show",
    )
    heard_within: float = setting(
        1.0,
        unit="of the usual range",
        low=0.0,
        why="silence from farther counts for nothing: up to 1.3, homes that nothing was tuned on have things called "
        "missing that are there",
    )
    unseen_side: float = setting(
        1.3, low=1.0, why="a side that a thing was never detected from counts as this much farther away"
    )
    fit_thickness: float = setting(
        0.06, unit="m", low=0.0, why="of a thing thicker than this, depth tells something even before a wall"
    )
    fit_share: float = setting(
        0.5,
        low=0.0,
        high=1.0,
        why="share of a thing's open points within half the depth margin that shows it there, whatever is detected; "
        "3 of 5 views of what stands there unnoticed, 1 of 5 of what is gone",
    )
    fit_doubt: float = setting(
        0.5,
        unit="nats",
        low=0.0,
        why="doubt that such a fit takes back, and that a fit of less than present_share adds to silence",
    )
    silence_hits: int = setting(
        4, unit="observations", low=1, why="fewer sightings tell nothing about how reliably a thing is detected"
    )
    depth_margin: float = setting(
        0.08,
        unit="m",
        low=0.0,
        why="measured depth must lie this far behind a point before the point is empty: half a mug's height seen "
        "from above, and more than usual errors of pose",
    )
    depth_noise: float = setting(
        0.01, unit="m per m^2", low=0.0, why="added to the margin with the square of range, as depth noise grows"
    )
    foot: float = setting(
        0.03, unit="m", low=0.0, why="points lower than this over a thing's underside look like what it stands on"
    )
    standing_share: float = setting(
        0.5, low=0.0, high=1.0, why="shares are taken of at least this part of a thing's points, foot included"
    )
    min_points: int = setting(
        6, unit="points", low=1, high=32, why="fewer points above the foot than this cannot show that a thing is gone"
    )
    lateral_margin: float = setting(
        0.05,
        unit="m",
        low=0.0,
        why="depth must be behind this far to all sides too: a small error in pose shifts a thing in the image",
    )
    lateral_angle: float = setting(
        0.025,
        unit="rad",
        low=0.0,
        why="added with range, to the sides and above what a thing stands on: one degree of heading is 7 cm at 4 m",
    )
    min_range: float = setting(0.2, unit="m", low=0.0, why="closer than it, depth cameras are blind")
    max_range: float = setting(4.0, unit="m", low=0.1, why="beyond it depth noise and detector misses dominate")
    small_range: float = setting(
        1.2, unit="m", low=0.1, why="range at which even a toothbrush is larger than what a pose errs by"
    )
    range_per_size: float = setting(
        8.0, unit="m per m", low=0.0, why="larger things may be judged from farther: 0.35 m from the whole range"
    )
    min_views: int = setting(3, unit="views", low=1, high=1000, why="distinct camera places that must agree")
    max_views: int = setting(
        8, unit="views", low=1, high=1000, why="even a thing that is rarely detected is gone after this many"
    )
    view_baseline: float = setting(
        0.15, unit="m", low=0.0, why="camera places this far apart are distinct views; turning on the spot is one"
    )
    chance: float = setting(
        0.01, low=0.0, high=1.0, why="misses are enough when the object's detection rate makes them this unlikely"
    )


@dataclass(frozen=True, kw_only=True)
class Linking(Section):
    """When two objects are one: things that come back, that moved, and duplicates."""

    same_look: float = setting(
        0.8, unit="cosine", low=-1.0, high=1.0, why="two looks of one thing agree at least this much"
    )
    sure_look: float = setting(
        0.95,
        unit="cosine",
        low=-1.0,
        high=1.0,
        why="a moved thing that is called otherwise than before has to look this much like itself; glasses and "
        "bottles of one colour agree to 0.93",
    )
    same_name: float = setting(
        0.3,
        unit="cosine of label scores",
        low=0.0,
        high=1.0,
        why="label scores that agree less than this are other names; unnamed objects are never told apart by name",
    )
    surely_named: float = setting(
        0.9,
        unit="cosine of label scores",
        low=0.0,
        high=1.0,
        why="a moved thing that is called just what it was called before has to look like itself to merge_look only: "
        "it stands in other light and shows another side",
    )
    same_size: float = setting(
        0.6, low=0.0, high=1.0, why="size agreement of a moved thing with itself: it may stand another way round"
    )
    double_overlap: float = setting(
        0.5,
        low=0.0,
        high=1.0,
        why="boxes of one frame that share this part of their union are one thing detected twice",
    )
    merge_look: float = setting(
        0.7,
        unit="cosine",
        low=-1.0,
        high=1.0,
        why="looks of two objects in one place that are one: less than same_look, for the place speaks too",
    )
    merge_tolerance: float = setting(
        0.1, unit="m", low=0.0, why="boxes are widened by this before asking what lies in what: surfaces are thin"
    )
    merge_containment: float = setting(
        0.3, low=0.0, high=1.0, why="share of the smaller box inside the larger from which two objects may be one"
    )
    unmet_containment: float = setting(
        0.15,
        low=0.0,
        high=1.0,
        why="the same share for objects that were never seen in one frame: the front and the side of a stove",
    )
    unmet_hits: int = setting(
        8, unit="observations", low=1, why="neighbours that are two have met by the time both were seen this often"
    )
    piece_size: float = setting(
        0.4, unit="m", low=0.0, why="things from this size on are seen in pieces: close by, or cut off by the image"
    )
    piece_covered: float = setting(
        0.6,
        low=0.0,
        high=1.0,
        why="share of the smaller of an observation's and an object's box in the other from which the sighting "
        "covers that object too",
    )
    piece_look: float = setting(
        0.85, unit="cosine", low=-1.0, high=1.0, why="pieces of one thing that one sighting covers look this alike"
    )
    rival_gap: float = setting(
        0.1, unit="m", low=0.0, why="things nearer than this and seen in one frame are remembered as being two"
    )
    rival_share: float = setting(
        0.25,
        low=0.0,
        high=1.0,
        why="things seen side by side in this share of the rarer one's sightings are two and never merged; less is "
        "a detection that went to the wrong neighbour",
    )
    inner_containment: float = setting(
        0.85, low=0.0, high=1.0, why="share of a box inside another from which a thing lies wholly in another"
    )
    inner_look: float = setting(0.92, unit="cosine", low=-1.0, high=1.0, why="and its like looks this much like it")
    inner_rarity: float = setting(
        0.25, low=0.0, high=1.0, why="and it may be imagined where it was seen this much more rarely than its like"
    )
    inner_share: float = setting(
        0.6,
        low=0.0,
        high=1.0,
        why="the share that keeps a thing which lies in its like apart from it: detectors imagine things on large "
        "ones now and then, a cushion on its sofa is met nearly always",
    )
    free_share: float = setting(
        0.8, low=0.0, high=1.0, why="share of a new object's points seen through before that makes its place free"
    )
    open_views: int = setting(
        2,
        unit="depth images",
        low=1,
        why="a place that was open to view this often with nothing noticed there is new enough for a thing that went "
        "missing elsewhere",
    )
    added_views: int = setting(
        5,
        unit="depth images",
        low=1,
        why="open to view this often with nothing noticed there, a place was free of any thing that detectors find",
    )
    added_hits: int = setting(
        4, unit="observations", low=1, why="detectors imagine things, at times twice in one place; news needs more"
    )
    news_hits: int = setting(
        8,
        unit="observations",
        low=1,
        why="what is hard to notice is noticed late: only a thing seen this often since is told as having come",
    )
    keyframes: int = setting(
        512, unit="depth images", low=1, high=65536, why="small depth images kept to know what was free: 3 MB"
    )
    keyframe_cell: float = setting(
        1.0, unit="m", low=0.1, why="one depth image is kept per floor cell of this size and viewing direction"
    )


@dataclass(frozen=True, kw_only=True)
class Relations(Section):
    """When one thing is on, in, under or next to another."""

    contact: float = setting(
        0.08, unit="m", low=0.0, why="boxes that touch are remembered this far apart or into each other"
    )
    footprint_share: float = setting(
        0.5, low=0.0, high=1.0, why="share of the smaller footprint that must lie over the other: on and under"
    )
    inside_share: float = setting(0.8, low=0.0, high=1.0, why="share of a thing's box inside another's: in it")
    next_to: float = setting(0.5, unit="m", low=0.0, why="within an arm's width and at overlapping heights")


@dataclass(frozen=True, kw_only=True)
class Labels(Section):
    """What is never remembered."""

    ignore: tuple[str, ...] = setting(
        ("person", "people", "man", "woman", "child", "boy", "girl", "baby", "face", "human"),
        why="a home robot has no business remembering people",
    )
