"""Settings of perception: from detections in an image to observations in the world."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Lift(Section):
    """How a detection gets its place in the world."""

    max_range: float = setting(6.0, unit="m", low=0.1, why="beyond it depth noise passes the size of small things")
    sigma_base: float = setting(0.01, unit="m", low=0.001, why="position noise of a close thing")
    sigma_per_m2: float = setting(
        0.003,
        unit="m per m^2",
        low=0.0,
        why="noise of stereo and structured light grows with the square of range",
    )
    crop_side: int = setting(160, unit="pixels", low=16, why="longest side of a stored crop: about 5 kB of JPEG")


@dataclass(frozen=True, kw_only=True)
class Keyframes(Section):
    """Which frames are processed."""

    key_distance: float = setting(0.05, unit="m", low=0.0, why="a tenth of arm's length: occlusions change")
    key_turn: float = setting(2.5, unit="deg", low=0.0, why="a twentieth of a usual field of view moves edges")
    key_period: float = setting(
        2.0, unit="s", low=0.0, why="a standing camera takes a frame again after this, to see what came or went"
    )
    sweep_rate: float = setting(
        100.0, unit="deg/s", low=1.0, why="faster turns smear the image and tear colour from depth"
    )
    dark: float = setting(30.0, unit="of 255", low=0.0, high=255.0, why="the bright end of a lit room is far above")
    blur_ratio: float = setting(0.35, low=0.0, high=1.0, why="sharpness under this share of the usual is motion blur")


@dataclass(frozen=True, kw_only=True)
class Segment(Section):
    """The geometric segmenter: things are what stands out of planes."""

    columns: int = setting(214, unit="px", low=40, why="width it works at: a mug at two metres has 7 of them")
    max_range: float = setting(4.5, unit="m", low=0.1, why="beyond it depth noise hides small things")
    plane_margin: float = setting(0.015, unit="m", low=0.0, why="depth noise of a flat surface at one metre")
    plane_noise: float = setting(0.003, unit="m per m^2", low=0.0, why="noise grows with the square of range")
    min_pixels: int = setting(30, unit="px at that width", low=1, why="smaller blobs are noise")


@dataclass(frozen=True, kw_only=True)
class MaskFilter(Section):
    """Which segments go on to encoders and memory."""

    min_area: float = setting(0.0004, low=0.0, high=1.0, why="share of the image: a mug at four metres")
    max_area: float = setting(0.35, low=0.0, high=1.0, why="more is furniture too near to have an outline")
    max_extent: float = setting(2.6, unit="m", low=0.0, why="larger than a sofa is structure")
    min_extent: float = setting(0.03, unit="m", low=0.0, why="smaller than a cup is noise at room range")
    top_k: int = setting(24, unit="masks", low=1, why="bounds the encoder's time on a cluttered frame")
