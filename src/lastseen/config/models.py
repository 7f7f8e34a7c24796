"""Settings of the models a user brings: detectors, encoders of pictures and words, and the names they choose from."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Detector(Section):
    """How a detector's answers become detections."""

    min_score: float = setting(
        0.4, low=0.0, high=1.0, why="the score that D-FINE's and RT-DETR's own demos draw from; lower adds ghosts"
    )
    other_score: float = setting(
        0.15, low=0.0, high=1.0, why="second names of a box from here on are kept: a cup may also be a bowl"
    )
    max_names: int = setting(3, unit="names per box", low=1, why="further names of one box are noise")
    same_box: float = setting(
        0.85,
        unit="intersection over union",
        low=0.0,
        high=1.0,
        why="boxes this alike are one thing: memory takes two observations of one frame for two things",
    )
    fit: str = setting(
        "stretch",
        choices=("stretch", "letterbox"),
        why="RT-DETR and D-FINE are trained on stretched images; an export trained otherwise says so",
    )
    side: int = setting(
        640, unit="px", low=32, why="input side where the graph leaves it open, as these were trained"
    )
    threads: int = setting(0, unit="threads", low=0, why="0 lets onnxruntime take one per core")


@dataclass(frozen=True, kw_only=True)
class Encoding(Section):
    """How encoders of pictures and words run."""

    batch: int = setting(8, unit="crops", low=1, why="a frame has about this many things; more at once only waits")
    threads: int = setting(0, unit="threads", low=0, why="0 lets onnxruntime take one per core")


@dataclass(frozen=True, kw_only=True)
class Vocabulary(Section):
    """When a name chosen from a list by looks deserves to be given."""

    sharpness: float = setting(
        100.0, low=1.0, why="CLIP's learned scale: it turns cosines into shares of belief among the names"
    )
    min_share: float = setting(
        0.25, low=0.0, high=1.0, why="a name with less than a quarter of the belief is a guess"
    )
    min_lead: float = setting(
        0.1, low=0.0, high=1.0, why="two names this close cannot be told apart, unless people mix them up too"
    )
    clip_floor: float = setting(
        0.2, low=-1.0, high=1.0, why="CLIP's cosine of a picture and words that do not fit lies mostly below"
    )
    siglip_floor: float = setting(
        0.05, low=-1.0, high=1.0, why="SigLIP's cosine of a picture and words that do not fit lies mostly below"
    )
    kept: int = setting(3, unit="names", low=1, why="names after the third are noise to memory's vote")
    template: str = setting("a photo of a {}", why="the sentence CLIP was tried with; {} is the name")
