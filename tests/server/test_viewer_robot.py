"""What the page says of a robot that searches, of its camera and of a memory that is wrong, in a real browser."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
import requests

from lastseen.memory.memory import Memory
from lastseen.perception.pipeline import Perceived
from lastseen.server.run import Running
from tests.memory.objects.scenes import frame_at, seen
from tests.server.conftest import serving
from tests.server.test_viewer_page import (
    OVERLAPS,
    PATIENCE,
    OpenPage,
    ask,
    browser,
    open_page,
)

# the module above skips where there is no browser
from playwright.sync_api import Page, Route, expect  # isort: skip

__all__ = ["browser", "open_page"]

pytestmark = [pytest.mark.slow, pytest.mark.integration]

State = dict[str, Any]


class Robot:
    """Answers ``/search`` as a server with a robot would; tests say how its search stands."""

    def __init__(self, page: Page, *, kind: str = "simulated") -> None:
        self.state: State = {
            "robot": kind,
            "status": "idle",
            "goal": None,
            "reason": None,
            "started": 0,
            "steps": 0,
            "metres": 0.0,
            "rooms": [],
            "reasons": [],
            "candidates": [],
            "given_up": [],
            "path": [],
            "walked": [],
        }
        self.begun: list[State] = []
        self.refusal: str | None = None
        page.route("**/search", self._answer)

    def goes(self, **changes: Any) -> None:
        self.state = {**self.state, **changes}

    def _answer(self, route: Route) -> None:
        if route.request.method != "GET" and self.refusal is not None:
            route.fulfill(status=409, json={"message": self.refusal})
            return
        if route.request.method == "POST":
            self.begun.append(route.request.post_data_json or {})
        route.fulfill(json=self.state)


def things(home: Running, label: str) -> list[State]:
    found: list[State] = requests.get(f"{home.address.base}/objects?label={label}", timeout=60).json()["objects"]
    return found


def a_search(home: Running) -> State:
    """A search for a mug: two are known, one of them was looked for in vain."""
    mugs = things(home, "mug")
    (x, y, _), (away_x, away_y, _) = mugs[0]["position"], mugs[1]["position"]
    reason = f"memory: mug ({mugs[0]['id']}) in the kitchen, 2.0 m from here"
    return {
        "status": "searching",
        "started": 1,
        "goal": "mug",
        "reason": "memory: 2 things fit 'mug' equally well (mug)",
        "steps": 12,
        "metres": 3.2,
        "rooms": [{"place_id": 0, "place": "kitchen", "share": 1.0}],
        "reasons": [
            {"step": 1, "source": "panorama", "why": "it leads somewhere new"},
            {"step": 9, "source": "memory", "why": reason},
        ],
        "candidates": mugs,
        "given_up": [mugs[1]["id"]],
        "path": [[(x + away_x) / 2, (y + away_y) / 2], [x, y]],
        "walked": [[away_x, away_y], [away_x, away_y + 0.1]],
    }


def page_with_robot(open_page: OpenPage, home: Running, **options: Any) -> tuple[Page, Robot]:
    page = open_page("about:blank", expected_errors="Failed to load resource")
    robot = Robot(page, **options)
    page.goto(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    return page, robot


@pytest.mark.parametrize(("size", "scheme"), [((390, 844), "dark"), ((390, 844), "light"), ((1280, 800), "dark")])
def test_a_search_shows_candidates_rooms_reasons_and_its_path(
    open_page: OpenPage, home: Running, size: tuple[int, int], scheme: str
) -> None:
    page, robot = page_with_robot(open_page, home)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.set_viewport_size({"width": size[0], "height": size[1]})
    ask(page, "mug")
    page.get_by_role("button", name="Find it").dblclick(timeout=PATIENCE)
    expect(page.locator("#find h2")).to_have_text("Setting out")
    expect(page.locator("#find")).to_contain_text("mug")
    assert [one["goal"] for one in robot.begun] == ["mug"]
    search = a_search(home)
    robot.goes(**search)
    expect(page.locator("#find h2")).to_have_text("Searching", timeout=PATIENCE)
    expect(page.locator("#find .shares li")).to_have_text("kitchen100 %")
    there, gone = page.locator("#find .hit").all()
    expect(there).to_contain_text("mug")
    expect(gone).to_contain_text("looked for in vain")
    # the words of people: no ids, no names of modules
    expect(page.locator("#find .whys li").first).to_have_text("memory mug in the kitchen, 2.0 m from here")
    expect(page.locator("#find .whys li").last).to_have_text("planner it leads somewhere new")
    expect(page.locator("#find .reason")).to_have_text("2 things fit 'mug' equally well (mug)")
    # what is gone for stands out, what was given up does not, and both ends of the path are in view
    expect(page.locator(f'.tag.marked[data-id="{search["candidates"][0]["id"]}"]')).to_be_attached(timeout=PATIENCE)
    expect(page.locator(f'.tag.marked[data-id="{search["candidates"][1]["id"]}"]')).to_have_count(0)
    middle = search["path"][0]
    page.wait_for_function(
        """middle => { const at = document.querySelector('#canvas').dataset.lookingAt.split(' ')
            return Math.hypot(at[0] - middle[0], at[1] - middle[1]) < 1 }""",
        arg=middle,
    )
    assert page.evaluate(OVERLAPS) == []
    robot.goes(status="found", reason="seen, approached and within reach", path=[])
    expect(page.locator("#find h2")).to_have_text("Found it", timeout=PATIENCE)
    expect(page.locator("#find")).to_contain_text("Why it went there")
    expect(page.locator("#find .shares")).to_be_hidden()
    # who asks something else has read how it ended
    page.locator("#search .clear").click()
    ask(page, "sofa")
    expect(page.locator("#find")).to_be_hidden()
    page.close()


def test_a_real_robot_is_not_sent_by_a_double_click(open_page: OpenPage, home: Running) -> None:
    page, robot = page_with_robot(open_page, home, kind="real")
    ask(page, "sofa")
    page.get_by_role("button", name="Find it").dblclick(timeout=PATIENCE)
    go = page.get_by_role("button", name="The robot will drive. Go?")
    expect(go).to_be_visible()
    assert robot.begun == []
    page.wait_for_timeout(800)
    go.click()
    expect(page.locator("#find h2")).to_have_text("Setting out")
    assert robot.begun == [{"goal": "sofa", "may_move": True}]
    page.close()


def test_a_search_that_cannot_be_given_up_goes_on_and_one_that_ended_before_is_no_news(
    open_page: OpenPage, home: Running
) -> None:
    page = open_page("about:blank", expected_errors="Failed to load resource")
    robot = Robot(page)
    robot.goes(**a_search(home), robot="simulated")
    page.goto(home.address.page)
    expect(page.locator("#find h2")).to_have_text("Searching", timeout=PATIENCE)
    robot.refusal = "The robot does not answer."
    page.get_by_role("button", name="Give up").click()
    expect(page.locator("#find .reason")).to_have_text("The robot does not answer.")
    expect(page.locator("#find h2")).to_have_text("Searching")
    robot.goes(status="found")
    page.reload()
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "sofa")
    expect(page.get_by_role("button", name="Find it")).to_be_visible()
    expect(page.locator("#find")).to_be_hidden()
    page.close()


def test_a_file_whose_robot_waits_for_a_goal_is_not_called_live(open_page: OpenPage) -> None:
    with Memory.open() as memory, serving(memory) as running:
        running.service.source.state = "waiting"
        page = open_page(running.address.page)
        expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
        running.service.source.state = "running"
        expect(page.locator("#status .word")).to_have_text("Live", timeout=PATIENCE)
        page.close()


def test_only_what_fits_is_listed_as_such_and_lit(open_page: OpenPage, home: Running) -> None:
    def add_what_comes_near(route: Route) -> None:
        answer = requests.get(route.request.url, timeout=60).json()
        (chair,) = things(home, "chair")
        answer["results"].append({**answer["results"][0], **chair, "score": 0.5, "fits": False})
        route.fulfill(json=answer)

    page = open_page("about:blank")
    page.route("**/search/semantic*", add_what_comes_near)
    page.goto(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "mug")
    expect(page.locator("#answer .hit")).to_have_count(2)
    expect(page.locator(".tag.marked", has_text="mug")).to_have_count(2, timeout=PATIENCE)
    expect(page.locator(".tag.marked")).to_have_count(2)
    page.close()


def test_what_only_comes_near_a_found_thing_is_not_called_possible(open_page: OpenPage, home: Running) -> None:
    def add_what_comes_near(route: Route) -> None:
        answer = requests.get(route.request.url, timeout=60).json()
        (chair,) = things(home, "chair")
        answer["results"] = [answer["results"][0], {**answer["results"][0], **chair, "score": 0.1, "fits": False}]
        route.fulfill(json=answer)

    page = open_page("about:blank")
    page.route("**/search/semantic*", add_what_comes_near)
    page.goto(home.address.page)
    expect(page.locator("#objects li")).to_have_count(5, timeout=PATIENCE)
    ask(page, "sofa")
    expect(page.locator("#answer h3")).to_have_text(["Closest, but not it"])
    page.close()


def test_boxes_wait_for_their_image(open_page: OpenPage) -> None:
    mug, arrived = (2.0, 0.0, 0.8), threading.Event()

    def look(running: Running, number: int, side: float) -> None:
        eye = (0.0, side, 1.2)
        frame = frame_at(number, eye=eye, target=(2.0, side, 0.8), depth=2.0)
        running.service.observe(
            frame, Perceived((seen(mug, eye=eye, stamp=frame.stamp, labels={"mug": 0.9}),), people=())
        )

    held: list[Route] = []

    def hold(route: Route) -> None:
        if arrived.is_set():
            held.append(route)
        else:
            route.continue_()

    with Memory.open() as memory, serving(memory) as running:
        for number in range(4):
            look(running, number, 0.1 * number)
        page = open_page("about:blank")
        page.route("**/camera/image*", hold)
        page.goto(running.address.page)
        box = page.locator("#camera rect").first
        expect(box).to_be_attached(timeout=PATIENCE)
        before = float(box.get_attribute("x") or math.nan)
        arrived.set()
        with page.expect_request("**/camera/image*"):
            look(running, 4, -0.5)
        page.wait_for_timeout(300)
        assert float(box.get_attribute("x") or math.nan) == before
        arrived.clear()
        held[0].continue_()
        page.wait_for_function(
            "x => Number(document.querySelector('#camera rect').getAttribute('x')) !== x", arg=before
        )
        page.close()


def test_a_world_on_its_side_is_said_with_the_remedy_until_it_was_read(open_page: OpenPage) -> None:
    with Memory.open() as memory, serving(memory) as running:
        memory.store.warn(
            "the world lies on its side (60 % of surface faces y): begin anew with lastseen doctor --fix"
        )
        page = open_page(running.address.page)
        expect(page.locator("#banner")).to_contain_text("The world lies on its side", timeout=PATIENCE)
        expect(page.locator("#banner")).to_contain_text("doctor --fix")
        page.locator("#banner").get_by_role("button", name="Close").click()
        expect(page.locator("#banner")).to_be_hidden()
        page.close()


@pytest.mark.parametrize(
    "name", ["x" * 10_000, "<b>bold</b>", "\u05e9\u05dc\u05d5\u05dd\u202eabc", "a" + "\u0301" * 100]
)
def test_any_name_leaves_the_card_and_its_questions_usable_on_a_phone(
    open_page: OpenPage, home: Running, name: str
) -> None:
    page = open_page("about:blank")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(home.address.page)
    expect(page.locator("#status .word")).to_have_text("From file", timeout=PATIENCE)
    ask(page, "sofa")
    expect(page.locator("#details h2")).to_have_text("sofa", timeout=PATIENCE)
    page.get_by_role("button", name="Rename").click()
    page.get_by_label("New name").fill("   ")
    page.keyboard.press("Enter")
    expect(page.locator(".question .problem")).to_have_text("Write a name first.")
    page.get_by_label("New name").fill(name)
    page.keyboard.press("Enter")
    expect(page.locator("#notice")).to_contain_text("is now called", timeout=PATIENCE)
    page.get_by_role("button", name="Delete").click()
    boxes = page.evaluate(
        """() => [document.querySelector('#notice'), document.querySelector('.question')]
            .map(part => part.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"""
    )
    (notice_top, notice_bottom), (question_top, _) = boxes
    assert 0 <= notice_top < notice_bottom < question_top
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Cancel").click()
    page.locator("#notice").get_by_role("button", name="Undo").click()
    expect(page.locator("#notice")).to_contain_text("Undone", timeout=PATIENCE)
    page.close()
