"""The page in a real browser over a real server: what a person sees, asks and scrubs; nothing leaves loopback."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import requests

from lastseen.appearance import with_embeddings
from lastseen.config import Settings
from lastseen.encoders.color_shape import ColorShapeEncoder
from lastseen.lift import lift_all
from lastseen.memory.alignment import FrameTransform
from lastseen.memory.memory import Memory
from lastseen.memory.space.surface import Surface
from lastseen.perception.pipeline import Perceived
from lastseen.server.point_cloud import PointCloud
from lastseen.server.run import Running, in_background, listen
from lastseen.server.service import Service
from lastseen.sim.detector import SimulatedDetector
from lastseen.sim.walk import Walk, WalkPlan
from tests.memory.objects.scenes import Room, frame_at, seen
from tests.memory.walks_in_frames import HOME, house, look
from tests.server.conftest import serving
from tests.sim.tiny import tiny_home

CHROMIUM = Path("/usr/bin/chromium")
if not CHROMIUM.is_file():
    pytest.skip(f"no browser at {CHROMIUM}", allow_module_level=True)

from playwright.sync_api import (  # noqa: E402
    Browser,
    Page,
    Route,
    ViewportSize,
    WebSocketRoute,
    expect,
    sync_playwright,
)
from tools.screenshots import FLAGS  # noqa: E402

pytestmark = pytest.mark.slow

WINDOW = ViewportSize(width=960, height=640)
PATIENCE = 20_000
"""Milliseconds: rendering without a GPU on a busy machine."""

BEFORE, AFTER = (2.0, -0.6, 0.8), (2.0, 0.9, 0.8)

TOKEN = "open-sesame-open-sesame-open-sesame"

OpenPage = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """Opens pages; at the end every request must have stayed on loopback, and the console without errors."""
    requests: list[str] = []
    errors: list[str] = []
    expected: list[str] = []
    context = browser.new_context(viewport=WINDOW, reduced_motion="reduce")

    def open_at(address: str, *, expected_errors: str | None = None) -> Page:
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        expected.extend([expected_errors] if expected_errors else [])
        page.on("request", lambda request: requests.append(request.url))
        page.on("websocket", lambda line: requests.append(line.url))
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    yield open_at
    context.close()
    assert requests
    assert {urlsplit(url).hostname for url in requests} == {"127.0.0.1"}
    assert [text for text in errors if not any(re.search(pattern, text) for pattern in expected)] == []


def ask(page: Page, words: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    expect(page.locator("#answer .verdict")).to_be_visible(timeout=PATIENCE)


def scrub_to(page: Page, share: float) -> None:
    page.locator("#timeline input").evaluate(
        "(slider, share) => { slider.value = share * 1000; slider.dispatchEvent(new Event('input')) }", share
    )
    expect(page.locator("#timeline")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)


def wait_until_it_looks_at(page: Page, point: tuple[float, float, float]) -> None:
    page.wait_for_function(
        """point => document.querySelector('#canvas').dataset.lookingAt.split(' ')
               .every((value, axis) => Math.abs(value - point[axis]) < 0.1)""",
        arg=list(point),
    )


@contextmanager
def moved_mug(**others: tuple[float, float, float]) -> Iterator[Running]:
    """A memory in which a mug stood at one place and was then found at another, beside things that stay."""
    room = Room()
    room.put("mug", BEFORE)
    room.put("plant", (2.6, 0.2, 0.6))
    for name, place in others.items():
        room.put(name, place)
    with Memory.open(settings=Settings()) as memory:
        for number in range(50):
            if number == 20:
                room.put("mug", AFTER)
            side = 1.2 * ((number % 5) - 2) / 2
            memory.observe(*room.see(number, eye=(0.0, side, 1.4), target=(2.0, 0.1, 0.8), stamp=0.5 * number))
        with serving(memory) as running:
            yield running


def test_the_page_shows_what_is_remembered(open_page: OpenPage, home: Running) -> None:
    page = open_page(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    expect(page.locator("#status .word")).to_have_text("From file")
    expect(page.locator(".tag", has_text="sofa")).to_be_visible(timeout=PATIENCE)
    page.get_by_label("Filter objects by name").fill("mug")
    expect(page.locator("#objects li")).to_have_count(2)


@pytest.mark.integration
def test_a_search_flies_to_the_answer_and_shows_its_picture(open_page: OpenPage, home: Running) -> None:
    page = open_page(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "sofa")
    expect(page.locator("#answer .verdict")).to_have_text("Found")
    expect(page.locator("#details h2")).to_have_text("sofa")
    page.wait_for_function("() => document.querySelector('.pictures img')?.naturalWidth > 0")
    wait_until_it_looks_at(page, (2.0, 2.0, 0.4))
    page.keyboard.press("Escape")
    expect(page.locator("#answer")).to_be_hidden()


@pytest.mark.integration
def test_what_is_not_there_is_said_to_be_not_found_and_rivals_are_listed(open_page: OpenPage, home: Running) -> None:
    page = open_page(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "violin")
    expect(page.locator("#answer .verdict")).to_have_text("Not found")
    expect(page.locator("#answer .reason")).to_contain_text("violin")
    expect(page.locator("#details")).to_be_hidden()
    page.locator("#search .clear").click()
    ask(page, "mug")
    expect(page.locator("#answer .verdict")).to_have_text("More than one fits")
    expect(page.locator("#answer .hit")).to_have_count(2)


@pytest.mark.integration
def test_the_list_is_walked_with_the_keyboard(open_page: OpenPage, home: Running) -> None:
    page = open_page(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    page.locator("#objects li").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#details h2")).to_have_text("chair")
    expect(page.locator("#objects li[aria-selected=true]")).to_have_count(1)
    page.keyboard.press("Escape")
    expect(page.locator("#details")).to_be_hidden()


@pytest.mark.integration
def test_the_timeline_shows_an_object_at_its_old_place(open_page: OpenPage) -> None:
    with moved_mug(bowl=(2.0, 1.15, 0.8)) as running:
        page = open_page(running.address.page)
        page.locator("#objects li", has_text="mug").click()
        position = page.locator("#details dd", has_text=" m").filter(has_text=",").first
        expect(position).to_contain_text("2.00, 0.90, 0.80", timeout=PATIENCE)
        scrub_to(page, 0.3)
        expect(position).to_contain_text("2.00, -0.60, 0.80")
        # what is around it is told of now, and it had not moved yet
        expect(page.locator("#details .relations")).to_have_count(0)
        expect(page.locator("#details .steps li[data-kind=appeared]")).to_be_attached()
        expect(page.locator("#details .steps li[data-kind=moved]")).to_have_count(0)
        expect(page.locator("#timeline")).to_have_class(re.compile("past"))
        page.get_by_role("button", name="Latest").click()
        expect(position).to_contain_text("2.00, 0.90, 0.80")
        expect(page.locator("#details .steps li[data-kind=moved]")).to_be_attached()
        expect(page.locator("#details .relations")).to_be_attached()
        page.close()


@pytest.mark.integration
def test_how_long_before_the_end_is_told_by_the_walls_clock(open_page: OpenPage, tmp_path: Path) -> None:
    room = Room()
    room.put("mug", BEFORE)
    five_hours = 5 * 3600.0
    walls = iter((1_700_000_000.0, 1_700_000_000.0 + five_hours))
    for _ in range(2):
        with Memory.open(tmp_path / "home.lastseen", wall_clock=lambda: next(walls)) as memory:
            for number in range(10):
                memory.observe(*room.see(number, eye=(0.0, 0.0, 1.4), target=BEFORE, stamp=0.5 * number))
    with Memory.open(tmp_path / "home.lastseen", read_only=True) as memory, serving(memory) as running:
        page = open_page(running.address.page)
        page.set_viewport_size({"width": 1280, "height": 800})
        expect(page.locator("#objects li")).to_have_count(1, timeout=PATIENCE)
        expect(page.locator("#status time")).to_have_text(re.compile("15 Nov 2023|14 Nov 2023"))
        expect(page.locator("#status time")).to_be_visible()
        scrub_to(page, 0.1)
        expect(page.locator("#timeline .end")).to_have_text("5 h before the end")
        page.close()


@pytest.mark.integration
def test_the_past_shows_no_picture_that_was_taken_later(open_page: OpenPage, home: Running) -> None:
    (sofa,) = requests.get(f"{home.address.base}/objects?label=sofa", timeout=60).json()["objects"]
    newest, before, *_ = requests.get(f"{home.address.base}/objects/{sofa['id']}", timeout=60).json()[
        "snapshot_memory_times"
    ]
    span = requests.get(f"{home.address.base}/timeline", timeout=60).json()
    first, last = span["first_memory_time"], span["last_memory_time"]
    page = open_page(home.address.page)
    page.locator("#objects li", has_text="sofa").click()
    pictures = page.locator("#details .pictures img")
    expect(pictures).to_have_count(3, timeout=PATIENCE)
    scrub_to(page, (0.5 * (newest + before) - first) / (last - first))
    expect(pictures).to_have_count(2)
    page.close()


@pytest.mark.integration
def test_objects_appear_while_a_simulated_robot_walks(open_page: OpenPage) -> None:
    settings = Settings()
    settings = replace(settings, camera=replace(settings.camera, width=160, height=120))
    walk = Walk(tiny_home(), WalkPlan(0.5, seed=3, level="good"), settings=settings)
    detector = SimulatedDetector(walk.world, level="good", seed=3)
    looks = ColorShapeEncoder()
    with Memory.open(settings=settings) as memory, serving(memory) as running:
        page = open_page(running.address.page)
        expect(page.locator("#empty")).to_contain_text("Nothing is remembered yet", timeout=PATIENCE)

        def walk_around() -> None:
            for frame in walk.frames():
                seen_things = with_embeddings(frame, detector.detect(frame), looks)
                running.service.observe(frame, Perceived(tuple(lift_all(frame, seen_things, with_crops=True))))

        walker = threading.Thread(target=walk_around)
        walker.start()
        expect(page.locator("#objects li[data-state=confirmed]").nth(2)).to_be_attached(timeout=PATIENCE)
        walker.join()
        expect(page.locator("#empty")).to_be_hidden()
        expect(page.locator("#events li").first).to_be_attached()
        page.wait_for_function("() => Number(document.querySelector('#canvas').dataset.points) > 1000")
        page.close()


@pytest.mark.integration
def test_the_page_comes_back_after_a_restart_of_the_server(open_page: OpenPage) -> None:
    room = Room()
    room.put("mug", BEFORE)
    with Memory.open(settings=Settings()) as memory:
        for number in range(12):
            memory.observe(*room.see(number, eye=(0.0, 0.1 * number, 1.4), target=BEFORE))
        with serving(memory) as first:
            page = open_page(first.address.page, expected_errors="WebSocket|Failed to load resource")
            expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
            expect(page.locator("#objects li")).to_have_count(1, timeout=PATIENCE)
        expect(page.locator("#status .word")).to_have_text("Connection lost", timeout=PATIENCE)
        expect(page.locator("#banner")).to_contain_text("The server does not answer")
        expect(page.locator("#objects li")).to_have_count(1)
        for width in (768, 960, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            if width == 768:
                # a narrow page closes the drawer some time after it has its width
                expect(page.locator("#side")).to_be_hidden(timeout=PATIENCE)
                page.get_by_role("button", name="Objects and events").click()
            expect(page.locator("#side")).to_be_visible(timeout=PATIENCE)
            page.wait_for_function(
                """() => document.querySelector('#side').getBoundingClientRect().top
                       >= document.querySelector('#banner').getBoundingClientRect().bottom"""
            )
        again = listen(host="127.0.0.1", port=first.address.port)
        second = Running(Service(memory), again)
        with in_background(second, wait=lambda seconds: page.wait_for_timeout(1000 * seconds)):
            expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
            expect(page.locator("#banner")).to_be_hidden()
            expect(page.locator("#objects li")).to_have_count(1)
            page.close()


@pytest.mark.integration
def test_a_token_is_asked_for_once_and_leaves_the_address(open_page: OpenPage) -> None:
    with Memory.open(settings=Settings()) as memory, serving(memory, token=TOKEN) as running:
        page = open_page(f"{running.address.base}/viewer/#token={TOKEN}")
        expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
        assert page.url == f"{running.address.base}/viewer/"
        page.context.clear_cookies()
        page.close()
        page = open_page(f"{running.address.base}/viewer/", expected_errors="401")
        page.get_by_label("Token").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#gate .problem")).to_contain_text("not the server's", timeout=PATIENCE)
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("#gate")).to_be_hidden(timeout=PATIENCE)
        expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
        page.close()


@pytest.mark.integration
def test_a_hostile_label_is_only_text(open_page: OpenPage) -> None:
    hostile = '<img src="https://evil.example/x" onerror="document.title=1">'
    with Memory.open(settings=Settings()) as memory:
        for number in range(10):
            eye = (0.1 * number, -2.0, 1.2)
            thing = seen((0.0, 0.0, 0.8), eye=eye, stamp=float(number), labels={hostile: 0.9})
            memory.observe(frame_at(number, eye=eye, target=(0.0, 0.0, 0.8)), [thing])
        with serving(memory) as running:
            page = open_page(running.address.page)
            page.locator("#objects li").first.click()
            expect(page.locator("#details h2")).to_have_text(hostile, timeout=PATIENCE)
            expect(page.locator(".tag img, #objects img, #details h2 img")).to_have_count(0)
            assert page.title() == "lastseen"
            page.close()


@pytest.mark.integration
def test_a_person_renames_deletes_and_takes_back(open_page: OpenPage) -> None:
    with moved_mug() as running:
        page = open_page(running.address.page)
        page.locator("#objects li", has_text="plant").click()
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("New name").fill("cactus")
        page.keyboard.press("Enter")
        expect(page.locator("#details h2")).to_have_text("cactus", timeout=PATIENCE)
        page.get_by_role("button", name="Delete").click()
        expect(page.locator("#objects li")).to_have_count(2)
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Delete").click()
        page.locator(".question .danger").click()
        expect(page.locator("#objects li")).to_have_count(1, timeout=PATIENCE)
        expect(page.locator("#notice")).to_contain_text("cactus was deleted")
        page.locator("#notice").get_by_role("button", name="Undo").click()
        expect(page.locator("#objects li")).to_have_count(2, timeout=PATIENCE)
        page.locator("#objects li", has_text="cactus").click()
        page.get_by_role("button", name="Merge").click()
        page.locator(".question .primary").click()
        expect(page.locator("#objects li")).to_have_count(1, timeout=PATIENCE)
        scrub_to(page, 0.3)
        expect(page.get_by_role("button", name="Rename")).to_have_count(0)
        page.close()


@pytest.mark.integration
def test_what_somebody_else_does_meanwhile_is_neither_undone_nor_closed(open_page: OpenPage) -> None:
    with moved_mug() as running:
        page = open_page(running.address.page, expected_errors="409")
        page.locator("#objects li", has_text="plant").click()
        page.get_by_role("button", name="Rename").click()
        page.get_by_label("New name").fill("cactus")
        page.keyboard.press("Enter")
        expect(page.locator("#notice")).to_contain_text("now called cactus", timeout=PATIENCE)
        mug = page.locator("#objects li", has_text="mug").get_attribute("data-id")
        url = f"{running.address.base}/objects/{mug}/relabel"
        assert requests.post(url, json={"label": "cup"}, timeout=60).ok
        page.locator("#notice").get_by_role("button", name="Undo").click()
        expect(page.locator("#notice")).to_contain_text("not the newest", timeout=PATIENCE)
        expect(page.locator("#objects li", has_text="cup")).to_have_count(1, timeout=PATIENCE)

        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/delete", hold)
        page.get_by_role("button", name="Delete").click()
        with page.expect_request("**/delete"):
            page.locator(".question .danger").click()
        page.locator("#objects li", has_text="cup").click()
        held[0].continue_()
        expect(page.locator("#notice")).to_contain_text("cactus was deleted", timeout=PATIENCE)
        expect(page.locator("#details h2")).to_have_text("cup")
        page.close()


@pytest.mark.integration
def test_what_was_deleted_elsewhere_is_said_to_be_gone_and_not_corrected(open_page: OpenPage) -> None:
    with moved_mug() as running:
        page = open_page(running.address.page, expected_errors="404")
        page.locator("#objects li", has_text="plant").click()
        expect(page.locator("#details .facts")).to_be_visible(timeout=PATIENCE)
        page.get_by_role("button", name="Rename").click()
        plant = page.locator("#objects li", has_text="plant").get_attribute("data-id")
        assert requests.post(f"{running.address.base}/objects/{plant}/delete", json={}, timeout=60).ok
        page.get_by_label("New name").fill("cactus")
        page.keyboard.press("Enter")
        expect(page.locator(".question .problem")).to_have_text("It is no longer in the memory.", timeout=PATIENCE)
        page.get_by_role("button", name="Cancel").click()
        expect(page.locator("#objects li")).to_have_count(1, timeout=PATIENCE)
        expect(page.locator("#details .problem")).to_have_text("It is no longer in the memory.", timeout=PATIENCE)
        expect(page.locator(".corrections")).to_have_count(0)
        expect(page.locator("#details .badge")).to_have_count(0)
        assert requests.post(f"{running.address.base}/corrections/undo", json={"correction": 1}, timeout=60).ok
        expect(page.locator("#details .badge")).to_have_text("confirmed", timeout=PATIENCE)
        expect(page.locator("#details .problem")).to_have_count(0)
        page.close()


@pytest.mark.integration
def test_a_memory_opened_for_reading_offers_no_corrections(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    room = Room()
    room.put("mug", BEFORE)
    with Memory.open(path, settings=Settings()) as memory:
        for number in range(12):
            memory.observe(*room.see(number, eye=(0.0, 0.1 * number, 1.4), target=BEFORE))
    with Memory.open(path, read_only=True) as memory, serving(memory) as running:
        page = open_page(running.address.page)
        page.locator("#objects li").first.click()
        expect(page.locator("#details .facts")).to_be_visible(timeout=PATIENCE)
        expect(page.locator(".corrections")).to_have_count(0)
        page.close()


OVERLAPS = """() => {
  const shown = [...document.querySelectorAll('#head > *, #side > *, #tools, #legend, #timeline')]
    .map(part => [part.id || part.className, part.getBoundingClientRect()])
    .filter(([, box]) => box.width && box.height)
  const problems = []
  shown.forEach(([name, box], index) => {
    const inside = box.left >= 0 && box.top >= 0 && box.right <= innerWidth && box.bottom <= innerHeight
    if (!inside) problems.push(name + ' leaves the page')
    for (const [other, its] of shown.slice(index + 1)) {
      const wide = Math.min(box.right, its.right) - Math.max(box.left, its.left)
      const high = Math.min(box.bottom, its.bottom) - Math.max(box.top, its.top)
      if (wide > 1 && high > 1) problems.push(name + ' lies over ' + other)
    }
  })
  return problems
}"""


@pytest.mark.integration
@pytest.mark.parametrize(("width", "height"), [(390, 844), (768, 1024), (1280, 800), (1920, 1080)])
def test_nothing_overlaps_or_leaves_the_page(open_page: OpenPage, home: Running, width: int, height: int) -> None:
    page = open_page("about:blank")
    page.set_viewport_size({"width": width, "height": height})
    page.goto(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    expect(page.locator("#timeline .moment")).not_to_have_text("No memory yet", timeout=PATIENCE)
    assert page.evaluate(OVERLAPS) == []


@pytest.mark.integration
def test_a_file_shows_the_home_and_its_past_only_what_was_seen_by_then(open_page: OpenPage, tmp_path: Path) -> None:
    file = tmp_path / "home.lastseen"
    settings = Settings()
    settings = replace(settings, camera=replace(settings.camera, width=160, height=120))
    walk = Walk(tiny_home(), WalkPlan(0.5, seed=3, level="good"), settings=settings)
    detector = SimulatedDetector(walk.world, level="good", seed=3)
    with Memory.open(file, settings=settings) as memory:
        for frame in walk.frames():
            memory.observe(frame, detections=detector.detect(frame))
    with Memory.open(file, settings=settings) as memory, serving(memory) as running:
        points = len(memory.space.surface)
        page = open_page(running.address.page)
        expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
        page.wait_for_function("count => document.querySelector('#canvas').dataset.points == count", arg=points)
        shown = []
        for share in (0.1, 0.5, 0.9):
            scrub_to(page, share)
            shown.append(int(page.locator("#canvas").get_attribute("data-points-shown") or 0))
        assert 0 < shown[0] < shown[1] < shown[2] < points
        page.close()


@pytest.mark.integration
@pytest.mark.parametrize("size", [(390, 844), (768, 1024), (1280, 800), (1920, 1080)])
def test_nothing_overlaps_at_any_width(open_page: OpenPage, home: Running, size: tuple[int, int]) -> None:
    page = open_page(home.address.page)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.locator("#status[data-connection=live]")).to_be_attached(timeout=PATIENCE)
    for words in (None, "mug", "how many mugs are there?"):
        if words is not None:
            ask(page, words)
        boxes = page.evaluate(
            """() => ["#head", "#side", "#answers", "#tools", "#legend", "#timeline"]
              .map((name) => document.querySelector(name))
              .filter((part) => part.checkVisibility())
              .map((part) => [part.id, part.getBoundingClientRect()])
              .filter(([, box]) => box.width && box.height)
              .map(([id, box]) => [id, box.left, box.top, box.right, box.bottom])"""
        )
        drawer = size[0] <= 900
        for at, (one, *first) in enumerate(boxes):
            assert first[0] >= 0, one
            assert first[2] <= size[0], one
            for other, *second in boxes[at + 1 :]:
                apart = (
                    first[2] <= second[0] or second[2] <= first[0] or first[3] <= second[1] or second[3] <= first[1]
                )
                assert apart or (drawer and "side" in (one, other)), (words, one, other, first, second)


@pytest.mark.integration
def test_a_search_that_did_not_begin_says_why_and_can_be_closed(open_page: OpenPage, home: Running) -> None:
    idle: dict[str, object] = {
        "robot": "simulated",
        "status": "idle",
        "goal": None,
        "reason": None,
        "started": 0,
        "steps": 0,
        "metres": 0.0,
        "rooms": [],
        "reasons": [],
        "candidates": [],
        "path": [],
        "walked": [],
    }

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            route.fulfill(status=409, json={"message": "The robot is charging."})
        else:
            route.fulfill(json=idle)

    page = open_page("about:blank", expected_errors="Failed to load resource")
    page.route("**/search", answer)
    page.goto(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "sofa")
    page.get_by_role("button", name="Find it").click(timeout=PATIENCE)
    expect(page.locator("#find")).to_contain_text("The robot is charging.")
    expect(page.locator("#find h2")).to_have_text("It did not begin")
    expect(page.get_by_role("button", name="Give up")).to_be_hidden()
    expect(page.locator("#find h3").first).to_be_hidden()
    page.locator("#find").get_by_role("button", name="Close").click()
    expect(page.locator("#find")).to_be_hidden()
    page.close()


@pytest.mark.integration
def test_a_question_is_answered_with_its_evidence_lit_up(open_page: OpenPage, home: Running) -> None:
    page = open_page(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "how many mugs are there?")
    expect(page.locator("#answer .verdict")).to_contain_text("2 mugs")
    expect(page.locator("#answer .hit")).to_have_count(2)
    expect(page.locator(".tag.marked", has_text="mug")).to_have_count(2, timeout=PATIENCE)


@pytest.mark.integration
def test_the_surface_of_a_home_is_joined_to_a_mesh_over_its_plan(open_page: OpenPage, tmp_path: Path) -> None:
    settings = Settings()
    settings = replace(settings, camera=replace(settings.camera, width=160, height=120))
    with Memory.open(tmp_path / "home.lastseen", settings=settings) as memory:
        for frame in Walk(tiny_home(), WalkPlan(0.3, seed=3, level="good"), settings=settings).frames():
            memory.observe(frame, detections=[])
        points = len(memory.space.surface)
        with serving(memory) as running:
            page = open_page(running.address.page)
            page.wait_for_function("count => document.querySelector('#canvas').dataset.points == count", arg=points)
            page.wait_for_function("() => document.querySelector('#canvas').dataset.waiting === '0'")
            drawn = page.locator("#canvas").evaluate("canvas => ({ ...canvas.dataset })")
            assert int(drawn["triangles"]) > points
            assert int(drawn["walls"]) > 0
            page.close()


MOST_CALLS, MOST_TRIANGLES = 200, 2_000_000
"""What a tablet's GPU draws smoothly."""


@pytest.mark.integration
@pytest.mark.timeout(600)
def test_a_hundred_thousand_objects_and_a_full_surface_stay_within_what_a_tablet_draws(
    open_page: OpenPage, home: Running
) -> None:
    """The page gets them as the server sends them; how long a frame takes is the machine's and not asserted."""
    surface = Surface()
    side = np.arange(600, dtype=np.float32) * 0.05 + 0.025
    x, y = (each.ravel() for each in np.meshgrid(side, side))
    floor = np.stack([x, y, np.zeros_like(x)], axis=1)[: surface.slots]
    surface.take_in(floor, np.full((len(floor), 3), 128, dtype=np.uint8), time=0.0)

    def objects(first: int) -> str:
        listed = [
            {
                "id": f"obj-{number}",
                "label": "mug",
                "state": "confirmed",
                "position": [number % 300 * 0.1, number // 300 * 0.09, 0.8],
                "extent": [0.1, 0.1, 0.1],
                "place_id": None,
                "last_seen_memory_time": 1.0,
            }
            for number in range(first, first + 10_000)
        ]
        head = {"type": "objects_update", "reset": first == 0, "more": first < 90_000, "now_memory_time": 1.0}
        return json.dumps({**head, "gone": [], "objects": listed})

    updates, cloud = [objects(first) for first in range(0, 100_000, 10_000)], PointCloud(surface).whole()

    def answer(line: WebSocketRoute) -> None:
        def hear(message: str | bytes) -> None:
            kind = json.loads(message)["type"]
            if kind == "ping":
                line.send(json.dumps({"type": "pong"}))
            elif kind == "subscribe":
                for update in updates:
                    line.send(update)
                line.send(cloud)

        line.on_message(hear)
        line.send(json.dumps({"type": "hello"}))

    page = open_page("about:blank")
    page.set_default_timeout(240_000)
    page.route_web_socket("**/ws", answer)
    page.goto(home.address.page)
    expect(page.locator("#objects .count")).to_have_text("100,000 of 100,000", timeout=240_000)
    page.wait_for_function("count => document.querySelector('#canvas').dataset.points == count", arg=len(surface))
    page.wait_for_function("() => document.querySelector('#canvas').dataset.waiting === '0'")
    drawn = page.locator("#canvas").evaluate("canvas => ({ ...canvas.dataset })")
    assert len(surface) > 250_000
    # the surface's patches; things that are a few pixels large from here are dots
    assert 500_000 < int(drawn["triangles"]) <= MOST_TRIANGLES
    assert int(drawn["calls"]) <= MOST_CALLS
    page.close()


@pytest.mark.integration
def test_a_session_kept_apart_leaves_what_is_remembered_unplaced(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        look(memory, house(1), FrameTransform())
    with Memory.open(path) as memory:
        look(memory, house(2), FrameTransform(), count=24)
        with serving(memory) as running:
            page = open_page(running.address.page)
            expect(page.locator("#legend", has_text="not placed yet")).to_be_visible(timeout=PATIENCE)
            expect(page.locator("#overlay")).to_have_class("unplaced")
            page.locator("#sessions summary").click()
            expect(page.locator("#sessions li").first).to_contain_text("kept apart")
            expect(page.locator("#sessions li").first).to_contain_text("things stand where this map has any")
            expect(page.locator("#sessions li").first).to_contain_text("30 things of its own, drawn beside the home")
            expect(page.locator("#canvas")).to_have_attribute("data-apart", "30", timeout=PATIENCE)
            expect(page.locator(".tag.apart").first).to_be_attached(timeout=PATIENCE)
            page.locator("#objects li").first.click()
            expect(page.locator("#details")).to_contain_text("where that is from here is not known yet")
            scrub_to(page, 0.05)
            expect(page.locator("#overlay")).not_to_have_class("unplaced")
            expect(page.locator("#canvas")).to_have_attribute("data-apart", "0", timeout=PATIENCE)
            expect(page.locator("#details")).not_to_contain_text("not known yet")
            page.close()


@pytest.mark.integration
def test_the_evidence_of_an_alignment_is_drawn_on_demand(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "home.lastseen"
    with Memory.open(path) as memory:
        look(memory, HOME, FrameTransform())
    with Memory.open(path) as memory:
        look(memory, HOME, FrameTransform(1.1, 4.0, -2.0, 0.3), count=20)
        with serving(memory) as running:
            page = open_page(running.address.page)
            expect(page.locator("#objects li")).to_have_count(len(HOME), timeout=PATIENCE)
            expect(page.locator("#unplaced")).to_be_hidden()
            page.locator("#sessions summary").click()
            expect(page.locator("#sessions li").first).to_contain_text("aligned")
            page.get_by_role("button", name="Show evidence").click()
            expect(page.locator("#canvas")).to_have_attribute("data-matches", str(len(HOME)), timeout=PATIENCE)
            expect(page.locator("#sessions")).to_contain_text(f"{len(HOME)} things lie")
            page.get_by_role("button", name="Hide evidence").click()
            expect(page.locator("#canvas")).to_have_attribute("data-matches", "0")
            page.close()


@pytest.mark.integration
def test_what_has_no_name_is_described_and_walls_are_not_listed(open_page: OpenPage) -> None:
    with Memory.open(settings=Settings()) as memory:
        for number in range(10):
            eye, stamp = (0.1 * number, -2.0, 1.2), float(number)
            things = [
                seen((0.0, 0.0, 0.8), eye=eye, stamp=stamp),
                seen((0.8, 0.0, 0.8), eye=eye, stamp=stamp, labels={"mug": 0.9}),
                seen((0.0, 2.0, 1.0), eye=eye, stamp=stamp, size=(4.0, 0.1, 2.0), kind="surface"),
            ]
            memory.observe(frame_at(number, eye=eye, target=(0.0, 0.0, 0.8)), things)
        with serving(memory) as running:
            page = open_page(running.address.page)
            expect(page.locator("#objects li")).to_have_count(2, timeout=PATIENCE)
            expect(page.locator("#objects .nameless")).to_have_text("unnamed")
            expect(page.locator(".tag")).to_have_count(1, timeout=PATIENCE)
            page.locator("#objects li", has_text="unnamed").click()
            expect(page.locator(".tag")).to_have_count(2, timeout=PATIENCE)
            page.close()


@pytest.mark.integration
def test_the_home_is_drawn_beside_a_card_that_scrolls(browser: Browser, home: Running) -> None:
    page = browser.new_page(viewport=ViewportSize(width=768, height=700), reduced_motion="reduce")
    page.goto(home.address.page)
    page.locator("#buttons button").first.click()
    page.locator("#objects li").first.click()
    expect(page.locator("#details h3").first).to_be_visible(timeout=PATIENCE)
    scrolls = (
        "() => { const card = document.querySelector('#details'); return card.scrollHeight > card.clientHeight }"
    )
    assert page.evaluate(scrolls)
    # an opaque card that scrolls hides parts of the canvas that it does not cover
    opaque = page.locator("#details").evaluate("card => getComputedStyle(card).backgroundColor")
    assert "/" in opaque or opaque.startswith("rgba")
    page.close()
