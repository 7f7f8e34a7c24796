"""Takes the viewer's pictures for the docs: a simulated home, walked and changed, then looked at in a real browser.

    python tools/screenshots.py [--frames 600] [--out docs/pictures] [--all]

``--all`` adds the states that are not in the docs: nothing found, an empty memory, a lost connection, tablets.
"""

from __future__ import annotations

import argparse
import io
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Literal

from PIL import Image, ImageColor
from playwright.sync_api import Browser, Page, sync_playwright

from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.frame import Frame
from lastseen.memory.memory import Memory
from lastseen.server.demo import Demo, demo_settings
from lastseen.server.run import Running, in_background, listen
from lastseen.server.service import Service

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK, TABLET, UPRIGHT = (1440, 900), (1024, 768), (820, 1180)
MOST_BYTES = 400_000
STALE_AFTER = 150.0
"""Seconds: a walk of minutes should show what a home of days looks like."""
CHANGE_EVERY = 40
STEPS_ON_THE_WAY = 5
"""Actions after which the robot that looks for something is drawn."""
PATIENCE = 180_000
INKS = [
    *(f"--state-{state}" for state in ("confirmed", "tentative", "stale", "missing")),
    *("--accent", "--robot", "--path", "--danger", "--warn", "--good", "--text", "--muted", "--surface", "--raised"),
    *(f"--place-{number}" for number in range(1, 7)),
]
"""Colours of the style sheet that every picture keeps."""


Scheme = Literal["dark", "light"]


class HeldAfter(threading.Event):
    """Holds a search after some steps until it is let go; it is given up then."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.left = steps
        self.held, self.let_go = threading.Event(), threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        """What the search asks after each step: whether it is over."""
        del timeout
        self.left -= 1
        if self.left > 0:
            return False
        self.held.set()
        return self.let_go.wait()


@contextmanager
def served(frames: int, seed: int) -> Iterator[tuple[Running, Demo, Iterator[Frame]]]:
    """A server over a home that was walked for so many frames; none is an empty memory."""
    settings = demo_settings(Settings())
    settings = replace(settings, lifecycle=replace(settings.lifecycle, stale_after=STALE_AFTER))
    with Memory.open(settings=settings, image_encoder=ColorShapeEncoder.name) as memory:
        service = Service(memory, mode="demo")
        demo = Demo(service, seed=seed, change_every=CHANGE_EVERY)
        walk = demo.walk() if frames else iter(())
        for number, _ in enumerate(islice(walk, frames)):
            if number % 100 == 0:
                print(f"frame {number} of {frames}")
        listening = listen(host="127.0.0.1", port=0)
        with in_background(Running(service, listening), wait=time.sleep) as running:
            yield running, demo, walk


def open_page(browser: Browser, running: Running, *, scheme: Scheme, size: tuple[int, int] = DESK) -> Page:
    """The page with the home settled in view; without motion, so that what is drawn is final."""
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
    page.set_default_timeout(PATIENCE)
    page.goto(running.address.page)
    page.locator("#status", has_text="Live").wait_for()
    page.wait_for_function(
        "count => Number(document.querySelector('#canvas').dataset.points) >= count",
        arg=running.service.stats()["server"]["points"],
    )
    page.wait_for_function("() => document.querySelector('#canvas').dataset.waiting === '0'")
    page.wait_for_timeout(6000)
    return page


def ask(page: Page, words: str) -> None:
    """Ask, and wait until the answer and its pictures are there."""
    page.locator("#search input").fill(words)
    page.locator("#search input").press("Enter")
    page.locator("#answer .verdict").wait_for()
    page.wait_for_timeout(4000)


def scrub_to(page: Page, share: float) -> None:
    """Move the slider to a share of memory's length."""
    page.locator("#timeline input").evaluate(
        "(slider, share) => { slider.value = share * 1000; slider.dispatchEvent(new Event('input')) }", share
    )
    page.locator("#timeline[aria-busy=false]").wait_for()
    page.wait_for_timeout(3000)


def save(page: Page, out: Path, name: str) -> None:
    """Write a picture, with as many colours as fit in its size; then close the page."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    style = page.evaluate(
        "names => names.map(name => getComputedStyle(document.documentElement).getPropertyValue(name).trim())", INKS
    )
    # a box takes few pixels, so a palette by count alone would lose the colours that tell states apart
    inks = [channel for ink in style for channel in ImageColor.getrgb(ink)]
    path = out / f"viewer-{name}.png"
    for colors in (256, 160, 96):
        common = picture.quantize(colors - len(style), method=Image.Quantize.MEDIANCUT).getpalette() or []
        palette = Image.new("P", (1, 1))
        palette.putpalette([*inks, *common][: 3 * colors])
        picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)
        if path.stat().st_size <= MOST_BYTES:
            break
    page.close()
    print(f"{path} {path.stat().st_size // 1000} kB")


def moved_thing(running: Running) -> tuple[str, float] | None:
    """The id of something that moved far, and the share of memory's length shortly before it was missed."""
    memory = running.service.memory
    moves = [change for change in memory.what_changed() if change.kind == "moved"]
    if not moves:
        return None
    farthest = max(moves, key=lambda move: math.dist(move.evidence["before"], move.evidence["after"]))
    return farthest.object_id, max(0.0, farthest.stamp / memory.sessions()[-1].last - 0.2)


@contextmanager
def on_the_way(page: Page, demo: Demo, walk: Iterator[Frame]) -> Iterator[None]:
    """Press *Find it*, and hold the robot on its way while the block runs."""
    demo.stopped = hold = HeldAfter(STEPS_ON_THE_WAY)

    def go() -> None:
        while not hold.held.is_set() or demo.search.state.status == "searching":
            next(walk)

    page.get_by_role("button", name="Find it").click()
    robot = threading.Thread(target=go)
    robot.start()
    hold.held.wait()
    page.locator("#find[data-status=searching]").wait_for()
    page.wait_for_timeout(4000)
    yield
    hold.let_go.set()
    robot.join()


def take_all(browser: Browser, running: Running, out: Path, *, every: bool, words: str) -> None:
    """The pictures of a home."""
    save(open_page(browser, running, scheme="dark"), out, "dark")
    page = open_page(browser, running, scheme="light")
    ask(page, words)
    save(page, out, "search")
    moved = moved_thing(running)
    page = open_page(browser, running, scheme="dark")
    scrub_to(page, 0.5 if moved is None else moved[1])
    if moved is not None:
        page.locator(f"#objects li[data-id={moved[0]}]").click()
        page.locator("#details h3").last.wait_for()
        page.keyboard.press("h")
        page.wait_for_timeout(4000)
    save(page, out, "past")
    page = open_page(browser, running, scheme="light", size=UPRIGHT)
    save(page, out, "tablet")
    if not every:
        return
    save(open_page(browser, running, scheme="light"), out, "light")
    page = open_page(browser, running, scheme="dark")
    ask(page, "violin")
    save(page, out, "not-found")
    page = open_page(browser, running, scheme="dark", size=TABLET)
    ask(page, words)
    save(page, out, "tablet-wide")
    page = open_page(browser, running, scheme="dark", size=UPRIGHT)
    ask(page, words)
    save(page, out, "tablet-answer")


def main() -> None:
    """Walk, look, save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--ask", default="sofa")
    parser.add_argument("--find", default="armchair")
    parser.add_argument("--out", type=Path, default=Path("docs/pictures"))
    parser.add_argument("--all", action="store_true")
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with served(asked.frames, asked.seed) as (running, demo, walk):
            take_all(browser, running, asked.out, every=asked.all, words=asked.ask)
            page = open_page(browser, running, scheme="dark")
            ask(page, asked.find)
            with on_the_way(page, demo, walk):
                save(page, asked.out, "find")
            left = open_page(browser, running, scheme="dark") if asked.all else None
        if left is not None:
            left.wait_for_timeout(3000)
            save(left, asked.out, "lost")
            with served(0, asked.seed) as (running, _, _):
                save(open_page(browser, running, scheme="dark"), asked.out, "empty")
        browser.close()


if __name__ == "__main__":
    main()
