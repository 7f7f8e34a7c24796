"""Settings of perception: the models a user brings, and the step from an image to observations in the world."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Lift(Section):
    """How a detection gets its place in the world."""

    max_range: float = setting(6.0, unit="m", low=0.1, why="beyond it depth noise passes the size of small things")


@dataclass(frozen=True, kw_only=True)
class Segment(Section):
    """The geometric segmenter: things are what stands out of planes."""

    columns: int = setting(214, unit="px", low=40, why="width it works at: a mug at two metres has 7 of them")
    max_range: float = setting(4.5, unit="m", low=0.1, why="beyond it depth noise hides small things")


@dataclass(frozen=True, kw_only=True)
class Detector(Section):
    """How a detector's answers become detections."""

    min_score: float = setting(
        0.4, low=0.0, high=1.0, why="the score that D-FINE's and RT-DETR's own demos draw from; lower adds ghosts"
    )
    fit: str = setting(
        "auto",
        choices=("auto", "stretch", "letterbox"),
        why="RT-DETR and D-FINE are trained on stretched images, YOLO on whole ones with bars: auto goes by that",
    )
    side: int = setting(
        640, unit="px", low=32, why="input side where the graph leaves it open, as these were trained"
    )
    threads: int = setting(0, unit="threads", low=0, why="0 lets onnxruntime take one per core")


@dataclass(frozen=True, kw_only=True)
class Encoding(Section):
    """How encoders of images and text run."""

    batch: int = setting(8, unit="crops", low=1, why="a frame has about this many things; more at once only waits")
    threads: int = setting(0, unit="threads", low=0, why="0 lets onnxruntime take one per core")


@dataclass(frozen=True, kw_only=True)
class Vocabulary(Section):
    """How a name is chosen from a list by appearance."""

    template: str = setting("a photo of a {}", why="the sentence CLIP was tried with; {} is the name")


@dataclass(frozen=True, kw_only=True)
class Grounding(Section):
    """A detector that finds the names it is given (Grounding DINO)."""

    min_score: float = setting(0.3, low=0.0, high=1.0, why="near the 0.25 to 0.35 that its authors use for boxes")
    names_at_once: int = setting(
        24, unit="names", low=1, why="its text holds 256 tokens, and more names at once blur into each other"
    )
    threads: int = setting(0, unit="threads", low=0, why="0 leaves torch's own choice, one per core")
    device: str = setting("auto", why="where it runs: auto is cuda where there is one, else cpu; or cuda:1, mps")
    household: str = setting(
        "bed, sofa, chair, dining table, desk, nightstand, dresser, wardrobe, shelf, cabinet, refrigerator, oven, "
        "sink, toilet, bathtub, washing machine, tv, lamp, plant, book, mirror, curtain, door",
        why="asked for beside the goal of a search, so that places and objects get names; with it one question of 24",
    )


@dataclass(frozen=True, kw_only=True)
class Outlines(Section):
    """Masks by SAM, of boxes or of everything in the picture."""

    points_per_side: int = setting(
        12, unit="points", low=1, high=64, why="a mug two metres away is a twelfth of the picture's width"
    )
    min_quality: float = setting(
        0.85, low=0.0, high=1.0, why="the overlap SAM predicts for its own mask; its authors keep 0.88 and more"
    )
    max_area: float = setting(0.5, unit="share of the image", low=0.0, high=1.0, why="more is a wall or the floor")
    device: str = setting("auto", why="where SAM runs: auto is cuda where there is one, else cpu; or cuda:1, mps")
