"""How right the rooms of a memory are: full tours of homes, and the rooms that are remembered beside the true ones.

A robot with typical senses tours each home once, all of it, and hands its observations to a ``Memory``. A confirmed
object is in the right room when the room it is remembered in covers more of the thing's true room than any other
remembered room does, and more of that than of any other true room; it is in the right type when that room's name is
the true room's. A true room is recalled when a remembered room overlaps it by half (intersection over union), and a
remembered room is precise when it overlaps a true one by half; what was remembered outside of every true room
(an outdoors without a name) is left out.

Homes 500 to 519 are the report's; 520 to 539 are for tuning. The artist-made house has no rooms of its own: the truth
is drawn by hand below, from its floor plan. ``--walks DIR`` keeps the walks (about 30 MB each).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lastseen.frame import Frame
from lastseen.memory.map_image import draw_memory
from lastseen.memory.memory import Memory
from lastseen.memory.rooms import Room
from lastseen.sim.generate import generate_home
from lastseen.sim.home import Home
from lastseen.sim.home import Room as TrueRoom
from support.assignments import total
from support.scenes import foreign_homes
from support.walking import Robot, Seen, Way

HOMES, QUICK_HOMES = 20, 2
RASTER = 0.1
"""Metres between the points at which remembered and true rooms are compared."""
HALF = 0.5
"""Intersection over union from which two rooms are one."""
AWS_ROOMS = (
    TrueRoom(1, "bedroom", ((-9.4, -5.5, -2.6, 3.1),)),
    TrueRoom(2, "living room", ((-2.6, -5.5, 4.4, 5.5), (4.4, -5.5, 9.4, 3.1))),
)
"""The rooms of the artist-made house, read off its floor plan: its kitchen is a part of the living room."""
SAME_TYPE = {"hallway": "corridor", "home office": "office", "livingroom": "living room", "bathroom": "bathroom"}

Counts = dict[str, float]


@dataclass(frozen=True, slots=True)
class Task:
    """One home to tour: a generated one by its seed, or a foreign one by where it comes from and its number."""

    name: str
    seed: int
    scene: tuple[str, int] | None = None

    def home(self) -> Home:
        """The home to tour."""
        return generate_home(self.seed) if self.scene is None else foreign_homes()[self.scene[0]][self.scene[1]]


def tour_of(task: Task, home: Home, walks: Path | None) -> Iterator[Seen]:
    """Every frame of the tour and what was observed in it; from the folder of walks where it is there."""
    kept = None if walks is None else walks / f"{task.name.replace(' ', '_')}.pickle"
    if kept is not None and kept.exists():
        for number, stamp, depth, pose, camera, sights in pickle.loads(kept.read_bytes()):
            blank = np.zeros((*depth.shape, 3), dtype=np.uint8)
            yield Seen(Frame(number, stamp, blank, depth.astype(np.float32), pose, camera), sights)
        return
    steps = []
    for seen in Robot(home, Way("typical", task.seed, None)).tour():
        if kept is not None:
            # a tenth of a millimetre at 1 m is what half precision loses
            frame = seen.frame
            depth = frame.depth.astype(np.float16)
            steps.append((frame.id, frame.stamp, depth, frame.T_world_camera, frame.intrinsics, seen.sights))
        yield seen
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(pickle.dumps(steps))


def work(task: Task, walks: Path | None, pictures: Path | None) -> tuple[Counts, float]:
    """The counts of one home, and the seconds they took."""
    started = time.monotonic()
    home = task.home()
    truth = AWS_ROOMS if task.scene is not None and task.scene[0] == "aws" else home.rooms
    memory = Memory.open(wall_clock=None)
    sources: dict[str, Counter[int]] = defaultdict(Counter)
    for seen in tour_of(task, home, walks):
        events = memory.observe(seen.frame, [one for _, one in seen.sights])
        for event in events:
            if "absorbed" in event.evidence:
                sources[event.object_id].update(sources.pop(str(event.evidence["absorbed"]), Counter()))
        for (thing, _), object_id in zip(seen.sights, memory.matched, strict=True):
            if object_id is not None:
                sources[object_id][thing] += 1
    if pictures is not None:
        pictures.mkdir(parents=True, exist_ok=True)
        draw_memory(memory, title=task.name).save(pictures / f"{task.name.replace(' ', '_')}.png")
    return judged(memory, home, truth, sources), time.monotonic() - started


def judged(memory: Memory, home: Home, truth: Sequence[TrueRoom], sources: dict[str, Counter[int]]) -> Counts:
    """What is right of one memory, as counts."""
    rooms = {room.id: room for room in memory.rooms()}
    overlap, sizes, true_sizes = overlaps(memory, truth)
    iou = {
        (room, true): shared / (sizes[room] + true_sizes[true] - shared) for (room, true), shared in overlap.items()
    }
    recalled = {true for (_, true), value in iou.items() if value >= HALF}
    precise = {room for (room, _), value in iou.items() if value >= HALF}
    inside = {room for room in rooms if sum(shared for (each, _), shared in overlap.items() if each == room) > 0}
    stands_for = {
        true.id: max((room for room in rooms), key=lambda room: (overlap.get((room, true.id), 0), -room), default=-1)
        for true in truth
    }
    covers = {
        room: max((shared, -true) for (each, true), shared in overlap.items() if each == room) for room in inside
    }
    counts: Counter[str] = Counter(
        true_rooms=len(truth), recalled=len(recalled), rooms=len(inside), precise=len(precise)
    )
    by_id = {true.id: true for true in truth}
    for each in memory.objects():
        thing = home.things.get(max(sources[each.id], key=lambda k: (sources[each.id][k], -k), default=0))
        if thing is None:
            continue
        x, y, _ = thing.position
        true = by_id.get(thing.room_id) if truth is home.rooms and thing.room_id is not None else None
        true = true or next((room for room in truth if room.contains(float(x), float(y))), None)
        if true is None:
            continue
        counts["objects"] += 1
        counts["right_room"] += (
            each.place_id == stands_for[true.id] and covers.get(each.place_id, (0, 0))[1] == -true.id
        )
        counts["right_type"] += each.place == SAME_TYPE.get(true.type, true.type)
        counts["in_no_room"] += each.place_id is None
    counts["right_names"] = sum(
        stands_for[true.id] in rooms and rooms[stands_for[true.id]].name == SAME_TYPE.get(true.type, true.type)
        for true in truth
        if true.id in recalled
    )
    counts["unknown"] = sum(rooms[room].name == "unknown" for room in inside)
    return dict(counts)


def overlaps(
    memory: Memory, truth: Sequence[TrueRoom]
) -> tuple[dict[tuple[int, int], int], dict[int, int], dict[int, int]]:
    """Points common to each remembered and true room, and points of each of both."""
    corners = np.array([rectangle for room in truth for rectangle in room.rectangles])
    low, high = corners[:, :2].min(axis=0) - 3.0, corners[:, 2:].max(axis=0) + 3.0
    xs, ys = (np.arange(low[k], high[k], RASTER) for k in (0, 1))
    x, y = (each.ravel() for each in np.meshgrid(xs, ys, indexing="ij"))
    true = np.full(len(x), -1)
    for room in truth:
        for x0, y0, x1, y1 in room.rectangles:
            true[(x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)] = room.id
    own = covered(memory.rooms(), x, y)
    both: Counter[tuple[int, int]] = Counter()
    for one, other in zip(own.tolist(), true.tolist(), strict=True):
        if one >= 0 and other >= 0:
            both[one, other] += 1
    return dict(both), dict(Counter(own[own >= 0].tolist())), dict(Counter(true[true >= 0].tolist()))


def covered(rooms: Sequence[Room], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The room whose outline holds each point, -1 where none does."""
    from PIL import Image, ImageDraw

    own = np.full(len(x), -1)
    left, bottom = x.min(), y.min()
    columns, rows = round((x.max() - left) / RASTER) + 1, round((y.max() - bottom) / RASTER) + 1
    for room in rooms:
        image = Image.new("1", (columns, rows))
        border = [((px - left) / RASTER, (py - bottom) / RASTER) for px, py in room.outline]
        if len(border) > 2:
            ImageDraw.Draw(image).polygon(border, fill=1)
        mask = np.asarray(image)
        inside = mask[np.round((y - bottom) / RASTER).astype(int), np.round((x - left) / RASTER).astype(int)]
        own[inside] = room.id
    return own


def figures(counts: Counts) -> dict[str, float | None]:
    """The report's figures of some counts; null where nothing was counted."""

    def share(part: str, whole: str) -> float | None:
        return round(counts.get(part, 0) / counts[whole], 4) if counts.get(whole) else None

    return {
        "objects_in_right_room": share("right_room", "objects"),
        "objects_in_right_type": share("right_type", "objects"),
        "room_recall": share("recalled", "true_rooms"),
        "room_precision": share("precise", "rooms"),
        "recalled_rooms_named_right": share("right_names", "recalled"),
    }


def show(name: str, counts: Counts) -> None:
    """One line of the table."""
    line = "  ".join(f"{key} {'-' if value is None else f'{value:.3f}'}" for key, value in figures(counts).items())
    made = f"{counts.get('rooms', 0):.0f} of {counts.get('true_rooms', 0):.0f} rooms"
    print(f"{name:<16} {line}  ({counts.get('objects', 0):.0f} objects, {made})", flush=True)


def tasks_of(seeds: Sequence[int], *, foreign: bool) -> dict[str, list[Task]]:
    """Every tour by the row of the table it belongs to."""
    rows = {"generated": [Task(f"home {seed}", seed) for seed in seeds]}
    for kind, homes in foreign_homes().items() if foreign else ():
        rows[kind] = [Task(f"{kind} {number}", 7, (kind, number)) for number in range(len(homes))]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two homes, no foreign ones")
    parser.add_argument("--first", type=int, default=500, help="seed of the first home")
    parser.add_argument("--homes", type=int, default=None, help=f"generated homes; {HOMES} by default")
    parser.add_argument("--no-foreign", dest="foreign", action="store_false", help="generated homes alone")
    parser.add_argument("--walks", type=Path, help="keep walks in this folder and take them from there")
    parser.add_argument("--pictures", type=Path, help="draw each memory into this folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="tours at a time")
    options = parser.parse_args()
    homes = options.homes or (QUICK_HOMES if options.quick else HOMES)
    rows = tasks_of(range(options.first, options.first + homes), foreign=options.foreign and not options.quick)
    started = time.monotonic()
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    counted: dict[str, Counts] = {}
    with ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        tasks = [task for row in rows.values() for task in row]
        left = {pool.submit(work, task, options.walks, options.pictures): task for task in tasks}
        for future in as_completed(left):
            counted[left[future].name], seconds = future.result()
            show(f"{left[future].name} {seconds:.0f} s", counted[left[future].name])
    result: dict[str, Any] = {}
    for name, row in rows.items():
        summed = total([counted[task.name] for task in row])
        show(name, summed)
        prefix = "" if name == "generated" else f"{name}_"
        result |= {f"{prefix}{key}": value for key, value in figures(summed).items()}
    for name in ("aws", "virtualhome"):
        result |= {f"{name}_{key}": None for key in figures({}) if f"{name}_{key}" not in result}
    result["seconds"] = round(time.monotonic() - started)
    print("RESULT " + json.dumps(result))


if __name__ == "__main__":
    main()
