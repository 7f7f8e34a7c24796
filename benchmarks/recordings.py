"""What is remembered of real recordings, against things located by hand; writes a map and crops to look at."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw
from rich.console import Console
from rich.table import Table

from lastseen.config import Settings
from lastseen.geometry import Pose3D, WorldUp, world_to_z_up
from lastseen.memory.memory import Memory
from lastseen.memory.objects import ObjectState
from lastseen.memory.objects.boxes import corners, in_axes_of
from lastseen.observation import OBJECT
from lastseen.perception.pipeline import Perception
from lastseen.sources import SourceOptions, open_source
from lastseen.sources.follow import Summary, follow

DATA = Path(os.environ.get("LASTSEEN_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
OPTIONS = {
    "tum_fr1_rpy_60": SourceOptions(),
    "tum_fr3_cabinet": SourceOptions(),
    "lens_clip": SourceOptions(world_up="y", image_rotation="90"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the same: it takes a minute")
    parser.add_argument("--out", type=Path, help="write pictures into this folder")
    parser.add_argument("--only", help="this recording only")
    arguments = parser.parse_args()
    console = Console(width=140)
    result: dict[str, float | int | None] = dict.fromkeys(
        ["lens_found", "lens_duplicates", "cabinet_error_m", "cabinet_objects"]
    )
    for name, options in OPTIONS.items():
        if arguments.only not in {None, name}:
            continue
        summary, states, memory = remember(name, options)
        console.print(
            f"[bold]{name}[/bold]: {summary.looked_at} of {summary.frames} frames, {summary.confirmed} confirmed, "
            f"{summary.tentative} tentative; refused {summary.refused}; dropped {summary.dropped}"
        )
        marks: list[tuple[str, NDArray[np.float64]]] = []
        if name == "lens_clip":
            marks = lens_truth()
            result["lens_found"], result["lens_duplicates"] = judge_lens(states, console)
        if name == "tum_fr3_cabinet":
            error, count = judge_cabinet(states)
            result["cabinet_error_m"], result["cabinet_objects"] = error, count
            marks = [("cabinet", cabinet()[0])]
        if arguments.out is not None:
            arguments.out.mkdir(parents=True, exist_ok=True)
            draw_map(states, marks, arguments.out / f"{name}_map.png")
            draw_crops(memory, states, arguments.out / f"{name}_crops.png")
    print("RESULT " + json.dumps(result))


def remember(name: str, options: SourceOptions) -> tuple[Summary, list[ObjectState], Memory]:
    settings = Settings()
    settings = replace(settings, promotion=replace(settings.promotion, min_view_bins=1))
    perception = Perception(settings)
    memory = Memory.open(settings=settings, image_encoder=perception.encoder.name, wall_clock=None)
    with open_source(DATA / name, options) as source:
        summary = follow(source, memory, perception)
    return summary, memory.states(kind=None), memory


def lens_objects() -> list[dict[str, object]]:
    tree = json.loads((DATA / "lens_clip" / "objects.json").read_text())
    return list(tree["objects"])


def lens_truth() -> list[tuple[str, NDArray[np.float64]]]:
    """Names and places in our own world, z up."""
    return [(str(thing["name"]), in_z_up(thing["xyz"])) for thing in lens_objects()]


def in_z_up(xyz: object) -> NDArray[np.float64]:
    pose = Pose3D.from_quaternion(np.asarray(xyz, dtype=np.float64), [0, 0, 0, 1])
    return world_to_z_up(pose, WorldUp.Y).translation


def distance_to(state: ObjectState, point: NDArray[np.float64]) -> float:
    """From the remembered centre to a point on the thing's surface, less what lies within its own box."""
    return float(np.linalg.norm(state.xyz_world - point))


def judge_lens(states: list[ObjectState], console: Console) -> tuple[float, int]:
    """Share of listed things with an object or surface within their tolerance, and how many are remembered twice."""
    from scipy.optimize import linear_sum_assignment

    things = lens_objects()
    truth = lens_truth()
    gaps = np.array([[distance_to(state, xyz) for state in states] for _, xyz in truth])
    tolerance = np.array([float(str(thing["tolerance_m"])) for thing in things])
    within: NDArray[np.bool_] = np.less_equal(gaps, tolerance[:, np.newaxis])
    found: NDArray[np.bool_] = np.asarray(within.any(axis=1))
    # one remembered object may not answer for two things
    rows, columns = linear_sum_assignment(np.where(within, gaps - 10.0, 0.0))
    own = sum(bool(within.item(int(row), int(column))) for row, column in zip(rows, columns, strict=True))
    duplicates = duplicate_pairs(states)
    table = Table("thing", "tolerance", "nearest", "found", "in tolerance")
    for row, (name, _) in enumerate(truth):
        nearest = f"{gaps[row].min():.2f}" if states else "-"
        table.add_row(name, f"{tolerance[row]:.2f}", nearest, str(bool(found[row])), str(int(within[row].sum())))
    console.print(table)
    console.print(f"{int(found.sum())} of {len(truth)} found, {own} with an object of their own")
    return round(float(found.mean()), 4), duplicates


def duplicate_pairs(states: list[ObjectState]) -> int:
    """Pairs of objects whose boxes share more than half of the smaller one: one thing remembered twice."""
    pairs = 0
    for index, one in enumerate(states):
        for other in states[index + 1 :]:
            shared, volume, other_volume = shared_volume(one, other)
            pairs += shared > 0.5 * min(volume, other_volume)
    return pairs


def shared_volume(one: ObjectState, other: ObjectState) -> tuple[float, float, float]:
    """Cubic metres that two boxes share, and of each; flat boxes count as 2 cm thick."""
    offset, sides = in_axes_of(one.xyz_world, one.yaw, other.xyz_world, other.extent, other.yaw)
    size_a, size_b = np.maximum(one.extent, 0.02), np.maximum(sides, 0.02)
    low = np.maximum(-size_a / 2, offset - size_b / 2)
    high = np.minimum(size_a / 2, offset + size_b / 2)
    return float(np.prod(np.maximum(high - low, 0.0))), float(np.prod(size_a)), float(np.prod(size_b))


def cabinet() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    tree = json.loads((DATA / "tum_fr3_cabinet" / "objects.json").read_text())["objects"][0]
    return np.array(tree["centre"]), np.array(tree["half_size"])


def judge_cabinet(states: list[ObjectState]) -> tuple[float | None, int]:
    """Distance of the best object to the cabinet's centre, and how many objects stand where it stands."""
    centre, half = cabinet()
    reach = float(np.linalg.norm(half))
    there = [state for state in states if np.linalg.norm(state.xyz_world - centre) < reach]
    large = [state for state in there if state.kind == OBJECT and float(np.sort(state.extent)[1]) > 0.3]
    if not large:
        return None, 0
    return round(min(distance_to(state, centre) for state in large), 4), len(large)


def draw_map(states: list[ObjectState], marks: list[tuple[str, NDArray[np.float64]]], path: Path) -> None:
    """Boxes from above with their ids; crosses where things are by hand."""
    places = np.array([state.xyz_world[:2] for state in states] + [xyz[:2] for _, xyz in marks])
    low, high = places.min(axis=0) - 0.6, places.max(axis=0) + 0.6
    scale = 900.0 / float((high - low).max())
    width, height = (int(side) for side in (high - low) * scale)
    image = Image.new("RGB", (width, height), "white")
    pen = ImageDraw.Draw(image)

    def at(x: float, y: float) -> tuple[float, float]:
        return (x - low[0]) * scale, image.height - (y - low[1]) * scale

    for state in states:
        x, y = state.xyz_world[:2]
        around = corners(state.xyz_world, np.maximum(state.extent, 0.03), state.yaw)[[0, 2, 6, 4], :2]
        pen.polygon([at(*corner) for corner in around.tolist()], outline=(40, 90, 200))
        pen.text(at(float(x), float(y)), f"{state.id} {state.hits}", fill=(40, 90, 200))
    for name, xyz in marks:
        x, y = at(float(xyz[0]), float(xyz[1]))
        pen.line((x - 6, y, x + 6, y), fill=(200, 30, 30), width=2)
        pen.line((x, y - 6, x, y + 6), fill=(200, 30, 30), width=2)
        pen.text((x + 7, y - 5), name, fill=(200, 30, 30))
    image.save(path)


def draw_crops(memory: Memory, states: list[ObjectState], path: Path) -> None:
    """One crop of each object with its id and hits."""
    side, columns = 120, 12
    rows = max(1, -(-len(states) // columns))
    sheet = Image.new("RGB", (columns * side, rows * (side + 14)), "white")
    pen = ImageDraw.Draw(sheet)
    for index, state in enumerate(states):
        x, y = index % columns * side, index // columns * (side + 14)
        crops = memory.object(state.id).image_crops
        if crops:
            with Image.open(BytesIO(crops[0])) as crop:
                crop.thumbnail((side - 4, side - 4))
                sheet.paste(crop, (x + 2, y + 14))
        pen.text((x + 2, y + 1), f"{state.id} x{state.hits}", fill="black")
    sheet.save(path)


if __name__ == "__main__":
    main()
