"""What the trial of conventions says: one row for each thing that re-projection can judge, right or wrong."""

from __future__ import annotations

import math
from collections.abc import Iterator

from lastseen.sources.doctor.conventions import NAMES, ConventionTrial
from lastseen.sources.doctor.hypotheses import MAX_CENTER_ERROR
from lastseen.sources.doctor.report import Check, Verdict
from lastseen.sources.doctor.reprojection import SAME_FIT
from lastseen.sources.doctor.scale import ScaleTrial


def convention_checks(trial: ConventionTrial) -> Iterator[Check]:
    """One row per check that re-projection can make."""
    scale = ScaleTrial(trial.reprojection, trial.options)
    for name in dict.fromkeys(NAMES.values()):
        yield _check(trial, scale, name)
    yield _pose_fit(trial)


def _check(trial: ConventionTrial, scale: ScaleTrial, name: str) -> Check:
    options = [option for option, check in NAMES.items() if check == name]
    found = {option: trial.changes[option] for option in options if option in trial.changes}
    figure = f"{trial.given.centimetres:.1f} cm as given, {trial.best.centimetres:.1f} cm corrected"
    if name in trial.open:
        return Check(name, Verdict.FAULT, figure, f"{trial.open[name]}: no correction is sure, calibrate or ask")
    if found:
        remedy = "set " + ", ".join(f"{option} = {_toml(value)}" for option, value in found.items())
        return Check(name, Verdict.FAULT, figure, remedy, found)
    if name == "depth scale" and trial.disagreement != 1.0:
        return scale.disagreement(name, trial.disagreement)
    if name in {"depth scale", "pose scale"}:
        return scale.check(name, unmoved=trial.unmoved)
    if trial.unmoved:
        return Check(
            name, Verdict.UNSURE, "nothing to compare", "the camera hardly moves: give a stretch with motion"
        )
    if trial.changes or trial.open:
        return Check(name, Verdict.OK, "fits once the fault found is corrected")
    if name == "principal point":
        return _center_check(trial, name)
    alone = [tried for tried in trial.tried if set(tried.changes) <= set(options)]
    if not alone:
        return Check(name, Verdict.UNSURE, "not tried", "the source stores poses with the images only")
    other = min(alone, key=lambda tried: tried.error)
    option, value = next(iter(other.changes.items()))
    fits = f"{other.centimetres:.1f} cm" if math.isfinite(other.centimetres) else "nothing to compare"
    figure = f"{trial.given.centimetres:.1f} cm as given, {fits} with {option} = {_toml(value)}"
    if other.error < SAME_FIT * trial.given.error and not trial.is_small(other.changes):
        return Check(name, Verdict.UNSURE, figure, "both fit: this motion cannot tell them apart")
    return Check(name, Verdict.OK, figure)


def _center_check(trial: ConventionTrial, name: str) -> Check:
    offsets = {option: trial.fitted[option] for option in ("cx", "cy") if option in trial.fitted}
    figure = "fits best " + ", ".join(f"{100 * share:+.0f} % beside {option}" for option, share in offsets.items())
    if len(offsets) < 2 or max(map(abs, offsets.values())) > MAX_CENTER_ERROR:
        return Check(name, Verdict.UNSURE, figure if offsets else "", "this motion hardly shows it")
    return Check(name, Verdict.OK, figure)


def _pose_fit(trial: ConventionTrial) -> Check:
    share = f"{trial.best.centimetres:.1f} cm, {100 * trial.best.error:.1f} % of depth"
    # a camera that hardly moves fits any poses that say so; where nothing fits, its poses are wrong
    if trial.unmoved and trial.explained:
        return Check("poses explain images", Verdict.UNSURE, share, "the camera hardly moves between the images")
    if trial.explained:
        return Check("poses explain images", Verdict.OK, share)
    return Check(
        "poses explain images",
        Verdict.FAULT,
        share,
        "no known convention fits: are the poses of this camera (not of the robot's base) and of this clock?",
    )


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
