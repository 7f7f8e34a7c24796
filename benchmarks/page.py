"""The page over a large memory: python benchmarks/page.py [--quick] [--keep FILE].

A file of 100,000 objects with a full surface and two hours of path is served by a real ``lastseen serve``, and opened
in headless Chromium without a GPU over loopback. Reported are the seconds from the address to a page that can be
asked (the first objects are listed), to all objects, to the whole surface and to its mesh; draw calls and triangles
of the whole home; and frames a second while it is turned. A GPU draws faster, a busy machine everything slower: the
processor seconds of server and browser up to each moment, and the machine's load, stand beside them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
BLOCK, STEP = 22, 0.6
"""Objects along one side of what a frame sees, and metres between two of them: 13 m, the reach of a camera."""
PATIENCE = 300_000
TURNING = 8.0
"""Seconds of turning the home with the mouse."""
Vector = NDArray[np.float64]
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
    per_frame = BLOCK * BLOCK
    blocks = int(np.ceil(count / per_frame))
    seconds = hours * 3600 / (3 * blocks)
    number = 0
    with Memory.open(path) as memory:
        for block, corner in enumerate(walk(blocks)):
            say(f"making {block * per_frame:,} of {count:,}")
            some = range(block * per_frame, min((block + 1) * per_frame, count))
            for turn in range(3):
                stamp = number * seconds
                side = np.array([np.cos(2.1 * turn), np.sin(2.1 * turn), 0.3])
                memory.observe(blank(number, stamp, corner, side), [thing(i, corner, side, stamp) for i in some])
                number += 1
        at = np.arange(0.0, SURFACE_SIDE, 0.05, dtype=np.float32) + 0.025
        x, y = (each.ravel() for each in np.meshgrid(at, at))
        floor = np.stack([x, y, 0.2 * np.sin(x) * np.sin(y)], axis=1).astype(np.float32)
        colors = np.stack([100 + 80 * np.sin(x), 120 + 40 * np.cos(y), 0 * x + 90], axis=1).astype(np.uint8)
        memory.space.surface.take_in(floor, colors, time=0.0)


def walk(blocks: int) -> Iterator[Vector]:
    """Corners of the blocks of a square floor, up one column of blocks and down the next."""
    columns = int(np.ceil(np.sqrt(blocks)))
    for block in range(blocks):
        column, row = divmod(block, columns)
        yield STEP * BLOCK * np.array([column, row if column % 2 == 0 else columns - 1 - row, 0.0])


def thing(i: int, corner: Vector, side: Vector, stamp: float) -> Observation:
    """One object of a block, seen from one of three sides."""
    row, column = divmod(i % BLOCK**2, BLOCK)
    place = corner + STEP * np.array([column, row, 0.0]) + (0.0, 0.0, 0.8)
    return Observation(place, np.full(3, 0.2), side, stamp, labels={LABELS[i % len(LABELS)]: 0.9})


def blank(number: int, stamp: float, corner: Vector, side: Vector) -> Frame:
    """A frame without depth from one side of the middle of a block."""
    at = corner + STEP * BLOCK / 2 * np.array([1.0, 1.0, 0.0]) + 2.0 * side
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
            watch = Watch((process.pid, os.getpid()))
            page.goto(f"http://127.0.0.1:{port}/viewer/")
            count_text = "document.querySelector('#objects .count').textContent"
            wait(page, "", count_text)
            times = watch.read("usable")
            wait(page, f"{count:,} of {count:,}", count_text)
            times |= watch.read("all_objects")
            wait(page, str(points), "document.querySelector('#canvas').dataset.points")
            times |= watch.read("surface")
            wait(page, "0", "document.querySelector('#canvas').dataset.waiting")
            times |= watch.read("mesh")
            drawn = page.locator("#canvas").evaluate("canvas => ({ ...canvas.dataset })")
            rate, rate_by_processor = turned(page)
    finally:
        process.terminate()
        process.wait()
    return {
        "objects": count,
        "surface_points": points,
        "file_megabytes": round(path.stat().st_size / 1e6, 1),
        "serve_seconds": round(served, 2),
        **times,
        "draw_calls": int(drawn["calls"]),
        "triangles": int(drawn["triangles"]),
        "frames_per_second": round(rate, 2),
        "frames_per_processor_second": round(rate_by_processor, 2),
        "load": round(os.getloadavg()[0], 1),
    }


class Watch:
    """Seconds since it began, of the clock and of the processor: of some processes and all that they started."""

    def __init__(self, pids: tuple[int, ...]) -> None:
        self._pids = pids
        self._began, self._spent = time.monotonic(), self.spent()

    def spent(self) -> float:
        """Processor seconds so far."""
        rows = {}
        for each in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                fields = each.read_text().rpartition(")")[2].split()
                # parent, user time and system time, as counted from the field after the name
                rows[int(each.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
        family = set(self._pids)
        while more := {pid for pid, (parent, _) in rows.items() if parent in family and pid not in family}:
            family |= more
        return sum(rows[pid][1] for pid in family if pid in rows) / os.sysconf("SC_CLK_TCK")

    def read(self, name: str) -> dict[str, float]:
        """What it took up to now."""
        spent = self.spent() - self._spent
        seconds = time.monotonic() - self._began
        return {f"{name}_seconds": round(seconds, 2), f"{name}_processor_seconds": round(spent, 2)}


def wait(page: Page, value: str, read: str) -> None:
    """Wait until an expression of the page has a value; an empty one stands for any."""
    page.wait_for_function(f"value => value ? {read} === value : Boolean({read})", arg=value, polling=50)


def turned(page: Page) -> tuple[float, float]:
    """Frames a second while the home is turned by hand, and frames a second of the processor."""
    page.wait_for_timeout(2000)
    before = int(page.locator("#canvas").get_attribute("data-frames") or 0)
    watch = Watch((os.getpid(),))
    page.mouse.move(700, 400)
    page.mouse.down()
    began = time.monotonic()
    at = 0
    while time.monotonic() - began < TURNING:
        at += 1
        page.mouse.move(700 + 150 * np.sin(at / 10), 400)
        page.wait_for_timeout(15)
    took = watch.read("turned")
    page.mouse.up()
    frames = int(page.locator("#canvas").get_attribute("data-frames") or 0) - before
    return frames / took["turned_seconds"], frames / took["turned_processor_seconds"]


if __name__ == "__main__":
    main()
