"""Real rooms: of the things a person lists, how many are remembered, named right, doubled, nested; and what it costs.

Each recording is run without a detector and with every weights file in a folder outside the project
(``--weights DIR`` or ``LASTSEEN_WEIGHTS``). The lists were written by looking at the frames, before any tuning.
``--out`` also writes a sheet of numbered pictures per recording for blind judges; ``--judged`` scores what they say.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from lastseen.config import Settings
from lastseen.detection import Detection
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.memory.objects import ObjectState
from lastseen.memory.objects.boxes import vectors_in_axes
from lastseen.observation import Observation
from lastseen.perception.detectors import open_detector
from lastseen.perception.pipeline import Perception
from lastseen.perception.warm_up import warm_up
from lastseen.protocols import Detector
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.base import RecordSource
from recordings import DATA, OPTIONS, cabinet, draw_crops, draw_map, lens_objects, lens_truth, shared_volume
from support.rendered import homes, remember_rendered
from support.sheets import draw_sheet, score_files

Floats = NDArray[np.float64]

RECORDINGS: dict[str, SourceOptions] = {**OPTIONS, "open3d_livingroom": SourceOptions()}
MODELS = ("yolo11n-seg.onnx", "yolo11n.onnx", "efficientdet-lite2.tflite")
NAMED_FRAMES = 3
"""Frames in which a detector must name a thing right before memory can be expected to have its name."""
MAX_DEPTH_GAP = 0.3
"""Metres between a listed point and the depth at its pixel, beyond which something hides it."""
INSIDE = 0.6
"""Share of an object's box that lies in a box at least ``LARGER`` times as large: nested."""
LARGER = 3.0
SAME = 0.25
"""Intersection over union from which an object beside a thing's own one is its duplicate."""
SLAB_LENGTH, SLAB_DEVIATION = 1.0, 0.03
"""Metres: a slab is longer than the first and no thicker (standard deviation) than the second."""

COCO_WORDS: dict[str, tuple[str, ...]] = {
    "bed": ("bed",),
    "brown teddy bear": ("teddy bear",),
    "cream teddy bear": ("teddy bear",),
    "pink plush toy": ("teddy bear",),
    "white plush dog": ("teddy bear", "dog"),
    "small grey plush toy": ("teddy bear",),
    "laptop": ("laptop",),
    "television": ("tv",),
}
"""Words of COCO's detectors that are right for the things listed with lens_clip."""


@dataclass(frozen=True, slots=True)
class Click:
    """A listed thing: frame number, pixel of colour, how far (m) its remembered centre may be, right names."""

    name: str
    frame: int
    pixel: tuple[int, int]
    tolerance: float
    words: tuple[str, ...] = ()


CLICKS: dict[str, tuple[Click, ...]] = {
    "tum_fr1_rpy_60": (
        Click("blue book", 45, (129, 79), 0.2, ("book",)),
        Click("thick book", 0, (93, 206), 0.25, ("book",)),
        Click("milk carton", 45, (243, 186), 0.2),
        Click("pen holder", 45, (314, 179), 0.2, ("vase", "cup")),
        Click("paper cup", 45, (379, 182), 0.15, ("cup",)),
        Click("tape measure", 45, (114, 193), 0.15),
        Click("game pad", 45, (18, 236), 0.2, ("remote",)),
        Click("telephone", 45, (207, 79), 0.25),
        Click("front monitor", 45, (514, 79), 0.4, ("tv",)),
        Click("rear monitor", 20, (400, 341), 0.4, ("tv",)),
        Click("keyboard", 45, (500, 307), 0.3, ("keyboard",)),
        Click("wire tray", 0, (279, 184), 0.25),
        Click("office chair", 20, (100, 313), 0.5, ("chair",)),
        Click("person", 20, (307, 300), 0.5, ("person",)),
        Click("teddy bear", 10, (373, 420), 0.4, ("teddy bear",)),
        Click("desk", 45, (430, 236), 1.0, ("dining table",)),
    ),
    "open3d_livingroom": (
        Click("armchair", 54, (236, 178), 0.6, ("chair",)),
        Click("television", 54, (571, 43), 0.6, ("tv",)),
        Click("vase", 54, (621, 164), 0.25, ("vase",)),
        Click("sideboard", 54, (500, 271), 0.9),
        Click("curtain", 54, (29, 143), 0.9),
    ),
}


@dataclass(frozen=True, slots=True)
class Thing:
    """A listed thing in the world."""

    name: str
    at: Floats
    tolerance: float
    words: tuple[str, ...]


@dataclass(slots=True)
class Watched:
    """A detector that keeps what it said of each frame."""

    detector: Detector
    said: list[tuple[Frame, list[Detection]]] = field(default_factory=list)
    given: Frame | None = None
    """The frame as the recording has it: perception hands it on turned into the axes of its boxes."""

    def detect(self, frame: Frame, targets: Sequence[str] = ()) -> list[Detection]:
        found = self.detector.detect(frame, targets)
        self.said.append((self.given or frame, found))
        return found


@dataclass(slots=True)
class Run:
    """What one recording left with one detector."""

    memory: Memory
    states: list[ObjectState]
    watched: Watched | None
    seen: list[Observation]
    cpu_ms: list[float]
    frames: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="without a detector and with the first one found")
    parser.add_argument("--only", help="this recording only")
    parser.add_argument("--detector", help="none, or one file name of the weights folder")
    parser.add_argument("--weights", type=Path, default=os.environ.get("LASTSEEN_WEIGHTS"), help="folder of weights")
    parser.add_argument("--out", type=Path, help="write pictures into this folder")
    parser.add_argument(
        "--rendered", metavar="HOMES", help="rendered homes instead, as aws,vh3,900: structure is counted by truth"
    )
    parser.add_argument(
        "--judged",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="score judgements of the sheets instead (one per judge)",
    )
    arguments = parser.parse_args()
    if arguments.judged:
        print("RESULT " + json.dumps(score_files(arguments.judged)))
        return
    console = Console(width=150)
    if arguments.rendered:
        warm_up()
        rendered(arguments.rendered, console, arguments.out)
        return
    models = [name for name in MODELS if arguments.weights and (arguments.weights / name).is_file()]
    chosen = ["none", *(models[:1] if arguments.quick else models)]
    if arguments.detector:
        chosen = [arguments.detector]
    warm_up()
    table = Table(
        "recording", "detector", "list", "found", "eligible", "kept", "named", "objects", "surfaces", "duplicates",
        "nested", "slabs", "cpu-ms",
    )  # fmt: skip
    result: dict[str, object] = {}
    rows: list[dict[str, float | None]] = []
    for name, options in RECORDINGS.items():
        if arguments.only not in {None, name}:
            continue
        for model in chosen:
            started = time.perf_counter()
            detector = None if model == "none" else Watched(open_detector(arguments.weights / model))
            with open_source(DATA / name, options) as source:
                things = listed(name, source)
                run = remember(source, detector)
            figures, cells = judge(run, things, console)
            rows.append(figures)
            result[f"{name}:{model}"] = figures
            table.add_row(name, model, *cells)
            console.print(f"{name} {model}: {run.frames} frames, {time.perf_counter() - started:.0f} s")
            if arguments.out is not None:
                arguments.out.mkdir(parents=True, exist_ok=True)
                stem = f"{name}_{Path(model).stem}"
                draw_map(run.states, [(one.name, one.at) for one in things], arguments.out / f"{stem}_map.png")
                things_only = [state for state in run.states if kind(state) == "object"]
                draw_crops(run.memory, things_only, arguments.out / f"{stem}_objects.png")
                draw_sheet(run.memory, things_only, arguments.out / f"{stem}_sheet.png")
                surfaces = [state for state in run.states if kind(state) != "object"]
                draw_crops(run.memory, surfaces, arguments.out / f"{stem}_surfaces.png")
    console.print(table)
    result.update(worst(rows))
    print("RESULT " + json.dumps(result))


def rendered(chosen: str, console: Console, out: Path | None) -> None:
    """Walk through rendered homes without a detector and count against the truth."""
    table = Table("home", "objects", "structure", "nested", "slabs", "second of a thing", "found", "surfaces")
    result: dict[str, dict[str, int]] = {}
    for name, home in homes(chosen):
        run = remember_rendered(home)
        objects = [state for state in run.states if kind(state) == "object"]
        own = Counter(run.of[state.id] for state in objects)
        found = {run.of[state.id] for state in run.states} & run.things
        result[name] = {
            "objects": len(objects),
            "structure": own.pop(None, 0),
            "nested": len(nested(objects)),
            "slabs": len(slab_objects(objects, run.seen)),
            "second": sum(own.values()) - len(own),
            "found": len(found),
            "things": len(run.things),
        }
        figures = [str(value) for value in result[name].values()]
        table.add_row(name, *figures[:5], f"{figures[5]} of {figures[6]}", str(len(run.states) - len(objects)))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            draw_crops(run.memory, objects, out / f"{name}_objects.png")
    console.print(table)
    print("RESULT " + json.dumps(result))


def listed(name: str, source: RecordSource) -> list[Thing]:
    """The list of a recording: lens_clip's own, or the world points of the clicked pixels."""
    if name == "lens_clip":
        tolerances = [float(str(one["tolerance_m"])) for one in lens_objects()]
        return [
            Thing(word, at, near, COCO_WORDS.get(word, ()))
            for (word, at), near in zip(lens_truth(), tolerances, strict=True)
        ]
    if name == "tum_fr3_cabinet":
        return [Thing("cabinet", cabinet()[0], 0.25, ())]
    clicks = {click.frame for click in CLICKS[name]}
    frames = {frame.id: frame for frame in source.frames() if frame.id in clicks}
    return [
        Thing(one.name, world_point(frames[one.frame], one.pixel), one.tolerance, one.words) for one in CLICKS[name]
    ]


def world_point(frame: Frame, pixel: tuple[int, int]) -> Floats:
    """The world point behind a colour pixel, by the median depth of 7x7 pixels."""
    camera = frame.camera_of_depth
    u = int(pixel[0] * camera.width / frame.intrinsics.width)
    v = int(pixel[1] * camera.height / frame.intrinsics.height)
    depth = float(np.nanmedian(frame.depth[max(v - 3, 0) : v + 4, max(u - 3, 0) : u + 4]))
    point: Floats = frame.T_world_camera.transform(camera.unproject(np.array([[u, v]]), np.array([depth])))[0]
    return point


def remember(source: RecordSource, detector: Watched | None) -> Run:
    settings = Settings()
    settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=1))
    perception = Perception(settings, detector=detector, with_geometry=True)
    memory = Memory.open(settings=settings, image_encoder=perception.encoder.name, wall_clock=None)
    cpu: list[float] = []
    seen: list[Observation] = []
    frames = 0
    for frame in source.frames():
        frames += 1
        if detector is not None:
            detector.given = frame
        before = time.process_time()
        perceived = perception.perceive(frame)
        if perceived.refusal is None:
            memory.observe(frame, perceived.observations)
            cpu.append(1000.0 * (time.process_time() - before))
            seen += perceived.observations
    memory.flush()
    return Run(memory, memory.states(kind=None), detector, seen, cpu, frames)


def kind(state: ObjectState) -> str:
    return state.kind


def judge(run: Run, things: list[Thing], console: Console) -> tuple[dict[str, float | None], list[str]]:
    """All figures of a run, and the cells of its row."""
    objects = [state for state in run.states if kind(state) == "object"]
    own = assign(things, run.states)
    # people are named by detectors and never remembered
    lasting = [thing for thing in things if not set(thing.words) & set(Settings().labels.ignore)]
    eligible = [thing for thing in lasting if named_frames(run.watched, thing) >= NAMED_FRAMES]
    kept = [thing for thing in eligible if thing.name in own]
    named = [thing for thing in kept if own[thing.name].label in thing.words]
    doubles = duplicates(things, own, objects)
    inside, slabs = nested(objects), slab_objects(objects, run.seen)
    missed = [thing.name for thing in things if thing.name not in own]
    unnamed = [f"{one.name}={own[one.name].label}" for one in kept if one not in named]
    lost = [one.name for one in eligible if one not in kept]
    console.print(f"missed: {', '.join(missed)}; not kept: {lost}; named otherwise: {unnamed}; doubled: {doubles}")
    console.print(f"nested: {[(one.id, big.id) for one, big in inside]}; slabs: {[one.id for one in slabs]}")
    count = max(len(objects), 1)
    figures: dict[str, float | None] = {
        "things_found": round((len(kept) / len(eligible) if eligible else 1.0), 3)
        if run.watched
        else round(len(own) / len(things), 3),
        "things_named": round(len(named) / len(eligible), 3) if run.watched and eligible else None,
        "duplicates_per_thing": round(len(doubles) / max(len(own), 1), 3),
        "nested_fraction": round(len(inside) / count, 3),
        "slab_fraction": round(len(slabs) / count, 3),
        "frame_cpu_ms": round(float(np.median(run.cpu_ms)), 1) if run.cpu_ms else None,
    }
    nameable = sum(bool(thing.words) for thing in things)
    cells = [
        str(len(things)), str(len(own)), f"{len(eligible)} of {nameable}" if run.watched else "-", str(len(kept)),
        str(len(named)), str(len(objects)), str(len(run.states) - len(objects)), str(len(doubles)),
        str(len(inside)), str(len(slabs)), f"{figures['frame_cpu_ms']}",
    ]  # fmt: skip
    return figures, cells


def worst(rows: list[dict[str, float | None]]) -> dict[str, float | None]:
    """The worst of each figure over recordings and detectors: the lowest of what shall be high, else the highest."""
    values: dict[str, float | None] = {}
    for key in rows[0] if rows else ():
        given = [row[key] for row in rows if row[key] is not None]
        best_high = key in {"things_found", "things_named"}
        values[key] = (min(given) if best_high else max(given)) if given else None  # type: ignore[type-var]
    return values


def assign(things: list[Thing], states: list[ObjectState]) -> dict[str, ObjectState]:
    """One remembered object for each listed thing, near enough; one that is named right is preferred."""
    from scipy.optimize import linear_sum_assignment

    if not states:
        return {}
    gaps = np.array([[float(np.linalg.norm(state.xyz_world - one.at)) for state in states] for one in things])
    within = gaps <= np.array([[one.tolerance] for one in things])
    right = np.array([[state.label in one.words for state in states] for one in things])
    rows, columns = linear_sum_assignment(np.where(within, gaps - 10.0 - 5.0 * right, 0.0))
    return {
        things[row].name: states[column] for row, column in zip(rows, columns, strict=True) if within[row, column]
    }


def named_frames(watched: Watched | None, thing: Thing) -> int:
    """In how many frames the detector names a thing right where it is in sight."""
    if watched is None or not thing.words:
        return 0
    count = 0
    for frame, found in watched.said:
        (x, y, z) = frame.T_world_camera.inverse().transform(thing.at[np.newaxis])[0]
        camera = frame.intrinsics
        if z <= 0.1:
            continue
        u, v = camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy
        if not (0 <= u < camera.width and 0 <= v < camera.height):
            continue
        scale_x, scale_y = frame.depth.shape[1] / camera.width, frame.depth.shape[0] / camera.height
        depth = float(frame.depth[int(v * scale_y), int(u * scale_x)])
        if abs(depth - z) > MAX_DEPTH_GAP:
            continue
        count += any(
            one.label in thing.words and one.box[0] <= u <= one.box[2] and one.box[1] <= v <= one.box[3]
            for one in found
        )
    return count


def duplicates(things: list[Thing], own: dict[str, ObjectState], objects: list[ObjectState]) -> list[str]:
    """Objects beside a thing's own one that stand for the same thing."""
    taken = {state.id for state in own.values()}
    doubles = []
    for thing in things:
        mine = own.get(thing.name)
        if mine is None or kind(mine) != "object":
            continue
        for state in objects:
            if state.id in taken:
                continue
            near = float(np.linalg.norm(state.xyz_world - thing.at)) <= thing.tolerance
            if overlap(mine, state) >= SAME or (near and mine.label is not None and state.label == mine.label):
                taken.add(state.id)
                doubles.append(f"{thing.name}: {mine.id} {state.id}")
    return doubles


def overlap(one: ObjectState, other: ObjectState) -> float:
    shared, a, b = shared_volume(one, other)
    return shared / (a + b - shared)


def nested(objects: list[ObjectState]) -> list[tuple[ObjectState, ObjectState]]:
    """Objects that lie mostly inside a much larger one, with that one."""
    found = []
    for one in objects:
        for other in objects:
            shared, small, large = shared_volume(one, other)
            if other.id != one.id and large >= LARGER * small and shared >= INSIDE * small:
                found.append((one, other))
                break
    return found


def slab_objects(objects: list[ObjectState], seen: list[Observation]) -> list[ObjectState]:
    """Objects most of whose own observations are long and flat."""
    flat = {id(one): is_slab(one) for one in seen}
    slabs = []
    for state in objects:
        mine = [
            flat[id(one)]
            for one in seen
            if (
                np.abs(vectors_in_axes(one.position - state.xyz_world, state.yaw)) <= 0.25 * state.extent + 0.05
            ).all()
            and float(one.extent.max()) >= 0.5 * float(state.extent.max())
        ]
        if mine and float(np.mean(mine)) > 0.5 and float(state.extent.max()) > SLAB_LENGTH:
            slabs.append(state)
    return slabs


def is_slab(one: Observation) -> bool:
    if one.points is None or len(one.points) < 8:
        return False
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(one.points.astype(np.float64).T)), 0.0))
    return bool(np.sqrt(12.0) * spread[2] > SLAB_LENGTH and spread[0] < SLAB_DEVIATION)


if __name__ == "__main__":
    main()
