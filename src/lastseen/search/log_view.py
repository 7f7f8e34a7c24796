"""A run's log for people: a timeline of what happened when, and a map of the walk."""

from __future__ import annotations

import colorsys
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from lastseen.memory.memory import Memory
from lastseen.memory.plan_image import SCALE, Colour, Point, View, draw_plan, draw_room_names, font, reduced
from lastseen.memory.rooms import FloorPlan, Room
from lastseen.search.log import Run
from lastseen.search.planning.prompt import say_angle

_SHOWN_QUIETLY = {"anchor_created", "anchor_reached"}
_UNSAID = {"type", "event", "step_id", "frame_id"}
"""Of an event: what its line says already, or nobody asks for."""


def timeline(run: Run, *, anchors: bool = False) -> Iterator[str]:
    """The lines of the timeline; ``anchors`` shows every anchor too, which are many."""
    header = run.header
    asked = f"{header['backend'] or 'none'}, scene analyzer {header['scene_backend'] or 'none'}"
    yield f"looking for {header['goal']!r}, seed {header['seed']}, planner {asked}, {len(run.steps)} steps"
    hidden = set() if anchors else _SHOWN_QUIETLY
    events = {
        step_id: [event for event in group if event["event"] not in hidden]
        for step_id, group in itertools.groupby(run.events, key=lambda event: event["step_id"])
    }
    walked: list[dict[str, Any]] = []
    for step in run.steps:
        walked.append(step)
        noted = events.get(step["step_id"], [])
        if noted or step["planner_called"]:
            yield from _folded(walked)
            walked = []
        if step["planner_called"] and step["planner_output"] is not None:
            yield _line(step["step_id"], f"PLAN  {_plan(step['planner_output'])}")
        for event in noted:
            yield _line(step["step_id"], _event(event))
    yield from _folded(walked)
    if run.torn:
        yield "the log ends in the middle of a line: the run was killed"


def _folded(steps: list[dict[str, Any]]) -> Iterator[str]:
    if not steps or (len(steps) == 1 and steps[0]["action"] is None):
        return
    words = [
        f"{action} x{count}" if count > 1 else action
        for action, count in (
            (action, len(list(group)))
            for action, group in itertools.groupby(step["action"] for step in steps if step["action"])
        )
    ]
    shown = ", ".join(words) if len(words) <= 6 else f"{', '.join(words[:5])}, … {words[-1]}"
    bumps = sum(step["collided"] for step in steps)
    last = steps[-1]
    x, y, yaw = last["pose"]
    spot = f"at ({x:.2f}, {y:.2f}) facing {say_angle(math.degrees(yaw))}"
    where = f"place {last['current_place_id']}, anchor {last['current_anchor_id']}"
    bumped = f", {bumps} bump{'' if bumps == 1 else 's'}" if bumps else ""
    yield _line(last["step_id"], f"      {shown}{bumped}; {spot}, {where}")


def _plan(plan: dict[str, Any]) -> str:
    context = plan["discovered_context"]
    seen = "goal in view, " if plan["goal_flag"] else ""
    return f"{seen}{say_angle(plan['angle'])} toward {context['goal_scene_type']!r}: {context['why']}"


def _event(event: dict[str, Any]) -> str:
    name = event["event"].upper().replace("_", " ")
    if event.get("description"):
        return f"{name}  {event['description']}"
    if event["event"] == "scene_analyzed":
        return f"{name}  not recognised"
    facts = [(key, value) for key, value in event.items() if key not in _UNSAID and value is not None]
    told = ", ".join(f"{key.removesuffix('_id').replace('_', ' ')} {_value(value)}" for key, value in facts)
    return f"{name}  {told}".rstrip()


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, list):
        return "(" + ", ".join(_value(item) for item in value) + ")"
    return str(value)


def _line(step_id: int, text: str) -> str:
    return f"{step_id:5d}  {text}"


_SIZE = 900
_LEGEND = 300
_MARGIN = 60
_GOLDEN = 0.618033988749895
_GREY: Colour = (90, 90, 90)
_GOAL: Colour = (226, 46, 96)
_MOST_GOALS = 3
_MEANINGS = {
    "stuck": "long in one place",
    "ababa": "to and fro between two",
    "fallback": "no usable plan",
}
_MARKS: dict[str, tuple[str, Colour]] = {
    "stuck": ("STUCK", (200, 30, 30)),
    "ababa": ("ABABA", (150, 0, 150)),
    "fallback": ("FALLBACK", (230, 130, 0)),
}


def place_colour(place_id: int) -> Colour:
    """A colour of its own for every place, neighbours in number far apart in hue."""
    red, green, blue = colorsys.hsv_to_rgb((0.08 + place_id * _GOLDEN) % 1.0, 0.75, 0.85)
    return round(red * 255), round(green * 255), round(blue * 255)


@dataclass(frozen=True, slots=True)
class KnownHome:
    """What a memory knows of the home that a run was in: floor plans, rooms, and where things like the goal stand."""

    plans: Sequence[FloorPlan]
    rooms: Sequence[Room] = ()
    goals: Sequence[Point] = ()

    def points(self) -> list[Point]:
        """Everything that must be in the picture."""
        walls = [end for plan in self.plans for wall in plan.walls for end in (wall.start, wall.end)]
        return [*walls, *(corner for room in self.rooms for corner in room.outline), *self.goals]


def known_home(memory: Memory, goal: str) -> KnownHome:
    """What a memory holds of a home and of a goal."""
    answer = memory.find(goal)
    goals = [hit.position[:2] for hit in answer.fitting[:_MOST_GOALS]]
    return KnownHome(memory.floor_plans(), memory.rooms(), goals)


def draw_map(run: Run, *, home: KnownHome | None = None) -> Image.Image:
    """Draw a run; the start is a black ring, the end a black square, the goal a star.

    With what a memory knows of the ``home``, the walk is drawn in the frame of the robot's poses, which is the
    memory's, and else as its actions add up.
    """
    if home is not None:
        run = _in_world(run)
    poses = [(step["pose"][0], step["pose"][1]) for step in run.steps] or [(0.0, 0.0)]
    frame = _fit([*poses, *(home.points() if home is not None else ())])
    image = Image.new("RGB", ((_SIZE + _LEGEND) * SCALE, _SIZE * SCALE), "white")
    draw = ImageDraw.Draw(image)
    _grid(draw, frame)
    if home is not None:
        draw_plan(draw, frame, home.plans, home.rooms)
        draw_room_names(draw, frame, home.rooms, [])
    for before, after in zip(run.steps, run.steps[1:], strict=False):
        ends = [frame.pixel(*before["pose"][:2]), frame.pixel(*after["pose"][:2])]
        draw.line(ends, fill=_colour_of(after["current_place_id"]), width=5 * SCALE)
    for event in _named(run, "anchor_created"):
        at, fill = frame.pixel(*event["pose"][:2]), _colour_of(event["place_id"])
        draw.circle(at, 5 * SCALE, fill=fill, outline=(30, 30, 30), width=SCALE)
    by_step = {step["step_id"]: step for step in run.steps}
    for step in run.steps:
        if step["planner_called"]:
            _call(draw, frame, step)
    for name in _MARKS:
        for event in _named(run, name):
            if event["step_id"] in by_step:
                _mark(draw, frame.pixel(*by_step[event["step_id"]]["pose"][:2]), name)
    draw.circle(frame.pixel(*poses[0]), 9 * SCALE, outline=(0, 0, 0), width=3 * SCALE)
    x, y = frame.pixel(*poses[-1])
    half = 7 * SCALE
    draw.rectangle([x - half, y - half, x + half, y + half], outline=(0, 0, 0), width=3 * SCALE)
    for goal in home.goals if home is not None else ():
        _star(draw, frame.pixel(*goal))
    _legend(draw, run)
    return reduced(image)


def save_map(run: Run, path: str | Path, *, home: KnownHome | None = None) -> None:
    """Draw a run into a PNG file."""
    draw_map(run, home=home).save(path, format="PNG")


def _star(draw: ImageDraw.ImageDraw, at: Point) -> None:
    """Five points over everything else, with a rim: what was looked for."""
    x, y = at
    tips = [
        (x + reach * SCALE * math.sin(turn), y - reach * SCALE * math.cos(turn))
        for turn, reach in ((math.pi * step / 5, 14 if step % 2 == 0 else 6) for step in range(10))
    ]
    draw.polygon(tips, fill=_GOAL, outline=(255, 255, 255), width=2 * SCALE)


def _in_world(run: Run) -> Run:
    """The run with the poses of the robot's frames in place of those that its actions add up to."""
    at = {step["step_id"]: step["world_pose"] for step in run.steps}
    steps = [{**step, "pose": step["world_pose"]} for step in run.steps]
    events = [
        {**event, "pose": at[event["step_id"]]} if "pose" in event and event["step_id"] in at else event
        for event in run.events
    ]
    return replace(run, steps=steps, events=events)


def _fit(points: Iterable[Point]) -> View:
    xs, ys = zip(*points, strict=True)
    width, height = max(xs) - min(xs), max(ys) - min(ys)
    span = max(width, height, 2.0)
    scale = (_SIZE - 2 * _MARGIN) * SCALE / span
    return View(min(xs) - (span - width) / 2, max(ys) + (span - height) / 2, scale, _MARGIN * SCALE)


def _grid(draw: ImageDraw.ImageDraw, frame: View) -> None:
    """Faint lines at every metre, or every five where they would crowd."""
    metre = 1 if frame.pixels_per_metre / SCALE > 25 else 5
    across = _SIZE * SCALE / frame.pixels_per_metre
    for start, vertical in ((frame.left - across, True), (frame.top - 2 * across, False)):
        at = math.floor(start / metre) * metre
        while at <= start + 4 * across:
            pixel = frame.pixel(at, at)[0 if vertical else 1]
            if 0 <= pixel <= _SIZE * SCALE:
                ends = [(pixel, 0), (pixel, _SIZE * SCALE)] if vertical else [(0, pixel), (_SIZE * SCALE, pixel)]
                draw.line(ends, fill=(232, 232, 232), width=SCALE)
            at += metre
    _text(draw, (14, _SIZE - 26), f"grid: {metre} m", _GREY, 15)


def _call(draw: ImageDraw.ImageDraw, frame: View, step: dict[str, Any]) -> None:
    """A triangle where the planner was asked, and an arrow the path it pointed."""
    x, y = frame.pixel(*step["pose"][:2])
    size = 11 * SCALE
    corners = [(x, y - size), (x - 0.87 * size, y + size / 2), (x + 0.87 * size, y + size / 2)]
    draw.polygon(corners, fill=(20, 60, 200), outline=(255, 255, 255))
    if step["planner_output"] is not None:
        heading = step["pose"][2] + math.radians(step["planner_output"]["angle"])
        reach = 34 * SCALE
        tip = (x + reach * math.cos(heading), y - reach * math.sin(heading))
        draw.line([(x, y), tip], fill=(20, 60, 200), width=2 * SCALE)
        for side in (heading + 2.6, heading - 2.6):
            barb = (tip[0] + 9 * SCALE * math.cos(side), tip[1] - 9 * SCALE * math.sin(side))
            draw.line([tip, barb], fill=(20, 60, 200), width=2 * SCALE)


def _mark(draw: ImageDraw.ImageDraw, at: Point, name: str) -> None:
    label, colour = _MARKS[name]
    x, y = at
    arm = 8 * SCALE
    draw.line([(x - arm, y - arm), (x + arm, y + arm)], fill=colour, width=3 * SCALE)
    draw.line([(x - arm, y + arm), (x + arm, y - arm)], fill=colour, width=3 * SCALE)
    offset = {"stuck": -24, "ababa": 12, "fallback": 26}[name]
    _text(draw, (x / SCALE + 10, y / SCALE + offset), label, colour, 13)


def _legend(draw: ImageDraw.ImageDraw, run: Run) -> None:
    left, top = _SIZE + 10, 24
    _text(draw, (left, top), f"goal: {run.header['goal']}"[:34], (0, 0, 0), 18)
    counts = {name: len(list(_named(run, name))) for name in ("stuck", "ababa", "fallback", "anchor_created")}
    calls = sum(step["planner_called"] for step in run.steps)
    lines = [
        f"{len(run.steps)} steps, {calls} planner calls",
        f"{counts['anchor_created']} anchors (dots)",
        *(f"{_MARKS[name][0]} {counts[name]}: {meaning}" for name, meaning in _MEANINGS.items() if counts[name]),
        "ring: start, square: end, star: the goal",
        "triangle: planner call, arrow: its path",
    ]
    for index, line in enumerate(lines):
        _text(draw, (left, top + 32 + 22 * index), line, _GREY, 15)
    top += 32 + 22 * len(lines) + 16
    entered = [event for event in run.events if event["event"] in ("place_created", "place_entered")]
    # a place of an earlier run is entered only; one that was entered again is told once
    places = list({event["place_id"]: event for event in reversed(entered)}.values())[::-1]
    shown = places[: (_SIZE - top - 40) // 26]
    for index, event in enumerate(shown):
        y = top + 26 * index
        box = [left * SCALE, y * SCALE, (left + 18) * SCALE, (y + 18) * SCALE]
        draw.rectangle(box, fill=place_colour(event["place_id"]), outline=(30, 30, 30))
        _text(draw, (left + 26, y), f"{event['place_id']}: {event['place_type']}"[:30], (0, 0, 0), 15)
    if len(shown) < len(places):
        _text(draw, (left, top + 26 * len(shown)), f"and {len(places) - len(shown)} more places", _GREY, 15)


def _text(draw: ImageDraw.ImageDraw, at: Point, text: str, colour: Colour, size: int) -> None:
    draw.text((at[0] * SCALE, at[1] * SCALE), text, fill=colour, font=font(size))


def _colour_of(place_id: int | None) -> Colour:
    return _GREY if place_id is None else place_colour(place_id)


def _named(run: Run, name: str) -> Iterable[dict[str, Any]]:
    return (event for event in run.events if event["event"] == name)
