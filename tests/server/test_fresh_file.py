"""A file that another process writes is followed: page, answers, events and the robot keep up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests

from lastseen.config import Settings
from lastseen.encoders.registry import open_encoder
from lastseen.memory.eyes import Eyes
from lastseen.memory.facade import Memory
from lastseen.server.fresh_file import FileRunner, FreshFile
from lastseen.server.run import Running, in_background, listen
from tests.encoders.tiny_towers import tiny_clip
from tests.memory.homes import ROOM, walk
from tests.memory.test_seeing import look_around

SETTINGS = replace(Settings(), live=replace(Settings().live, follow_period=0.05))


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Memory]:
    """A memory of two things whose file is still being written."""
    with Memory.open(tmp_path / "home.lastseen") as memory:
        walk(memory, 6, ROOM[:2], looks="random")
        memory.flush()
        yield memory


def path_of(memory: Memory) -> Path:
    assert memory.path is not None
    return memory.path


def comes_true(question: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20.0
    while not question() and time.monotonic() < end:
        time.sleep(0.05)
    return question()


def test_answers_and_figures_keep_up_with_the_writer(writer: Memory) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    runner = FileRunner(fresh)
    running = Running(fresh.service, listen(SETTINGS.server, host="127.0.0.1", port=0))

    def get(path: str, **params: Any) -> Any:
        return requests.get(running.address.base + path, params=params, timeout=10).json()

    with in_background(running, wait=time.sleep):
        runner.start()
        assert get("/search/semantic", query="sofa")["status"] == "not_found"
        assert comes_true(lambda: get("/stats")["server"]["source"] == "following")
        walk(writer, 6, ROOM, looks="random", start=6)
        writer.flush()
        assert comes_true(lambda: get("/search/semantic", query="sofa")["status"] == "found")
        # the walk is written in more than one commit
        assert comes_true(lambda: get("/robot")["robot_pose"]["timestamp"] == 11.0)
        assert get("/objects")["total"] == 5
        runner.stop()
    fresh.close()


def test_watchers_are_told_what_the_writer_saw(writer: Memory) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    service = fresh.service
    service.refresh(stats=True)
    known, told = service.hub.newest, service.hub.events_told
    walk(writer, 6, ROOM, looks="random", start=6)
    writer.flush()
    assert fresh.caught_up() is service
    service.refresh(stats=False)
    update = service.hub.objects_since(known, reset=False)
    assert update is not None
    assert '"label_primary":"sofa"' in update.text
    events, missed = service.hub.events_since(told)
    assert missed == 0
    assert any('"type":"object_confirmed"' in text for text in events)
    fresh.close()


def test_what_did_not_change_is_not_read_again(writer: Memory) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    memory = fresh.service.memory
    assert fresh.caught_up().memory is memory
    fresh.close()


def test_a_file_that_cannot_be_read_is_told_and_tried_again(writer: Memory, tmp_path: Path) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    runner = FileRunner(fresh)
    runner.start()
    away = tmp_path / "away"
    path_of(writer).rename(away)
    assert comes_true(lambda: fresh.service.source.state == "failed")
    assert "does not exist" in fresh.service.health()[0]
    away.rename(path_of(writer))
    assert comes_true(lambda: fresh.service.source.state == "following")
    runner.stop()
    fresh.close()


def test_words_are_put_to_looks_also_after_the_file_changed(tmp_path: Path) -> None:
    folder, path = tiny_clip(tmp_path / "clip"), tmp_path / "home.lastseen"
    clip = open_encoder(f"clip:{folder}")
    with Memory.open(path, look=clip) as writer:
        look_around(writer, clip)
        writer.flush()
        fresh = FreshFile(path, SETTINGS, encoder=f"clip:{folder}")
        before = fresh.service.memory
        assert before.find("red mug", include_tentative=True).status == "found"
        writer.relabel("obj-1", "lamp")
        after = fresh.caught_up().memory
        assert after is not before
        assert after.find("green mug", include_tentative=True).status == "found"
        fresh.close()


def test_a_memory_whose_encoder_is_not_at_hand_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTSEEN_MODELS", str(tmp_path / "none"))
    path = tmp_path / "home.lastseen"
    Memory.open(path, look="clip-of-elsewhere").close()
    with Memory.open(path, look="clip-of-elsewhere") as memory:
        assert "only names are searched" in str(Eyes().give(memory))
        assert Eyes().give(Memory.open()) is None
