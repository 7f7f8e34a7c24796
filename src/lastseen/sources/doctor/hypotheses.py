"""Every change of a source's options that may explain images that its poses, depth and intrinsics do not fit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from lastseen.geometry import CameraAxes, Intrinsics
from lastseen.sources.conversion import quarter_turns
from lastseen.sources.options import QUARTER_TURNS, SourceOptions

COMMON_SCALES = (1.0, 10.0, 100.0, 256.0, 1000.0, 4000.0, 5000.0, 8000.0, 10000.0)
"""Raw values per metre that sensors and file formats use."""

DELAYS = (-0.8, -0.5, -0.3, -0.2, -0.1, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Seconds by which a pose clock may be off: a network's delay, a filter's, or a wrong stamp."""

POSE_OPTIONS = {"pose_inverted", "camera_axes", "quaternion_order"}

POSE_UNITS = (1000.0, 100.0, 10.0, 2.0, 0.5, 0.1, 0.01, 0.001)
"""What poses are multiplied by where they are in millimetres, centimetres, doubled or halved."""

CENTER_STEPS = (-0.16, -0.08, -0.04, 0.04, 0.08, 0.16)
"""Shares of the image by which a principal point may be off."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One hypothesis with its error as a share of depth and in centimetres."""

    changes: dict[str, object]
    error: float
    centimetres: float


def hypotheses(
    options: SourceOptions, *, raw_per_metre: float, delays: tuple[float, ...], camera: Intrinsics | None
) -> Iterator[dict[str, object]]:
    """Every change of options worth trying: pose conventions in all combinations, the rest one at a time.

    ``camera`` is that of colour and depth, where they share one.
    """
    ways = product((False, True), [axes.value for axes in CameraAxes], ("xyzw", "wxyz"))
    for inverted, axes, order in ways:
        whole: dict[str, object] = {"pose_inverted": inverted, "camera_axes": axes, "quaternion_order": order}
        changes = {name: value for name, value in whole.items() if value != getattr(options, name)}
        if changes:
            yield changes
    if camera is None and options.share_view == "none":
        yield {"share_view": "color"}
    yield {"mirrored": not options.mirrored}
    # a quarter turn would exchange width and height: only a half turn keeps the size that the intrinsics name
    half = QUARTER_TURNS[(quarter_turns(options.images_turned) + 2) % 4]
    yield {"images_turned": half}
    scale = options.depth_scale or raw_per_metre
    for other in sorted({*COMMON_SCALES, scale / 2.0, scale * 2.0, scale / 1.5, scale * 1.5}):
        if abs(math.log(other / scale)) > 0.01:
            yield {"depth_scale": other}
    for factor in (0.25, 0.4, 0.5, 0.6, 0.75, 0.87, 1.15, 1.33, 1.6, 2.0, 2.5, 4.0):
        yield {"focal_factor": options.focal_factor * factor}
    for factor in POSE_UNITS:
        yield {"pose_scale": options.pose_scale * factor}
    for share in CENTER_STEPS if camera is not None else ():
        assert camera is not None
        yield {"cx": round((options.cx or camera.cx) + share * camera.width, 1)}
        yield {"cy": round((options.cy or camera.cy) + share * camera.height, 1)}
    for delay in delays:
        yield {"pose_delay": options.pose_delay + delay}
