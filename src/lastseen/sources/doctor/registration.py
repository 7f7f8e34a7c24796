"""Whether colour and depth lie on each other: outlines in depth must fall on edges in colour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy import fft, ndimage

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.sources.conversion import to_frame
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import Reprojection, Sample
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import RawRecord

REACH = 24
"""How far a shift is looked for, in pixels of the small image: a tenth of its height."""
NEAR = 3
"""Pixels around a peak that belong to it."""
OUTLINE = 0.06
"""A step in depth by this share is an outline."""
MAX_FRAMES = 24
"""Frames that are correlated at most: their sum is stable."""
SHIFT_HEIGHT = 240
"""Height in pixels at which colour and depth edges are compared."""
MAX_SHIFT = 4.5
"""Pixels at that height that are normal: 2 % of the image; loose mounts stay below."""
SHIFT_GAIN = 1.4
"""How far the best shift must stand out from no shift and from the rest."""


FOCAL_FACTORS = (0.7, 0.76, 0.82, 0.88, 0.94, 1.0, 1.06, 1.13, 1.21, 1.3, 1.4)
"""What the focal length of depth is tried with against colour's; from 5 % on it is no calibration."""
FOCAL_GAIN = 1.3
"""How much better outlines must match edges with another focal length, on frames it was not chosen by."""
WORSE = 1.1
"""A focal length that raises the error of depth against itself by this is not depth's."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Where depth outlines fit colour edges best: shift in small pixels, peak height, height without any shift."""

    right: int
    down: int
    peak: float
    unshifted: float
    second: float
    frames: int


def judge_registration(reprojection: Reprojection, options: SourceOptions) -> Check:
    """The check "colour and depth aligned"."""
    name = "colour and depth aligned"
    sample = reprojection.sample
    upright = options.replaced(image_rotation="0")
    alignment = align(sample, upright)
    if alignment is None:
        return Check(name, Verdict.UNSURE, "too few outlines in depth", "show things with free space behind them")
    found = _shared_view(sample, upright, alignment, reprojection)
    if found is not None:
        return found
    focal = _focal_check(sample, upright, reprojection)
    if focal is not None:
        return focal
    offset = float(np.hypot(alignment.right, alignment.down))
    scale = sample.records[0].rgb.shape[0] / SHIFT_HEIGHT
    figure = f"depth outlines fit best {offset * scale:.0f} px from where they are"
    if alignment.peak < 1.15 * alignment.second:
        return Check(name, Verdict.UNSURE, figure, "no shift stands out: too little texture or too few outlines")
    clear = alignment.peak > SHIFT_GAIN * max(alignment.unshifted, alignment.second)
    if offset <= MAX_SHIFT or not clear:
        return Check(name, Verdict.OK if offset <= MAX_SHIFT else Verdict.UNSURE, figure)
    # outlines lie a little beside the edges in every recording: an axis within that is left as it is
    per_pixel = sample.records[0].depth.shape[0] / SHIFT_HEIGHT
    changes: dict[str, object] = {}
    if abs(alignment.right) > MAX_SHIFT:
        changes["depth_shift_x"] = round(options.depth_shift_x - alignment.right * per_pixel, 1)
    if abs(alignment.down) > MAX_SHIFT:
        changes["depth_shift_y"] = round(options.depth_shift_y - alignment.down * per_pixel, 1)
    # found on all frames, it must hold on every other one of them by itself
    shifted = upright.replaced(**changes)
    parts = [(align(sample, upright, part=part), align(sample, shifted, part=part)) for part in (0, 1)]
    if not changes or any(
        before is None or after is None or after.unshifted < SHIFT_GAIN * before.unshifted for before, after in parts
    ):
        return Check(name, Verdict.UNSURE, figure, "not every part of the recording shows it")
    remedy = "register depth to colour in the driver, or set " + ", ".join(f"{k} = {v}" for k, v in changes.items())
    return Check(name, Verdict.FAULT, figure, remedy, changes)


def in_step(alignment: Alignment | None) -> bool:
    """Whether outlines in depth meet edges in colour where they are, and clearly better than elsewhere."""
    if alignment is None or alignment.peak < SHIFT_GAIN * alignment.second:
        return False
    return float(np.hypot(alignment.right, alignment.down)) <= MAX_SHIFT


def _shared_view(
    sample: Sample, options: SourceOptions, given: Alignment, reprojection: Reprojection
) -> Check | None:
    """A fault where depth's own intrinsics do not fit colour's and one of the two, used for both, does."""
    if sample.records[0].depth_intrinsics is None or options.share_view != "none":
        return None
    other = align(sample, options.replaced(share_view="color"))
    if other is None or other.peak < SHIFT_GAIN * given.peak:
        return None
    # depth that fits itself from frame to frame as it is, and not with colour's numbers, is right
    pairs = reprojection.pairs[1::2] or reprojection.pairs
    own, shared = (
        reprojection.fit(options.replaced(share_view=view), pairs=pairs).error for view in ("none", "color")
    )
    right = "depth" if shared > WORSE * own else "color"
    return Check(
        "colour and depth aligned",
        Verdict.FAULT,
        f"outlines match edges to {given.peak:.2f} with two sets of intrinsics, {other.peak:.2f} with one",
        f'the intrinsics of colour and depth disagree, and those of {right} fit: set share_view = "{right}"',
        {"share_view": right},
    )


def _focal_check(sample: Sample, options: SourceOptions, reprojection: Reprojection) -> Check | None:
    """A fault where the misfit grows from the middle to the edges: the focal length of one camera is wrong."""
    factors = [factor for factor in FOCAL_FACTORS if factor != 1.0]
    # chosen on every other frame, confirmed on the rest
    given, *tried = (
        align(sample, options.replaced(depth_focal_factor=options.depth_focal_factor * factor), part=0)
        for factor in (1.0, *factors)
    )
    ranked = [(one.unshifted, factor) for one, factor in zip(tried, factors, strict=True) if one is not None]
    if given is None or not ranked:
        return None
    peak, factor = max(ranked)
    if peak < FOCAL_GAIN * given.unshifted or peak < FOCAL_GAIN * given.second:
        return None
    depth_factor = round(options.depth_focal_factor * factor, 3)
    before, after = (
        align(sample, options.replaced(depth_focal_factor=one), part=1)
        for one in (options.depth_focal_factor, depth_factor)
    )
    if before is None or after is None or after.unshifted < FOCAL_GAIN * before.unshifted:
        return None
    width = sample.records[0].rgb.shape[1]
    figure = (
        f"outlines in depth are {abs(factor - 1) * width / 2:.0f} px off at the edge and fit in the middle:"
        f" they match to {before.unshifted:.2f}, with another focal length to {after.unshifted:.2f}"
    )
    pairs = reprojection.pairs[1::2] or reprojection.pairs
    errors = [
        reprojection.fit(options.replaced(depth_focal_factor=one), pairs=pairs).error
        for one in (options.depth_focal_factor, depth_factor)
    ]
    name = "colour and depth aligned"
    if errors[1] < errors[0] or sample.records[0].depth_intrinsics is None:
        remedy = f"the focal length of depth does not fit colour's: set depth_focal_factor = {depth_factor:g}"
        changes: dict[str, object] = {"depth_focal_factor": depth_factor}
        if errors[1] > WORSE * errors[0]:
            # depth was right by itself, and both cameras come from one set of numbers
            return Check(
                name, Verdict.FAULT, figure, "colour's focal length is wrong: calibrate it, and give depth its own"
            )
        return Check(name, Verdict.FAULT, figure, remedy, changes)
    camera = sample.records[0].intrinsics
    changes = {"fx": round((options.fx or camera.fx) / factor, 1), "fy": round((options.fy or camera.fy) / factor, 1)}
    remedy = "the focal length of colour does not fit depth's: set " + ", ".join(
        f"{k} = {v}" for k, v in changes.items()
    )
    return Check(name, Verdict.FAULT, figure, remedy, changes)


def align(sample: Sample, options: SourceOptions, *, part: int | None = None) -> Alignment | None:
    """Correlate depth outlines with colour edges over shifts, summed over frames; None without enough outlines.

    ``part`` takes the even (0) or the odd (1) ones of the frames.
    """
    step = max(1, len(sample.records) // MAX_FRAMES)
    total = np.zeros((2 * REACH + 1, 2 * REACH + 1))
    count = 0
    records = sample.records[::step]
    for number, record in enumerate(records if part is None else records[part::2]):
        try:
            frame = to_frame(record, options, frame_id=number)
        except InvalidValue:
            continue
        surface = _correlation(frame, _edges(sample, record, frame, options))
        if surface is not None:
            total += surface
            count += 1
    if count < 3:
        return None
    row, column = np.unravel_index(int(total.argmax()), total.shape)
    rest = total.copy()
    rest[max(0, row - 4) : row + 5, max(0, column - 4) : column + 5] = -np.inf
    middle = slice(REACH - NEAR, REACH + NEAR + 1)
    return Alignment(
        int(column) - REACH,
        int(row) - REACH,
        float(total.max()) / count,
        float(total[middle, middle].max()) / count,
        float(rest.max()) / count,
        count,
    )


def _edges(sample: Sample, record: RawRecord, frame: Frame, options: SourceOptions) -> NDArray[np.complex128] | None:
    """The spectrum of the edges in colour, None without any; kept, because hypotheses about depth share it."""
    key = (id(record.rgb), options.images_turned, options.mirrored, options.image_rotation)
    if key in sample.edges:
        return sample.edges[key]
    width, height = _small(frame)
    gray = np.asarray(
        Image.fromarray(frame.rgb).convert("L").resize((width, height), Image.Resampling.BOX), dtype=np.float64
    )
    edges = np.hypot(ndimage.sobel(gray, 0), ndimage.sobel(gray, 1))
    edges = np.minimum(edges, np.percentile(edges, 95.0))
    spectrum: NDArray[np.complex128] | None = None
    if edges.max() > 0:
        edges /= edges.max()
        # against the local mean: otherwise the busiest corner of the image draws every outline to it
        local = ndimage.uniform_filter(edges, 25)
        spectrum = fft.rfft2((edges - local) / (local + 0.05), s=_fft_shape(width, height))
    sample.edges[key] = spectrum
    return spectrum


def _small(frame: Frame) -> tuple[int, int]:
    """Width and height in which outlines are compared."""
    return round(frame.intrinsics.width * SHIFT_HEIGHT / frame.intrinsics.height), SHIFT_HEIGHT


def _fft_shape(width: int, height: int) -> tuple[int, int]:
    return fft.next_fast_len(height + REACH), fft.next_fast_len(width + REACH)


def _correlation(frame: Frame, edges: NDArray[np.complex128] | None) -> NDArray[np.float64] | None:
    width, height = _small(frame)
    outlines = _outlines(_depth_on_color(frame, width, height))
    if outlines.sum() < 50 or edges is None:
        return None
    outlines = outlines - ndimage.uniform_filter(outlines, 25)
    shape = _fft_shape(width, height)
    surface = fft.irfft2(edges * np.conj(fft.rfft2(outlines, s=shape)), s=shape)
    lags = np.arange(-REACH, REACH + 1)
    return surface[np.ix_(lags, lags)] / np.abs(outlines).sum()


def _depth_on_color(frame: Frame, width: int, height: int) -> NDArray[np.float32]:
    """Depth looked up at every pixel of the small colour image; holes take the farther side."""
    camera, depth_camera = frame.intrinsics.resized(width, height), frame.camera_of_depth
    columns = np.rint((np.arange(width) - camera.cx) / camera.fx * depth_camera.fx + depth_camera.cx).astype(int)
    rows = np.rint((np.arange(height) - camera.cy) / camera.fy * depth_camera.fy + depth_camera.cy).astype(int)
    inside = np.ix_((rows >= 0) & (rows < depth_camera.height), (columns >= 0) & (columns < depth_camera.width))
    image = np.full((height, width), np.nan, dtype=np.float32)
    # rows are filled one by one: only those that are looked up
    filled = _filled(frame.depth[rows[inside[0][:, 0]]])
    image[inside] = filled[:, columns[inside[1][0]]]
    return image


def _filled(depth: NDArray[np.float32]) -> NDArray[np.float32]:
    valid = np.isfinite(depth)
    index = np.arange(depth.shape[1])
    left = np.maximum.accumulate(np.where(valid, index, 0), axis=1)
    right = np.minimum.accumulate(np.where(valid, index, depth.shape[1] - 1)[:, ::-1], axis=1)[:, ::-1]
    farther = np.fmax(np.take_along_axis(depth, left, 1), np.take_along_axis(depth, right, 1))
    return np.where(valid, depth, farther)


def _outlines(depth: NDArray[np.float32]) -> NDArray[np.float64]:
    """1 on the nearer side of every step in depth."""
    found = np.zeros(depth.shape)
    for axis in (0, 1):
        first = depth[:-1] if axis == 0 else depth[:, :-1]
        second = depth[1:] if axis == 0 else depth[:, 1:]
        with np.errstate(invalid="ignore"):
            step = (second - first) / np.fmin(first, second)
            near, far = (found[:-1], found[1:]) if axis == 0 else (found[:, :-1], found[:, 1:])
            near[step > OUTLINE] = 1.0
            far[step < -OUTLINE] = 1.0
    return found
