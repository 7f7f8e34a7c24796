"""The page over a large memory: python benchmarks/page.py [--quick] [--keep FILE].

A file of 100,000 objects with a full surface and two hours of path is served by a real ``lastseen serve``, and opened
in headless Chromium without a GPU over loopback. Reported are the seconds from the address to a page that can be
asked (the first objects are listed), to all objects, to the whole surface and to its mesh; draw calls and triangles
of the whole home; and frames a second while it is turned. A GPU draws faster, a busy machine everything slower.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright
from tools.screenshots import CHROMIUM, FLAGS

from lastseen.frame import Frame
from lastseen.geometry import Pose3D
from lastseen.memory.memory import Memory
from lastseen.observation import Observation
from support.load import CAMERA, start_server
from support.objects import LABELS
from support.progress import say

OBJECTS, HOURS = 100_000, 2.0
SURFACE_SIDE = 27.0
"""Metres: a floor of this side fills the surface's slots."""
PER_FRAME, STEP = 500, 0.6
"""Objects that a frame sees, and metres between two of them."""
PATIENCE = 300_000
TURNING = 8.0
"""Seconds of turning the home with the mouse."""
GOALS = {"usable_seconds": 3.0, "draw_calls": 200, "triangles": 2_000_000}


def main() -> None:
    """Make, serve, open, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2,000 objects and ten minutes")
    parser.add_argument("--keep", type=Path, help="make the file here, or take it where it is there already")
    chosen = parser.parse_args()
    count, hours = (2_000, 1 / 6) if chosen.quick else (OBJECTS, HOURS)
    with tempfile.TemporaryDirectory() as folder:
        path = chosen.keep or Path(folder) / "large.lastseen"
        if not path.exists():
            make(path, count, hours)
        result = measure(path)
    for name, value in result.items():
        goal = f" (goal {GOALS[name]:,g})" if name in GOALS else ""
        print(f"{name.replace('_', ' '):24} {value:,g}{goal}")
    print("RESULT " + json.dumps(result))


def make(path: Path, count: int, hours: float) -> None:
    """A memory file of this many objects, seen from three sides each along a walk of so many hours."""
    columns = int(np.ceil(np.sqrt(count)))
    frames = int(np.ceil(count / PER_FRAME)) * 3
    seconds = hours * 3600 / frames
    number = 0
    with Memory.open(path) as memory:
        for first in range(0, count, PER_FRAME):
            say(f"making {first:,} of {count:,}")
            for turn in range(3):
                some = range(first, min(first + PER_FRAME, count))
                memory.observe(
                    blank(number, number * seconds, columns),
                    [thing(i, columns, turn=turn, stamp=number * seconds) for i in some],
                )
                number += 1
        side = np.arange(0.0, SURFACE_SIDE, 0.05, dtype=np.float32) + 0.025
        x, y = (each.ravel() for each in np.meshgrid(side, side))
        floor = np.stack([x, y, 0.2 * np.sin(x) * np.sin(y)], axis=1).astype(np.float32)
        colors = np.stack([100 + 80 * np.sin(x), 120 + 40 * np.cos(y), 0 * x + 90], axis=1).astype(np.uint8)
        memory.space.surface.take_in(floor, colors, time=0.0)


def thing(i: int, columns: int, *, turn: int, stamp: float) -> Observation:
    """One object of a grid, seen from one of three sides."""
    side = np.array([np.cos(2.1 * turn), np.sin(2.1 * turn), 0.3])
    place = STEP * np.array([i % columns, i // columns, 0.0]) + (0.0, 0.0, 0.8)
    return Observation(place, np.full(3, 0.2), side, stamp, labels={LABELS[i % len(LABELS)]: 0.9})


def blank(number: int, stamp: float, columns: int) -> Frame:
    """A frame without depth from somewhere on a walk around the grid."""
    angle = 0.05 * number
    radius = 0.3 * STEP * columns
    at = np.array([radius * (1 + np.cos(angle)), radius * (1 + np.sin(angle)), 1.2])
    rgb, depth = np.zeros((8, 8, 3), np.uint8), np.full((8, 8), np.nan, np.float32)
    return Frame(number, stamp, rgb, depth, Pose3D.from_quaternion(at, [0.0, 0.0, 0.0, 1.0]), CAMERA)


@contextmanager
def browser_page() -> Iterator[Page]:
    """A page of a browser without a GPU."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE)
        yield page
        browser.close()


def measure(path: Path) -> dict[str, Any]:
    """Serve a file and look at it."""
    with Memory.open(path, read_only=True) as memory:
        count = len(memory.objects(include_tentative=True))
        points = len(memory.space.surface)
    began = time.monotonic()
    process, port = start_server(path)
    try:
        served = time.monotonic() - began
        with browser_page() as page:
            say("opening the page")
            began = time.monotonic()
            page.goto(f"http://127.0.0.1:{port}/viewer/")
            count_text = "document.querySelector('#objects .count').textContent"
            usable = wait(page, "", began, count_text)
            listed = wait(page, f"{count:,} of {count:,}", began, count_text)
            shown = wait(page, str(points), began, "document.querySelector('#canvas').dataset.points")
            joined = wait(page, "0", began, "document.querySelector('#canvas').dataset.waiting")
            drawn = page.locator("#canvas").evaluate("canvas => ({ ...canvas.dataset })")
            rate = turned(page)
    finally:
        process.terminate()
        process.wait()
    return {
        "objects": count,
        "surface_points": points,
        "file_megabytes": round(path.stat().st_size / 1e6, 1),
        "serve_seconds": round(served, 2),
        "usable_seconds": round(usable, 2),
        "all_objects_seconds": round(listed, 2),
        "surface_seconds": round(shown, 2),
        "mesh_seconds": round(joined, 2),
        "draw_calls": int(drawn["calls"]),
        "triangles": int(drawn["triangles"]),
        "frames_per_second": round(rate, 2),
    }


def wait(page: Page, value: str, began: float, read: str) -> float:
    """Seconds until an expression of the page has a value; an empty one stands for any."""
    page.wait_for_function(f"value => value ? {read} === value : Boolean({read})", arg=value, polling=50)
    return time.monotonic() - began


def turned(page: Page) -> float:
    """Frames a second while the home is turned by hand."""
    page.wait_for_timeout(2000)
    before = int(page.locator("#canvas").get_attribute("data-frames") or 0)
    page.mouse.move(700, 400)
    page.mouse.down()
    began = time.monotonic()
    at = 0
    while time.monotonic() - began < TURNING:
        at += 1
        page.mouse.move(700 + 150 * np.sin(at / 10), 400)
        page.wait_for_timeout(15)
    seconds = time.monotonic() - began
    page.mouse.up()
    return (int(page.locator("#canvas").get_attribute("data-frames") or 0) - before) / seconds


if __name__ == "__main__":
    main()
