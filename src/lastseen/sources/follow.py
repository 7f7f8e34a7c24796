"""Running a source into a memory: frame by frame, with what was seen, skipped and refused counted at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.memory.objects import Event
from lastseen.observation import Observation
from lastseen.perception.pipeline import Perception
from lastseen.sources.base import RecordSource, Updates
from lastseen.sources.doctor.gravity import UprightWatch


@dataclass(slots=True)
class Summary:
    """What a run did; all figures are of the stream, none of the wall clock."""

    frames: int = 0
    looked_at: int = 0
    observations: int = 0
    first_stamp: float | None = None
    last_stamp: float | None = None
    confirmed: int = 0
    tentative: int = 0
    one_sided: int = 0
    corrected: int = 0
    places: int = 0
    anchors: int = 0
    lost: int = 0
    stalls: int = 0
    restarts: int = 0
    cut_off: str = ""
    notes: list[str] = field(default_factory=list)
    earlier_seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    first_skipped: dict[str, str] = field(default_factory=dict)
    """The first file or stamp that was skipped for each reason, with what is wrong with it."""

    @property
    def seconds(self) -> float:
        """Frame time covered, over all of a stream's beginnings."""
        if self.first_stamp is None or self.last_stamp is None:
            return 0.0
        return self.earlier_seconds + self.last_stamp - self.first_stamp

    def count(self, stamp: float) -> None:
        """Count a frame that came, wanted or not."""
        self.frames += 1
        self.first_stamp = stamp if self.first_stamp is None else self.first_stamp
        self.last_stamp = stamp

    def begin_again(self) -> None:
        """Close the stretch of time that a restarted clock ended."""
        self.earlier_seconds, self.first_stamp, self.last_stamp = self.seconds, None, None


def frames_into(memory: Memory, source: RecordSource) -> Iterator[tuple[Frame, Updates, tuple[Event, ...]]]:
    """The frames of a source, for whoever takes them into a memory: with what the source learnt, and its events.

    Before each is given, memory is in the session and map that the source says, and what was seen from poses that it
    has revised is corrected.
    """
    map_id = source.options.map_id or None
    if map_id is not None:
        memory.new_session(map_id=map_id)
    for frame in source.frames():
        updates = source.updates()
        if updates.restarted:
            memory.new_session(map_id=updates.map_id or map_id)
        yield frame, updates, memory.correct_poses(updates.poses) if updates.poses else ()


def follow(
    source: RecordSource,
    memory: Memory,
    perception: Perception,
    *,
    progress: Callable[[Summary], None] | None = None,
    show: Callable[[Frame, Sequence[Observation]], None] | None = None,
    max_frames: int | None = None,
) -> Summary:
    """Take every frame of a source through perception into memory; ``progress`` is called after each frame.

    ``show`` is called with each frame that reached memory and what was seen in it.

    Poses that the source has revised correct what was seen from them; a clock that began anew begins a session.
    A frame that is no key frame does not reach memory: nothing was looked for in it, so nothing is absent from it.
    """
    summary, upright = Summary(), UprightWatch()

    def is_wanted(stamp: float, pose: Pose3D) -> bool:
        if perception.keyframes.judge_pose(stamp, pose) is None:
            return True
        summary.count(stamp)
        return False

    source.gate = is_wanted
    try:
        for frame, updates, _ in frames_into(memory, source):
            if updates.restarted:
                summary.begin_again()
                # another session may be in a map that is turned otherwise
                perception.box_yaw = None
            summary.count(frame.stamp)
            summary.corrected += len(updates.poses)
            perceived = perception.perceive(frame)
            if perceived.refusal is None:
                summary.looked_at += 1
                upright.observe(frame)
                summary.observations += len(perceived.observations)
                memory.observe(frame, perceived.observations, people=perceived.people)
                if show is not None:
                    show(frame, perceived.observations)
            summary.lost, summary.stalls = source.intake.dropped, source.intake.stalls
            if progress is not None:
                progress(summary)
            if max_frames is not None and summary.frames >= max_frames:
                break
    except KeyboardInterrupt:
        # that is how one stops to follow a live stream; a recording is not done yet
        if not source.live:
            raise
    finally:
        source.gate = None
    summary.restarts, summary.notes = source.intake.restarts, list(source.intake.notes)
    if lying := upright.note():
        summary.notes.append(lying)
    if upright.knows:
        # whoever opens the file later should know too
        memory.store.warn(lying)
    # a session that was short is compared with the map as it ends: what is told is what is kept
    memory.new_session()
    frames = memory.session_frames()
    if frames and frames[-1].state == "quarantined":
        wait = "1 object waits" if memory.waiting == 1 else f"{memory.waiting} objects wait"
        summary.notes.append(f"{wait} in a map of its own until that is aligned: lastseen sessions")
    summary.cut_off = source.intake.cut_off
    summary.lost, summary.stalls = source.intake.dropped, source.intake.stalls
    memory.flush()
    promotion = memory.settings.promotion
    for state in memory.states(include_tentative=True):
        summary.confirmed += state.confirmed
        summary.tentative += not state.confirmed
        summary.one_sided += (
            not state.confirmed
            and len(state.view_bins) < promotion.min_view_bins
            and state.hits >= promotion.min_hits
            and state.stability >= promotion.min_stability
        )
    summary.places, summary.anchors = len(memory.spatial.graph.places), len(memory.spatial.graph.anchors)
    summary.refused = perception.keyframes.counts()
    summary.dropped = perception.filter.counts()
    summary.skipped = dict(sorted(source.intake.skipped.items()))
    summary.first_skipped = dict(sorted(source.intake.examples.items()))
    return summary
