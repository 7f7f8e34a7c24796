"""Whether depth was taken when its colour image was: by the stamps, and where those pair anyway, by the images.

At even stamps each colour image finds a depth image of another time. Depth that is late by half a second then looks
like poses that are early, so that depth is held against colour before the poses are asked.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lastseen.sources.base import RecordSource
from lastseen.sources.doctor.intake import MAX_BAD_FRAMES
from lastseen.sources.doctor.registration import align, in_step
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import Sample, take_sample
from lastseen.sources.options import SourceOptions

NAME = "colour and depth clocks"

Stamps = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The stamps of colour and of depth, sorted."""

LONGEST, COARSE = 0.8, 0.1
"""Seconds by which depth may be off while its stamps still pair, and the steps that are tried first."""

CLOCK_GAIN = 2.0
"""How much better outlines in depth must meet edges in colour with another delay than with any shift."""

SAME_MATCH = 1.1
"""Two explanations whose outlines match by less than this factor apart cannot be told apart."""


def best_delay(
    reference: NDArray[np.float64], other: NDArray[np.float64], *, tolerance: float
) -> tuple[float, float, float]:
    """The constant that, taken off ``other``, pairs most stamps: (delay, share paired then, share paired now)."""
    limit = 400
    reference, other = reference[:limit], other[:limit]
    differences = (other[np.newaxis] - reference[:, np.newaxis]).ravel()
    now = _paired(reference, other, tolerance)
    counts = np.bincount(np.floor((differences - differences.min()) / tolerance).astype(int))
    # a bin boundary may cut the right delay in two: look at sums of neighbours
    counts = counts + np.append(counts[1:], 0)
    peak = float(differences.min() + tolerance * int(counts.argmax()))
    near = differences[(differences >= peak) & (differences <= peak + 2 * tolerance)]
    delay = float(np.median(near))
    return delay, _paired(reference, other - delay, tolerance), now


def judge_depth_clock(source: RecordSource, sample: Sample, options: SourceOptions) -> Check:
    """The check "colour and depth clocks"; the options of the source are left as they are."""
    stamps = source.stamps()
    if stamps is None or not min(map(len, stamps)):
        return _apart(sample)
    delay, then, now = best_delay(stamps[0], stamps[1] - options.depth_delay, tolerance=options.max_stamp_difference)
    figure = (
        f"{100 * now:.0f} % of colour images have a depth image within {1000 * options.max_stamp_difference:.0f} ms"
    )
    found = round(options.depth_delay + delay, 3)
    if (
        then > now + 0.3
        and then > 0.6
        and _match(source, options, found) >= _match(source, options, options.depth_delay)
    ):
        return Check(
            NAME,
            Verdict.FAULT,
            f"{figure}, {100 * then:.0f} % with depth {delay:+.3f} s off",
            f"set depth_delay = {found}",
            {"depth_delay": found},
        )
    late = _late_by_images(source, sample, options, stamps)
    if late is not None:
        return late
    if now >= 1.0 - MAX_BAD_FRAMES:
        return _apart(sample)
    if now < 0.5:
        return Check(
            NAME, Verdict.FAULT, figure, "set max_stamp_difference to the sensors' real offset, or sync them"
        )
    return Check(NAME, Verdict.WARN, figure, "unpaired images are left out")


def may_be_late(source: RecordSource, options: SourceOptions, match: float) -> bool:
    """Whether depth of another time meets colour as well as ``match``: where a camera pans evenly, late is beside."""
    stamps = source.stamps()
    if stamps is None or not min(map(len, stamps)):
        return False
    return SAME_MATCH * _match(source, options, _best_by_images(source, options, stamps)) > match


def _late_by_images(source: RecordSource, sample: Sample, options: SourceOptions, stamps: Stamps) -> Check | None:
    """A fault where the stamps pair but the images do not: outlines in depth meet the edges of another time."""
    upright = options.replaced(image_rotation="0")
    given = align(sample, upright)
    if given is None or in_step(given):
        return None
    delay = _best_by_images(source, options, stamps)
    other = _sample_at(source, options, delay)
    found = align(other, upright)
    # found on all frames, it must hold on every other one of them by itself, and tell more than any shift does
    parts = [(align(sample, upright, part=part), align(other, upright, part=part)) for part in (0, 1)]
    if (
        found is None
        or not in_step(found)
        or any(
            before is None or after is None or after.unshifted < CLOCK_GAIN * before.peak for before, after in parts
        )
    ):
        return None
    figure = f"outlines in depth match edges in colour to {given.unshifted:.2f}"
    return Check(
        NAME,
        Verdict.FAULT,
        f"{figure}, to {found.unshifted:.2f} with depth {delay - options.depth_delay:+.3f} s off",
        f"set depth_delay = {delay}",
        {"depth_delay": delay},
    )


def _best_by_images(source: RecordSource, options: SourceOptions, stamps: Stamps) -> float:
    """The delay of depth, other than the one given, at which its outlines meet colour's edges best."""
    steps = round(LONGEST / COARSE)
    coarse = [options.depth_delay + COARSE * step for step in range(-steps, steps + 1) if step]
    best = max(coarse, key=lambda delay: _match(source, options, delay))
    # the delays that lay a depth image exactly on a colour image
    exact = stamps[1] - stamps[0][len(stamps[0]) // 2]
    near = [best, *(float(delay) for delay in exact if abs(delay - best) < COARSE)]
    return round(float(max(near, key=lambda delay: _match(source, options, delay))), 3)


def _match(source: RecordSource, options: SourceOptions, delay: float) -> float:
    """How well outlines in depth meet edges in colour, near where they are, with depth at another delay."""
    found = align(_sample_at(source, options, delay, every=3), options.replaced(image_rotation="0"))
    return -1.0 if found is None else found.unshifted


def _sample_at(source: RecordSource, options: SourceOptions, delay: float, *, every: int = 1) -> Sample:
    given = source.options
    source.options = options.replaced(depth_delay=delay)
    try:
        return take_sample(source, every=every)
    finally:
        source.options = given


def _apart(sample: Sample) -> Check:
    apart = [abs(record.depth_stamp - record.stamp) for record in sample.records if record.depth_stamp is not None]
    worst = 1000.0 * max(apart) if apart else 0.0
    return Check(NAME, Verdict.OK, f"at most {worst:.0f} ms apart")


def _paired(reference: NDArray[np.float64], other: NDArray[np.float64], tolerance: float) -> float:
    right = np.searchsorted(other, reference)
    before = np.abs(other[np.maximum(right - 1, 0)] - reference)
    after = np.abs(other[np.minimum(right, len(other) - 1)] - reference)
    return float((np.minimum(before, after) <= tolerance + 5e-7).mean())
