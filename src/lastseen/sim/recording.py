"""Writing a walk down as a TUM-layout RGB-D folder, with what a detector said and what is true.

A recording that was stopped, by Ctrl-C or a power cut, goes on where it was and ends up equal to the byte to one
that was not: a frame counts only when its line in ``groundtruth.txt``, the last thing written of it, is complete.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from lastseen.config import Settings
from lastseen.detection import Detection, encode_mask
from lastseen.errors import InvalidValue
from lastseen.frame import Frame
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.home import Home
from lastseen.sim.walk import Walk, WalkPlan

DEPTH_SCALE = 5000.0
"""Depth images hold metres times this, as TUM RGB-D does; 0 is no measurement, 13.1 m the farthest."""
PLAN_FILE, TRUTH_FILE = "recording.json", "truth.json"
_HEADERS = {
    "rgb.txt": "# colour images\n# timestamp filename\n",
    "depth.txt": "# depth images (uint16, metres = value / 5000, 0 = no measurement)\n# timestamp filename\n",
    "groundtruth.txt": "# T_world_camera as the robot reports it (camera x right, y down, z forward; world z up);\n"
    "# with level perfect this is the truth, which is always in truth.json\n"
    "# timestamp tx ty tz qx qy qz qw\n",
}


def record(
    home: Home,
    plan: WalkPlan,
    out: str | Path,
    *,
    settings: Settings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Record a walk into a folder, or finish one that was broken off there; returns the folder.

    ``progress`` is called with the frames done and planned. A folder that holds anything else is refused.
    """
    folder = Path(out)
    settings = settings or Settings()
    facts = _facts(home, plan, settings)
    _claim(folder, facts)
    done = _frames_done(folder)
    walk = Walk(home, plan, settings=settings)
    detector = SimulatedDetector(walk.world, level=plan.level, seed=plan.seed)
    for name, header in _HEADERS.items():
        _keep_lines(folder / name, header, done)
    _keep_detections(folder / "detections.jsonl", done)
    camera = {**asdict(walk.world.intrinsics), "depth_scale": DEPTH_SCALE}
    (folder / "camera.json").write_text(json.dumps(camera, indent=1), encoding="utf-8")
    if progress is not None:
        progress(min(done, walk.frames_planned), walk.frames_planned)
    for frame in walk.frames(first=done):
        _write_frame(folder, frame, detector.detect(frame))
        if progress is not None:
            progress(frame.id + 1, walk.frames_planned)
    _replace(folder / TRUTH_FILE, json.dumps(_truth(home, plan, walk), indent=1))
    return folder


def _facts(home: Home, plan: WalkPlan, settings: Settings) -> dict[str, Any]:
    """All that decides the bytes of a recording: what must agree before one is continued."""
    return {
        "format": "lastseen simulated recording",
        "version": 1,
        "home": home.name,
        **asdict(plan),
        "camera": asdict(settings.camera),
        "robot": asdict(settings.robot),
    }


def _claim(folder: Path, facts: dict[str, Any]) -> None:
    """Take an empty or new folder, or one's own unfinished one; refuse all else."""
    if folder.exists() and not folder.is_dir():
        raise InvalidValue("OUT", str(folder), "is a file", remedy="name a new folder")
    plan = folder / PLAN_FILE
    if plan.is_file():
        try:
            found = json.loads(plan.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidValue(
                "OUT", str(folder), f"has an unreadable {PLAN_FILE} ({error})", remedy="name another folder"
            ) from error
        differing = sorted(key for key in facts if not isinstance(found, dict) or found.get(key) != facts[key])
        if differing:
            raise InvalidValue(
                "OUT",
                str(folder),
                f"holds a recording with another {', '.join(differing)}",
                remedy="repeat its settings to finish it, or name another folder",
            )
        if (folder / TRUTH_FILE).exists():
            raise InvalidValue("OUT", str(folder), "holds this recording, finished", remedy="name another folder")
    elif folder.is_dir() and any(folder.iterdir()):
        raise InvalidValue("OUT", str(folder), "is not empty and not a recording", remedy="name a new folder")
    try:
        for part in ("rgb", "depth"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        if not plan.is_file():
            _replace(plan, json.dumps(facts, indent=1))
    except OSError as error:
        raise InvalidValue(
            "OUT", str(folder), f"cannot be written ({error.strerror})", remedy="check the path"
        ) from error


def _frames_done(folder: Path) -> int:
    """Complete lines of groundtruth.txt; a last line without its end was being written."""
    path = folder / "groundtruth.txt"
    lines = path.read_bytes().count(b"\n") if path.is_file() else 0
    return max(0, lines - _HEADERS[path.name].count("\n"))


def _keep_lines(path: Path, header: str, frames: int) -> None:
    """Cut a file back to its header and the frames that count."""
    head = header.splitlines(keepends=True)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    _replace(path, "".join(lines[: len(head) + frames] if len(lines) >= len(head) else head))


def _keep_detections(path: Path, frames: int) -> None:
    """Cut the detections back to those of the frames that count; a frame has none, one or many lines."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.is_file() else []
    whole = [line for line in lines if line.endswith("\n")]
    _replace(path, "".join(line for line in whole if json.loads(line)["frame"] < frames))


def _write_frame(folder: Path, frame: Frame, detections: list[Detection]) -> None:
    stamp = f"{frame.stamp:.6f}"
    Image.fromarray(frame.rgb).save(folder / "rgb" / f"{stamp}.png", compress_level=4)
    depth = np.nan_to_num(frame.depth * DEPTH_SCALE, nan=0.0)
    depth[depth > np.iinfo(np.uint16).max] = 0.0
    Image.fromarray(np.rint(depth).astype(np.uint16)).save(folder / "depth" / f"{stamp}.png", compress_level=4)
    _append(folder / "rgb.txt", f"{stamp} rgb/{stamp}.png\n")
    _append(folder / "depth.txt", f"{stamp} depth/{stamp}.png\n")
    lines = [json.dumps(_detection(one, frame)) + "\n" for one in detections]
    _append(folder / "detections.jsonl", "".join(lines))
    pose = frame.T_world_camera
    numbers = " ".join(f"{value:.7f}" for value in (*pose.translation, *pose.quaternion))
    _append(folder / "groundtruth.txt", f"{stamp} {numbers}\n")


def _detection(detection: Detection, frame: Frame) -> dict[str, Any]:
    return {
        "frame": frame.id,
        "stamp": frame.stamp,
        "box": list(detection.box),
        "score": detection.score,
        "labels": dict(detection.labels),
        "mask": None if detection.mask is None else encode_mask(detection.mask),
    }


def _truth(home: Home, plan: WalkPlan, walk: Walk) -> dict[str, Any]:
    """The home at the start, what changed when, and where the camera really was at each frame."""
    return {
        "home": home.name,
        "plan": asdict(plan),
        "rooms": [{"id": room.id, "type": room.type, "rectangles": room.rectangles} for room in home.rooms],
        "objects": [
            {
                "id": thing.id,
                "label": thing.label,
                "color": thing.color,
                "position": [round(float(value), 4) for value in thing.position],
                "extent": [round(float(value), 4) for value in thing.extent],
                "room_id": thing.room_id,
                "support_id": thing.support_id,
                "movable": thing.movable,
            }
            for thing in home.things.values()
        ],
        "changes": [change.record() for change in walk.changes],
        "poses": [[round(float(value), 7) for value in row] for row in walk.true_poses],
    }


def _append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(text, encoding="utf-8")
    os.replace(part, path)
