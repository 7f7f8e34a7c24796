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
