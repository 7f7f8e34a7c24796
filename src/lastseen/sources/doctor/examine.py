"""The order of the checks: first whether data can be read, then how, then whether it is enough.

Each step works with the corrections of the steps before it, so that two faults at once are both named.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lastseen.config.settings import Settings
from lastseen.errors import SourceError
from lastseen.sources.base import RecordSource
from lastseen.sources.doctor.convention_checks import convention_checks
from lastseen.sources.doctor.conventions import NAMES, ConventionTrial
from lastseen.sources.doctor.depth_clock import judge_depth_clock, may_be_late
from lastseen.sources.doctor.gravity import judge_up
from lastseen.sources.doctor.hypotheses import POSE_OPTIONS
from lastseen.sources.doctor.intake import (
    judge_depth,
    judge_frames,
    judge_order,
    judge_pose_coverage,
    judge_sizes,
    judge_video,
)
from lastseen.sources.doctor.poses import judge_jumps, judge_stillness, judge_views
from lastseen.sources.doctor.registration import align, judge_registration
from lastseen.sources.doctor.report import Check, Report, Verdict
from lastseen.sources.doctor.reprojection import Reprojection, take_sample
from lastseen.sources.doctor.tracking import judge_drift, judge_noise
from lastseen.sources.record import NO_POSE

WIDE_GAP = 2.0
"""Seconds between poses that the doctor bridges to look further, when the source's own limit leaves nothing."""

DIRECTIONS = {NAMES[option] for option in (*POSE_OPTIONS, "mirrored", "images_turned")}
"""Checks whose faults change where up is."""


def examine(source: RecordSource, settings: Settings | None = None) -> Report:
    """Sample a source and judge everything that can be judged; the source's own options count as given."""
    given = source.options
    examination = _Examination(source, settings or Settings())
    try:
        checks = tuple(examination.checks())
    finally:
        source.options = given
    sample = examination.sample
    return Report(source.address, len(sample.records), checks, examination.fixed, tuple(sample.intake.notes))


class _Examination:
    """The state of one examination: the options as corrected so far, and the sample they were found on."""

    def __init__(self, source: RecordSource, settings: Settings) -> None:
        self.source = source
        self.settings = settings
        self.fixed = source.options
        self.working = source.options
        self.sample = take_sample(source)

    def checks(self) -> Iterator[Check]:
        yield from self._clocks()
        if not self.sample.records:
            return
        check, changes = judge_sizes(self.sample.records[0], self.working)
        yield self._noted(check)
        self.working = self.working.replaced(**changes)
        present, measured = judge_depth(self.sample, self.working)
        yield present
        if present.verdict is Verdict.FAULT:
            return
        if self.working.poses == "odometry":
            yield self._noted(measured)
            yield judge_video(self.sample)
            return
        self.working = self.working.replaced(**measured.changes)
        rest = list(self._poses(turned=self.working.images_turned != self.fixed.images_turned))
        yield self._noted(_confirmed(measured, rest, self.working.depth_scale))
        yield from rest

    def _clocks(self) -> Iterator[Check]:
        sample = self.sample
        order = judge_order(sample.intake)
        clock = judge_depth_clock(self.source, sample, self.working)
        coverage = judge_pose_coverage(sample.intake, len(sample.records), self.working)
        wider: dict[str, object] = dict(clock.changes)
        if sample.intake.skipped[NO_POSE] > 0.5 * len(sample.records):
            wider["max_pose_gap"] = WIDE_GAP
        if wider:
            self.working = self.working.replaced(**wider)
            self.source.options = self.working
            self.sample = take_sample(self.source)
        if not self.sample.records:
            reasons = "; ".join(self.sample.intake.lines()) or "the source gave nothing"
            raise SourceError(
                "source", self.source.address, f"has no readable frame ({reasons})", remedy="mend that first"
            )
        if sample.intake.cut_off:
            remedy = "what came before is whole; the recorder was stopped in the middle"
            yield Check("recording complete", Verdict.WARN, sample.intake.cut_off, remedy)
        yield judge_frames(sample.intake, len(sample.records))
        yield order
        yield self._noted(clock)
        if self.working.poses == "recorded":
            yield coverage

    def _poses(self, *, turned: bool) -> Iterator[Check]:
        sample = self.sample
        reprojection = Reprojection(sample)
        if turned:
            # sizes say that the images were turned by a quarter, but not which way
            ways = [self.working.replaced(images_turned=way) for way in ("90", "270")]
            self.working = min(ways, key=reprojection.error)
        stillness = judge_stillness(reprojection, self.working)
        yield stillness
        if stillness.verdict is Verdict.FAULT or len(sample.records) < 2:
            return
        trial = ConventionTrial(reprojection, self.working)
        self.working = trial.options
        for check in convention_checks(trial):
            if turned and check.name == "images turned against poses":
                way = self.working.images_turned
                remedy = f'set images_turned = "{way}"'
                figure = f"width and height are exchanged, {trial.best.centimetres:.1f} cm turned back"
                yield self._noted(Check(check.name, Verdict.FAULT, figure, remedy, {"images_turned": way}))
            elif "pose_delay" in check.changes and self.working.max_pose_gap != self.fixed.max_pose_gap:
                # with its own limit the source would find no poses at all at the corrected stamps
                gap = self.working.max_pose_gap
                changes = {**check.changes, "max_pose_gap": gap}
                yield self._noted(replace(check, remedy=f"{check.remedy}, max_pose_gap = {gap:g}", changes=changes))
            else:
                yield self._noted(check)
        if "pose_delay" in trial.changes:
            sample = sample.with_pose_delay(self.working.pose_delay, max_gap=WIDE_GAP)
            reprojection = Reprojection(sample)
        jumps = judge_jumps(reprojection, self.working)
        if jumps.verdict is Verdict.FAULT and trial.likely:
            # a camera that is a little off leaves errors where it turns most
            other = judge_jumps(reprojection, self.working.replaced(**trial.likely))
            if other.verdict is not Verdict.FAULT:
                names = " or ".join(sorted({NAMES[option] for option in trial.likely}))
                jumps = replace(jumps, verdict=Verdict.UNSURE, remedy=f"it may be the {names}: calibrate the camera")
        yield jumps
        if trial.explained and jumps.verdict is not Verdict.FAULT:
            yield judge_noise(reprojection, self.working)
            if not trial.unmoved:
                yield judge_drift(reprojection, self.working)
        if trial.explained:
            for check in judge_up(reprojection, self.working):
                if trial.open.keys() & DIRECTIONS and check.changes:
                    # seen with a guess that is not offered, the vertical is a guess too
                    yield replace(check, verdict=Verdict.UNSURE, remedy="correct the fault above first", changes={})
                    continue
                self.working = self.working.replaced(**check.changes)
                yield self._noted(check)
        yield self._noted(self._registration(reprojection))
        yield judge_views(reprojection, self.working, self.settings.views)

    def _registration(self, reprojection: Reprojection) -> Check:
        """The check of colour against depth; no shift is offered where a late clock explains it as well."""
        check = judge_registration(reprojection, self.working)
        if not {"depth_shift_x", "depth_shift_y"} & set(check.changes):
            return check
        shifted = align(reprojection.sample, self.working.replaced(image_rotation="0", **check.changes))
        self.source.options = self.working
        if shifted is None or not may_be_late(self.source, self.working, shifted.unshifted):
            return check
        remedy = "depth lies beside colour, or is late while the camera pans: give a stretch with other motion"
        return replace(check, remedy=remedy, changes={})

    def _noted(self, check: Check) -> Check:
        """Remember what a check would correct."""
        if check.verdict is Verdict.FAULT and check.changes:
            self.fixed = self.fixed.replaced(**check.changes)
            self.working = self.working.replaced(**check.changes)
        return check


def _confirmed(measured: Check, rest: list[Check], depth_scale: float) -> Check:
    """The check of the depth range, with the scale that the motion of the camera tells; none where it tells none."""
    if not measured.changes:
        return measured
    known = {check.name: check.verdict for check in rest}.get("depth scale", Verdict.UNSURE)
    if known is Verdict.UNSURE:
        likely = (
            f"likely {measured.remedy.removeprefix('set ')}, but this motion does not show it: measure a distance"
        )
        return replace(measured, remedy=likely, changes={})
    return replace(measured, remedy=f"set depth_scale = {depth_scale:g}", changes={"depth_scale": depth_scale})
