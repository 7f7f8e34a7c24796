from __future__ import annotations

import time
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest
import requests

from lastseen.config import Settings
from lastseen.memory.memory import Memory
from lastseen.server.demo import Demo, demo_settings
from lastseen.server.run import Running, in_background, listen
from lastseen.server.searching import ServedSearch
from lastseen.server.service import Service
from tests.server.conftest import serving


def search(running: Running, verb: str = "get", **body: Any) -> requests.Response:
    return requests.request(verb, f"{running.address.base}/search", json=body or None, timeout=60)


def test_a_server_without_a_robot_says_how_to_get_one() -> None:
    with Memory.open() as memory, serving(memory) as running:
        assert search(running).json()["robot"] == "none"
        refused = search(running, "post", goal="mug")
        assert refused.status_code == 409
        assert "--robot sim://7" in refused.json()["message"]


def test_a_real_robot_moves_only_with_token_and_consent() -> None:
    with Memory.open() as memory:
        service = Service(memory)
        service.search = ServedSearch("real")
        with in_background(Running(service, listen(host="127.0.0.1", port=0)), wait=time.sleep) as running:
            assert search(running, "post", goal="mug", may_move=True).status_code == 403
            assert not service.search.wanted


@pytest.mark.parametrize("goal", ["", "?!"])
def test_a_goal_needs_words(goal: str) -> None:
    with Memory.open() as memory:
        service = Service(memory)
        service.search = ServedSearch("simulated")
        with in_background(Running(service, listen(host="127.0.0.1", port=0)), wait=time.sleep) as running:
            assert search(running, "post", goal=goal).status_code == 422


def test_the_demos_robot_goes_at_once_and_tells_how_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = demo_settings(Settings())
    settings = replace(settings, camera=replace(settings.camera, width=160, height=120))
    with Memory.open(settings=settings) as memory:
        service = Service(memory, mode="demo")
        demo = Demo(service, seed=7)
        walk = demo.walk()
        assert len(list(islice(walk, 30))) == 30
        served = demo.search
        goal = next(one.label for one in memory.objects(include_tentative=True) if one.label)
        told: list[dict[str, Any]] = []
        note = served._note

        def noted(*step: Any) -> None:
            note(*step)
            told.append(served.state.model_dump())

        monkeypatch.setattr(served, "_note", noted)
        monkeypatch.setattr(demo.stopped, "wait", lambda timeout=None: len(told) >= 60)
        served.ask(goal)
        next(walk)
        next(walk)
        assert told[0]["status"] == "searching"
        assert told[0]["goal"] == goal
        assert told[0]["reasons"][0]["why"]
        assert any(one["rooms"] for one in told)
        (candidate, *_) = told[0]["candidates"]
        assert candidate["label"] == goal
        room = memory.room_at([candidate["position"]])[0]
        assert told[0]["rooms"][0]["place_id"] == (None if room is None else room.id)
        assert sum(one["share"] for one in told[0]["rooms"]) == pytest.approx(1.0, abs=0.01)
        assert told[0]["given_up"] == []
        # the walk blanks people, and so does the search
        assert service.view is not None
        assert service.view.people is not None
        assert len(told[-1]["walked"]) > 1
        assert served.state.status in ("found", "not_found", "stopped")
