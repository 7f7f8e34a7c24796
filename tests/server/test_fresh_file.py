"""A file that another process writes is followed: page, answers, events and the robot keep up."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import requests
from starlette.types import Message, Receive, Scope, Send

from lastseen.config import Settings
from lastseen.encoders.registry import open_encoder
from lastseen.errors import JournalError
from lastseen.memory.history import HistoryEntry
from lastseen.memory.memory import Memory
from lastseen.memory.objects import EventKind
from lastseen.server import live
from lastseen.server.live import FileRunner, FreshFile
from lastseen.server.middleware import InFlight, KeepMemoryOpen
from lastseen.server.run import Running, in_background, listen
from tests.encoders.tiny_towers import tiny_clip
from tests.memory.homes import ROOM, walk
from tests.memory.test_appearance import look_around

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
    end = time.monotonic() + 60.0
    while not question() and time.monotonic() < end:
        time.sleep(0.05)
    return question()


def test_answers_and_figures_keep_up_with_the_writer(writer: Memory) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    runner = FileRunner(fresh)
    running = Running(fresh.service, listen(host="127.0.0.1", port=0))

    def get(path: str, **params: Any) -> Any:
        return requests.get(running.address.base + path, params=params, timeout=60).json()

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
    known, told = service.feed.newest, service.feed.last_event
    walk(writer, 6, ROOM, looks="random", start=6)
    writer.flush()
    assert fresh.caught_up() is service
    service.refresh(stats=False)
    update = service.feed.objects_since(known, reset=False)
    assert update is not None
    assert '"label":"sofa"' in update.text
    events, missed = service.feed.events_since(told)
    assert missed == 0
    assert any('"type":"object_confirmed"' in text for text in events)
    fresh.close()


def test_watchers_are_told_of_the_one_thing_that_changed_and_of_no_other(writer: Memory) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    service = fresh.service
    service.refresh(stats=True)
    known = service.feed.newest
    writer.relabel("obj-1", "lamp")
    fresh.caught_up()
    service.refresh(stats=True)
    update = service.feed.objects_since(known, reset=False)
    assert update is not None
    assert [told["id"] for told in json.loads(update.text)["objects"]] == ["obj-1"]
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


@pytest.mark.parametrize("asked_by", ["page", "agent"])
def test_a_question_that_lasts_over_two_writes_is_answered(
    writer: Memory, monkeypatch: pytest.MonkeyPatch, asked_by: str
) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    asked = fresh.service.memory
    look_up = Memory.history

    def slowly(self: Memory, object_id: str) -> list[HistoryEntry]:
        for name in ("lamp", "bowl"):
            writer.relabel("obj-1", name)
            fresh.caught_up()
        return look_up(self, object_id)

    monkeypatch.setattr(Memory, "history", slowly)
    if asked_by == "page":
        running = Running(fresh.service, listen(host="127.0.0.1", port=0))
        with in_background(running, wait=time.sleep):
            told = requests.get(f"{running.address.base}/objects/obj-1/history", timeout=60)
        assert told.status_code == 200, told.text
    else:
        pytest.importorskip("mcp", reason="the extra mcp is not installed")
        from lastseen.server.mcp_server import create_mcp

        answer = asyncio.run(create_mcp(lambda: fresh.service).call_tool("get_object", {"object_id": "obj-1"}))
        assert "history" in str(answer)
    fresh.caught_up()
    with pytest.raises(JournalError):
        look_up(asked, "obj-1")
    fresh.close()


def test_an_answer_that_is_read_slowly_keeps_no_memory_open() -> None:
    in_flight = InFlight()
    over: list[bool] = []

    async def answering(_scope: Scope, _receive: Receive, send: Send) -> None:
        over.append(in_flight.is_over(in_flight.next_generation()))
        await send({"type": "http.response.start"})

    async def reading_slowly(_: Message) -> None:
        over.append(in_flight.is_over(0))

    async def nothing() -> Message:
        return {}

    asyncio.run(
        KeepMemoryOpen(answering, in_flight=in_flight)({"type": "http", "method": "GET"}, nothing, reading_slowly)
    )
    assert over == [False, True]


def test_a_file_of_another_look_is_told_and_left_closed_and_the_right_one_followed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tiny_clip(tmp_path / "clip")
    clip = open_encoder(f"clip:{folder}")
    path, again, other = (tmp_path / name for name in ("home.lastseen", "again.lastseen", "other.lastseen"))
    with Memory.open(path, image_encoder=clip) as memory:
        look_around(memory, clip)
    shutil.copy(path, again)
    with Memory.open(other, image_encoder="of-elsewhere") as memory:
        walk(memory, 3, ROOM[:1], looks="random")
    fresh = FreshFile(path, SETTINGS, encoder=f"clip:{folder}")
    opened: list[Memory] = []
    opening = fresh._open

    def noted() -> Memory:
        opened.append(opening())
        return opened[-1]

    monkeypatch.setattr(fresh, "_open", noted)
    runner = FileRunner(fresh)
    runner.start()
    other.replace(path)
    assert comes_true(lambda: fresh.service.source.state == "failed")
    assert "of-elsewhere" in fresh.service.health()[0]
    again.replace(path)
    assert comes_true(lambda: fresh.service.source.state == "following")
    runner.stop()
    *refused, taken = opened
    assert taken is fresh.service.memory
    for memory in refused:
        with pytest.raises(JournalError):
            memory.store.journal.last_event()
    fresh.close()


def test_events_of_a_newer_version_are_left_out_and_the_others_told(
    writer: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh = FreshFile(path_of(writer), SETTINGS)
    told = fresh.service.feed.last_event
    monkeypatch.setattr(live, "_KINDS", frozenset({EventKind.CONFIRMED}))
    walk(writer, 6, ROOM, looks="random", start=6)
    writer.flush()
    fresh.caught_up()
    events, _ = fresh.service.feed.events_since(told)
    assert events
    assert all('"type":"object_confirmed"' in text for text in events)
    fresh.close()


def test_words_are_put_to_looks_also_after_the_file_changed(tmp_path: Path) -> None:
    folder, path = tiny_clip(tmp_path / "clip"), tmp_path / "home.lastseen"
    clip = open_encoder(f"clip:{folder}")
    with Memory.open(path, image_encoder=clip) as writer:
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
    Memory.open(path, image_encoder="clip-of-elsewhere").close()
    with Memory.open(path, image_encoder="clip-of-elsewhere") as memory:
        assert "only names are searched" in str(memory.names_only())
        assert Memory.open().names_only() is None
