"""The judge of what a memory says has changed, by changes whose answer is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from lastseen.frame import Frame
from lastseen.geometry import Intrinsics, Pose3D
from lastseen.memory.objects import State
from lastseen.pose2d import Pose2D
from lastseen.sim.change import Change, ChangeKind, Edit
from lastseen.sim.home import Thing
from support.changes import DETECTABLE, KINDS, Lookout, f1, judge
from support.memories import LastseenMemory
from support.walking import Changed, Seen
from tests.memory.objects.scenes import look, seen, unit
from tests.sim.tiny import box_mesh

MUG = Thing(
    id=5,
    label="mug",
    color="red",
    mesh=box_mesh((-0.05, -0.05, 0.0), (0.05, 0.05, 0.12), (180, 40, 36)),
    pose=Pose3D.from_pose2d(Pose2D(2.0, 0.0, 0.0), height=0.8),
)
CHANGED_AT = 100.0
REMOVED = Changed(CHANGED_AT, [Change(CHANGED_AT, ChangeKind.REMOVE, (Edit(MUG, None),))])
CAMERA = Intrinsics.from_fov(256, 192, horizontal_deg=79.0)
"""As large as the simulator's: how large a thing appears decides whether it is detected."""
WALL, CUPBOARD = 6.0, 0.5
"""Depth in metres of an image that looks past the mug's place, and of one that is stopped before it."""
NEAR, FAR = 1.0, 3.9
"""Metres to the mug at which a typical detector finds it mostly, and hardly."""


def frames(count: int, *, away: float, since: float = CHANGED_AT, depth: float = WALL) -> list[Frame]:
    """A camera that looks at the mug's place."""
    target = MUG.position.tolist()
    pose = look((target[0] - away, target[1], target[2] + 0.2), target)
    blank = np.zeros((CAMERA.height, CAMERA.width, 3), dtype=np.uint8)
    image = np.full(blank.shape[:2], depth, dtype=np.float32)
    return [Frame(number, since + number, blank, image, pose, CAMERA) for number in range(count)]


def lookout(given: Sequence[Frame]) -> Lookout:
    made = Lookout()
    for frame in given:
        made.note(frame)
    return made


def remembering(*, gone: bool) -> LastseenMemory:
    """A memory that knows the mug from before, and may say that it is gone."""
    own = LastseenMemory()
    for frame, eye in zip(frames(2, away=NEAR, since=0.0), ((0.0, 0.0, 1.0), (2.0, 2.0, 1.0)), strict=True):
        sight = seen(MUG.position, eye=eye, stamp=frame.stamp, labels={"mug": 0.9}, embedding=unit(1))
        own.observe(Seen(frame, [(MUG.id, sight)]))
    assert [one.state for one in own.memory.states()] == ["confirmed"]
    if gone:
        own.memory.store.state[0] = State.MISSING
    return own


def judged(given: Sequence[Frame], *, gone: bool) -> Counter[str]:
    return judge(remembering(gone=gone), REMOVED, {MUG.id}, lookout(given))


@pytest.mark.parametrize(
    ("given", "shows"),
    [
        pytest.param(frames(12, away=NEAR), True, id="looked at long and from near"),
        pytest.param(frames(1, away=NEAR), False, id="one frame, which a detector may fail in"),
        pytest.param(frames(2, away=FAR), False, id="passed twice from afar"),
        pytest.param(frames(12, away=NEAR, depth=CUPBOARD), False, id="hidden"),
        pytest.param(frames(12, away=NEAR, since=0.0), False, id="only before"),
        pytest.param([], False, id="never"),
    ],
)
def test_a_change_shows_where_the_detector_would_hardly_have_missed_the_thing(
    given: Sequence[Frame], shows: bool
) -> None:
    assert lookout(given).would_detect(MUG, since=CHANGED_AT) is shows


@pytest.mark.parametrize(
    ("given", "gone", "counted", "detectable"),
    [
        pytest.param(frames(12, away=NEAR), True, "true", "true", id="shows and is told"),
        pytest.param(frames(12, away=NEAR), False, "missed", "missed", id="shows and is not told"),
        pytest.param(frames(2, away=FAR), True, "true", None, id="hardly shows and is told"),
        pytest.param(frames(2, away=FAR), False, "missed", None, id="hardly shows and is not told"),
        pytest.param([], True, None, None, id="nobody looked, and yet it is told"),
    ],
)
def test_a_change_that_does_not_show_counts_neither_for_nor_against_the_detectable_figure(
    given: Sequence[Frame], gone: bool, counted: str | None, detectable: str | None
) -> None:
    counts = judged(given, gone=gone)
    for prefix, expected in (("", counted), (DETECTABLE, detectable)):
        told = {name: counts[f"{prefix}removed_{name}"] for name in ("true", "false", "missed")}
        assert told == {name: int(name == expected) for name in told}


def test_to_call_gone_what_stands_there_is_wrong_in_both_figures() -> None:
    nothing = Changed(CHANGED_AT, [])
    counts = judge(remembering(gone=True), nothing, {MUG.id}, lookout(frames(12, away=NEAR)))
    assert counts["removed_false"] == counts[f"{DETECTABLE}removed_false"] == counts["unchanged_claimed"] == 1
    assert f1(counts, *KINDS) == 0.0


def test_f1_is_of_right_wrong_and_missed_claims_together() -> None:
    counts = Counter(moved_true=1, removed_true=2, removed_false=1, added_missed=1)
    assert f1(counts, *KINDS) == pytest.approx(2 * 3 / (2 * 3 + 2))
    assert f1(Counter(), *KINDS) is None
