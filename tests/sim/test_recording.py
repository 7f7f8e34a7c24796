from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image

from lastseen.config import Settings
from lastseen.config.programs import Camera
from lastseen.detection import decode_mask, encode_mask
from lastseen.errors import InvalidValue
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.home import Home
from lastseen.sim.recording import DEPTH_SCALE, record
from lastseen.sim.walk import Walk, WalkPlan
from lastseen.sources import open_source

SMALL = Settings(camera=Camera(width=48, height=36))
PLAN = WalkPlan(0.1, seed=3, level="typical", changes=1)


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


class Stop(Exception):
    pass


def stop_after(frames: int) -> object:
    def progress(done: int, total: int) -> None:
        if done == frames:
            raise Stop

    return progress


def test_a_recording_has_the_tum_layout(home: Home, tmp_path: Path) -> None:
    out = record(home, PLAN, tmp_path / "out", settings=SMALL)
    names = [line.split() for line in (out / "rgb.txt").read_text().splitlines() if not line.startswith("#")]
    poses = [line.split() for line in (out / "groundtruth.txt").read_text().splitlines() if not line.startswith("#")]
    assert len(names) == len(poses) == 12
    assert [row[0] for row in names] == [row[0] for row in poses]
    assert all((out / row[1]).is_file() for row in names)
    camera = json.loads((out / "camera.json").read_text())
    assert camera["width"] == 48
    assert camera["depth_scale"] == DEPTH_SCALE
    depth = np.asarray(Image.open(out / "depth" / f"{names[0][0]}.png"))
    assert depth.dtype == np.uint16
    assert depth.shape == (36, 48)
    assert 0.2 < np.median(depth[depth > 0]) / DEPTH_SCALE < 8.0


def test_it_holds_detections_and_truth(home: Home, tmp_path: Path) -> None:
    out = record(home, PLAN, tmp_path / "out", settings=SMALL)
    detections = [json.loads(line) for line in (out / "detections.jsonl").read_text().splitlines()]
    assert {one["frame"] for one in detections} <= set(range(12))
    assert detections
    for one in detections:
        assert set(one) == {"frame", "stamp", "box", "score", "labels", "mask"}
        assert one["stamp"] == one["frame"] * 0.5
        assert decode_mask(one["mask"], height=36, width=48).any()
    truth = json.loads((out / "truth.json").read_text())
    assert [one["id"] for one in truth["objects"]] == list(home.things)
    assert len(truth["changes"]) == 1
    assert 0.0 < truth["changes"][0]["stamp"] < 6.0
    assert len(truth["poses"]) == 12


def test_the_source_of_recordings_reads_it(home: Home, tmp_path: Path) -> None:
    source = open_source(record(home, PLAN, tmp_path / "out", settings=SMALL))
    world = Walk(home, PLAN, settings=SMALL)
    detector = source.detector()
    assert detector is not None
    for read, walked in zip(source.frames(), world.frames(), strict=True):
        assert read.stamp == walked.stamp
        assert np.array_equal(read.rgb, walked.rgb)
        assert np.array_equal(np.isnan(read.depth), np.isnan(walked.depth))
        assert np.nanmax(np.abs(read.depth - walked.depth), initial=0.0) < 2e-4
        assert read.T_world_camera.distance_to(walked.T_world_camera) < 1e-5
        expected = SimulatedDetector(world.world, level=PLAN.level, seed=PLAN.seed).detect(walked)
        assert [one.box for one in detector.detect(read)] == [one.box for one in expected]


def test_the_same_plan_gives_the_same_bytes(home: Home, tmp_path: Path) -> None:
    first = record(home, PLAN, tmp_path / "a", settings=SMALL)
    second = record(home, PLAN, tmp_path / "b", settings=SMALL)
    assert digest(first) == digest(second)


@pytest.mark.parametrize("frames", [0, 1, 5, 11])
def test_a_stopped_recording_goes_on_to_the_same_bytes(home: Home, tmp_path: Path, frames: int) -> None:
    whole = record(home, PLAN, tmp_path / "whole", settings=SMALL)
    out = tmp_path / "out"
    with pytest.raises(Stop):
        record(home, PLAN, out, settings=SMALL, progress=stop_after(frames))  # type: ignore[arg-type]
    assert not (out / "truth.json").exists()
    record(home, PLAN, out, settings=SMALL)
    assert digest(out) == digest(whole)


def test_a_half_written_frame_is_written_again(home: Home, tmp_path: Path) -> None:
    whole = record(home, PLAN, tmp_path / "whole", settings=SMALL)
    out = tmp_path / "out"
    with pytest.raises(Stop):
        record(home, PLAN, out, settings=SMALL, progress=stop_after(5))  # type: ignore[arg-type]
    with (out / "detections.jsonl").open("a") as file:
        file.write('{"frame": 5, "stamp": 2.5}\n{"frame": 5, "sta')
    with (out / "rgb.txt").open("a") as file:
        file.write("2.500000 rgb/2.500000.png\n")
    (out / "rgb" / "2.500000.png").write_bytes(b"half")
    record(home, PLAN, out, settings=SMALL)
    assert digest(out) == digest(whole)


def test_a_finished_recording_is_not_touched(home: Home, tmp_path: Path) -> None:
    out = record(home, PLAN, tmp_path / "out", settings=SMALL)
    before = digest(out)
    with pytest.raises(InvalidValue, match="finished"):
        record(home, PLAN, out, settings=SMALL)
    assert digest(out) == before


def test_a_recording_with_other_settings_is_not_continued(home: Home, tmp_path: Path) -> None:
    with pytest.raises(Stop):
        record(home, PLAN, tmp_path / "out", settings=SMALL, progress=stop_after(2))  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="another level, seed"):
        record(home, replace(PLAN, seed=4, level="good"), tmp_path / "out", settings=SMALL)


def test_a_folder_with_other_files_is_refused(home: Home, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidValue, match="not empty and not a recording"):
        record(home, PLAN, tmp_path, settings=SMALL)
    with pytest.raises(InvalidValue, match="is a file"):
        record(home, PLAN, tmp_path / "notes.txt", settings=SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_perfect_recordings_hold_the_true_poses(home: Home, tmp_path: Path) -> None:
    out = record(home, WalkPlan(0.05, seed=1, level="perfect"), tmp_path / "out", settings=SMALL)
    rows = [line.split()[1:] for line in (out / "groundtruth.txt").read_text().splitlines() if line[0] != "#"]
    truth = json.loads((out / "truth.json").read_text())["poses"]
    assert np.allclose(np.array(rows, dtype=float), truth, atol=1e-6)


@pytest.mark.parametrize("minutes", [0.0, -1.0, float("nan"), float("inf")])
def test_a_walk_takes_time(minutes: float) -> None:
    with pytest.raises(InvalidValue, match="minutes"):
        WalkPlan(minutes)


def test_changes_cannot_be_negative() -> None:
    with pytest.raises(InvalidValue, match="changes"):
        WalkPlan(1.0, changes=-1)


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InvalidValue, match="level"):
        WalkPlan(1.0, level="awful")


@given(arrays.arrays(np.bool_, st.tuples(st.integers(1, 9), st.integers(1, 9))))
def test_masks_survive_their_code(mask: np.ndarray) -> None:
    runs = encode_mask(mask)
    assert np.array_equal(decode_mask(runs, height=mask.shape[0], width=mask.shape[1]), mask)


def test_runs_of_the_wrong_length_are_refused() -> None:
    with pytest.raises(InvalidValue, match="does not fill"):
        decode_mask([3, 2], height=2, width=2)
