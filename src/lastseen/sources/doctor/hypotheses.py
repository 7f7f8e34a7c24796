"""Every change of a source's options that may explain images that its poses, depth and intrinsics do not fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from lastseen.geometry import CameraAxes
from lastseen.sources.conversion import quarter_turns
from lastseen.sources.options import QUARTER_TURNS, SourceOptions
from lastseen.sources.record import RawRecord

Changes = dict[str, object]

COMMON_SCALES = (1.0, 10.0, 100.0, 256.0, 1000.0, 4000.0, 5000.0, 8000.0, 10000.0)
"""Raw values per metre that sensors and file formats use."""

DELAYS = (-0.8, -0.5, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Seconds by which a pose clock may be off: a network's delay, a filter's, or a wrong stamp."""

POSE_OPTIONS = {"pose_inverted", "camera_axes", "quaternion_order"}

POSE_UNITS = (1000.0, 100.0, 10.0, 2.0, 0.5, 0.1, 0.01, 0.001)
"""What poses are multiplied by where they are in millimetres, centimetres, doubled or halved."""

FOCAL_FACTORS = (0.25, 0.4, 0.5, 0.6, 0.75, 0.87, 1.15, 1.33, 1.6, 2.0, 2.5, 4.0)
"""By what focal lengths are off that belong to an image of another size or crop."""


MAX_CENTER_ERROR = 0.05
"""Share of the image by which a principal point may be off: less is calibration."""


@dataclass(frozen=True, slots=True)
class Number:
    """A calibration that may be off by a little: what to try, and from where on it is a fault.

    ``values`` are shares of the image or logarithms of a factor; 0 is what was given.
    """

    option: str
    values: tuple[float, ...]
    least: float
    changes: Callable[[float], Changes]


def hypotheses(options: SourceOptions, record: RawRecord, *, delays: tuple[float, ...]) -> Iterator[Changes]:
    """Every change of options worth trying: pose conventions in all combinations, the rest one at a time.

    ``record`` says what the source itself states about depth and cameras.
    """
    ways = product((False, True), [axes.value for axes in CameraAxes], ("xyzw", "wxyz"))
    for inverted, axes, order in ways:
        whole: Changes = {"pose_inverted": inverted, "camera_axes": axes, "quaternion_order": order}
        changes = {name: value for name, value in whole.items() if value != getattr(options, name)}
        if changes:
            yield changes
    if record.depth_intrinsics is not None and options.share_view == "none":
        yield {"share_view": "color"}
    yield {"mirrored": not options.mirrored}
    # a quarter turn would exchange width and height: only a half turn keeps the size that the intrinsics name
    half = QUARTER_TURNS[(quarter_turns(options.images_turned) + 2) % 4]
    yield {"images_turned": half}
    scale = options.depth_scale or record.raw_per_metre
    for other in sorted({*COMMON_SCALES, scale / 2.0, scale * 2.0, scale / 1.5, scale * 1.5}):
        if abs(math.log(other / scale)) > 0.01:
            yield {"depth_scale": other}
    for factor in FOCAL_FACTORS:
        yield {"focal_factor": options.focal_factor * factor}
    for factor in POSE_UNITS:
        yield {"pose_scale": options.pose_scale * factor}
    for delay in delays:
        yield {"pose_delay": options.pose_delay + delay}


def numbers(options: SourceOptions, record: RawRecord) -> list[Number]:
    """The principal point and the focal length: numbers that may be off without being of another kind."""
    camera, depth = record.intrinsics, record.depth_intrinsics
    own = depth is not None and options.share_view == "none"

    def center(axis: str, share: float) -> Changes:
        size = camera.width if axis == "x" else camera.height
        given = getattr(options, f"c{axis}") or getattr(camera, f"c{axis}")
        changes: Changes = {f"c{axis}": round(given + share * size, 1)}
        if own and depth is not None:
            # the options know no principal point of depth, but how far its image lies beside colour's
            wide, shift = depth.width if axis == "x" else depth.height, f"depth_shift_{axis}"
            changes[shift] = round(getattr(options, shift) + share * wide, 1)
        return changes

    shares = (-0.24, -0.2, -0.16, -0.12, -0.08, -0.04, 0.0, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24)
    factors = (-0.36, -0.27, -0.18, -0.12, -0.06, 0.0, 0.06, 0.12, 0.18, 0.27, 0.36)
    return [
        Number("cx", shares, MAX_CENTER_ERROR, lambda share: center("x", share)),
        Number("cy", shares, MAX_CENTER_ERROR, lambda share: center("y", share)),
        Number(
            "focal_factor",
            factors,
            0.1,
            lambda step: {"focal_factor": round(options.focal_factor * math.exp(step), 3)},
        ),
    ]
