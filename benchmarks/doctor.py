"""Does the doctor name every fault, and stay silent on clean data?

Real recordings with every known fault; clean are the recordings themselves and walks through simulated homes.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from rich.console import Console
from rich.table import Table

from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.sim.generate import generate_home
from lastseen.sim.recording import record
from lastseen.sim.walk import WalkPlan
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.conversion import to_frame
from lastseen.sources.doctor import Report, examine

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.sources.faults import FAULTS, copy_with_fault

DATA = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
CLEAN = {
    "tum_fr1_rpy_60": SourceOptions(),
    "tum_fr3_cabinet": SourceOptions(),
    "lens_clip": SourceOptions(world_up="y", image_rotation="90"),
    "open3d_livingroom": SourceOptions(),
}
CANNOT_BE_KNOWN = {
    # the camera turns and hardly moves: no scale shows, and nothing is seen again from another place
    "tum_fr1_rpy_60": {"depth 10 % off", "poses doubled", "poses halved", "poses drift"},
    "lens_clip": {"poses drift"},
}
"""Faults that a recording cannot show, by what its own description says about its motion; counted apart."""
TRUE_WARNINGS = {
    # their own descriptions say that the camera turns but hardly moves
    "tum_fr1_rpy_60": {"seen from two sides"},
    "lens_clip": {"seen from two sides"},
    "tum_fr3_cabinet": set[str](),
    "open3d_livingroom": set[str](),
}

SLACK = (0.01, 3.0, 0.01)
"""Share of depth, degrees and share of focal length that two readings may differ by and still be the same."""

BETTER = 0.7
"""Share of one of its three distances to the truth that a remedy must leave at most, and none may grow."""

COMPARED = 20
"""Frames of a reading that are compared with the true ones, about."""

WORST = (1.0, 180.0, 1.0)
"""What counts where no frame of a reading can be compared."""

_ORIGINALS = tempfile.TemporaryDirectory()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one recording only")
    parser.add_argument("--only", choices=list(CLEAN), help="this recording only")
    parser.add_argument("--walk", type=int, help="the faults in a walk through this generated home instead")
    parser.add_argument("--fault", choices=list(FAULTS), help="this fault only")
    parser.add_argument("--keep", type=Path, help="results by line; a case that is there is not run again")
    arguments = parser.parse_args()
    names = list(CLEAN)[1:2] if arguments.quick else list(CLEAN)
    names = [arguments.only] if arguments.only else names
    names = names if arguments.walk is None else [f"walk {arguments.walk}"]
    walks = 0 if arguments.only or arguments.fault or arguments.walk is not None else (4 if arguments.quick else 20)
    faults = [arguments.fault] if arguments.fault else list(FAULTS)
    todo: list[tuple[str, Callable[[], dict[str, Any]]]] = [(name, partial(_clean, name)) for name in names]
    todo += [(f"simulated {seed}", partial(_simulated, seed)) for seed in range(1, walks + 1)]
    todo += [(f"{name}: {fault}", partial(_with_fault, name, fault)) for name in names for fault in faults]
    kept = _kept(arguments.keep)
    rows: dict[str, dict[str, Any]] = {}
    for case, run in todo:
        if case not in kept:
            started = time.process_time()
            _keep(arguments.keep, kept, case, run())
            kept[case]["seconds"] = round(time.process_time() - started, 1)
        rows[case] = kept[case]
        print(f"{case}: {kept[case]}", flush=True)
    _report(rows)


def _clean(name: str) -> dict[str, Any]:
    """What is said of a recording without a fault beyond what is true of it."""
    if name.startswith("walk "):
        return _simulated(int(name.split()[1]))
    report = examine(open_source(DATA / name, CLEAN[name]))
    return {"alarms": [*report.faults, *sorted(set(report.warnings) - TRUE_WARNINGS[name])]}


def _simulated(seed: int) -> dict[str, Any]:
    """The same of a walk through a generated home."""
    report = examine(open_source(_original(f"walk {seed}")))
    return {"alarms": report.faults}


def _walk(seed: int, out: Path) -> Path:
    return record(generate_home(seed), WalkPlan(minutes=1.0, seed=seed, level="typical"), out)


def _with_fault(name: str, fault: str) -> dict[str, Any]:
    """Whether a fault is named, what else is said, and whether the remedy brings the frames nearer to the truth."""
    with tempfile.TemporaryDirectory() as folder:
        original = _original(name)
        clean = CLEAN.get(name, SourceOptions())
        copy = copy_with_fault(original, Path(folder) / "copy", fault)
        report = examine(open_source(copy, clean))
        expected = set(FAULTS[fault].named_by)
        said = {*report.faults, *report.warnings}
        row: dict[str, Any] = {
            "named": bool(said & expected),
            "knowable": fault not in CANNOT_BE_KNOWN.get(name, set()),
            "more": sorted(said - expected - TRUE_WARNINGS.get(name, {"seen from two sides"})),
            "figure": _figure(report, expected),
            "remedy": {key: str(value) for key, value in report.options.changed().items()},
        }
        if report.options != clean:
            true = _true_geometry(name)
            before, after = (_distances(true, _geometry(copy, options)) for options in (clean, report.options))
            row["truth"] = [[round(value, 3) for value in one] for one in (before, after)]
            worse = any(new > 1.1 * old + slack for old, new, slack in zip(before, after, SLACK, strict=True))
            better = any(
                new < BETTER * old and old > 0.2 * slack for old, new, slack in zip(before, after, SLACK, strict=True)
            )
            row["wrong_remedy"] = worse or not better
        return row


@functools.cache
def _original(name: str) -> Path:
    """The recording without a fault, in TUM's layout; written once for all of its faults."""
    out = Path(_ORIGINALS.name) / name
    return _walk(int(name.split()[1]), out) if name.startswith("walk ") else as_tum(DATA / name, out)


@functools.lru_cache(maxsize=1)
def _true_geometry(name: str) -> dict[float, Frame]:
    return _geometry(_original(name), CLEAN.get(name, SourceOptions()))


def _geometry(folder: Path, options: SourceOptions) -> dict[float, Frame]:
    """Frames that the options give, by stamp: every n-th of a long recording, which tells as much as all."""
    with open_source(folder, options) as source:
        step = max(1, (source.length() or 0) // COMPARED)
        frames: dict[float, Frame] = {}
        for number, record in enumerate(source.records(wanted=lambda number: number % step == 0)):
            # what the options do not fit is no frame, as in a run
            with contextlib.suppress(InvalidValue):
                frames[record.stamp] = to_frame(record, options, frame_id=number)
        return frames


def _distances(true: dict[float, Frame], read: dict[float, Frame]) -> tuple[float, float, float]:
    """How far a reading is from the true one: points as a share of depth, the vertical in degrees, colour's rays.

    A point belongs to the pixel of colour that it is seen at, by the reading's own intrinsics; points of the same
    pixel are compared in the camera of the first frame that both have.
    """
    stamps = sorted(set(true) & set(read))
    if not stamps:
        return WORST
    shares, tilts = [], []
    for stamp in stamps:
        one, other = true[stamp], read[stamp]
        if one.rgb.shape != other.rgb.shape:
            return WORST
        first, second = (
            _seen_at_pixels(frame, frames[stamps[0]].T_world_camera.inverse() @ frame.T_world_camera)
            for frame, frames in ((one, true), (other, read))
        )
        error = np.linalg.norm(first[0] - second[0], axis=1) / first[1]
        error = error[np.isfinite(error)]
        if len(error):
            shares.append(float(np.median(error)))
        cosine = float(one.T_world_camera.rotation[2] @ other.T_world_camera.rotation[2])
        tilts.append(math.degrees(math.acos(min(1.0, max(-1.0, cosine)))))
    here, there = true[stamps[0]].intrinsics, read[stamps[0]].intrinsics
    rays = max(
        abs(there.fx / here.fx - 1),
        abs(there.fy / here.fy - 1),
        abs(there.cx - here.cx) / here.width,
        abs(there.cy - here.cy) / here.height,
    )
    return (min(1.0, float(np.median(shares))) if shares else 1.0, float(np.median(tilts)), rays)


def _seen_at_pixels(frame: Frame, pose: Pose3D) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Points (n, 3) of every 16th pixel of colour, moved by a pose, and their depth (n,); NaN where there is none."""
    color, depth = frame.intrinsics, frame.camera_of_depth
    down, right = (axis.ravel() for axis in np.mgrid[4 : color.height : 16, 4 : color.width : 16])
    rows = np.rint((down - color.cy) / color.fy * depth.fy + depth.cy).astype(int)
    columns = np.rint((right - color.cx) / color.fx * depth.fx + depth.cx).astype(int)
    inside = (rows >= 0) & (rows < depth.height) & (columns >= 0) & (columns < depth.width)
    points = np.full((len(down), 3), np.nan)
    points[inside] = frame.points()[rows[inside], columns[inside]]
    return pose.transform(points), points[:, 2]


def _report(rows: dict[str, dict[str, Any]]) -> None:
    table = Table("case", "named", "also said", "remedy", "to the truth", "before / after")
    cases = {case: row for case, row in rows.items() if "named" in row}
    for case, row in cases.items():
        named = "yes" if row["named"] else ("NO" if row["knowable"] else "cannot be known")
        wrong = "WRONG " if row.get("wrong_remedy") else ""
        remedy = ", ".join(f"{key} = {value}" for key, value in row["remedy"].items())
        truth = " -> ".join(
            f"{100 * share:.1f} % {tilt:.0f} deg {100 * rays:.0f} %" for share, tilt, rays in row.get("truth", [])
        )
        table.add_row(case, named, ", ".join(row["more"]), wrong + remedy, truth, row["figure"])
    Console(width=220).print(table)
    alarms = [f"{case}: {alarm}" for case, row in rows.items() for alarm in row.get("alarms", [])]
    for alarm in alarms:
        print(f"false alarm on clean data: {alarm}")
    counted = [row for row in cases.values() if row["named"] or row["knowable"]]
    result = {
        "faults_named": round(sum(row["named"] for row in counted) / max(len(counted), 1), 4),
        "false_alarms": len(alarms),
        "wrong_remedies": sum(row.get("wrong_remedy", False) for row in cases.values()),
        "remedies": sum("wrong_remedy" in row for row in cases.values()),
        "kinds": len({case.split(": ")[1] for case in cases}),
        "cases": len(cases),
        "cannot_be_known": len(cases) - len(counted),
        "cases_with_more_said": sum(bool(row["more"]) for row in cases.values()),
    }
    print("RESULT " + json.dumps(result))


def as_tum(folder: Path, out: Path) -> Path:
    """The recording itself where it is of TUM's layout, else a copy in it: faults are written into that."""
    if (folder / "rgb.txt").exists():
        return folder
    with open_source(folder) as source:
        lists: dict[str, list[str]] = {"rgb.txt": [], "depth.txt": [], "groundtruth.txt": []}
        for kind in ("rgb", "depth"):
            (out / kind).mkdir(parents=True)
        for frame in source.frames():
            stamp = f"{frame.stamp:.6f}"
            Image.fromarray(frame.rgb).save(out / "rgb" / f"{stamp}.png", compress_level=1)
            raw = np.nan_to_num(frame.depth * 1000.0).round().astype(np.uint16)
            Image.fromarray(raw).save(out / "depth" / f"{stamp}.png", compress_level=1)
            numbers = [*frame.T_world_camera.translation, *frame.T_world_camera.quaternion]
            lists["rgb.txt"].append(f"{stamp} rgb/{stamp}.png")
            lists["depth.txt"].append(f"{stamp} depth/{stamp}.png")
            lists["groundtruth.txt"].append(f"{stamp} " + " ".join(f"{number:.9f}" for number in numbers))
            camera = {key: getattr(frame.intrinsics, key) for key in ("fx", "fy", "cx", "cy", "width", "height")}
    for name, lines in lists.items():
        (out / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    (out / "camera.json").write_text(json.dumps({**camera, "depth_scale": 1000.0}), encoding="utf-8")
    return out


def _kept(path: Path | None) -> dict[str, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["case"]: row for row in rows}


def _keep(path: Path | None, kept: dict[str, dict[str, Any]], case: str, result: dict[str, Any]) -> None:
    kept[case] = {"case": case, **result}
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(kept[case]) + "\n")


def _figure(report: Report, expected: set[str]) -> str:
    return next((check.figure for check in report.checks if check.name in expected), "")[:70]


if __name__ == "__main__":
    main()
