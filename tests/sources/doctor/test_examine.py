"""The doctor on a simulated walk: clean data gets a clean report, and each fault is named with its correction."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from lastseen.errors import SourceError
from lastseen.sim.generate import generate_home
from lastseen.sim.recording import record
from lastseen.sim.walk import WalkPlan
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.conversion import up_vector
from lastseen.sources.doctor import Report, Verdict, examine
from tests.sources.faults import FAULTS, copy_with_fault
from tests.sources.layouts import lines, save
from tests.sources.room import CAMERA, looking, render, walk, write_recording

CHECKS = [
    "frames readable",
    "stamps in order",
    "colour and depth clocks",
    "images have poses",
    "image sizes",
    "depth present",
    "depth range",
    "poses move",
    "pose direction",
    "camera axes",
    "quaternion order",
    "depth scale",
    "pose scale",
    "intrinsics",
    "principal point",
    "mirrored images",
    "images turned against poses",
    "pose clock",
    "poses explain images",
    "pose jumps",
    "pose noise",
    "drift",
    "world up axis",
    "upright images",
    "colour and depth aligned",
    "seen from two sides",
]


@pytest.fixture(scope="module")
def report_of(stored_walk: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Report]:
    """What the doctor says about the walk with one fault; each is examined once for all tests."""

    @functools.cache
    def examined(fault: str) -> Report:
        return examine(open_source(copy_with_fault(stored_walk, tmp_path_factory.mktemp("faulty") / "copy", fault)))

    return examined


def test_clean_data_gets_a_clean_report(stored_walk: Path) -> None:
    report = examine(open_source(stored_walk))
    assert [check.name for check in report.checks] == CHECKS
    assert report.faults == []
    assert report.warnings == []
    assert report.options == SourceOptions()


@pytest.mark.parametrize("seed", [7, 11, 14])
def test_a_walk_of_the_simulator_has_no_fault(tmp_path: Path, seed: int) -> None:
    """It turns more than it moves, near walls, and its localizer is off by 2 cm and a degree: usual, not wrong."""
    folder = record(generate_home(seed), WalkPlan(0.5, seed=seed, level="typical"), tmp_path / "walk")
    assert examine(open_source(folder)).faults == []


def test_a_clean_source_with_options_is_clean_with_them(tmp_path: Path, stored_walk: Path) -> None:
    copy = copy_with_fault(stored_walk, tmp_path / "copy", "world y up")
    assert examine(open_source(copy, SourceOptions(world_up="y"))).faults == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", sorted(set(FAULTS) - {"poses drift"}))
def test_each_fault_is_named(report_of: Callable[[str], Report], fault: str) -> None:
    report = report_of(fault)
    assert set(report.faults + report.warnings) & set(FAULTS[fault].named_by), [
        (check.name, check.verdict, check.figure) for check in report.checks
    ]


@pytest.mark.slow
def test_drift_is_named_where_a_place_is_seen_again_and_not_guessed_elsewhere(
    report_of: Callable[[str], Report], tmp_path: Path
) -> None:
    assert {check.name: check.verdict for check in report_of("poses drift").checks}["drift"] == Verdict.UNSURE
    there = walk(24)
    and_back = write_recording(tmp_path / "walk", [*there, *reversed(there[:-1])])
    report = examine(open_source(copy_with_fault(and_back, tmp_path / "copy", "poses drift")))
    assert (report.faults, report.warnings) == ([], ["drift"])


@pytest.mark.parametrize(
    ("fault", "options"),
    [
        ("pose inverted", {"pose_inverted": True}),
        ("OpenGL camera", {"camera_axes": "opengl"}),
        ("ROS body camera", {"camera_axes": "ros_body"}),
        ("quaternion wxyz", {"quaternion_order": "wxyz"}),
        ("world y up", {"world_up": "y"}),
        ("poses in millimetres", {"pose_scale": 0.001}),
        ("poses doubled", {"pose_scale": 0.5}),
        ("millimetres as metres", {"depth_scale": 1000.0}),
        ("scale 5 too large", {"depth_scale": 1000.0}),
        ("mirrored", {"mirrored": True}),
        ("turned 90, poses not", {"images_turned": "90"}),
        ("sideways 90", {"image_rotation": "270"}),
        ("intrinsics of another size", {"rescale_intrinsics": True}),
    ],
)
def test_the_correction_is_the_option_that_undoes_the_fault(
    report_of: Callable[[str], Report], fault: str, options: dict[str, object]
) -> None:
    assert report_of(fault).options.changed() == options


def _shift_stamps(file: Path, seconds: float) -> None:
    """Add seconds to every stamp of a list."""
    rows = [line.split(maxsplit=1) for line in file.read_text().splitlines() if not line.startswith("#")]
    file.write_text("\n".join(f"{float(stamp) + seconds:.6f} {rest}" for stamp, rest in rows) + "\n")


@pytest.mark.parametrize(("late", "option"), [("depth.txt", "depth_delay"), ("groundtruth.txt", "pose_delay")])
def test_at_even_stamps_late_depth_is_told_from_late_poses(tmp_path: Path, late: str, option: str) -> None:
    """Each colour image pairs with a depth image of another time, which the poses of that time would fit too."""
    folder = write_recording(tmp_path / "walk", walk(60))
    _shift_stamps(folder / late, 0.5)
    assert examine(open_source(folder)).options.changed() == {option: pytest.approx(0.5, abs=0.06)}


@pytest.mark.parametrize(("ahead", "options"), [(0, {"pose_delay": -0.5}), (5, {})])
def test_depth_of_another_image_is_no_late_pose(tmp_path: Path, ahead: int, options: dict[str, float]) -> None:
    """Depth without stamps, whose numbers begin elsewhere, fits the poses of another time as late poses do."""
    poses = walk(65)
    for number, (pose, later) in enumerate(zip(poses[:60], poses[ahead:], strict=False)):
        rgb, depth = render(pose)[0], render(later)[1]
        save(tmp_path / "rgb" / f"{number:04d}.png", rgb)
        save(tmp_path / "depth" / f"{number:04d}.png", np.round(1000 * depth).astype(np.uint16))
    told = poses[:60] if ahead else poses[5:]
    rows = [[number / 10, *pose.translation, *pose.quaternion] for number, pose in enumerate(told)]
    lines(tmp_path / "poses.txt", rows)
    (tmp_path / "camera.json").write_text(
        json.dumps({name: getattr(CAMERA, name) for name in ("fx", "fy", "cx", "cy")})
    )
    report = examine(open_source(tmp_path))
    assert "pose clock" in report.faults
    assert report.options.changed() == {key: pytest.approx(value, abs=0.06) for key, value in options.items()}


def test_depth_that_begins_later_is_not_late(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "walk", walk(24))
    kept = (folder / "depth.txt").read_text().splitlines()
    (folder / "depth.txt").write_text("\n".join(kept[9:]) + "\n")
    report = examine(open_source(folder))
    assert (report.faults, report.options) == ([], SourceOptions())


def test_a_tilted_world_is_corrected_to_within_two_degrees(report_of: Callable[[str], Report]) -> None:
    """Any tilt can be expressed: a room that leans by 27 degrees."""
    found = up_vector(report_of("world tilted 27").options.world_up)
    true = Rotation.from_rotvec(np.radians(27) * np.array([1.0, 0.5, 0.0]) / np.hypot(1.0, 0.5)).apply([0, 0, 1])
    assert np.degrees(np.arccos(found @ true)) < 2.0


def test_a_scale_that_cannot_be_placed_is_said_without_a_remedy(report_of: Callable[[str], Report]) -> None:
    report = report_of("depth 10 % off")
    assert "cannot be known which" in report.check("depth scale").remedy
    assert report.options == SourceOptions()


def test_corrected_data_gets_a_clean_report(
    report_of: Callable[[str], Report], stored_walk: Path, tmp_path: Path
) -> None:
    copy = copy_with_fault(stored_walk, tmp_path / "copy", "ROS body camera")
    assert examine(open_source(copy, report_of("ROS body camera").options)).faults == []


def test_two_faults_at_once_are_both_named(stored_walk: Path, tmp_path: Path) -> None:
    first = copy_with_fault(stored_walk, tmp_path / "first", "scale 5 too large")
    second = copy_with_fault(first, tmp_path / "second", "pose inverted")
    assert examine(open_source(second)).options.changed() == {"pose_inverted": True, "depth_scale": 1000.0}


def test_a_camera_that_never_moves_cannot_be_judged_and_is_no_fault(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "r", [looking(-1.0, 0.0, yaw=0.2)] * 6)
    report = examine(open_source(folder))
    assert report.faults == []
    assert report.check("pose direction").verdict is Verdict.UNSURE
    assert "hardly moves" in report.check("pose direction").remedy


def test_a_turning_camera_cannot_tell_the_depth_scale_and_says_so(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "r", [looking(-1.0, 0.0, yaw=0.05 * step) for step in range(12)])
    report = examine(open_source(folder))
    assert report.faults == []
    assert report.check("depth scale").verdict is Verdict.UNSURE


@pytest.mark.parametrize(("period", "faults"), [(1 / 30, []), (0.5, ["frames for odometry"])])
def test_poses_from_the_images_are_not_judged_but_the_video_is(
    tmp_path: Path, period: float, faults: list[str]
) -> None:
    pytest.importorskip("small_gicp")
    folder = write_recording(tmp_path / "walk", walk(6), period=period)
    (folder / "groundtruth.txt").unlink()
    report = examine(open_source(folder, changes=["poses=odometry"]))
    assert report.faults == faults
    assert report.options.changed() == {"poses": "odometry"}


def test_lost_frames_are_a_fault_when_they_are_many(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "r", walk(8))
    for path in sorted((folder / "depth").iterdir())[:3]:
        path.write_bytes(b"")
    check = examine(open_source(folder)).check("frames readable")
    assert check.verdict is Verdict.FAULT
    assert "no bytes" in check.figure


def test_a_recording_without_any_frame_is_one_clear_error(tmp_path: Path) -> None:
    folder = write_recording(tmp_path / "r", walk(3))
    for path in (folder / "depth").iterdir():
        path.write_bytes(b"")
    with pytest.raises(SourceError, match="no readable frame"):
        examine(open_source(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("tum_fr1_rpy_60", SourceOptions()),
        ("tum_fr3_cabinet", SourceOptions()),
        ("lens_clip", SourceOptions(world_up="y", image_rotation="90")),
    ],
)
def test_a_clean_real_recording_gets_no_fault(shared_data: Path, name: str, options: SourceOptions) -> None:
    assert examine(open_source(shared_data / name, options)).faults == []


@pytest.mark.slow
def test_the_phone_clip_is_seen_to_lie_on_its_side_in_a_y_up_world(shared_data: Path) -> None:
    found = examine(open_source(shared_data / "lens_clip")).options.changed()
    assert found == {"world_up": "y", "image_rotation": "90"}


@pytest.mark.parametrize(
    ("name", "kept", "options"),
    [
        ("lens_clip", slice(0, 10), SourceOptions(world_up="y", image_rotation="90")),
        ("tum_fr1_rpy_60", slice(0, 60, 5), SourceOptions()),
    ],
)
def test_some_frames_of_a_clean_recording_raise_no_alarm(
    shared_data: Path, tmp_path: Path, name: str, kept: slice, options: SourceOptions
) -> None:
    """A hand that is held almost still is no stuck tracker, and frames that turned by half a view do not shake."""
    for file in (shared_data / name).iterdir():
        (tmp_path / file.name).symlink_to(file)
    rows = [line for line in (tmp_path / "rgb.txt").read_text().splitlines() if not line.startswith("#")]
    (tmp_path / "rgb.txt").unlink()
    (tmp_path / "rgb.txt").write_text("\n".join(rows[kept]) + "\n")
    report = examine(open_source(tmp_path, options))
    assert (report.faults, report.options) == ([], options)
