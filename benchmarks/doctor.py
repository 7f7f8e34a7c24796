"""Does the doctor name every fault, and stay silent on clean data?

Real recordings with every known fault; clean are the recordings themselves and walks through simulated homes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from lastseen.sim.generate import generate_home
from lastseen.sim.recording import record
from lastseen.sim.walk import WalkPlan
from lastseen.sources import SourceOptions, open_source
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one recording only")
    parser.add_argument("--again", action="store_true", help="examine once more with the corrections applied")
    parser.add_argument("--only", help="this recording only")
    parser.add_argument("--fault", help="this fault only")
    parser.add_argument("--keep", type=Path, help="results by line; a case that is there is not run again")
    arguments = parser.parse_args()
    kept = _kept(arguments.keep)
    names = list(CLEAN)[1:2] if arguments.quick else list(CLEAN)
    names = [arguments.only] if arguments.only else names
    alarms: list[str] = []
    for name in names:
        if name not in kept:
            report = examine(open_source(DATA / name, CLEAN[name]))
            print(f"{name}, clean: faults {report.faults}, warnings {report.warnings}", flush=True)
            wrong = [*report.faults, *sorted(set(report.warnings) - TRUE_WARNINGS[name])]
            _keep(arguments.keep, kept, name, {"faults": wrong})
        alarms += [f"{name}: {fault}" for fault in kept[name]["faults"]]
    simulated = 0 if arguments.only or arguments.fault else (4 if arguments.quick else 20)
    for seed in range(1, simulated + 1):
        case = f"simulated {seed}"
        if case not in kept:
            with tempfile.TemporaryDirectory() as folder:
                walk = WalkPlan(minutes=1.0, seed=seed, level="typical")
                report = examine(open_source(record(generate_home(seed), walk, Path(folder) / "walk")))
            print(f"{case}, clean: faults {report.faults}, warnings {report.warnings}", flush=True)
            _keep(arguments.keep, kept, case, {"faults": report.faults})
        alarms += [f"{case}: {fault}" for fault in kept[case]["faults"]]
    cases = [(name, fault) for name in names for fault in FAULTS if arguments.fault in {None, fault}]
    table = Table("recording", "fault", "named", "also said", "before / after", "s")
    named = extra = unknowable = 0
    fixed = fixable = 0
    for name, fault in cases:
        case = f"{name}: {fault}"
        if case in kept:
            named, extra = named + kept[case]["named"], extra + kept[case]["more"]
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_with_fault(as_tum(DATA / name, Path(folder) / "tum"), Path(folder) / "copy", fault)
            started = time.process_time()
            report = examine(open_source(copy, CLEAN[name]))
            seconds = time.process_time() - started
            said = set(report.faults) | (set(report.warnings) - TRUE_WARNINGS[name])
            expected = set(FAULTS[fault].named_by)
            hit = bool((set(report.faults) | set(report.warnings)) & expected)
            others = sorted(said - expected)
            if not hit and fault in CANNOT_BE_KNOWN.get(name, set()):
                unknowable += 1
            named, extra = named + hit, extra + bool(others)
            if arguments.again and hit and report.options != CLEAN[name]:
                fixable += 1
                again = examine(open_source(copy, report.options))
                fixed += not again.faults
                others += [f"after fix: {left}" for left in again.faults]
            print(f"{case}: {'named' if hit else 'MISSED'} {others or ''}", flush=True)
            _keep(arguments.keep, kept, case, {"named": hit, "more": bool(others)})
            table.add_row(
                name, fault, "yes" if hit else "NO", ", ".join(others), _figure(report, expected), f"{seconds:.1f}"
            )
    console = Console(width=200)
    console.print(table)
    for alarm in alarms:
        console.print(f"false alarm on clean data: {alarm}")
    result = {
        "faults_named": round(named / max(len(cases) - unknowable, 1), 4),
        "cannot_be_known": unknowable,
        "false_alarms": len(alarms),
        "cases": len(cases),
        "cases_with_more_said": extra,
        "clean_after_fix": round(fixed / fixable, 4) if fixable else None,
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
