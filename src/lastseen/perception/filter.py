"""Which masks are things: tested on size, outline, depth and shape before any encoder runs.

Every mask that is dropped has a reason, and the reasons are counted. What is left is ranked by how much an encoder
and memory can make of it, and only the best ``top_k`` go on:

    priority = score x share measured x (1 - share cut off by the border) x min(1, pixels / 400)

so a whole, well measured, fairly large thing comes before a sliver at the edge of the image.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.observation import SURFACE

Window = tuple[slice, slice]

ENOUGH_POINTS = 2048
"""Pixels of the window of a mask that tell its shape."""
ENOUGH_PIXELS = 400.0
"""Pixels of a 320-pixel-wide mask beyond which a thing is seen well enough."""
TOP_K = 24
"""Masks of a frame that go on: bounds the encoder's time on a cluttered one."""
MIN_AREA, MAX_AREA = 0.0004, 0.35
"""Shares of the image: a mug at four metres; more is furniture too near to have an outline."""
MIN_EXTENT, MAX_EXTENT = 0.03, 2.6
"""Metres: smaller than a cup is noise at room range, larger than a sofa is structure."""
MAX_BORDER = 0.5
"""Share of the outline that may be cut off by the image."""
MIN_REACH = 0.1
"""How far a thing must reach into the image, as a share of the border that cuts it off: a strip along it does not."""
MIN_DEPTH = 0.5
"""Share of the mask that must have depth: less is glass or sky."""
MIN_POINTS = 8
"""Points with depth that a shape can be measured from."""
MAX_DEPTH_SPREAD = 1.2
"""Metres between near and far pixels of a mask; more is background seen through a thing."""
MAX_ASPECT = 12.0
"""Boxes longer and thinner than this are edges of planes."""
STRUCTURE_AREA = 1.2
"""Square metres; a flat piece larger than a table top is a wall or a floor."""
FLATNESS = 0.02
"""Metres of thickness (standard deviation) below which a piece counts as flat."""


class Dropped(StrEnum):
    """Why a mask was dropped."""

    SMALL = "too small"
    LARGE = "too large"
    CUT = "cut off by the border"
    NO_DEPTH = "too little depth"
    SPREAD = "depth too spread"
    THIN = "too long and thin"
    EXTENT = "not the size of a thing"
    STRUCTURE = "part of a wall or floor"
    RANK = "beyond the best top_k"


@dataclass(frozen=True, slots=True)
class Measured:
    """A mask that passed, and its priority."""

    detection: Detection
    priority: float


class DetectionFilter:
    """Applies the tests to one frame's detections and counts what it drops."""

    def __init__(self, *, top_k: int = TOP_K) -> None:
        self.top_k = top_k
        self.dropped: Counter[Dropped] = Counter()

    def keep(self, frame: Frame, detections: list[Detection]) -> list[Detection]:
        """The detections worth going on with, highest priority first; boxes without a mask always pass.

        What a detector named is only tested on size and depth.
        """
        ranked: list[Measured] = []
        for detection in detections:
            verdict = self._measure(frame, detection)
            if isinstance(verdict, Dropped):
                self.dropped[verdict] += 1
            else:
                ranked.append(Measured(detection, verdict))
        ranked.sort(key=lambda measured: (-measured.priority, measured.detection.box))
        self.dropped[Dropped.RANK] += max(0, len(ranked) - self.top_k)
        return [measured.detection for measured in ranked[: self.top_k]]

    def counts(self) -> dict[str, int]:
        """How many masks were dropped for each reason, most frequent first."""
        ranked = sorted(self.dropped.items(), key=lambda item: (-item[1], item[0].value))
        return {reason.value: count for reason, count in ranked if count}

    def _measure(self, frame: Frame, detection: Detection) -> float | Dropped:
        mask = detection.mask
        if mask is None:
            return detection.score
        window = _window(mask, frame, detection)
        inside = mask[window]
        pixels = int(inside.sum())
        if pixels < MIN_AREA * mask.size:
            return Dropped.SMALL
        if detection.kind == SURFACE:
            return detection.score
        border, cut_pixels, through = _border_share(mask, window, inside)
        if detection.labels:
            # whoever names it knows that it is a thing; chair bars show the wall behind them, and a table is flat
            share = self._share_measured(frame, mask, window, inside)
            return detection.score * share * (1.0 - border) if share > 0.0 else Dropped.NO_DEPTH
        if pixels > MAX_AREA * mask.size:
            return Dropped.LARGE
        if border > MAX_BORDER or pixels < MIN_REACH * cut_pixels**2 or through:
            return Dropped.CUT
        left, top, right, bottom = detection.box
        aspect = (right - left) / (bottom - top)
        if max(aspect, 1.0 / aspect) > MAX_ASPECT:
            return Dropped.THIN
        points, share = _points(frame, mask, window, inside)
        if share < MIN_DEPTH or len(points) < MIN_POINTS:
            return Dropped.NO_DEPTH
        far = int(0.95 * (len(points) - 1))
        ordered = np.partition(points[:, 2], (len(points) - 1 - far, far))
        if float(ordered[far] - ordered[-1 - far]) > MAX_DEPTH_SPREAD:
            return Dropped.SPREAD
        shape = self._shape(points)
        if shape is not None:
            return shape
        return detection.score * share * (1.0 - border) * min(1.0, pixels / ENOUGH_PIXELS)

    @staticmethod
    def _share_measured(frame: Frame, mask: NDArray[np.bool_], window: Window, inside: NDArray[np.bool_]) -> float:
        """The share of a mask's pixels with depth; 0 where they are too few to place anything."""
        points, share = _points(frame, mask, window, inside)
        return share if len(points) >= MIN_POINTS else 0.0

    def _shape(self, points: NDArray[np.float64]) -> Dropped | None:
        """The size of the points along their own three axes, judged."""
        spread = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(points.T)), 0.0))
        # an even slab is as wide as the square root of twelve times its standard deviation
        thickness, width, length = np.sqrt(12.0) * spread
        if length > MAX_EXTENT or length < MIN_EXTENT:
            return Dropped.EXTENT
        if thickness / np.sqrt(12.0) < FLATNESS and width * length > STRUCTURE_AREA:
            return Dropped.STRUCTURE
        return None


def _window(mask: NDArray[np.bool_], frame: Frame, detection: Detection) -> Window:
    """The part of the mask around the box, so that a small thing costs little."""
    sx, sy = mask.shape[1] / frame.intrinsics.width, mask.shape[0] / frame.intrinsics.height
    left, top, right, bottom = detection.box
    return (
        slice(max(0, int(top * sy) - 1), int(np.ceil(bottom * sy)) + 1),
        slice(max(0, int(left * sx) - 1), int(np.ceil(right * sx)) + 1),
    )


def _border_share(mask: NDArray[np.bool_], window: Window, inside: NDArray[np.bool_]) -> tuple[float, int, bool]:
    """Share of the outline that lies on the border of the image, the pixels there, and whether it goes right through.

    What two opposite borders cut off has no size between them: the end of a wall, a door frame, a curtain.
    """
    first_row, first_column = window[0].start, window[1].start
    height, width = inside.shape
    at_border = (
        first_row == 0
        or first_column == 0
        or first_row + height >= mask.shape[0]
        or first_column + width >= mask.shape[1]
    )
    if not at_border:
        return 0.0, 0, False
    padded = np.pad(inside, 1)
    inner = padded[:-2, 1:-1] & padded[2:, 1:-1] & padded[1:-1, :-2] & padded[1:-1, 2:]
    rows, columns = np.nonzero(inside & ~inner)
    rows, columns = rows + first_row, columns + first_column
    top, bottom, left, right = rows == 0, rows == mask.shape[0] - 1, columns == 0, columns == mask.shape[1] - 1
    on = top | bottom | left | right
    through = bool((top.any() and bottom.any()) or (left.any() and right.any()))
    return (float(on.mean()) if len(on) else 0.0), int(on.sum()), through


def _points(
    frame: Frame, mask: NDArray[np.bool_], window: Window, inside: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float]:
    """Points in the camera frame under the mask, where depth was measured, and the share of pixels that has it.

    Of large masks every second, third, ... row and column is read.
    """
    camera = frame.camera_of_depth
    step = max(1, math.isqrt(inside.size // ENOUGH_POINTS))
    rows, columns = np.nonzero(inside[::step, ::step])
    v = ((step * rows + window[0].start + 0.5) * (camera.height / mask.shape[0])).astype(np.int64)
    u = ((step * columns + window[1].start + 0.5) * (camera.width / mask.shape[1])).astype(np.int64)
    depth = frame.depth[np.minimum(v, camera.height - 1), np.minimum(u, camera.width - 1)]
    valid = np.isfinite(depth)
    points = camera.unproject(np.stack([u[valid], v[valid]], axis=-1), depth[valid])
    return points, len(points) / max(len(rows), 1)
