"""Settings of perception: from detections in an image to observations in the world."""

from __future__ import annotations

from dataclasses import dataclass

from lastseen.config.section import Section, setting


@dataclass(frozen=True, kw_only=True)
class Lift(Section):
    """How a detection gets its place in the world."""

    min_points: int = setting(
        12, unit="pixels", low=1, why="fewer depth pixels than this on a thing cannot tell where it is"
    )
    max_range: float = setting(6.0, unit="m", low=0.1, why="beyond it depth noise passes the size of small things")
    edge_drop: float = setting(
        0.25,
        unit="m",
        low=0.01,
        why="a jump in sorted depth this large separates a thing from what lies behind it or in front of it",
    )
    thread: float = setting(
        0.08,
        low=0.0,
        high=0.5,
        why="share of a thing's pixels that must lie within edge_drop of a depth for it to be part of the thing: "
        "less is background along the border of its mask",
    )
    box_core: float = setting(
        0.6,
        low=0.05,
        high=1.0,
        why="share of a box's width and height searched for the thing's depth when there is no mask",
    )
    edge_step: float = setting(
        0.04, unit="m per m", low=0.001, why="depth that jumps by this share of itself to a neighbour is an edge"
    )
    calm_share: float = setting(
        0.25, low=0.0, high=1.0, why="a thing with fewer pixels away from edges than this is thin: edges count too"
    )
    trim: float = setting(
        0.02, low=0.0, high=0.2, why="share of points cut off at each end of each axis before the box is measured"
    )
    sigma_base: float = setting(0.01, unit="m", low=0.001, why="position noise of a close thing")
    sigma_per_m2: float = setting(
        0.003,
        unit="m per m^2",
        low=0.0,
        why="noise of stereo and structured light grows with the square of range",
    )
    crop_margin: float = setting(0.1, low=0.0, high=1.0, why="share of the box added on each side of a crop")
    crop_side: int = setting(160, unit="pixels", low=16, why="longest side of a stored crop: about 5 kB of JPEG")


@dataclass(frozen=True, kw_only=True)
class Gate(Section):
    """Which frames are looked at at all."""

    key_distance: float = setting(0.05, unit="m", low=0.0, why="a tenth of arm's length: occlusions change")
    key_turn: float = setting(2.5, unit="deg", low=0.0, why="a twentieth of a usual field of view moves edges")
    key_period: float = setting(
        2.0, unit="s", low=0.0, why="a standing camera looks again after this, to see what came or went"
    )
    sweep_rate: float = setting(
        100.0, unit="deg/s", low=1.0, why="faster turns smear the image and tear colour from depth"
    )
    sweep_window: float = setting(0.3, unit="s", low=0.0, why="frames further apart tell nothing about speed")
    dark: float = setting(30.0, unit="of 255", low=0.0, high=255.0, why="the bright end of a lit room is far above")
    flat: float = setting(4.0, unit="of 255", low=0.0, high=255.0, why="a lens cap or a bare wall at arm's length")
    min_depth: float = setting(0.1, low=0.0, high=1.0, why="share of measured pixels under which nothing is lifted")
    blur_ratio: float = setting(0.35, low=0.0, high=1.0, why="sharpness under this share of the usual is motion blur")
    sharpness_memory: float = setting(0.1, low=0.0, high=1.0, why="weight of a frame in the usual sharpness")


@dataclass(frozen=True, kw_only=True)
class Segment(Section):
    """The geometric segmenter: things are what stands out of planes."""

    columns: int = setting(214, unit="px", low=40, why="width it works at: a mug at two metres has 7 of them")
    max_range: float = setting(4.5, unit="m", low=0.1, why="beyond it depth noise hides small things")
    plane_share: float = setting(0.02, low=0.0, high=1.0, why="share of pixels that makes a level or upright plane")
    level_area: float = setting(
        0.5, unit="m2", low=0.0, why="a larger level surface supports things: floor, table, bed"
    )
    wall_area: float = setting(
        1.0, unit="m2", low=0.0, why="a larger upright surface is a wall, not a cupboard's side"
    )
    plane_margin: float = setting(0.015, unit="m", low=0.0, why="depth noise of a flat surface at one metre")
    plane_noise: float = setting(0.004, unit="m per m^2", low=0.0, why="noise grows with the square of range")
    edge_step: float = setting(0.02, unit="m", low=0.0, why="a step in depth between neighbours that is an outline")
    edge_slope: float = setting(
        0.02, unit="share of depth", low=0.0, why="slanted surfaces and noise step with range"
    )
    crease: float = setting(
        0.25, unit="rad per pixel pair", low=0.0, why="an inward fold this sharp parts a thing from what it rests on"
    )
    patch_contrast: float = setting(
        28.0, unit="of 255", low=0.0, why="flat things (outlets, paper, screens) differ from their surface by this"
    )
    patch_columns: int = setting(
        427, unit="px", low=40, why="width for colour: an outlet at three metres has 7 of them"
    )
    patch_pixels: int = setting(24, unit="px at that width", low=1, why="smaller regions are texture")
    patch_edge: float = setting(
        18.0, unit="of 255 over two pixels", low=0.0, why="the slope of a sharp outline; shadows fade more slowly"
    )
    patch_busy: float = setting(
        1.5, low=0.0, why="contrast as a multiple of the spread of brightness around: wrinkles are no things"
    )
    patch_min_area: float = setting(0.0015, unit="m2", low=0.0, why="a third of a hand: smaller is texture")
    patch_max_area: float = setting(0.12, unit="m2", low=0.0, why="larger parts of a surface are its own pattern")
    min_pixels: int = setting(30, unit="px at that width", low=1, why="smaller blobs are noise")


@dataclass(frozen=True, kw_only=True)
class MaskFilter(Section):
    """Which segments go on to encoders and memory."""

    min_area: float = setting(0.0004, low=0.0, high=1.0, why="share of the image: a mug at four metres")
    max_area: float = setting(0.35, low=0.0, high=1.0, why="more is furniture too near to have an outline")
    max_border: float = setting(0.35, low=0.0, high=1.0, why="share of the outline cut off by the image")
    min_depth: float = setting(0.5, low=0.0, high=1.0, why="share of the mask with depth: less is glass or sky")
    max_depth_spread: float = setting(1.2, unit="m", low=0.0, why="more is background seen through a thing")
    max_aspect: float = setting(12.0, low=1.0, why="longer and thinner boxes are edges of planes")
    max_extent: float = setting(2.6, unit="m", low=0.0, why="larger than a sofa is structure")
    min_extent: float = setting(0.03, unit="m", low=0.0, why="smaller than a cup is noise at room range")
    structure_area: float = setting(1.2, unit="m2", low=0.0, why="a flat piece larger than a table top is a wall")
    flatness: float = setting(0.02, unit="m", low=0.0, why="thickness under which a piece counts as flat")
    top_k: int = setting(24, unit="masks", low=1, why="bounds the encoder's time on a cluttered frame")
