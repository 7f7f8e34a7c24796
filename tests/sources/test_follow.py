from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lastseen import images
from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perception
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.follow import Summary, follow
from lastseen.sources.layouts import sequence
from tests.sources.room import looking, write_recording


@pytest.fixture(scope="module")
def furnished_walk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of 16 frames past a cupboard that stands whole in the image."""
    poses = [looking(-0.6 - 0.06 * step, 0.03 * step, yaw=-0.8 + 0.02 * step, pitch=-0.35) for step in range(16)]
    return write_recording(tmp_path_factory.mktemp("furnished") / "walk", poses)


def one_sided() -> Settings:
    settings = Settings()
    return replace(settings, promotion=replace(settings.promotion, min_view_bins=1))


def run(folder: Path, settings: Settings, options: SourceOptions | None = None) -> tuple[Summary, Memory]:
    memory = Memory.open(settings=settings, wall_clock=None)
    return follow(open_source(folder, options), memory, Perception(settings)), memory


def test_a_walk_leaves_objects_in_memory(furnished_walk: Path) -> None:
    summary, memory = run(furnished_walk, one_sided())
    assert summary.frames == 16
    assert summary.looked_at + sum(summary.refused.values()) == 16
    assert summary.confirmed == len(memory.objects()) > 0
    assert summary.seconds == pytest.approx(1.5)


def test_the_same_walk_gives_the_same_memory(furnished_walk: Path) -> None:
    first, second = (run(furnished_walk, one_sided())[1].states() for _ in range(2))
    assert [one.id for one in first] == [one.id for one in second]
    assert all((a.xyz_world == b.xyz_world).all() for a, b in zip(first, second, strict=True))


def test_the_same_walk_again_finds_the_same_things(furnished_walk: Path) -> None:
    settings = one_sided()
    memory = Memory.open(settings=settings, wall_clock=None)
    counts = []
    for _ in range(3):
        counts.append(follow(open_source(furnished_walk), memory, Perception(settings)).confirmed)
        memory.new_session()
    # what one walk was not enough for, another that starts its clock anew does not add up to
    assert max(counts) <= counts[0]


def test_things_seen_from_one_side_are_counted(furnished_walk: Path) -> None:
    strict = Settings()
    strict = replace(strict, promotion=replace(strict.promotion, min_view_bins=36))
    summary, _ = run(furnished_walk, strict)
    assert summary.confirmed == 0
    assert summary.one_sided > 0


def test_images_of_a_camera_that_has_not_moved_are_not_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    still, moved = looking(-0.6, 0.0, yaw=-0.8, pitch=-0.35), looking(-0.9, 0.15, yaw=-0.7, pitch=-0.35)
    walk = write_recording(tmp_path / "walk", [still] * 5 + [moved] * 5)
    decoded = []

    def read_color(data: Path | bytes, **options: Any) -> NDArray[np.uint8]:
        decoded.append(data)
        return images.read_color(data, **options)

    monkeypatch.setattr(sequence, "read_color", read_color)
    settings = one_sided()
    memory, perception = Memory.open(settings=settings, wall_clock=None), Perception(settings)
    source = open_source(walk)
    seen = []
    summary = follow(source, memory, perception, progress=lambda now: seen.append(now.frames))
    assert (summary.frames, summary.looked_at, summary.refused) == (10, 2, {"camera has not moved": 8})
    assert len(decoded) == 2
    # the number of a frame is its place in the recording, whoever wants it
    assert seen == [1, 6]
    assert [frame.id for frame in open_source(walk).frames()] == list(range(10))
    assert source.intake.frames == 10


def test_bad_frames_are_survived_and_counted(short_walk: Path) -> None:
    (short_walk / "depth" / "100.000000.png").write_bytes(b"")
    summary, _ = run(short_walk, one_sided())
    assert summary.frames == 3
    assert summary.skipped == {"unreadable depth": 1}


@pytest.mark.slow
def test_the_cabinet_of_a_real_recording_is_one_object_in_its_place(shared_data: Path) -> None:
    _, memory = run(shared_data / "tum_fr3_cabinet", one_sided())
    centre = np.array([-1.52988, 0.456476, 0.281575])
    large = [one for one in memory.states() if float(np.sort(one.extent)[1]) > 0.3]
    near = [one for one in large if np.linalg.norm(one.xyz_world - centre) < 0.53]
    assert len(near) == 1
    assert float(np.linalg.norm(near[0].xyz_world - centre)) < 0.25


def test_a_world_on_its_side_is_said(furnished_walk: Path) -> None:
    (upright, memory), lying = run(furnished_walk, one_sided()), SourceOptions(world_up="y")
    assert upright.notes == []
    assert memory.store.warning == ""
    summary, memory = run(furnished_walk, one_sided(), lying)
    (note,) = summary.notes
    assert memory.store.warning == note
    assert note.startswith("the world lies on its side")
    assert "doctor --fix" in note
