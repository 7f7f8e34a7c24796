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


@dataclass(frozen=True, kw_only=True)
class Grounding(Section):
    """A detector that finds what it is asked for (Grounding DINO)."""

    min_score: float = setting(0.3, low=0.0, high=1.0, why="near the 0.25 to 0.35 that its authors use for boxes")
    names_at_once: int = setting(
        24, unit="names", low=1, why="its text holds 256 tokens, and more names at once blur into each other"
    )
    threads: int = setting(0, unit="threads", low=0, why="0 leaves torch's own choice, one per core")


@dataclass(frozen=True, kw_only=True)
class Outlines(Section):
    """Masks by SAM, of boxes or of everything in the picture."""

    points_per_side: int = setting(
        12, unit="points", low=1, high=64, why="a mug two metres away is a twelfth of the picture's width"
    )
    at_once: int = setting(32, unit="prompts", low=1, why="bounds memory: each prompt decodes to three masks")
    min_quality: float = setting(
        0.85, low=0.0, high=1.0, why="the overlap SAM predicts for its own mask; its authors keep 0.88 and more"
    )
    same_mask: float = setting(
        0.7, unit="intersection over union", low=0.0, high=1.0, why="points on one thing give one mask many times"
    )
    max_area: float = setting(0.5, unit="share of the image", low=0.0, high=1.0, why="more is a wall or the floor")
