"""A real recording run twice, the second time in another map: it is recognised by what it looks like."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from lastseen.config import Settings
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.sources import SourceOptions, open_source

SETTINGS = Settings()
ONE_SIDE = replace(SETTINGS, promotion=replace(SETTINGS.promotion, min_view_bins=1))
"""For a camera that turns and hardly moves: what is seen from one side is confirmed too."""
LENS = SourceOptions(world_up="y", image_rotation="90")
SAME = FrameTransform()


QUARTER = FrameTransform(math.pi / 2.0, -5.3, 2.8, 0.7)
ANY = FrameTransform(1.1, 4.0, -2.0, 0.3)
TURNED = FrameTransform(-2.6, 0.4, 1.9, -0.5)


def run(memory: Memory, folder: Path, options: SourceOptions | None, frame: FrameTransform) -> None:
    """Run a recording as a session of its own, whose map lies in the recording's by ``frame``."""
    perception, back = Perception(memory.settings), frame.inverse().pose
    for image in open_source(folder, options).frames():
        moved = replace(image, T_world_camera=back @ image.T_world_camera)
        perceived = perception.perceive(moved)
        if perceived.refusal is None:
            memory.observe(moved, perceived.observations)
    memory.new_session()


@pytest.mark.parametrize("frame", [QUARTER, ANY, TURNED], ids=["quarter", "63 degrees", "-149 degrees"])
@pytest.mark.parametrize(
    ("name", "options", "settings"),
    [("lens_clip", LENS, ONE_SIDE), ("tum_fr1_rpy_60", None, SETTINGS), ("tum_fr3_cabinet", None, SETTINGS)],
    ids=["lens_clip", "fr1", "fr3"],
)
def test_the_same_recording_in_another_map_gives_the_same_objects_once(
    name: str,
    options: SourceOptions | None,
    settings: Settings,
    frame: FrameTransform,
    shared_data: Path,
    tmp_path: Path,
) -> None:
    with Memory.open(tmp_path / "home.lastseen", settings=settings, wall_clock=None) as memory:
        run(memory, shared_data / name, options, SAME)
        before, ids = {one.id: one.xyz_world for one in memory.states()}, {one.id for one in memory.states(kind=None)}
        run(memory, shared_data / name, options, frame)
        assert [one.state for one in memory.session_frames()] == ["first", "aligned"]
        after = {one.id: one.xyz_world for one in memory.states()}
        # floors too are there once; where the middle of one lies depends on how much of it was seen
        assert {one.id for one in memory.states(kind=None)} == ids
        assert all(np.allclose(after[key], before[key], atol=0.1) for key in before)


def test_a_recording_in_any_frame_is_aligned_to_centimetres(shared_data: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", settings=ONE_SIDE, wall_clock=None) as memory:
        run(memory, shared_data / "lens_clip", LENS, SAME)
        run(memory, shared_data / "lens_clip", LENS, ANY)
        found = memory.session_frames()[1].transform
        assert found is not None
        assert found.angle_to(ANY) < 0.02
        assert np.allclose((found.x, found.y, found.z), (ANY.x, ANY.y, ANY.z), atol=0.05)


def test_another_room_is_not_taken_for_it(shared_data: Path, tmp_path: Path) -> None:
    with Memory.open(tmp_path / "home.lastseen", settings=ONE_SIDE, wall_clock=None) as memory:
        run(memory, shared_data / "lens_clip", LENS, SAME)
        run(memory, shared_data / "tum_fr1_rpy_60", None, SAME)
        assert memory.session_frames()[1].state not in ("aligned", "verified")
