"""Whether the recording can be read at all: lost frames, stamps, sizes, and depth that is there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import Sample
from lastseen.sources.options import SourceOptions
from lastseen.sources.record import NO_DEPTH, NO_POSE, Intake, RawRecord

MAX_BAD_FRAMES = 0.1
"""Share of frames that may be lost before it is a fault."""

DEPTH_RANGE = (0.08, 60.0)
"""Metres between which the median of any depth camera lies; outside of them a unit is wrong."""

EMPTY_DEPTH = 0.05
"""Share of valid pixels below which nothing can be lifted."""

SPARSE_DEPTH = 0.25
"""Share of valid pixels below which the sensor is too near, too far or in the sun."""


def judge_frames(intake: Intake, read: int) -> Check:
    """The check "frames readable": what was left out for other reasons than the clocks."""
    lost = {reason: count for reason, count in intake.skipped.items() if reason not in {NO_DEPTH, NO_POSE}}
    count = sum(lost.values())
    if not count:
        return Check("frames readable", Verdict.OK, f"{read} of {read}")
    reason = max(sorted(lost), key=lambda key: lost[key])
    figure = f"{count} left out: {reason} ({intake.examples[reason]})"
    verdict = Verdict.FAULT if count > MAX_BAD_FRAMES * (read + count) else Verdict.WARN
    return Check("frames readable", verdict, figure, "they are skipped; check the recorder and the disk")


def judge_order(intake: Intake) -> Check:
    """The check "stamps in order"."""
    if not intake.out_of_order:
        return Check("stamps in order", Verdict.OK, "every stamp is later than the one before")
    return Check(
        "stamps in order",
        Verdict.FAULT,
        f"{intake.out_of_order} stamps go backwards",
        "sort the lists by stamp; images with a wrong stamp get the wrong pose",
    )


def judge_pose_coverage(intake: Intake, read: int, options: SourceOptions) -> Check:
    """The check "images have poses"."""
    missing = intake.skipped[NO_POSE]
    share = missing / max(missing + read, 1)
    figure = f"{100 * (1 - share):.0f} % of images lie between two poses at most {options.max_pose_gap:g} s apart"
    if share <= MAX_BAD_FRAMES:
        return Check("images have poses", Verdict.OK, figure)
    verdict = Verdict.FAULT if share > 0.5 else Verdict.WARN
    return Check("images have poses", verdict, figure, "poses come too rarely, on another clock, or for another time")


def judge_video(sample: Sample) -> Check:
    """The check "frames for odometry", of a source whose poses come from its images: whether they are a video."""
    from lastseen.sources.odometry import MAX_INTERVAL

    stamps = [record.stamp for record in sample.records]
    steps = [
        second - first
        for (first, second), (here, there) in zip(pairwise(stamps), pairwise(sample.stretch), strict=True)
        if here == there
    ]
    name = "frames for odometry"
    if not steps:
        return Check(name, Verdict.UNSURE, "one frame", "give a longer recording")
    figure = f"{float(np.median(steps)):.3f} s apart; poses come from the images and are not judged"
    if float(np.median(steps)) > MAX_INTERVAL:
        return Check(name, Verdict.FAULT, figure, "record 10 frames a second and more, or give poses")
    return Check(name, Verdict.OK, figure)


def judge_sizes(record: RawRecord, options: SourceOptions) -> tuple[Check, dict[str, object]]:
    """The check "image sizes", and the option that lets the images be read for the other checks."""
    name = "image sizes"
    rgb, depth = (image.shape[1::-1] for image in (record.rgb, record.depth))
    wrong = []
    turned = True
    scaled = True
    for image, camera in ((rgb, record.intrinsics), (depth, record.depth_intrinsics)):
        if camera is None:
            continue
        size = (camera.width, camera.height)
        if size != image:
            wrong.append(f"image {image[0]}x{image[1]}, intrinsics for {size[0]}x{size[1]}")
            turned &= size == image[::-1]
            scaled &= abs(image[0] / size[0] - image[1] / size[1]) < 0.02 * image[0] / size[0]
    if not wrong or options.rescale_intrinsics or options.images_turned in {"90", "270"}:
        return Check(name, Verdict.OK, f"colour {rgb[0]}x{rgb[1]}, depth {depth[0]}x{depth[1]}"), {}
    figure = "; ".join(wrong)
    if turned:
        return Check(name, Verdict.OK, figure + " (turned)"), {"images_turned": "90"}
    if scaled:
        return (
            Check(name, Verdict.FAULT, figure, "set rescale_intrinsics = true", {"rescale_intrinsics": True}),
            {"rescale_intrinsics": True},
        )
    return Check(name, Verdict.FAULT, figure, "give the intrinsics of these images"), {"rescale_intrinsics": True}


def judge_depth(sample: Sample, options: SourceOptions) -> list[Check]:
    """The checks "depth present" and "depth range"."""
    shares, medians = [], []
    for record in sample.records:
        raw = np.asarray(record.depth, dtype=np.float64)
        valid = np.isfinite(raw) & (raw > 0)
        shares.append(float(valid.mean()))
        if valid.any():
            medians.append(float(np.median(raw[valid])) / (options.depth_scale or record.raw_per_metre))
    share = float(np.median(shares))
    figure = f"{100 * share:.0f} % of pixels measured"
    present = Check("depth present", Verdict.OK, figure)
    if share < EMPTY_DEPTH:
        present = Check(
            "depth present", Verdict.FAULT, figure, "the depth topic is empty, or its encoding is not read"
        )
    elif share < SPARSE_DEPTH:
        present = Check(
            "depth present", Verdict.WARN, figure, "too near, too far, dark or shiny: little can be lifted"
        )
    if not medians:
        return [present, Check("depth range", Verdict.UNSURE, "no depth")]
    median = float(np.median(medians))
    text = f"median {median:.3g} m"
    if DEPTH_RANGE[0] <= median <= DEPTH_RANGE[1]:
        return [present, Check("depth range", Verdict.OK, text)]
    scale = options.depth_scale or sample.records[0].raw_per_metre
    likely = _likely_scale(median * scale)
    changes: dict[str, object] = {} if likely is None else {"depth_scale": likely}
    remedy = "check the unit of depth" if likely is None else f"set depth_scale = {likely:g}"
    return [present, Check("depth range", Verdict.FAULT, f"{text}: no depth camera sees that", remedy, changes)]


def _likely_scale(raw: float) -> float | None:
    """The common scale that gives a room's usual distance of two metres most nearly."""
    fits = [scale for scale in (1.0, 100.0, 1000.0, 5000.0) if 0.3 <= raw / scale <= 12.0]
    # millimetres before anything rarer
    return min(fits, key=lambda scale: (scale != 1000.0, abs(np.log(raw / scale / 2.0)))) if fits else None
